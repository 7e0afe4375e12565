// SPDX-License-Identifier: BSD-2-Clause
// Random messages of children, of strange generations, old rounds and repetitions among them: the
// kernel and the model of a node (tests/model/round_node.hpp, written from docs/rounds.md) agree on
// each step. OLAF_STEPS sets how many, OLAF_SEED which.
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "rounds_test.hpp"
#include "tests/model/round_node.hpp"

using namespace olaf::test;
using olaf::model::RoundMessage;
using olaf::model::RoundNode;

namespace {

std::uint64_t number_of(const char *name, std::uint64_t otherwise) {
    const char *text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 0) : otherwise;
}

struct Rules {
    const char *name;
    std::uint32_t children, threshold;
    bool any = false;
    std::uint32_t first_round = 0;
};

/// Chunks that are used of the job's slots, so few that the line is never long: no frame becomes an
/// order for TC.
constexpr std::uint32_t chunks = 4;

class RoundsDifferential : public RoundsTest, public testing::WithParamInterface<Rules> {
  protected:
    RoundsDifferential()
        : RoundsTest(setup_of(GetParam())),
          model({.children = setup.children,
                 .threshold = setup.threshold,
                 .any = GetParam().any,
                 .max_count = setup.max_count,
                 .pool = static_cast<std::uint8_t>(setup.pool)},
                job_generation),
          base(GetParam().first_round) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING; // as the model begins
        set_job(waiting);
    }
    static olaf_job_setup setup_of(const Rules &rules) {
        auto setup = small_job();
        setup.children = rules.children;
        setup.threshold = rules.threshold;
        setup.flags = rules.any ? OLAF_JOB_ANY : 0;
        setup.max_count = 1 << 30;
        setup.slots = 64;
        setup.pool = 6;
        return setup;
    }

    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); }
    bool chance(std::uint32_t percent) { return below(100) < percent; }

    RoundMessage some_message() {
        RoundMessage message{.rank = below(setup.children), .time = ++clock};
        message.generation = model.generation();
        if (!model.running() || below(2000) == 0) {
            message.kind = RoundMessage::Kind::sync;
            message.round = base + below(3);
            message.chunk = below(chunks);
            message.pool = static_cast<std::uint8_t>(4 + below(4));
            if (chance(30))
                message.time = stamps[message.rank]; // the same question again
            else
                stamps[message.rank] = message.time;
            return message;
        }
        message.chunk = below(chunks);
        message.chunks = chunks;
        message.round = base + below(2);
        if (chance(5))
            message.round += below(5) - 2;
        if (chance(2))
            message.generation += below(3) - 1;
        if (chance(5))
            message.time -= below(20);
        message.count = 1 + below(3);
        message.exponent = static_cast<std::int16_t>(below(65536));
        message.partial = chance(3);
        if (chance(5))
            return message; // a probe
        for (int lane = 0; lane < 5; lane++)
            message.lanes.push_back(random());
        return message;
    }

    [[nodiscard]] JobMessage on_wire(const RoundMessage &message) const {
        JobMessage wire{.flags = setup.shape, .job = setup.id, .rank = message.rank,
                        .round = message.round, .count = message.count,
                        .generated_ns = static_cast<std::uint64_t>(message.time),
                        .chunk = message.chunk, .chunks = message.chunks,
                        .generation = message.generation, .exponent = message.exponent,
                        .pool = message.pool, .lanes = message.lanes};
        if (message.partial)
            wire.flags |= OLAF_FLAG_PARTIAL;
        if (message.late)
            wire.flags |= OLAF_FLAG_LATE;
        if (message.kind == RoundMessage::Kind::result)
            wire.type = OLAF_RESULT;
        if (message.stale)
            wire.flags = setup.shape | OLAF_FLAG_STALE;
        if (message.kind == RoundMessage::Kind::sync) {
            wire.type = OLAF_CONTROL;
            wire.flags = 0;
            wire.count = OLAF_CONTROL_SYNC;
            wire.chunks = 0;
            wire.exponent = 0;
        }
        return wire;
    }

    /// What the model's answer says, of what the kernel's may.
    void expect_same(const RoundMessage &want, JobMessage got) {
        auto expected = on_wire(want);
        if (want.stale) { // what it echoes beside the chunk means nothing
            expected.generated_ns = got.generated_ns;
            expected.exponent = got.exponent;
        }
        EXPECT_EQ(expected, got);
    }
    void expect_same_answer(const RoundMessage &want, const JobMessage &got) {
        EXPECT_EQ(got.type, OLAF_CONTROL);
        EXPECT_EQ(got.exponent, static_cast<int>(want.status));
        EXPECT_EQ(got.generation, want.generation);
        EXPECT_EQ(got.generated_ns, static_cast<std::uint64_t>(want.time));
        if (want.status == RoundMessage::Status::wait) {
            EXPECT_EQ(got.chunks, want.missing);
            EXPECT_EQ(got.rank, want.rank);
        }
        if (want.status == RoundMessage::Status::done) {
            EXPECT_EQ(std::tie(got.round, got.chunk, got.pool),
                      std::tie(want.round, want.chunk, want.pool));
        }
    }

    /// A result that rides: whoever it is for, it must be the sum of its chunk.
    void expect_right(const JobMessage &got) {
        const auto known = sums.find({got.generation, got.round, got.chunk});
        ASSERT_NE(known, sums.end()) << "no such sum";
        auto [expected, in, added] = known->second;
        expected.rank = got.rank;
        expected.pool = got.pool;
        expected.partial =
            expected.partial || added < (GetParam().any ? setup.threshold : setup.children);
        expected.late = !in.contains(got.rank);
        expect_same(expected, got);
    }

    /// The contribution was added: so is it here.
    void remember(const RoundMessage &message) {
        auto &[sum, in, added] = sums[{message.generation, message.round, message.chunk}];
        in.insert(message.rank);
        if (added++ == 0) {
            sum = message;
            sum.kind = RoundMessage::Kind::result;
        } else {
            sum.count += message.count;
            sum.partial = sum.partial || message.partial;
            sum.time = std::max(sum.time, message.time);
            sum.exponent = std::max(sum.exponent, message.exponent);
            for (std::size_t i = 0; i < sum.lanes.size(); i++)
                sum.lanes[i] += message.lanes[i];
        }
    }

    void step(const RoundMessage &message) {
        RoundNode::Out out;
        const auto before = model.counters();
        model.arrive(0, 0, message, out);
        const auto &after = model.counters();
        if (after.added != before.added)
            remember(message);
        const auto ran = offer(on_wire(message));
        const bool rides = out.empty() || after.added != before.added ||
                           after.ahead != before.ahead || out[0].message.round != message.round ||
                           out[0].message.chunk != message.chunk || out[0].to != message.rank;
        if (ran.verdict == XDP_DROP) {
            EXPECT_TRUE(rides) << "the sender got no answer";
            return;
        }
        ASSERT_STREQ(verdict_name(ran.verdict), "XDP_TX");
        const auto got = parse_job_message(ran.bytes);
        ASSERT_TRUE(got);
        if (message.kind == RoundMessage::Kind::sync)
            expect_same_answer(out.at(0).message, got->message);
        else if (rides)
            expect_right(got->message);
        else
            expect_same(out[0].message, got->message);
    }

    void expect_same_counters() {
        const auto &want = model.counters();
        const auto got = counters();
        const auto deliveries = want.completed * setup.children;
        EXPECT_EQ(std::tie(got.received, got.added, got.duplicate, got.late, got.stale, got.ahead,
                           got.probes, got.completed, got.partial, got.syncs),
                  std::tie(want.received, want.added, want.duplicate, want.late, want.stale,
                           want.ahead, want.probes, want.completed, want.partial, want.syncs));
        EXPECT_EQ(deliveries, got.riding + got.undelivered + owed());
    }
    /// A long stream has a bit of everything.
    void expect_variety(std::uint64_t steps) {
        if (steps < 50'000)
            return;
        const auto &seen = model.counters();
        EXPECT_GT(seen.completed, steps / 100);
        for (const auto count : {seen.duplicate, seen.stale, seen.probes, seen.repeated})
            EXPECT_GT(count, steps / 100);
        EXPECT_GT(seen.syncs, 20u);
        EXPECT_GT(seen.stopped, 10u);
    }

    std::mt19937_64 random{number_of("OLAF_SEED", 1)};
    RoundNode model;
    std::uint32_t base;
    std::int64_t clock = 1'000'000;
    std::map<std::uint32_t, std::int64_t> stamps;
    struct Sum {
        RoundMessage message;
        std::set<std::uint32_t> in;
        std::uint32_t added = 0;
    };
    /// By generation, round and chunk.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Sum> sums;
};

INSTANTIATE_TEST_SUITE_P(Of, RoundsDifferential,
                         testing::Values(Rules{"ThreeOfThree", 3, 3}, Rules{"TwoOfThree", 3, 2},
                                         Rules{"OneAlone", 1, 1},
                                         Rules{"AnyFour", 3, 4, true},
                                         Rules{"AcrossTheWrap", 5, 5, false, 0xfffffff0}),
                         [](const auto &info) { return info.param.name; });

TEST_P(RoundsDifferential, KernelAndModelAgreeStepByStep) {
    const auto steps = number_of("OLAF_STEPS", 100'000);
    for (std::uint64_t i = 0; i < steps && !HasFailure(); i++) {
        if (i % (30 * setup.children) == 0) // long enough for most to come
            base++;
        const auto message = some_message();
        SCOPED_TRACE("step " + std::to_string(i));
        step(message);
    }
    expect_same_counters();
    expect_variety(steps);
}

} // namespace
