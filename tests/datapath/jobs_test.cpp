// SPDX-License-Identifier: BSD-2-Clause
// Orders about jobs, and jobs beside each other.
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "harness.hpp"
#include "loader/datapath/jobs.hpp"
#include "rounds.hpp"
#include "tests/effort.hpp"

namespace olaf::test::jobs_test {
namespace {

// ---- A queue with room for jobs, and what a command orders about them.

constexpr std::uint32_t slots = 16, job_index = 5;

class Jobs : public testing::Test {
  protected:
    [[nodiscard]] olaf_job job() const { return queue.read<olaf_job>("olaf_jobs", job_index); }
    [[nodiscard]] olaf_round_slot slot(std::uint32_t i) const {
        return queue.read<olaf_round_slot>("olaf_round_slots", i);
    }

    /// 0 or the errno with which it was refused.
    int order(olaf_job_order asked) {
        const auto done = olaf::give_order({.program_fd = queue.queue().program_fd("olaf_job_order"),
                                            .desk_fd = queue.queue().map_fd("olaf_job_desk")},
                                           asked, "do", "it");
        return done ? 0 : done.error().code != 0 ? done.error().code : EAGAIN;
    }
    int order(olaf_job_action action, std::uint32_t index = job_index) {
        olaf_job_order asked{};
        asked.action = action;
        asked.index = index;
        return order(asked);
    }
    static olaf_job_order setting(std::uint32_t id = 77, std::uint32_t index = job_index) {
        olaf_job_order asked{};
        asked.action = OLAF_JOB_SET;
        asked.index = index;
        asked.generation = 1000;
        asked.setup.id = id;
        asked.setup.children = 70;
        asked.setup.threshold = 70;
        asked.setup.max_count = 70;
        asked.setup.first_slot = 4;
        asked.setup.slots = 8;
        asked.setup.pool = 3;
        asked.setup.lanes = 4;
        return asked;
    }
    /// The job runs as training 7's run 8, and has the ranks in by that word of their bits.
    olaf_job begin_run(std::uint32_t word, std::uint64_t in) {
        auto running = job();
        running.state = OLAF_JOB_RUNNING;
        running.tenancy.run = {.training = 7, .number = 8};
        running.tenancy.in.word[word] = in;
        running.tenancy.flags = OLAF_TENANCY_USED;
        queue.write("olaf_jobs", job_index, running);
        return running;
    }
    /// Index of the job of that id; -1: none.
    [[nodiscard]] int index_of(std::uint32_t id) const {
        std::uint32_t index = 0;
        return bpf_map_lookup_elem(queue.queue().map_fd("olaf_job_ids"), &id, &index) == 0
                   ? static_cast<int>(index)
                   : -1;
    }
    /// One buffer that gathers, with lanes.
    void open_buffer(std::uint32_t index, std::uint32_t generation, std::uint32_t added) {
        auto at = slot(index);
        at.buffer[1].state = OLAF_ROUND_OPEN;
        at.buffer[1].generation = generation;
        at.buffer[1].added = added;
        at.buffer[1].count = added;
        at.buffer[1].opened_ns = 12345;
        queue.write("olaf_round_slots", index, at);
        std::vector<std::uint64_t> lanes(
            OLAF_ROUND_LANES_BYTES(queue.config().max_lanes) / 8 + 1);
        for (std::uint64_t i = 0; i < 6; i++) // two more than the job has
            lanes[i] = (i + 1) << 32 | 10;
        const std::uint32_t key = queue.config().round_slots + index; // of buffer 1
        ASSERT_EQ(bpf_map_update_elem(queue.queue().map_fd("olaf_round_lanes"), &key, lanes.data(),
                                      BPF_ANY),
                  0);
    }
    [[nodiscard]] olaf::JobReading reading() const {
        const auto all = olaf::read_jobs(
            queue.config(), [&](const char *name) { return queue.queue().map_fd(name); });
        EXPECT_TRUE(all && all->size() == 1u);
        return all && !all->empty() ? all->front() : olaf::JobReading{};
    }

