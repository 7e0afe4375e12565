// SPDX-License-Identifier: BSD-2-Clause
// round_server WORKERS [JOBS]: the node of jobs for tests in other languages. Prints its address; ends when
// its input does.
#include "round_server.hpp"

#include <cstdio>
#include <cstdlib>

int main(int count, char **arguments) {
    const auto workers = static_cast<std::uint32_t>(count > 1 ? std::atoi(arguments[1]) : 1);
    const auto jobs = static_cast<std::size_t>(count > 2 ? std::atoi(arguments[2]) : 1);
    const olaf::test::LoopbackNode server({.children = workers, .max_count = workers, .pool = 4},
                                          {.job = 5}, 0, jobs);
    std::puts(server.address().text().c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
}
