// SPDX-License-Identifier: BSD-2-Clause
// What a program outside does with libolaf: a worker, as far as it needs nobody to answer.
#include <olaf/worker.hpp>

#include <cstdio>

int main() {
    const auto server = olaf::Address::resolve("127.0.0.1");
    if (!server)
        return 1;
    const auto worker =
        olaf::Worker::make({.server = *server, .cluster = 1, .worker = 2, .elements = 8});
    if (!worker || worker->has_weights())
        return 1;
    std::puts("outside");
}