    Harness queue{{.max_clusters = 4, .max_lanes = 16, .round_slots = slots}};
};

// ---- Orders about jobs, obeyed by the program that takes the locks XDP takes.

TEST_F(Jobs, SetMakesAJobWhoseMembersMustAgree) {
    EXPECT_EQ(order(setting()), 0);
    const auto set = job();
    EXPECT_EQ(set.state, OLAF_JOB_SYNCING);
    EXPECT_EQ(set.generation, 1000u);
    EXPECT_EQ(set.setup.id, 77u);
    EXPECT_EQ(set.setup.children, 70u);
    EXPECT_EQ(set.lock, 0u);
    for (const auto &line : set.line)
        EXPECT_EQ(line.lock, 0u);
    EXPECT_EQ(index_of(77), static_cast<int>(job_index));
    EXPECT_EQ(reading().waiting_for().size(), 70u);
}

TEST_F(Jobs, SetLeavesNothingOfAnOlderJob) {
    olaf_job older{};
    older.halted = older.flushing = older.parent_generation = older.pool = 1;
    older.stamp = older.turnaround_ns = 9;
    older.tenancy = {.run = {.training = 1, .number = 2}, .in = {{3}}, .absent = {{4}}, .flags = OLAF_TENANCY_USED,
                     .pad = {}};
    older.asked.word[1] = 2;
    for (auto &line : older.line)
        line = {.lock = 0, .head = 7, .tail = 9, .pad = {}};
    queue.write("olaf_jobs", job_index, older);
    olaf_child child{};
    child.member.family = 4;
    child.member.sequence = 2;
    child.stamp = child.newest_ns = 3;
    queue.write("olaf_children", olaf_child_index(job_index, 255), child);
    for (const std::uint32_t i : {3, 4, 11, 12})
        open_buffer(i, 9, 1);
    auto done = slot(4);
    done.buffer[0].state = OLAF_ROUND_DONE;
    done.buffer[0].owed.word[2] = 5;
    queue.write("olaf_round_slots", 4, done);

    EXPECT_EQ(order(setting()), 0);
    const auto set = job();
    EXPECT_EQ(set.halted | set.flushing | set.parent_generation, 0u);
    EXPECT_EQ(set.pool, 3u);
    EXPECT_EQ(set.tenancy.run.training | set.tenancy.in.word[0] | set.tenancy.flags, 0u);
    EXPECT_EQ(set.stamp | set.turnaround_ns | set.asked.word[1], 0u);
    for (const auto &line : set.line)
        EXPECT_EQ(line.head, line.tail);
    const auto forgotten = queue.read<olaf_child>("olaf_children", olaf_child_index(job_index, 255));
    EXPECT_EQ(forgotten.member.family, 0);
    EXPECT_EQ(forgotten.member.sequence, 4u);
    EXPECT_EQ(forgotten.stamp | forgotten.newest_ns, 0u);
    EXPECT_EQ(slot(4).buffer[0].owed.word[2], 0u);
    for (const std::uint32_t i : {4, 11}) {
        EXPECT_EQ(slot(i).buffer[0].state, OLAF_ROUND_FREE);
        EXPECT_EQ(slot(i).buffer[1].state, OLAF_ROUND_FREE);
        EXPECT_EQ(slot(i).lock, 0u);
    }
    for (const std::uint32_t i : {3, 12}) // of other jobs
        EXPECT_EQ(slot(i).buffer[1].state, OLAF_ROUND_OPEN);
}

TEST_F(Jobs, SetRefusesWhatIsTakenOrUnsound) {
    EXPECT_EQ(order(setting()), 0);
    EXPECT_EQ(order(setting(78)), EBUSY);
    EXPECT_EQ(order(setting(77, 6)), EEXIST);
    const auto refused = [&](auto change) {
        auto asked = setting(79, 7);
        change(asked);
        return order(asked);
    };
    EXPECT_EQ(refused([](auto &asked) { asked.index = OLAF_MAX_JOBS; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.generation = 0; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.setup.id = OLAF_EVERY_WORKER; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.setup.children = 257; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.setup.children = 0; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.setup.slots = 6; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.setup.slots = 4; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.setup.first_slot = 9; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) {
                  asked.setup.first_slot = 0;
                  asked.setup.slots = 32;
                  asked.setup.pool = 5;
              }),
              EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.setup.lanes = 17; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.setup.lanes = 0; }), EINVAL);
    EXPECT_EQ(refused([](auto &asked) { asked.action = 99; }), ENOENT);
    EXPECT_EQ(queue.read<olaf_job>("olaf_jobs", 7).state, OLAF_JOB_NONE);
    EXPECT_EQ(index_of(79), -1);
    EXPECT_EQ(order(OLAF_JOB_RESET, 7), ENOENT);
    EXPECT_EQ(order(OLAF_JOB_RELEASE, 7), ENOENT);
}

