// SPDX-License-Identifier: BSD-2-Clause
// olaf::Collective end to end over loopback, against the model of the node.
#include "collective_test.hpp"

namespace olaf::test::collective_test {
namespace {

using namespace olaf;
using namespace olaf::test;

TEST(Collective, SumsIntegersExactly) {
    const Job job(3);
    job.all([](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        for (std::int64_t round = 0; round < 5; round++) {
            std::vector<std::int64_t> wide(100);
            std::vector<std::int32_t> narrow(101);
            for (std::size_t i = 0; i < wide.size(); i++)
                wide[i] = (std::int64_t{1} << (i % 60)) * (rank == 1 ? -1 : 3) + round;
            for (std::size_t i = 0; i < narrow.size(); i++)
                narrow[i] = static_cast<std::int32_t>(1000 * rank) - 1500 * (i % 2 ? 1 : -1);
            const auto report = collective.allreduce(std::span(wide));
            ASSERT_TRUE(report) << report.error().message();
            ASSERT_TRUE(collective.allreduce(std::span(narrow)));
            for (std::size_t i = 0; i < wide.size(); i++)
                ASSERT_EQ(wide[i], (std::int64_t{1} << (i % 60)) * 5 + 3 * round);
            for (std::size_t i = 0; i < narrow.size(); i++)
                ASSERT_EQ(narrow[i], 3000 - 4500 * (i % 2 ? 1 : -1));
            EXPECT_EQ(report->least_count, 3U);
            EXPECT_EQ(report->chunks, 13U);
            EXPECT_EQ(report->partial + report->late, 0U);
        }
    });
}

TEST(Collective, DividesByThoseWhoAreInTheSum) {
    Job job(3);
    const auto mean = [](Collective &collective, std::uint32_t rank) {
        std::vector<float> vector(100, static_cast<float>(3 * rank) + 0.5F);
        const auto report = collective.allreduce(std::span(vector), Combine::mean);
        EXPECT_TRUE(report) << report.error().message();
        return vector;
    };
    job.all([&](Collective &collective, std::uint32_t rank) {
        EXPECT_EQ(mean(collective, rank), std::vector<float>(100, 3.5F));
    });
    job.server.set_threshold(1);
    std::atomic<bool> over = false;
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        if (rank != 1)
            return over.wait(false);
        EXPECT_EQ(mean(collective, rank), std::vector<float>(100, 3.5F)) << "of rank 1 alone";
        over = true;
        over.notify_all();
    });
}

TEST(Collective, FloatsThatTheNodeAddsNeedNoExponent) {
    const Job job(1, 0, {.format = Format::f32x2, .checksum = false});
    job.all([](Collective &collective, std::uint32_t) {
        ASSERT_TRUE(collective.join());
        std::vector<float> vector(101, 1.5F);
        vector[3] = std::numeric_limits<float>::quiet_NaN();
        const auto report = collective.allreduce(std::span(vector), Combine::mean);
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(report->chunks, 6U) << "18 floats each";
        EXPECT_EQ(report->not_finite, 1U);
        EXPECT_NE(vector[3], vector[3]);
        vector[3] = 1.5F;
        EXPECT_EQ(vector, std::vector<float>(101, 1.5F));
        std::vector<std::int64_t> integers(3);
        EXPECT_FALSE(collective.allreduce_async(std::span(integers)));
        EXPECT_TRUE(collective.leave());
    });
}

TEST(Collective, SeveralVectorsAreUnderWayAndEndInOrder) {
    const Job job(2);
    job.all([](Collective &collective, std::uint32_t rank) {
        std::vector<std::vector<float>> vectors;
        for (std::size_t size : {1U, 400U, 0U, 17U, 64U})
            vectors.emplace_back(size, 1.0F + static_cast<float>(rank));
        std::vector<Collective::Operation> operations;
        for (std::vector<float> &vector : vectors)
            operations.push_back(collective.allreduce_async(std::span(vector)).value());
        ASSERT_TRUE(operations[3].wait());
        EXPECT_TRUE(operations[0].done() && operations[1].done() && operations[2].done());
        for (const std::size_t i : {4, 0, 2, 1}) {
            const auto report = operations[i].wait();
            ASSERT_TRUE(report) << report.error().message();
        }
        EXPECT_FALSE(operations[3].wait()) << "it was waited for";
        for (const std::vector<float> &vector : vectors)
            EXPECT_EQ(vector, std::vector<float>(vector.size(), 3.0F));
    });
}

TEST(Collective, SurvivesLossAndANodeThatForgets) {
    Job job(3, 0.02);
    job.server.restart_after(700);
    job.all([](Collective &collective, std::uint32_t rank) {
        for (std::int64_t round = 0; round < 30; round++) {
            std::vector<std::int64_t> vector(160, rank + 100 * round);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            ASSERT_EQ(vector, std::vector<std::int64_t>(160, 3 + 300 * round));
        }
        EXPECT_EQ(collective.stats().agreed, 2U);
        EXPECT_GT(collective.stats().repeated, 0U);
        EXPECT_EQ(collective.stats().rejected.total(), 0U);
    });
}

