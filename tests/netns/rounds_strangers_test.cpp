// SPDX-License-Identifier: BSD-2-Clause
// Strangers to a job: what they send stops no member, takes no rank, and isn't saved as the operator's wish. One frame
// at a time in each way: tests/datapath/rounds_strangers_test.cpp.
#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <string>

#include <olaf/run.h>

#include "rounds.hpp"
#include "tests/patience.hpp"

namespace olaf::test::rounds_strangers_test {
namespace {

constexpr std::uint32_t orders[] = {OLAF_CONTROL_LEAVE, OLAF_CONTROL_SETH,   OLAF_CONTROL_FBCAST,
                                    OLAF_CONTROL_HALT,  OLAF_CONTROL_RESUME, OLAF_CONTROL_RESET};

JobMessage order(std::uint32_t action, std::uint32_t rank, std::uint32_t generation) {
    return {.type = OLAF_CONTROL, .flags = 0, .job = rounds_job, .rank = rank, .round = 0, .count = action,
            .generated_ns = 1, .chunk = 0, .chunks = action == OLAF_CONTROL_SETH ? 1u : 0u, .generation = generation};
}

/// A SYNC or JOIN of a process of that training.
JobMessage question(std::uint32_t action, std::uint32_t rank, const std::string &training, std::uint32_t generation = 0) {
    auto message = order(action, rank, generation);
    message.pool = 6;
    message.lanes = {rank + 1, 0, olaf_training_id(training.data(), static_cast<__u32>(training.size())), 0};
    return message;
}

/// The fields of an answer that matter here.
std::uint32_t generation_in(const Datagram &answer) { return static_cast<std::uint32_t>(get_be(answer.payload, 40, 4)); }
std::uint64_t status_in(const Datagram &answer) { return get_be(answer.payload, 44, 2); }

/// Two members sum before and behind what a stranger does meanwhile.
void disturb_between_sums(const RoundsBed &bed, const std::function<void()> &stranger) {
    std::barrier<> all(2);
    bed.for_each_worker([&](Collective &collective, unsigned worker) {
        Together together(all);
        sum_round(collective, worker, 2, 0, member_elements);
        together.wait();
        const auto before = bed.job();
        if (worker == 0) {
            stranger();
            const auto job = bed.job();
            EXPECT_EQ(job["state"], "running");
            for (const auto *same : {"generation", "threshold", "absent"})
                EXPECT_EQ(job[same], before[same]) << same;
        }
        together.wait();
        sum_round(collective, worker, 2, 1, member_elements);
    });
}

std::uint64_t refused(const RoundsBed &bed) {
    return bed.olaf.status().json.at("not_allowed_by_reason").at("job_source").get<std::uint64_t>();
}

TEST(RoundsStrangers, AnOrderFromAnotherProcessOfASilentMembersHostStopsNobody) {
    const RoundsBed bed({.workers = 2});
    disturb_between_sums(bed, [&] {
        const UdpSocket other(bed.worker, Testbed::worker_peer(4));
        const auto right = bed.job()["generation"].get<std::uint32_t>();
        for (const auto generation : {0u, right})
            for (const auto action : orders) {
                // Until the member's port is nobody's, behind a second of its silence, nothing is answered.
                std::optional<Datagram> answer;
                await(
                    [&] {
                        other.send(message(order(action, 0, generation)), bed.target(4));
                        return (answer = other.poll(std::chrono::milliseconds(20))).has_value();
                    },
                    [] { return std::string("an answer to an order"); });
                EXPECT_EQ(status_in(*answer), OLAF_CONTROL_OLD) << action;
                EXPECT_EQ(generation_in(*answer), 0u) << action;
            }
    });
    EXPECT_GE(refused(bed), 2 * std::size(orders));
}

TEST(RoundsStrangers, AnOrderWithAMembersAddressAndPortStopsNobody) {
    const RoundsBed bed({.workers = 2});
    disturb_between_sums(bed, [&] {
        const PacketSocket wire(bed.worker, "eth0");
        const auto text = bed.job()["members"][0]["address"].get<std::string>();
        const auto port = static_cast<std::uint16_t>(std::stoul(text.substr(text.rfind(':') + 1)));
        const auto right = bed.job()["generation"].get<std::uint32_t>();
        const auto before = bed.job()["controls"].get<std::uint64_t>();
        std::uint64_t sent = 0;
        for (const auto guess : {0u, right - 1, right + 1})
            for (const auto action : orders) {
                wire.send(bed.path(4).source_port(port).carrying(order(action, 0, guess)));
                sent++;
            }
        await([&] { return bed.job()["controls"].get<std::uint64_t>() == before + sent; },
              [&] { return "the node to hear " + std::to_string(sent) + " orders: " + bed.job().dump(); });
    });
}

TEST(RoundsStrangers, AJoinOfAnAbsentRankByAStrangerIsNoMembers) {
    const RoundsBed bed({.workers = 3, .set = {"--absent", "2"}});
    constexpr unsigned members = 0b011;
    Summing summing(bed, {0, 1});
    summing.await_sum_of(members);
    const UdpSocket stranger(bed.worker, Testbed::worker_peer(4));
    for (const auto generation : {0u, bed.job()["generation"].get<std::uint32_t>()}) {
        stranger.send(message(question(OLAF_CONTROL_JOIN, 2, "another", generation)), bed.target(4));
        const auto answer = stranger.receive();
        EXPECT_EQ(status_in(answer), OLAF_CONTROL_OTHER);
        EXPECT_EQ(generation_in(answer), 0u);
    }
    // Of the training, but from where no answer comes to: it can't name the generation.
    const auto before = bed.job()["controls"].get<std::uint64_t>();
    const PacketSocket wire(bed.worker, "eth0");
    wire.send(bed.path(4).source(77).carrying(question(OLAF_CONTROL_JOIN, 2, "test")));
    await([&] { return bed.job()["controls"].get<std::uint64_t>() == before + 1; },
          [&] { return "the node to hear a JOIN: " + bed.job().dump(); });
    EXPECT_EQ(bed.job()["absent"], nlohmann::json::parse("[2]"));
    summing.await_sum_of(members);
    summing.expect_to_end_well();
}

TEST(RoundsStrangers, AThresholdThatAWorkerSetsIsNotTheOperators) {
    const RoundsBed bed({.workers = 2});
    const UdpSocket members[] = {{bed.worker, Testbed::worker_peer(4)}, {bed.worker, Testbed::worker_peer(4)}};
    std::uint32_t generation = 0;
    for (std::uint32_t rank = 0; rank < 2; rank++) {
        members[rank].send(message(question(OLAF_CONTROL_SYNC, rank, "test")), bed.target(4));
        generation = generation_in(members[rank].receive());
    }
    members[0].send(message(order(OLAF_CONTROL_SETH, 0, generation)), bed.target(4));
    EXPECT_EQ(status_in(members[0].receive()), OLAF_CONTROL_DONE);
    EXPECT_EQ(bed.job()["threshold"], 1);
    EXPECT_EQ(bed.job()["set_threshold"], 2);
    EXPECT_TRUE(says(bed.olaf({"job", "list", "in", "7"}).out, "1 complete a chunk (a worker said so; set: 2)"));
    bed.order("threshold", {"1"});
    EXPECT_EQ(bed.job()["set_threshold"], 1);
    EXPECT_FALSE(says(bed.olaf({"job", "list", "in", "7"}).out, "a worker said so"));
}

} // namespace
} // namespace olaf::test::rounds_strangers_test
