// SPDX-License-Identifier: BSD-2-Clause
// `olaf status --interval`: what a queue does, a line an interval.
#include <fmt/format.h>

#include <cstdio>

#include "loader/observe/verdict.hpp"
#include "loader/text/human.hpp"
#include "print.hpp"

namespace olaf {
namespace {

constexpr auto line = "{:>9} {:>9} {:>9} {:>6} {:>9} {:>9} {:>9} {:>9}  {}\n";
constexpr std::uint32_t lines_of_a_page = 20;

} // namespace

bool print_rates(const Reading &reading, const Rows &rows, std::uint32_t number) {
    const auto per_second = [&](std::uint64_t count) {
        return human_count(rows.seconds > 0 ? static_cast<double>(count) / rows.seconds : 0);
    };
    if (number % lines_of_a_page == 0)
        fmt::print(line, "msgs in/s", "out/s", "updates/s", "fold", "waiting", "refused/s",
                   "dropped/s", "lost/s", "state");
    const auto &recent = rows.recent;
    fmt::print(line, per_second(recent.received), per_second(recent.messages_out),
               per_second(recent.updates_out), fmt::format("{:.2f}", recent.fold_factor()),
               reading.snapshot.levels.queue_length, per_second(recent.refused),
               per_second(recent.dropped), per_second(recent.updates_lost),
               verdict_line(judge(reading.attachment, reading, reading.host).first));
    return std::fflush(stdout) == 0;
}

} // namespace olaf
