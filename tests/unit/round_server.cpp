// SPDX-License-Identifier: BSD-2-Clause
// round_server WORKERS [JOBS [ABSENT...]]: the node of jobs for tests in other languages. Ranks
// that are absent may join. Prints its address; ends when its input does.
#include "round_server.hpp"

#include <cstdio>
#include <cstdlib>

int main(int count, char **arguments) {
    const auto workers = static_cast<std::uint32_t>(count > 1 ? std::atoi(arguments[1]) : 1);
    const auto jobs = static_cast<std::size_t>(count > 2 ? std::atoi(arguments[2]) : 1);
    olaf::model::RoundSetup setup{.children = workers, .max_count = workers, .pool = 4};
    for (int i = 3; i < count; i++)
        setup.absent.insert(static_cast<std::uint32_t>(std::atoi(arguments[i])));
    const olaf::test::LoopbackNode server(setup, {.job = 5}, 0, jobs);
    std::puts(server.address().text().c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
}
