// SPDX-License-Identifier: BSD-2-Clause
// Nobody says how long a job's frames are: the node takes what its MTU has room for, jumbo frames too,
// and workers learn it from the node. Where the way is too narrow, they are told at once.
#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "rounds.hpp"

namespace olaf::test::rounds_shape_test {
namespace {

constexpr std::size_t elements = 20'000;

class RoundsShape : public testing::TestWithParam<unsigned> {
  protected:
    Testbed bed{{.way = Way::local, .mtu = GetParam()}};
    void attach_with_job() {
        bed.attach({"--round-slots", "64"});
        const auto set = bed.olaf({"job", "set", "in", std::to_string(rounds_job), "--children",
                                   "2", "--format", "i64x1"});
        ASSERT_EQ(set.status, 0) << set.err;
    }
    static void as_integers(CollectiveOptions &options) { options.format = Format::i64x1; }
};

TEST_P(RoundsShape, IsFoundFromTheMtu) {
    attach_with_job();
    const unsigned lanes = (GetParam() - 40 - 8 - 48) / 8;
    EXPECT_EQ(job_status(bed).at("lanes"), lanes);
    for_each_worker(
        bed, 2,
        [&](Collective &collective, unsigned rank) {
            auto vector = part_of(rank, 0, elements);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            EXPECT_EQ(vector, sum_of(2, 0, elements));
            EXPECT_EQ(report->chunks, (elements + lanes - 2) / (lanes - 1));
        },
        as_integers);
    expect_job_identities(job_status(bed));
}

TEST_P(RoundsShape, ThatTheWorkersDeviceHasNoRoomForIsToldAtOnce) {
    attach_with_job();
    bed.worker.ip("link set eth0 mtu 1400\n");
    std::vector<std::jthread> threads;
    for (unsigned rank = 0; rank < 2; rank++)
        threads.emplace_back([&, rank] {
            const Inside inside(bed.worker);
            CollectiveOptions options{.node = Address::resolve(bed.target(4).address).value(),
                                      .job = rounds_job, .rank = rank, .workers = 2};
            as_integers(options);
            auto collective = Collective::make(options).value();
            const auto joined = collective.join();
            ASSERT_FALSE(joined);
            EXPECT_EQ(joined.error().code, EMSGSIZE) << "not that time is up";
            const auto text = joined.error().message();
            EXPECT_NE(text.find("the way to the node has an MTU of 1400"), std::string::npos) << text;
            EXPECT_NE(text.find("--lanes 165"), std::string::npos) << text;
        });
}

INSTANTIATE_TEST_SUITE_P(OfFrames, RoundsShape, testing::Values(1500, 9000),
                         [](const auto &info) { return "Mtu" + std::to_string(info.param); });

} // namespace
} // namespace olaf::test::rounds_shape_test
