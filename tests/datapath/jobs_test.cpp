// SPDX-License-Identifier: BSD-2-Clause
// Orders about jobs, obeyed by the program that takes the locks XDP takes.
#include "jobs_test.hpp"

namespace olaf::test::jobs_test {
namespace {

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
    older.asked.word[1] = 2;
    for (auto &line : older.line)
        line = {.lock = 0, .head = 7, .tail = 9, .pad = {}};
    write("olaf_jobs", job_index, older);
    olaf_child child{};
    child.member.family = 4;
    child.member.sequence = 2;
    child.stamp = child.newest_ns = 3;
    write("olaf_children", olaf_child_index(job_index, 255), child);
    for (const std::uint32_t i : {3, 4, 11, 12})
        open_buffer(i, 9, 1);
    auto done = slot(4);
    done.buffer[0].state = OLAF_ROUND_DONE;
    done.buffer[0].owed.word[2] = 5;
    write("olaf_round_slots", 4, done);

    EXPECT_EQ(order(setting()), 0);
    const auto set = job();
    EXPECT_EQ(set.halted | set.flushing | set.parent_generation, 0u);
    EXPECT_EQ(set.pool, 3u);
    EXPECT_EQ(set.stamp | set.turnaround_ns | set.asked.word[1], 0u);
    for (const auto &line : set.line)
        EXPECT_EQ(line.head, line.tail);
    const auto forgotten = read<olaf_child>("olaf_children", olaf_child_index(job_index, 255));
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
    EXPECT_EQ(read<olaf_job>("olaf_jobs", 7).state, OLAF_JOB_NONE);
    EXPECT_EQ(index_of(79), -1);
    EXPECT_EQ(order(OLAF_JOB_RESET, 7), ENOENT);
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
    write("olaf_jobs", job_index, running);
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
    auto child = read<olaf_child>("olaf_children", olaf_child_index(job_index, 69));
    child.member.last_seen_ns = 99;
    write("olaf_children", olaf_child_index(job_index, 69), child);
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
    write("olaf_round_slots", 5, held);
    open_buffer(4, 1000, 2);
    olaf_job_desk paper{};
    paper.order.action = OLAF_JOB_FLUSH;
    paper.order.index = job_index;
    write("olaf_job_desk", 0, paper);
    run_xdp(queue.queue().program_fd("olaf_job_order"), Bytes(64));
    EXPECT_EQ(read<olaf_job_desk>("olaf_job_desk", 0).answer, -EAGAIN);
    EXPECT_EQ(slot(4).buffer[1].state, OLAF_ROUND_DONE); // the others all the same
    EXPECT_EQ(slot(5).lock, 1u) << "given back by one who didn't take it";
    held.lock = 0;
    write("olaf_round_slots", 5, held);
    EXPECT_EQ(order(OLAF_JOB_FLUSH), 0);
}

} // namespace
} // namespace olaf::test::jobs_test
