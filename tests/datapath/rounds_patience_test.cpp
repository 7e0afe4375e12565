// SPDX-License-Identifier: BSD-2-Clause
// What a job waits for: a result from above before it asks again, a deadline, and a member's silence. A slow
// machine makes any wait longer, so each test says how long it really was.

#include "rounds_tree.hpp"

namespace olaf::test::rounds_patience_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t tick_ns = 40 * ms; ///< the clock of BPF programs is behind by less (12 ms: harness.hpp)

class RoundsPatience : public RoundsTree {
  protected:
    void set_turnaround(std::uint64_t ns) {
        auto changed = job();
        changed.turnaround_ns = ns;
        set_job(changed);
    }
    /// Chunk 0's aggregate went up then, for the first time.
    std::uint64_t go_up_at(std::uint64_t ns) {
        auto changed = slot(0);
        changed.buffer[0].up_ns = changed.buffer[0].first_up_ns = ns;
        set_slot(0, changed);
        return ns;
    }
    /// Offers a repetition when so much of the patience is left: the aggregate must not go up again. Returns
    /// whether the frame was through before the patience was over.
    bool is_patient(std::uint64_t patience_ns, std::uint64_t left_ns) {
        const auto over_ns = monotonic_ns() + left_ns;
        go_up_at(over_ns - patience_ns);
        const auto before = counters().up_again;
        offer(contribution(0, 0));
        const bool in_time = monotonic_ns() <= over_ns;
        EXPECT_TRUE(!in_time || counters().up_again == before) << "too soon";
        return in_time;
    }
    /// A repetition takes the aggregate up again that long after it went up, and not before: not in the last
    /// quarter. An emulated CPU may take longer for a frame than a quarter of the shortest patience, and than all
    /// of it: there the frame comes earlier.
    void expect_patience(std::uint64_t patience_ns) {
        bool was_in_time = false;
        for (auto left_ns = patience_ns / 4; !was_in_time && left_ns < 1'000 * ms; left_ns *= 2)
            for (int tries = 0; !was_in_time && tries < 200; tries++)
                was_in_time = is_patient(patience_ns, left_ns);
        EXPECT_TRUE(was_in_time) << "this machine stands still too often";
        go_up_at(time_before_ns(patience_ns) + clock_slack_ns - tick_ns);
        const auto before = counters().up_again;
        offer(contribution(0, 0));
        EXPECT_EQ(counters().up_again, before + 1) << "too late";
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsPatience, both_families, family_name);

TEST_P(RoundsPatience, IsTwiceTheUsualTurnaroundWithinBounds) {
    complete(0);
    for (const auto &[turnaround, patience] : {std::pair(0 * ms, ms / 5), std::pair(60 * ms, 120 * ms),
                                               std::pair(1'000 * ms, 200 * ms)}) {
        SCOPED_TRACE("turnaround " + std::to_string(turnaround / ms) + " ms");
        set_turnaround(turnaround);
        expect_patience(patience);
    }
}

TEST_P(RoundsPatience, IsOverOnceWhatWentUpLaterHasItsResult) {
    complete(0);
    complete(1);
    set_turnaround(1'000 * ms);
    const auto up_ns = go_up_at(slot(1).buffer[0].up_ns - 1);
    tell(parents_result(1));
    EXPECT_EQ(job().answered_up_ns, up_ns + 1);
    offer(contribution(0, 0));
    EXPECT_EQ(counters().up_again, 1u);
}

TEST_P(RoundsPatience, IsLearntAnEighthAtATimeFromWhatWentUpOnce) {
    const auto answered = [&](std::uint64_t after_ns) {
        const auto up_ns = go_up_at(time_before_ns(after_ns));
        tell(parents_result(0));
        return std::pair(after_ns, monotonic_ns() - up_ns); // what it took, at least and at most
    };
    complete(0);
    const auto first = answered(80 * ms);
    EXPECT_GE(job().turnaround_ns, first.first);
    EXPECT_LE(job().turnaround_ns, first.second);
    identities_hold = false; // a result that is owed goes with its slot
    set_slot(0, {});
    set_turnaround(80 * ms);
    complete(0);
    const auto second = answered(160 * ms);
    EXPECT_GE(job().turnaround_ns, 70 * ms + second.first / 8);
    EXPECT_LE(job().turnaround_ns, 70 * ms + second.second / 8 + 1);
}

TEST_P(RoundsPatience, IsNotLearntFromWhatWentUpAgain) {
    complete(0);
    go_up_at(monotonic_ns() - 300 * ms);
    set_turnaround(50 * ms);
    sent_up(offer(contribution(0, 0)));
    tell(parents_result(0));
    EXPECT_EQ(counters().up_again, 1u);
    EXPECT_EQ(counters().completed, 1u);
    EXPECT_EQ(job().turnaround_ns, 50 * ms);
}

/// A chunk may be open for an hour.
class RoundsUnhurried : public RoundsTest {
  protected:
    RoundsUnhurried() : RoundsTest(unhurried()) {}
    static olaf_job_setup unhurried() {
        auto setup = small_job();
        setup.deadline_ns = 3'600'000 * ms;
        return setup;
    }
};

TEST_F(RoundsUnhurried, ADuplicateSealsNothingBeforeTheDeadline) {
    dropped(offer(contribution(0, 0)));
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(counters().duplicate, 1u);
    EXPECT_EQ(counters().partial, 0u);
    auto hurried = job();
    hurried.setup.deadline_ns = 1;
    set_job(hurried);
    EXPECT_EQ(sent_to(0, offer(contribution(0, 0))).flags & OLAF_FLAG_PARTIAL, OLAF_FLAG_PARTIAL);
    EXPECT_EQ(counters().partial, 1u);
}

/// A member is forgotten after four seconds, and its port after one.
class RoundsTakeovers : public RoundsTest {
  protected:
    RoundsTakeovers() : RoundsTest(small_job(), forgetful()) {}
    static olaf::DatapathConfig forgetful() {
        auto config = queue_with_rounds();
        config.member_timeout_ns = 4'000 * ms;
        return config;
    }
    /// Rank 0 was silent for about that long: is that source heard in its place?
    bool takes_over(std::uint64_t silence_ns, const Path &path) {
        const auto index = olaf_child_index(0, 0);
        const auto known = queue.read<olaf_child>("olaf_children", index);
        auto child = known;
        child.member.last_seen_ns = monotonic_ns() - silence_ns;
        queue.write("olaf_children", index, child);
        const auto before = counters().received;
        offer(contribution(0, 0, ++round), path);
        const bool heard = counters().received > before;
        really_ns = monotonic_ns() - child.member.last_seen_ns;
        queue.write("olaf_children", index, known);
        return heard;
    }
    /// That source is refused a little before `held_ns`, and heard a little after. A machine that stood still
    /// between the look at the clock and the frame has shown nothing, and is asked again.
    void expect_held_for(std::uint64_t held_ns, const Path &path) {
        SCOPED_TRACE("held for " + std::to_string(held_ns / ms) + " ms");
        bool heard = true;
        do
            heard = takes_over(held_ns - 100 * ms, path);
        while (really_ns >= held_ns);
        EXPECT_FALSE(heard) << "after " << really_ns << " ns";
        EXPECT_TRUE(takes_over(held_ns + 100 * ms, path)) << "after " << really_ns << " ns";
    }
    std::uint32_t round = 0;
    std::uint64_t really_ns = 0;
};

TEST_F(RoundsTakeovers, APortIsHeldForASecondAndAnAddressForTheMemberTimeout) {
    identities_hold = false;
    dropped(offer(contribution(0, 0)));
    expect_held_for(1'000 * ms, path_of(0).source_port(999));
    expect_held_for(4'000 * ms, path_of(1));
}

} // namespace
} // namespace olaf::test::rounds_patience_test
