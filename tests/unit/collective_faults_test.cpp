// SPDX-License-Identifier: BSD-2-Clause
// What a Collective says when something is missing.
#include "collective_test.hpp"

namespace olaf::test::collective_faults_test {
namespace {

using namespace olaf;
using namespace olaf::test;

CollectiveOptions impatient(std::chrono::milliseconds timeout) {
    return {.timeout = timeout};
}

void expect_says(const Error &error, const std::string &what) {
    EXPECT_NE(error.message().find(what), std::string::npos) << error.message();
}

TEST(CollectiveFaults, ANodeThatIsSilent) {
    const RawSocket nobody(Address::resolve("127.0.0.1", 0).value());
    auto collective = Collective::make({.node = nobody.address(),
                                        .job = 5,
                                        .workers = 2,
                                        .timeout = std::chrono::milliseconds(20)})
                          .value();
    const auto joined = collective.join();
    ASSERT_FALSE(joined);
    expect_says(joined.error(), "the node hasn't answered at all");
    expect_says(joined.error(), "olaf job leave DEV 5 0");
    EXPECT_EQ(joined.error().code, ETIMEDOUT);
    std::vector<float> vector(4);
    const auto after = collective.allreduce(std::span(vector));
    ASSERT_FALSE(after);
    expect_says(after.error(), "join() again");
}

TEST(CollectiveFaults, AMemberThatHasNotAsked) {
    const Job job(3, 0, impatient(std::chrono::milliseconds(30)));
    Collective first = job.worker(0);
    const auto joined = first.join();
    ASSERT_FALSE(joined);
    expect_says(joined.error(), "rank 1 hasn't asked where to begin yet, nor have 1 other");
}

TEST(CollectiveFaults, AMemberThatContributesNothing) {
    const Job job(2, 0, impatient(std::chrono::milliseconds(30)));
    job.all([](Collective &collective, std::uint32_t rank) {
        Result<void> joined = collective.join();
        while (!joined)
            joined = collective.join(); // the other thread may be slow to come
        if (rank == 1)
            return;
        std::vector<float> vector(40);
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_FALSE(report);
        expect_says(report.error(), "the sum of chunk 0 of round 0");
    });
}

// Its questions are answered: then either others are late, or longer frames don't get through.
TEST(CollectiveFaults, ContributionsOfWhichNoneIsEverAnswered) {
    const Job job(2, 0, impatient(std::chrono::milliseconds(30)));
    job.all([](Collective &collective, std::uint32_t rank) {
        while (!collective.join())
            continue; // the other thread may be slow to come
        if (rank == 1)
            return;
        std::vector<float> vector(40);
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_FALSE(report);
        expect_says(report.error(), "see that every worker sums");
        expect_says(report.error(), "lanes (olaf job list)");
        expect_says(report.error(), "carries IP packets of ");
    });
}

TEST(CollectiveFaults, VectorsOfDifferentSize) {
    const Job job(2, 0, impatient(std::chrono::milliseconds(100)));
    std::atomic<unsigned> told = 0;
    job.all([&](Collective &collective, std::uint32_t rank) {
        std::vector<std::int64_t> vector(rank == 0 ? 8 : 16);
        const auto report = collective.allreduce(std::span(vector));
        ASSERT_TRUE(!report || rank == 0) << "the shorter one may have all that it asked for";
        if (!report && report.error().code != ETIMEDOUT) {
            expect_says(report.error(), "vectors of the same size");
            told++;
        }
    });
    EXPECT_EQ(told, 1U) << "whose chunk came second";
}

TEST(CollectiveFaults, AMemberThatBeginsAnewInTheMiddle) {
    const Job job(2);
    std::atomic<bool> gone = false;
    job.all([&](Collective &collective, std::uint32_t rank) {
        std::vector<std::int64_t> vector(800, 1);
        for (int round = 0; round < 3; round++)
            ASSERT_TRUE(collective.allreduce(std::span(vector)));
        if (rank == 1) {
            collective = job.worker(1); // a new process
            gone = true;
            gone.notify_all();
        } else {
            gone.wait(false);
        }
        for (;;) {
            std::ranges::fill(vector, rank);
            const auto report = collective.allreduce(std::span(vector));
            if (report)
                break;
            expect_says(report.error(), "a member began anew in the middle");
            ASSERT_EQ(rank, 0U);
            ASSERT_TRUE(collective.join());
        }
        EXPECT_EQ(vector, std::vector<std::int64_t>(800, 1));
    });
}

} // namespace
} // namespace olaf::test::collective_faults_test