TEST_F(Jobs, RemoveFreesItsPlace) {
    EXPECT_EQ(order(setting()), 0);
    open_buffer(4, 1000, 1);
    EXPECT_EQ(order(OLAF_JOB_REMOVE), 0);
    EXPECT_EQ(job().state, OLAF_JOB_NONE);
    EXPECT_EQ(index_of(77), -1);
    EXPECT_EQ(slot(4).buffer[1].state, OLAF_ROUND_FREE);
    EXPECT_EQ(order(OLAF_JOB_REMOVE), 0); // as often as one likes
    EXPECT_EQ(order(setting(78)), 0);
    EXPECT_EQ(order(OLAF_JOB_REMOVE, 9), 0); // never set: job 0, which is elsewhere, isn't meant
}

TEST_F(Jobs, ResetHaltAndResume) {
    EXPECT_EQ(order(setting()), 0);
    auto running = job();
    running.state = OLAF_JOB_RUNNING;
    running.generation = 0xffffffff;
    running.pool = 1;
    running.asked.word[0] = ~0ull;
    queue.write("olaf_jobs", job_index, running);
    EXPECT_EQ(order(OLAF_JOB_HALT), 0);
    EXPECT_EQ(job().halted, 1u);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(order(OLAF_JOB_RESUME), 0);
    EXPECT_EQ(job().halted, 0u);
    EXPECT_EQ(order(OLAF_JOB_RESET), 0);
    EXPECT_EQ(job().state, OLAF_JOB_SYNCING);
    EXPECT_EQ(job().generation, 1u); // 0 says that one knows none
    EXPECT_EQ(job().asked.word[0], 0u);
    EXPECT_EQ(job().pool, 3u);
    EXPECT_EQ(reading().waiting_for().size(), 70u);
}

TEST_F(Jobs, ReleaseTakesTheJobFromItsRunAndStopsNothing) {
    auto asked = setting();
    asked.absent.word[1] = 2;
    EXPECT_EQ(order(asked), 0);
    EXPECT_EQ(job().tenancy.absent.word[1], 2u);
    const auto running = begin_run(3, 5);
    EXPECT_EQ(order(OLAF_JOB_RELEASE), 0);
    EXPECT_EQ(job().tenancy.run.training | job().tenancy.run.number | job().tenancy.in.word[3], 0u);
    EXPECT_EQ(job().tenancy.absent.word[1], 2u);
    EXPECT_EQ(job().tenancy.flags, std::uint32_t{OLAF_TENANCY_USED});
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(job().generation, running.generation);
}

TEST_F(Jobs, ARankThatIsTakenOutIsNobodysInItsRun) {
    EXPECT_EQ(order(setting()), 0);
    begin_run(1, 0b111);
    olaf_job_order asked{};
    asked.action = OLAF_JOB_LEAVE;
    asked.index = job_index;
    asked.rank = 65;
    EXPECT_EQ(order(asked), 0);
    EXPECT_EQ(job().tenancy.in.word[1], 0b101u) << "a process from elsewhere may have it";
    EXPECT_EQ(job().tenancy.run.training, 7u);
    EXPECT_EQ(job().membership.absent[0].word[1], 2u);
}

