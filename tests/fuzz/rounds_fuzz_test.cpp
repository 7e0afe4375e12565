// SPDX-License-Identifier: BSD-2-Clause
// Frames that nobody should send, to a job whose members sum meanwhile: each sum is exact, the job goes on as it
// was, nothing invalid leaves, and every frame is accounted for.
//
// OLAF_FUZZ_FRAMES sets how many, OLAF_SEED the seed.
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/datapath/rounds_hostile.hpp"
#include "tests/effort.hpp"

namespace olaf::test::rounds_fuzz_test {
namespace {

constexpr std::uint32_t members = 2, chunks_of_a_round = 4;

/// Draws frames from hosts and ports of nobody's.
class Stranger {
  public:
    explicit Stranger(std::uint64_t seed) : random_(seed) {}

    Bytes frame() {
        const auto job = draw_message();
        Bytes payload = message(job);
        if (one_in(10))
            payload[offsetof(olaf_header, version)] = below(256);
        if (one_in(10))
            payload.resize(below(static_cast<std::uint32_t>(payload.size()) + 1));
        Frame frame = draw_path().carrying(payload);
        for (auto flips = one_in(3) ? 1 + below(4) : 0; flips > 0; flips--)
            frame.bytes[14 + below(static_cast<std::uint32_t>(frame.size()) - 14)] ^= 1 << below(8);
        if (one_in(20))
            frame.bytes.resize(14 + below(static_cast<std::uint32_t>(frame.size()) - 13));
        return frame.bytes;
    }

  private:
    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
    bool one_in(std::uint32_t many) { return below(many) == 0; }
    std::uint32_t any() { return static_cast<std::uint32_t>(random_()); }

    JobMessage draw_message() {
        constexpr olaf_message_type types[] = {OLAF_CONTRIBUTION, OLAF_CONTRIBUTION, OLAF_CONTROL, OLAF_CONTROL,
                                               OLAF_RESULT};
        JobMessage job{.type = types[below(std::size(types))],
                       .flags = one_in(4) ? static_cast<std::uint16_t>(any()) : checked_i32,
                       .job = one_in(10) ? any() : job_id,
                       .rank = one_in(5) ? below(0x10000) : below(members),
                       .round = one_in(3) ? any() : below(4),
                       .count = one_in(3) ? any() : 1 + below(8),
                       .generated_ns = random_(),
                       .chunk = one_in(3) ? any() : below(chunks_of_a_round),
                       .chunks = one_in(3) ? any() : chunks_of_a_round,
                       .vector = one_in(2) ? any() : 0,
                       .generation = one_in(2) ? any() : job_generation,
                       .exponent = static_cast<std::int16_t>(any()),
                       .pool = static_cast<std::uint8_t>(one_in(2) ? any() : 2),
                       .lanes = std::vector<std::uint64_t>(one_in(3) ? below(12) : 4 + below(2))};
        if (job.type == OLAF_CONTROL && !one_in(4))
            job.flags = one_in(3) ? OLAF_FLAG_ANSWER : 0;
        for (auto &lane : job.lanes)
            lane = random_();
        if (!job.lanes.empty() && !one_in(3))
            job.lanes.back() = checksum_lane({job.lanes.data(), job.lanes.size() - 1});
        return job;
    }

    Path draw_path() {
        Path path(one_in(2) ? 4 : 6);
        path.source(static_cast<std::uint8_t>(100 + below(100)));
        path.source_port(static_cast<std::uint16_t>(1 + below(30000)));
        path.from({2, 0, 0, 9, 0, static_cast<std::uint8_t>(any())});
        if (one_in(10))
            path.vlan(static_cast<std::uint16_t>(below(4096)));
        if (one_in(10) && path.family() == 4)
            path.without_udp_checksum();
        return path;
    }

    std::mt19937_64 random_;
};

class FuzzRounds : public RoundsTest {
  protected:
    FuzzRounds() {
        for (std::uint32_t rank = 0; rank < members; rank++)
            bind_for_good(queue, rank);
    }

    /// The members' rounds until `stop`, one after the other. Returns how many they did.
    std::uint32_t sum(const std::atomic<bool> &stop) {
        std::uint32_t round = 0;
        for (; !stop; round++)
            for (std::uint32_t chunk = 0; chunk < chunks_of_a_round; chunk++)
                sum_chunk(round, chunk);
        return round;
    }

    /// What is wrong with what became of a stranger's frame; empty: nothing.
    static std::string wrong(const Bytes &in, const Ran &ran) {
        std::string why;
        if (ran.verdict == XDP_DROP)
            return {};
        if (ran.verdict == XDP_PASS)
            return ran.bytes == in ? "" : "it passes and isn't as it was";
        if (ran.verdict != XDP_TX)
            return verdict_name(ran.verdict);
        return parse_job_message(ran.bytes, &why) ? "" : "its answer is not valid: " + why;
    }

  private:
    void sum_chunk(std::uint32_t round, std::uint32_t chunk) {
        std::set<std::uint32_t> served;
        for (int tries = 0; served.size() < members; tries++) {
            ASSERT_LT(tries, 100) << "round " << round << ", chunk " << chunk;
            for (std::uint32_t rank = 0; rank < members; rank++) {
                auto part = contribution(rank, chunk, round);
                part.chunks = chunks_of_a_round;
                const auto ran = offer(part);
                const auto got = ran.verdict == XDP_TX ? parse_job_message(ran.bytes) : std::nullopt;
                if (!got || got->message.chunk != chunk || got->message.round != round)
                    continue;
                ASSERT_EQ(got->message.type, OLAF_RESULT);
                ASSERT_EQ(got->message.lanes, sum_of({0, 1}, chunk, round)) << "round " << round << ", chunk " << chunk;
                served.insert(got->message.rank);
            }
        }
    }
};

TEST_F(FuzzRounds, DisturbNoSumAndNothingInvalidLeaves) {
    const auto seed = from_environment("OLAF_SEED", 1);
    const auto frames = from_environment("OLAF_FUZZ_FRAMES", 1'200'000) / 3;
    identities_hold = false; // the last chunk's results may be owed
    std::atomic<bool> stop = false;
    std::uint32_t rounds = 0;
    {
        const std::jthread sums([&] { rounds = sum(stop); });
        Stranger stranger(seed);
        for (std::uint64_t i = 0; i < frames && !HasFailure(); i++) {
            const auto in = stranger.frame();
            const auto ran = queue.offer(in);
            const auto what = wrong(in, ran);
            EXPECT_EQ(what, "") << "OLAF_SEED=" << seed << ", frame " << i << "\n in  " << hex(in) << "\n out "
                                << hex(ran.bytes);
        }
        stop = true;
    }
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(job().generation, job_generation);
    EXPECT_EQ(counters().completed, rounds * chunks_of_a_round);
    EXPECT_EQ(counters().added, members * rounds * chunks_of_a_round);
    const auto totals = queue.totals();
    EXPECT_EQ(totals.malformed + totals.not_allowed + totals.bypassed, frames);
    std::cout << "seed " << seed << ": " << rounds << " rounds; " << totals << "\n";
}

} // namespace
} // namespace olaf::test::rounds_fuzz_test
