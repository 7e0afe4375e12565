// SPDX-License-Identifier: BSD-2-Clause
// The smallest parameter server: one cluster, plain asynchronous SGD.
#include <olaf/parameter_server.hpp>

int main(int argc, char **argv) {
    const auto address = olaf::Address::resolve(argc > 1 ? argv[1] : "127.0.0.1");
    if (!address)
        return 1;
    auto server = olaf::ParameterServer::make({.bind = *address});
    if (!server ||
        !server->add_cluster(
            {.cluster = 0, .weights = std::vector<float>(256), .rule = olaf::async_sgd_rule(0.05)}))
        return 1;
    return server->serve(std::stop_token()) ? 0 : 1; // until it is killed
}
