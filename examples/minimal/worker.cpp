// SPDX-License-Identifier: BSD-2-Clause
// The smallest worker: pulls the weights of its cluster towards 1.
#include <olaf/worker.hpp>

#include <vector>

using namespace std::chrono_literals;

int main(int argc, char **argv) {
    const auto server = olaf::Address::resolve(argc > 1 ? argv[1] : "127.0.0.1");
    if (!server)
        return 1;
    auto worker =
        olaf::Worker::make({.server = *server, .cluster = 0, .worker = 7, .elements = 256});
    if (!worker)
        return 1;
    while (!worker->has_weights()) // an answer may be lost: ask again
        if (!worker->join() || !worker->wait(100ms))
            return 1;
    std::vector<float> gradient(256);
    for (int update = 0; update < 100; ++update) {
        for (std::size_t i = 0; i < gradient.size(); ++i)
            gradient[i] = 1 - worker->weights()[i];
        if (!worker->push(gradient, /*reward=*/update, worker->model_version()) ||
            !worker->wait(20ms))
            return 1;
    }
    return worker->weights()[0] > 0.5F ? 0 : 1;
}
