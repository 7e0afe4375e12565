// SPDX-License-Identifier: BSD-2-Clause
// What a job's members get when the queue goes.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "rounds.hpp"

namespace olaf::test::rounds_detach_test {
namespace {

constexpr unsigned lanes = 5, chunks = 10, open_chunks = 2;

std::uint32_t word_at(const Bytes &bytes, std::size_t offset) {
    return static_cast<std::uint32_t>(bytes.at(offset)) << 24 | bytes.at(offset + 1) << 16 |
           bytes.at(offset + 2) << 8 | bytes.at(offset + 3);
}

/// Two members of a job that have contributed all of some chunks, and one of them the next ones. The
/// frames of the second one carried a result each; as many are owed.
class RoundsAtDetach : public testing::TestWithParam<std::tuple<int, const char *>> {
  protected:
    RoundsAtDetach() {
        bed.attach({"--round-slots", "64", "--mode", std::get<1>(GetParam())});
        set_job(bed, 2, lanes);
        for (const std::uint32_t rank : {0u, 1u})
            contribute({.type = OLAF_CONTROL, .flags = 0, .rank = rank,
                        .count = OLAF_CONTROL_SYNC, .chunks = 0, .generation = 0, .pool = 6});
        for (const auto *member : members)
            (void)member->receive();
        const std::uint32_t generation = job_status(bed).at("generation");
        for (const std::uint32_t rank : {0u, 1u})
            for (std::uint32_t chunk = 0; chunk < chunks + (rank == 0 ? open_chunks : 0); chunk++) {
                JobMessage message{.rank = rank, .chunk = chunk, .generation = generation,
                                   .lanes = {1, 2, 3, 4}};
                message.lanes.push_back(checksum_lane(message.lanes));
                contribute(message);
            }
        bed.olaf.await([](const Status &status) {
            return status.json.at("jobs").at(0).at("contributions").at("added") ==
                   2 * chunks + open_chunks;
        });
        expect_jobs_add_up(bed.olaf);
    }
    void contribute(const JobMessage &message) const {
        members[message.rank]->send(test::message(message), bed.target(std::get<0>(GetParam())));
    }
    /// Results that are there, by rank and chunk, and how often.
    std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned> results() const {
        std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned> found;
        for (std::uint32_t rank = 0; rank < 2; rank++)
            while (const auto got = members[rank]->poll(std::chrono::milliseconds(0)))
                if (got->payload.at(3) == OLAF_RESULT) {
                    EXPECT_EQ(word_at(got->payload, 12), rank);
                    found[{rank, word_at(got->payload, 32)}]++;
                }
        return found;
    }
    nlohmann::json detach() {
        const auto outcome = bed.olaf({"detach", "in", "--json"});
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        said = outcome.err;
        return nlohmann::json::parse(outcome.out);
    }

    Testbed bed{{.way = Way::local, .place = Place::kernel}};
    UdpSocket first{bed.worker, Testbed::worker_peer(std::get<0>(GetParam()), 40000)};
    UdpSocket second{bed.worker, Testbed::worker_peer(std::get<0>(GetParam()), 40001)};
    const UdpSocket *const members[2] = {&first, &second};
    std::string said;
};

INSTANTIATE_TEST_SUITE_P(Of, RoundsAtDetach,
                         testing::Combine(testing::Values(4, 6), testing::Values("native", "skb")),
                         [](const auto &info) {
                             return "Ipv" + std::to_string(std::get<0>(info.param)) +
                                    (std::get<1>(info.param) == std::string("skb") ? "Generic"
                                                                                   : "Native");
                         });

TEST_P(RoundsAtDetach, EveryMemberGetsWhatItIsOwedOnce) {
    ASSERT_EQ(job_status(bed).at("results").at("undelivered"), chunks) << "are owed";
    const auto detached = detach();
    EXPECT_EQ(detached.at("results_dropped"), 0);
    EXPECT_EQ(detached.at("chunks_dropped"), open_chunks);
    EXPECT_NE(said.find("2 chunks of jobs weren't complete"), std::string::npos) << said;
    const auto got = results();
    EXPECT_EQ(got.size(), 2 * chunks);
    for (const auto &[which, times] : got)
        EXPECT_EQ(times, 1u) << "rank " << which.first << ", chunk " << which.second;
}

TEST_P(RoundsAtDetach, WhatCannotLeaveIsSaid) {
    bed.host.ip("link set in down\n");
    const auto detached = detach();
    EXPECT_EQ(detached.at("results_dropped"), chunks);
    EXPECT_NE(said.find("10 results of jobs couldn't be sent"), std::string::npos) << said;
}

} // namespace
} // namespace olaf::test::rounds_detach_test
