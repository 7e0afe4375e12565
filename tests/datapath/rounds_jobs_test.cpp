// SPDX-License-Identifier: BSD-2-Clause
// Jobs beside each other: a CPU looks first at the job that it saw last, and takes no other's for it.
#include <bpf/bpf.h>
#include <sched.h>

#include "rounds.hpp"

namespace olaf::test::rounds_jobs_test {
namespace {

constexpr std::uint32_t other_id = 9, other_index = 3;

class RoundsOfTwoJobs : public RoundsTest {
  protected:
    RoundsOfTwoJobs() {
        // One CPU sees it all.
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(0, &set);
        sched_setaffinity(0, sizeof set, &set);
        auto other = job();
        other.setup.id = other_id;
        other.setup.first_slot = setup.slots;
        write("olaf_jobs", other_index, other);
        write("olaf_job_ids", other_id, other_index);
    }
    template <class T> void write(const char *map, std::uint32_t key, const T &value) {
        ASSERT_EQ(bpf_map_update_elem(queue.queue().map_fd(map), &key, &value, BPF_ANY), 0) << map;
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
    write("olaf_jobs", 5, moved);
    write("olaf_job_ids", setup.id, std::uint32_t{5});
    dropped(offer(contribution(1, 0)));
    EXPECT_EQ(slot(2 * setup.slots).buffer[0].added, 1u);
    identities_hold = false; // counters are those of the job's old place
}

} // namespace
} // namespace olaf::test::rounds_jobs_test