// A job that goes on without a slow worker.
TEST(Collective, SaysWhoseSumsAreNotOfAll) {
    Job job(2);
    job.server.set_threshold(1);
    std::atomic<bool> over = false;
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        std::vector<std::int64_t> vector(16, rank + 1);
        if (rank == 1)
            over.wait(false);
        const auto report = collective.allreduce(std::span(vector));
        over = true;
        over.notify_all();
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(vector, std::vector<std::int64_t>(16, 1)) << "of rank 0 alone";
        EXPECT_EQ(report->partial, 2U);
        EXPECT_EQ(report->late, 2 * rank);
        EXPECT_EQ(report->least_count, 1U);
    });
}

TEST(Collective, WhatTheOthersHaveLeftBehindFailsAlone) {
    Job job(2);
    job.server.set_threshold(1);
    std::atomic<bool> over = false;
    job.all([&](Collective &collective, std::uint32_t rank) {
        ASSERT_TRUE(collective.join());
        std::vector<float> vector(160, 1.0F);
        if (rank == 1) {
            over.wait(false);
            const auto missed = collective.allreduce(std::span(vector));
            ASSERT_FALSE(missed);
            EXPECT_NE(missed.error().message().find("were summed without this worker"),
                      std::string::npos)
                << missed.error().message();
            for (int round = 1; round < 9; round++)
                static_cast<void>(collective.allreduce(std::span(vector)));
            EXPECT_GT(collective.stats().late, 0U) << "it has caught up";
            return;
        }
        for (int round = 0; round < 9; round++)
            ASSERT_TRUE(collective.allreduce(std::span(vector)));
        over = true;
        over.notify_all();
    });
}

TEST(Collective, ATimeoutNamesWhoIsMissing) {
    const Job job(3, 0, {.timeout = std::chrono::milliseconds(500)});
    std::atomic<unsigned> told = 0;
    job.all([&](Collective &collective, std::uint32_t rank) {
        std::vector<std::int64_t> vector(40, 1);
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        if (rank != 1) {
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_FALSE(report);
            EXPECT_EQ(report.error().code, ETIMEDOUT);
            EXPECT_NE(report.error().message().find("rank 1 hasn't asked"), std::string::npos)
                << report.error().message();
            told++;
            told.notify_all();
        } else {
            for (unsigned seen = told; seen < 2; seen = told)
                told.wait(seen);
        }
    });
}

TEST(Collective, AWorkerThatComesWhileTheOthersAskWhoIsMissingIsNone) {
    Job job(2, 0, {.timeout = std::chrono::seconds(1)});
    job.all([&](Collective &collective, std::uint32_t rank) {
        std::vector<std::int64_t> vector(40, 1);
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        if (rank == 1) {
            const auto before = job.server.counters().stopped;
            while (job.server.counters().stopped == before)
                std::this_thread::yield();
        }
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(vector, std::vector<std::int64_t>(40, 4));
    });
}

TEST(Collective, MistakesOfTheCallerAreErrors) {
    const CollectiveOptions good = {.node = Address::resolve("127.0.0.1").value(), .workers = 2};
    EXPECT_TRUE(Collective::make(good));
    const auto refused = [&](auto change, const std::string &why) {
        CollectiveOptions options = good;
        change(options);
        const auto made = Collective::make(options);
        ASSERT_FALSE(made);
        EXPECT_NE(made.error().message().find(why), std::string::npos) << made.error().message();
    };
    refused([](auto &o) { o.workers = 0; }, "how many workers");
    refused([](auto &o) { o.job = OLAF_EVERY_WORKER; }, "nobody's");
    refused([](auto &o) { o.rank = 256; }, "ranks are 0 to 255");
    refused([](auto &o) { o.format = static_cast<Format>(4); }, "unknown");
    refused([](auto &o) { o.lanes = 1; }, "room for");
    refused(
        [](auto &o) {
            o.mtu = 1500;
            o.lanes = 1000;
        },
        "room for 178");
    refused(
        [](auto &o) {
            o.format = Format::f32x2;
            o.mtu = 9000;
            o.lanes = 577;
        },
        "room for 576");
    refused([](auto &o) { o.ahead = 0; }, "ahead");
    refused([](auto &o) { o.node = {}; }, "");
    refused([](auto &o) { o.group = o.node; }, "it isn't a multicast address");
    refused([](auto &o) { o.group = Address::resolve("ff02::7").value(); },
            "it isn't of the IP version of the node");
    CollectiveOptions narrow = good;
    narrow.format = Format::i16x4;
    auto collective = Collective::make(narrow).value();
    std::vector<std::int32_t> integers(3);
    EXPECT_FALSE(collective.allreduce_async(std::span(integers)));
}

} // namespace
} // namespace olaf::test::collective_test
