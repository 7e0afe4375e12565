// SPDX-License-Identifier: BSD-2-Clause
// What happened before what: vector clocks, as race detectors keep them.
//
// An atomic or volatile write passes on all that its CPU did before; whoever reads that word takes it
// over. Two accesses of a word, one of them a write, that nothing orders so are in conflict.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "search.hpp"

namespace olaf::interleave {

struct Access {
    bool reads = false;
    bool writes = false;
    bool plain = true; ///< neither atomic nor volatile
};

struct Conflict {
    bool found = false;
    bool plain_writes = false; ///< two plain writes
    unsigned other = 0;        ///< the CPU that was there before
};

class History {
  public:
    void begin(std::uint32_t words);
    void begin_run();
    /// The CPU makes this access now. `contended`: its order counts for what a state is.
    Conflict record(unsigned cpu, std::uint32_t word, Access access, bool contended);
    /// Two prefixes of schedules with one fingerprint did the same in an order that makes no difference.
    [[nodiscard]] std::uint64_t fingerprint() const;

  private:
    using Clock = std::array<std::uint32_t, most_cpus>;
    struct Word {
        std::uint32_t run = 0;
        std::uint32_t written = 0; // when, by its writer's clock; 0: not in this run
        Clock read{};
        Clock passed{}; // what a reader takes over
        std::uint8_t writer = 0;
        bool written_plainly = false, passes = false;
        std::uint64_t write_hash = 0, read_hashes = 0;
    };
    [[nodiscard]] Conflict conflict(unsigned cpu, const Word &word, Access access) const;
    void hash(unsigned cpu, std::uint32_t number, Word &word, Access access);

    std::uint32_t run_ = 0;
    std::vector<Word> words_;
    std::array<Clock, most_cpus> now_{};
    std::array<std::uint64_t, most_cpus> past_{}; // of each CPU, in one number
};

} // namespace olaf::interleave
