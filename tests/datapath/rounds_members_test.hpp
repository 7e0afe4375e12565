// SPDX-License-Identifier: BSD-2-Clause
// What tests of members share: a job of three, and its CONTROL messages.
#pragma once

#include <bpf/bpf.h>

#include "rounds_test.hpp"

namespace olaf::test {

inline constexpr std::uint64_t stamp = 5'000;

inline olaf_job_setup three_children() {
    auto setup = small_job();
    setup.children = setup.threshold = 3;
    return setup;
}

class RoundsMembers : public RoundsTest {
  protected:
    /// Shorter than a guest has been up: its clock starts at 0, and a silence must fit before now.
    static DatapathConfig with_short_timeout() {
        auto config = queue_with_rounds();
        config.member_timeout_ns = 10'000'000'000;
        return config;
    }
    RoundsMembers() : RoundsTest(three_children(), with_short_timeout()) {
        identities_hold = false; // members change: a result isn't owed to all children
    }
    [[nodiscard]] olaf_child child(std::uint32_t rank) const {
        olaf_child value{};
        EXPECT_EQ(bpf_map_lookup_elem(queue.queue().map_fd("olaf_children"), &rank, &value), 0);
        return value;
    }
    void set_child(std::uint32_t rank, const olaf_child &value) {
        ASSERT_EQ(bpf_map_update_elem(queue.queue().map_fd("olaf_children"), &rank, &value, BPF_ANY),
                  0);
    }
    /// The rank is no member yet, as `olaf job set --absent` has it.
    void without(std::uint32_t rank) {
        auto value = job();
        value.membership.away = 1;
        value.membership.absent[0].word[0] = value.membership.absent[1].word[0] = 1ull << rank;
        set_job(value);
    }
    JobMessage order(std::uint32_t action, std::uint32_t rank, std::uint32_t round = 0,
                     std::uint64_t at = stamp, std::uint32_t value = 0) {
        const auto ran = offer({.type = OLAF_CONTROL, .flags = 0, .rank = rank, .round = round,
                                .count = action, .generated_ns = at, .chunk = 0, .chunks = value,
                                .generation = job_generation});
        const auto answer = sent_to(rank, ran);
        EXPECT_EQ(answer.type, OLAF_CONTROL);
        EXPECT_EQ(answer.flags, OLAF_FLAG_ANSWER);
        EXPECT_EQ(answer.count, action);
        EXPECT_EQ(answer.generated_ns, at);
        return answer;
    }
    /// How many contributions were added by offering this one.
    std::uint64_t added(std::uint32_t rank, std::uint32_t chunk, std::uint32_t round) {
        const auto before = counters().added;
        offer(contribution(rank, chunk, round));
        return counters().added - before;
    }
    /// The result of a chunk as a repetition of a rank's gets it.
    JobMessage asked_again(std::uint32_t rank, std::uint32_t chunk, std::uint32_t round) {
        return sent_to(rank, offer(contribution(rank, chunk, round)));
    }
    /// Two members sum twice as many chunks of a round as there are slots: what changed is settled then.
    void settle(std::uint32_t round) {
        for (std::uint32_t i = 0; i < 2 * setup.slots; i++) {
            EXPECT_NE(job().membership.unsettled, 0u) << "after " << i << " chunks";
            EXPECT_EQ(added(0, i, round), 1u);
            EXPECT_EQ(added(1, i, round), 1u);
        }
        EXPECT_EQ(job().membership.unsettled, 0u);
    }
};

} // namespace olaf::test
