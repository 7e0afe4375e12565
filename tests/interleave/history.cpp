// SPDX-License-Identifier: BSD-2-Clause
#include "history.hpp"

#include <algorithm>

namespace olaf::interleave {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = (a ^ b * 0x9e3779b97f4a7c15u) + 0x632be59bd9b4e019u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

} // namespace

void History::begin(std::uint32_t words) {
    run_ = 0;
    words_.assign(words, {});
}

void History::begin_run() {
    run_++;
    for (unsigned cpu = 0; cpu < most_cpus; cpu++) {
        now_[cpu] = {};
        now_[cpu][cpu] = 1;
        past_[cpu] = cpu + 1;
    }
}

Conflict History::conflict(unsigned cpu, const Word &word, Access access) const {
    const Clock &now = now_[cpu];
    if (word.written != 0 && word.writer != cpu && word.written > now[word.writer])
        return {true, access.writes && access.plain && word.written_plainly, word.writer};
    if (access.writes)
        for (unsigned other = 0; other < most_cpus; other++)
            if (other != cpu && word.read[other] > now[other])
                return {true, false, other};
    return {};
}

/// Each CPU's past covers what it took over: a number for the order of all that counts.
void History::hash(unsigned cpu, std::uint32_t number, Word &word, Access access) {
    std::uint64_t &past = past_[cpu];
    past = mix(mix(past, number * 2 + access.writes), word.write_hash);
    if (access.writes) {
        past = mix(past, word.read_hashes);
        word.write_hash = past;
        word.read_hashes = 0;
    } else {
        word.read_hashes += past;
    }
}

Conflict History::record(unsigned cpu, std::uint32_t number, Access access, bool contended) {
    Word &word = words_[number];
    if (word.run != run_) {
        word = {};
        word.run = run_;
    }
    const Conflict result = conflict(cpu, word, access);
    Clock &now = now_[cpu];
    if (contended)
        hash(cpu, number, word, access);
    if (access.reads && word.passes)
        for (unsigned other = 0; other < most_cpus; other++)
            now[other] = std::max(now[other], word.passed[other]);
    if (access.reads)
        word.read[cpu] = now[cpu];
    if (access.writes) {
        word.written = now[cpu];
        word.writer = static_cast<std::uint8_t>(cpu);
        word.written_plainly = access.plain;
        if (!access.plain) {
            word.passed = now;
            word.passes = true;
            now[cpu]++;
        }
    }
    return result;
}

std::uint64_t History::fingerprint() const {
    std::uint64_t result = 0;
    for (const auto past : past_)
        result = mix(result, past);
    return result;
}

} // namespace olaf::interleave
