// SPDX-License-Identifier: BSD-2-Clause
// Prints how many cycles the card takes for frames of 64 to 9,036 bytes, counted in simulation.
#include <iomanip>
#include <iostream>

#include "timing.hpp"

using namespace olaf::test;

int main() {
    std::cout << "bytes  beats  passes: first out, last out  queued: first out, last out  "
                 "beats a cycle taken\n"
                 "              (cycles after its first beat came in)\n";
    for (const std::size_t bytes : {64ul, 106ul, 256ul, 514ul, 1024ul, 1514ul, 2048ul, 4096ul, 9036ul}) {
        const auto passes = latency_of(bytes), queued = latency_of(bytes, true);
        const auto taken = taking_of(bytes, 100);
        std::cout << std::setw(5) << bytes << std::setw(7) << (bytes + 63) / 64 << std::setw(19) << passes.first
                  << std::setw(10) << passes.last << std::setw(19) << queued.first << std::setw(10)
                  << queued.last << std::setw(18) << std::fixed << std::setprecision(3)
                  << static_cast<double>(taken.beats) / static_cast<double>(taken.cycles) << "\n";
    }
}
