// SPDX-License-Identifier: BSD-2-Clause
// What tests of rounds share: a queue with slots for them, a job, and its children's frames.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "harness.hpp"
#include "olaf/rounds.h"

namespace olaf::test {

inline constexpr std::uint32_t job_id = 7;
inline constexpr std::uint32_t job_generation = 100;
inline constexpr std::uint16_t checked_i32 = OLAF_FLAG_CHECKSUM;

/// A root of two children with four slots of four lanes and a checksum lane.
inline olaf_job_setup small_job() {
    olaf_job_setup setup{};
    setup.id = job_id;
    setup.children = 2;
    setup.threshold = 2;
    setup.max_count = 256;
    setup.slots = 4;
    setup.pool = 2;
    setup.lanes = 5;
    setup.shape = checked_i32;
    return setup;
}

/// The same job, of so many children.
inline olaf_job_setup job_of(std::uint32_t children) {
    auto setup = small_job();
    setup.children = setup.threshold = children;
    return setup;
}

/// The same job, of floats.
inline olaf_job_setup of_floats(olaf_job_setup setup) {
    setup.shape = OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT;
    setup.float_bits = OLAF_DEFAULT_FLOAT_BITS;
    setup.float_headroom = 8;
    return setup;
}

/// The run of processes that name no other.
inline constexpr olaf_run some_run = {.training = 0x7a19, .number = 3};

/// What a SYNC of a rank's has for lanes, or a JOIN: a process of its own, in which session, and of which run.
inline std::vector<std::uint64_t> process(std::uint32_t rank, std::uint64_t session = 0,
                                          const olaf_run &run = some_run) {
    return {0x1234567800000001ull << (rank % 20), session, run.training, run.number};
}

inline DatapathConfig queue_with_rounds(std::uint32_t max_lanes = 64) {
    return {.queue_capacity = 4, .max_clusters = 8, .max_lanes = max_lanes, .round_slots = 64};
}

/// Parameters of the suites that run by IPv4 and by IPv6, and their names.
inline const auto both_families = testing::Values(4, 6);
inline std::string family_name(const testing::TestParamInfo<int> &info) {
    return "Ipv" + std::to_string(info.param);
}

class RoundsTest : public testing::Test {
  protected:
    explicit RoundsTest(const olaf_job_setup &setup = small_job(),
                        const DatapathConfig &config = queue_with_rounds());
    void TearDown() override;

    /// The job runs, and its children know its generation.
    void begin(const olaf_job_setup &setup);

    /// A contribution whose lanes are made from rank, round and chunk.
    [[nodiscard]] JobMessage contribution(std::uint32_t rank, std::uint32_t chunk,
                                          std::uint32_t round = 0) const;
    /// The sum of such contributions, with its checksum lane.
    [[nodiscard]] std::vector<std::uint64_t> sum_of(std::vector<std::uint32_t> ranks,
                                                    std::uint32_t chunk,
                                                    std::uint32_t round = 0) const;

    /// Where a child sends from: one host and MAC address a rank.
    static Path path_of(std::uint32_t rank, int family = 4);

    Ran offer(const JobMessage &message, int family = 4) {
        return queue.offer(path_of(message.rank, family).carrying(message));
    }
    Ran offer(const JobMessage &message, const Path &path) { return queue.offer(path.carrying(message)); }

    /// The rank asks for a sum that isn't there: from now on it is bound to where its frames come from, and may
    /// give orders.
    void bind(std::uint32_t rank);

    /// What a frame became: a message that leaves by the device it came by. None: the test has failed.
    static std::optional<ReceivedJobMessage> sent_back(const Ran &ran);
    /// The same, to the child that it names.
    JobMessage sent_to(std::uint32_t rank, const Ran &ran, int family = 4);
    static void dropped(const Ran &ran) { EXPECT_STREQ(verdict_name(ran.verdict), "XDP_DROP"); }

    /// The result of a chunk, as it should be.
    [[nodiscard]] JobMessage result(std::uint32_t rank, const std::vector<std::uint32_t> &from,
                                    std::uint32_t chunk, std::uint32_t round = 0) const;

    [[nodiscard]] olaf_job job() const;
    void set_job(const olaf_job &job);
    [[nodiscard]] olaf_round_slot slot(std::uint32_t index) const;
    void set_slot(std::uint32_t index, const olaf_round_slot &slot);
    [[nodiscard]] olaf_job_counters counters() const;
    /// Deliveries that are owed now.
    [[nodiscard]] std::uint64_t owed() const;

    Harness queue;
    olaf_job_setup setup{};
    bool identities_hold = true; ///< false: no equation between chunks and deliveries
};

} // namespace olaf::test