TEST_F(Jobs, AThresholdIsChangedWhileRoundsGoOn) {
    EXPECT_EQ(order(setting()), 0);
    const auto before = job();
    const auto threshold = [&](std::uint32_t value) {
        olaf_job_order asked{};
        asked.action = OLAF_JOB_THRESHOLD;
        asked.index = job_index;
        asked.setup.threshold = value;
        return order(asked);
    };
    EXPECT_EQ(threshold(69), 0);
    EXPECT_EQ(job().setup.threshold, 69u);
    EXPECT_EQ(job().generation, before.generation) << "nothing is void";
    EXPECT_EQ(threshold(0), EINVAL);
    EXPECT_EQ(threshold(71), EINVAL) << "of 70 children";
    EXPECT_EQ(job().setup.threshold, 69u);
}

TEST_F(Jobs, FlushSealsWhatIsOpen) {
    EXPECT_EQ(order(setting()), 0);
    open_buffer(4, 1000, 2);
    open_buffer(11, 999, 2);  // void
    open_buffer(12, 1000, 2); // another job's
    EXPECT_EQ(reading().open, 1u);
    EXPECT_EQ(order(OLAF_JOB_FLUSH), 0);
    const auto sealed = slot(4).buffer[1];
    EXPECT_EQ(sealed.state, OLAF_ROUND_DONE);
    EXPECT_EQ(sealed.flags, OLAF_FLAG_PARTIAL);
    EXPECT_EQ(sealed.count, 2u);
    EXPECT_EQ(sealed.owed.word[0], ~0ull); // 70 children
    EXPECT_EQ(sealed.owed.word[1], 0x3full);
    EXPECT_EQ(sealed.owed.word[2] | sealed.owed.word[3], 0u);
    EXPECT_EQ(slot(11).buffer[1].state, OLAF_ROUND_OPEN);
    EXPECT_EQ(slot(12).buffer[1].state, OLAF_ROUND_OPEN);
    const auto now = reading();
    EXPECT_EQ(now.counters.completed, 1u);
    EXPECT_EQ(now.counters.partial, 1u);
    EXPECT_EQ(now.open, 0u);
    EXPECT_EQ(now.owed, 70u);
}

TEST_F(Jobs, FlushOfAnInnerNodeWaitsForAFrame) {
    auto asked = setting();
    asked.setup.parent_family = 4;
    EXPECT_EQ(order(asked), 0);
    open_buffer(4, 1000, 2);
    EXPECT_EQ(order(OLAF_JOB_FLUSH), 0);
    EXPECT_EQ(slot(4).buffer[1].state, OLAF_ROUND_OPEN);
    EXPECT_EQ(slot(4).buffer[1].opened_ns, static_cast<std::uint64_t>(OLAF_ROUND_OVERDUE));
    EXPECT_EQ(reading().counters.completed, 0u);
}

TEST_F(Jobs, MembersAreBoundToAddresses) {
    EXPECT_EQ(order(setting()), 0);
    const auto bind = [&](const char *text) {
        return order(olaf::binding_of(job_index, *olaf::parse_member(text)));
    };
    EXPECT_EQ(bind("69=10.0.0.1:1234"), 0);
    EXPECT_EQ(bind("0=fd00::1"), 0);
    EXPECT_EQ(bind("70=10.0.0.1"), EINVAL);
    const auto members = reading().members;
    ASSERT_EQ(members.size(), 2u);
    EXPECT_EQ(olaf::member_address_text(members[0].member), "fd00::1");
    EXPECT_EQ(members[0].member.flags, OLAF_MEMBER_REGISTERED);
    EXPECT_EQ(olaf::member_address_text(members[1].member), "10.0.0.1:1234");
    EXPECT_EQ(members[1].member.flags, OLAF_MEMBER_REGISTERED | OLAF_MEMBER_PORT_BOUND);
    // Who is known by that address stays reachable.
    auto child = queue.read<olaf_child>("olaf_children", olaf_child_index(job_index, 69));
    child.member.last_seen_ns = 99;
    queue.write("olaf_children", olaf_child_index(job_index, 69), child);
    EXPECT_EQ(bind("69=10.0.0.1"), 0);
    EXPECT_EQ(reading().members[1].member.last_seen_ns, 99u);
    EXPECT_EQ(bind("69=10.0.0.2"), 0);
    EXPECT_EQ(reading().members[1].member.last_seen_ns, 0u);
}

