// SPDX-License-Identifier: BSD-2-Clause
// A queue with room for jobs, and what a command orders about them.
#pragma once

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "harness.hpp"
#include "loader/datapath/jobs.hpp"

namespace olaf::test {

inline constexpr std::uint32_t slots = 16, job_index = 5;

class Jobs : public testing::Test {
  protected:
    template <class T> T read(const char *map, std::uint32_t key) const {
        T value{};
        EXPECT_EQ(bpf_map_lookup_elem(queue.queue().map_fd(map), &key, &value), 0) << map;
        return value;
    }
    template <class T> void write(const char *map, std::uint32_t key, const T &value) {
        ASSERT_EQ(bpf_map_update_elem(queue.queue().map_fd(map), &key, &value, BPF_ANY), 0) << map;
    }
    [[nodiscard]] olaf_job job() const { return read<olaf_job>("olaf_jobs", job_index); }
    [[nodiscard]] olaf_round_slot slot(std::uint32_t i) const {
        return read<olaf_round_slot>("olaf_round_slots", i);
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
        write("olaf_round_slots", index, at);
        std::vector<std::uint64_t> lanes(
            OLAF_ROUND_LANES_BYTES(queue.config().max_lanes) / 8 + 1);
        for (std::uint64_t i = 0; i < 6; i++) // two more than the job has
            lanes[i] = (i + 1) << 32 | 10;
        const std::uint32_t key =
            olaf_round_lanes_of(olaf_round_buffer_of(index, 1), queue.config().round_slots);
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

} // namespace olaf::test
