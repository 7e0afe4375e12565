// SPDX-License-Identifier: BSD-2-Clause
// A job with --any: so many contributions complete a chunk, whosever they are (docs/rounds.md, "Any H
// contributions"). Its workers speak the protocol themselves: those of libolaf contribute to a round once.
#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <olaf/run.h>

#include "endpoints/wire/round_message.hpp"
#include "rounds.hpp"

namespace olaf::test::rounds_any_test {
namespace {

constexpr unsigned threshold = 4, workers = 2;
/// One, who gave it, and the checksum lane.
constexpr unsigned lanes = 1 + workers + 1;

struct Sum {
    RoundResult result;
    std::vector<std::uint64_t> lanes;
};

/// Each contribution is 1 in the first lane, and in that of its worker.
class Worker {
  public:
    Worker(const RoundsBed &bed, std::uint32_t rank)
        : bed_(bed), rank_(rank), socket_(bed.worker, Testbed::worker_peer(4)) {}

    /// Returns whether all have asked now. The job runs in the generation that each is told.
    bool ask() {
        JobMessage question{.type = OLAF_CONTROL, .flags = 0, .rank = rank_, .count = OLAF_CONTROL_SYNC,
                            .generated_ns = ++stamp_, .chunks = 0, .generation = 0, .pool = 6,
                            .lanes = {rank_ + 1, 0, olaf_training_id("test", 4), 0}};
        socket_.send(message(question), bed_.target(4));
        const auto answer = socket_.receive();
        const auto told = decode_sync(std::as_bytes(std::span(answer.payload))).value();
        generation_ = told.generation;
        return told.status == OLAF_CONTROL_DONE;
    }

    /// Again: as the one before. Last: nothing more until a result comes.
    enum class Kind { fresh, again, last };
    void contribute(std::uint32_t round, Kind kind = Kind::fresh) {
        std::vector<std::uint64_t> part(lanes - 1);
        part[0] = part[1 + rank_] = 1;
        part.push_back(checksum_lane(part));
        const std::uint16_t flags = OLAF_FLAG_CHECKSUM | OLAF_FORMAT_I64X1 << OLAF_FLAG_FORMAT_SHIFT;
        const JobMessage contribution{
            .flags = static_cast<std::uint16_t>(flags | (kind == Kind::last ? OLAF_FLAG_FLUSH : 0)),
            .rank = rank_, .round = round, .generated_ns = kind == Kind::again ? stamp_ : ++stamp_,
            .chunks = 1, .generation = generation_, .lanes = part};
        socket_.send(message(contribution), bed_.target(4));
    }

    std::optional<Sum> poll(std::chrono::milliseconds time) const {
        const auto got = socket_.poll(time);
        return got ? std::optional(sum_in(*got)) : std::nullopt;
    }
    Sum receive() const { return sum_in(socket_.receive()); }

  private:
    static Sum sum_in(const Datagram &got) {
        Sum sum{.result = decode_result(std::as_bytes(std::span(got.payload))).value(), .lanes = {}};
        sum.lanes.resize(sum.result.lanes);
        std::memcpy(sum.lanes.data(), got.payload.data() + sizeof(olaf_header), 8 * sum.lanes.size());
        return sum;
    }
    const RoundsBed &bed_;
    std::uint32_t rank_, generation_ = 0;
    std::uint64_t stamp_ = 1'000'000;
    UdpSocket socket_;
};

class RoundsOfAny : public testing::Test {
  protected:
    static JobSetting setting() {
        return {.workers = workers, .set = {"--any", "--threshold", std::to_string(threshold)}, .lanes = lanes};
    }
    RoundsOfAny() {
        EXPECT_FALSE(one.ask());
        EXPECT_TRUE(other.ask());
    }
    RoundsBed bed{setting()};
    Worker one{bed, 0}, other{bed, 1};
};

/// The result is of `ones` and `others` contributions of the two.
void expect_sum(const Sum &sum, std::uint32_t round, std::uint64_t ones, std::uint64_t others, bool late) {
    EXPECT_EQ(sum.result.round, round);
    EXPECT_EQ(sum.result.count, threshold);
    EXPECT_EQ(sum.result.late, late);
    EXPECT_FALSE(sum.result.partial);
    const std::vector<std::uint64_t> expected{threshold, ones, others};
    EXPECT_EQ(std::vector(sum.lanes.begin(), sum.lanes.end() - 1), expected);
    EXPECT_EQ(sum.lanes.back(), checksum_lane({sum.lanes.data(), lanes - 1}));
}

TEST_F(RoundsOfAny, AFastWorkersCountAsOftenAsItContributes) {
    for (int i = 0; i < 3; i++)
        one.contribute(0);
    one.contribute(0, Worker::Kind::again);
    other.contribute(0, Worker::Kind::last);
    expect_sum(one.receive(), 0, 3, 1, false);
    expect_sum(other.receive(), 0, 3, 1, false);
    for (int i = 0; i < 3; i++)
        one.contribute(1);
    one.contribute(1, Worker::Kind::last);
    expect_sum(one.receive(), 1, 4, 0, false);
    expect_sum(other.receive(), 1, 4, 0, true);
    other.contribute(1);
    expect_sum(other.receive(), 1, 4, 0, true);
    const auto job = bed.job();
    EXPECT_EQ(job["contributions"]["added"], 2 * threshold) << job.dump(1);
    EXPECT_EQ(job["contributions"]["duplicate"], 1u) << job.dump(1);
    EXPECT_EQ(job["contributions"]["late"], 1u) << job.dump(1);
}

TEST_F(RoundsOfAny, WhoeverWinsEachSumHasThatManyThoughFramesAreLost) {
    constexpr std::uint32_t rounds = 100;
    bed.lose(5);
    const auto race = [](Worker &worker) {
        for (std::uint32_t round = 0; round < rounds;) {
            worker.contribute(round, Worker::Kind::last);
            for (auto sum = worker.poll(std::chrono::milliseconds(5)); sum; sum = worker.poll({})) {
                if (sum->result.round < round)
                    continue;
                round = sum->result.round + 1; // STALE: the other went on without this one
                if (sum->result.stale)
                    continue;
                const auto ones = sum->lanes.at(1);
                expect_sum(*sum, sum->result.round, ones, threshold - ones, sum->result.late);
            }
        }
    };
    {
        const std::jthread others([&] { race(other); });
        race(one);
    }
    const auto job = bed.job();
    EXPECT_EQ(job["contributions"]["added"], threshold * job["chunks"]["completed"].get<unsigned>()) << job.dump(1);
    EXPECT_GE(job["chunks"]["completed"], rounds);
}

} // namespace
} // namespace olaf::test::rounds_any_test