/// A CPU that is stopped under a lock: the order isn't done, says so, and can be given again.
TEST_F(Jobs, ALockHeldForEverIsTold) {
    EXPECT_EQ(order(setting()), 0);
    auto held = slot(5);
    held.lock = 1;
    queue.write("olaf_round_slots", 5, held);
    open_buffer(4, 1000, 2);
    olaf_job_desk paper{};
    paper.order.action = OLAF_JOB_FLUSH;
    paper.order.index = job_index;
    queue.write("olaf_job_desk", 0, paper);
    run_xdp(queue.queue().program_fd("olaf_job_order"), Bytes(64));
    EXPECT_EQ(queue.read<olaf_job_desk>("olaf_job_desk", 0).answer, -EAGAIN);
    EXPECT_EQ(slot(4).buffer[1].state, OLAF_ROUND_DONE); // the others all the same
    EXPECT_EQ(slot(5).lock, 1u) << "given back by one who didn't take it";
    held.lock = 0;
    queue.write("olaf_round_slots", 5, held);
    EXPECT_EQ(order(OLAF_JOB_FLUSH), 0);
}

// ---- Jobs beside each other: a CPU looks first at the job that it saw last, and takes no other's for it.

constexpr std::uint32_t other_id = 9, other_index = 3;

class RoundsOfTwoJobs : public RoundsTest {
  protected:
    RoundsOfTwoJobs() {
        // One CPU sees it all.
        pin_to(0);
        auto other = job();
        other.setup.id = other_id;
        other.setup.first_slot = setup.slots;
        queue.write("olaf_jobs", other_index, other);
        queue.write("olaf_job_ids", other_id, other_index);
    }
    JobMessage others(std::uint32_t rank, std::uint32_t chunk) const {
        auto message = contribution(rank, chunk);
        message.job = other_id;
        return message;
    }
    void remove_first() {
        auto gone = job();
        gone.state = OLAF_JOB_NONE; // its setup stays
        set_job(gone);
        ASSERT_EQ(bpf_map_delete_elem(queue.queue().map_fd("olaf_job_ids"), &setup.id), 0);
    }
};

TEST_F(RoundsOfTwoJobs, MessagesInTurnsFindTheirOwn) {
    dropped(offer(contribution(0, 0)));
    dropped(offer(others(0, 0)));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))), result(0, {0, 1}, 0));
    EXPECT_EQ(sent_to(0, offer(others(1, 0))).job, other_id);
    EXPECT_EQ(counters().added, 2u);
    EXPECT_EQ(slot(setup.slots).buffer[0].added, 2u) << "the other's slots are its own";
}

TEST_F(RoundsOfTwoJobs, ARemovedJobIsNotThereThoughItWasSeenLast) {
    dropped(offer(contribution(0, 0)));
    remove_first();
    EXPECT_STREQ(verdict_name(offer(contribution(1, 0)).verdict), "XDP_PASS");
    EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_JOB], 1u);
    EXPECT_EQ(counters().added, 1u);
}

TEST_F(RoundsOfTwoJobs, AJobThatIsSetAnewAtAnotherPlaceIsFoundThere) {
    dropped(offer(contribution(0, 0)));
    auto moved = job();
    remove_first();
    moved.setup.first_slot = 2 * setup.slots;
    queue.write("olaf_jobs", 5, moved);
    queue.write("olaf_job_ids", setup.id, std::uint32_t{5});
    dropped(offer(contribution(1, 0)));
    EXPECT_EQ(slot(2 * setup.slots).buffer[0].added, 1u);
    identities_hold = false; // counters are those of the job's old place
}

} // namespace
} // namespace olaf::test::jobs_test
