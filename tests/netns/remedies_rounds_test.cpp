// SPDX-License-Identifier: BSD-2-Clause
// What olaf and its workers say to do about jobs works as it is printed. A worker can't know the
// device of the node: where it says DEV, a person puts that in.
#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <unistd.h>

#include "remedies.hpp"
#include "rounds.hpp"

namespace olaf::test::remedies_rounds_test {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

/// From now on a worker's messages come from another address.
void move_elsewhere(const RoundsBed &bed) {
    bed.worker.ip(
        "address add 10.0.0.5/16 dev eth0\nroute replace 10.0.1.2 dev eth0 src 10.0.0.5\n");
}

class RemediesOfJobs : public testing::Test {
  protected:
    RoundsBed &lay(JobSetting setting) { return bed.emplace(std::move(setting)); }

    [[nodiscard]] Collective worker(unsigned rank, const Tell &more = {}) const {
        auto options = bed->options(rank);
        options.timeout = milliseconds(300);
        if (more)
            more(options);
        const Inside inside(bed->worker);
        return Collective::make(options).value();
    }
    /// Starts, or joins, in vain. Returns what the error says.
    static std::string failed(const auto &result) {
        if (result)
            throw std::runtime_error("it didn't fail");
        return result.error().message();
    }
    static void must_start(Collective collective) {
        const auto started = collective.start();
        ASSERT_TRUE(started) << started.error().message();
    }
    /// Pastes the command that stands between these words in what a worker was told.
    std::string paste(const std::string &told, const std::string &from,
                      const std::string &to) const {
        return pasted(bed->host, filled(part_of_text(told, from, to), {{"DEV", "in"}}));
    }
    /// Sets the job anew, as a worker was told, and more.
    void set_anew(const std::string &told, const std::vector<std::string> &more = {},
                  unsigned workers = 1) const {
        EXPECT_TRUE(says(told, "olaf job remove, olaf job set"));
        bed->order("remove");
        must(bed->olaf(joined({"job", "set", "in", "7", "--children", std::to_string(workers),
                               "--lanes", std::to_string(job_lanes), "--format", "i64x1"},
                              more)));
    }
    [[nodiscard]] std::string remedy(const std::string &trouble) const {
        return Verdict(bed->olaf).remedy(trouble);
    }
    void expect_mended(const std::string &trouble) const {
        Verdict(bed->olaf).expect_mended(trouble);
    }

    std::optional<RoundsBed> bed;
};

// ---- what workers are told ----

/// Rank 0 sums. Rank 1 joined, and its process is gone; another one has its rank, elsewhere.
class RemediesOfAWorkerElsewhere : public RemediesOfJobs {
  protected:
    RemediesOfAWorkerElsewhere() {
        lay({.workers = 2, .attach = {"--member-timeout", "3600s"}, .set = {"--absent", "1"}});
        summing.emplace(*bed, std::vector{0U});
        summing->await_sum_of(0b01);
        auto gone = worker(1);
        EXPECT_TRUE(gone.join());
        move_elsewhere(*bed);
    }
    /// It joins, and is in sums.
    void expect_joins(Collective &other) {
        const auto joined = other.join();
        ASSERT_TRUE(joined) << joined.error().message();
        for (int sum = 0; sum < 3; sum++)
            EXPECT_EQ(sum_as_member(other, 1).members, 0b11u);
        EXPECT_TRUE(other.leave(seconds(20)).value());
        summing->expect_to_end_well();
    }
    std::optional<Summing> summing;
};

TEST_F(RemediesOfAWorkerElsewhere, TakeOutTheProcessThatHadItsRank) {
    auto other = worker(1);
    paste(failed(other.join()), "olaf job leave DEV 7 1", ")");
    expect_joins(other);
}

TEST_F(RemediesOfAWorkerElsewhere, TakeOutTheRankThatTheVerdictHasMessagesOf) {
    auto other = worker(1);
    ASSERT_FALSE(other.join());
    const auto said = remedy("messages refused: job source");
    pasted(bed->host, filled(part_of_text(said, "olaf job leave in 7 RANK", ","), {{"RANK", "1"}}));
    expect_joins(other);
}

TEST_F(RemediesOfJobs, LetAllStartAgainWhereverTheyAre) {
    lay({.workers = 2, .attach = {"--member-timeout", "3600s"}});
    bed->for_each_worker([](Collective &, unsigned) {});
    move_elsewhere(*bed);
    paste(failed(worker(1).start()), "olaf job release DEV 7", ")");
    bed->for_each_worker([](Collective &, unsigned) {});
}

TEST_F(RemediesOfJobs, ReleaseAJobThatAnotherTrainingHas) {
    lay({.workers = 1});
    must_start(worker(0));
    auto other = worker(0, [](auto &options) { options.run = "another"; });
    const auto told = failed(other.start());
    EXPECT_TRUE(says(told, "the job is in use by another run"));
    paste(told, "olaf job release DEV 7", ")");
    must_start(worker(0, [](auto &options) { options.run = "another"; }));
}

TEST_F(RemediesOfJobs, SetAJobForTheTrainingThatMayHaveIt) {
    lay({.workers = 1, .set = {"--run", "another"}});
    const auto told = failed(worker(0).start());
    EXPECT_TRUE(says(told, "the job was set for another run"));
    set_anew(told, {"--run", "test"});
    must_start(worker(0));
}

TEST_F(RemediesOfJobs, LookAtTheJobAndLetItGoOn) {
    lay({.workers = 1});
    auto one = worker(0);
    ASSERT_TRUE(one.start());
    bed->order("halt");
    auto vector = part_of(0, 0, 100);
    const auto told = failed(one.allreduce(std::span(vector)));
    EXPECT_TRUE(says(told, "that the job isn't halted"));
    EXPECT_TRUE(says(paste(told, "olaf job list DEV", ")"), "halted"));
    const auto resume = remedy("job 7 is halted");
    pasted(bed->host, resume);
    expect_mended("job 7 is halted");
    ASSERT_TRUE(one.start());
    sum_round(one, 0, 1, 0, 100);
}

TEST_F(RemediesOfJobs, SetAJobAnewThatAWorkerJoinedBeforeItBegan) {
    lay({.workers = 2, .set = {"--absent", "0", "--absent", "1"}});
    auto one = worker(0);
    const auto joined = one.join();
    ASSERT_TRUE(joined) << joined.error().message();
    auto vector = part_of(0, 0, 100);
    const auto told = failed(one.allreduce(std::span(vector)));
    EXPECT_TRUE(says(told, "this worker joined a job that hasn't started"));
    set_anew(told, {}, 2);
    bed->for_each_worker([](Collective &, unsigned) {});
}

TEST_F(RemediesOfJobs, SetAJobAnewThatAllHaveLeft) {
    lay({.workers = 1});
    auto one = worker(0);
    ASSERT_TRUE(one.start());
    bed->order("leave", {"0"});
    auto vector = part_of(0, 0, 100);
    const auto told = failed(one.allreduce(std::span(vector)));
    EXPECT_TRUE(says(told, "this worker is no member of it any more"));
    set_anew(told);
    must_start(worker(0));
}

TEST_F(RemediesOfJobs, ShowTheJobsOfANodeWhereNobodyListens) {
    lay({.workers = 1});
    bed->order("remove");
    auto one = worker(0);
    const auto told = failed(one.start());
    EXPECT_TRUE(says(told, "ICMP port unreachable"));
    EXPECT_EQ(paste(told, "olaf job list DEV", ","), "no job is set\n");
    must(bed->olaf(bed->set_command()));
    ASSERT_TRUE(one.start());
}

TEST_F(RemediesOfJobs, ShowWhatKeepsAWorkersHostFromSending) {
    lay({.workers = 1});
    auto one = worker(0);
    bed->worker.ip("route add prohibit 10.0.1.2\n");
    const auto told = failed(one.start());
    const auto shown = run(shell(part_of_text(told, "ip route get ", ")")), {}, &bed->worker);
    EXPECT_TRUE(says(shown.err, "Permission denied"));
    bed->worker.ip("route delete prohibit 10.0.1.2\n");
    ASSERT_TRUE(one.start());
}

// ---- what the verdict says ----

class RemediesOfSilence : public RemediesOfJobs {
  protected:
    /// All start, and the first one sums alone until those that are silent have been taken out.
    void expect_leaving_helps(unsigned workers, const std::string &ranks,
                              const std::string &command) {
        lay({.workers = workers, .attach = {"--member-timeout", "8s"}});
        std::vector<std::unique_ptr<Collective>> all;
        for (unsigned rank = 0; rank < workers; rank++)
            all.push_back(std::make_unique<Collective>(
                worker(rank, [](auto &options) { options.timeout = patience; })));
        std::vector<std::future<bool>> starting;
        for (auto &each : all)
            starting.push_back(std::async(std::launch::async, [&] { return bool(each->start()); }));
        for (auto &each : starting)
            ASSERT_TRUE(each.get());
        all.resize(1);
        auto vector = part_of(0, 0, 100);
        auto sum =
            std::async(std::launch::async, [&] { return all[0]->allreduce(std::span(vector)); });
        const auto said = remedy("job 7 waits for " + ranks + ", silent");
        EXPECT_TRUE(says(said, command));
        pasted(bed->host, part_of_text(said, command));
        const auto report = sum.get();
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_EQ(report->least_count, 1u);
        expect_mended("silent");
    }
};

TEST_F(RemediesOfSilence, LetTheOthersGoOnWithoutOneMember) {
    expect_leaving_helps(2, "rank 1", "olaf job leave in 7 1");
}

TEST_F(RemediesOfSilence, LetTheOthersGoOnWithoutSeveral) {
    expect_leaving_helps(4, "ranks 1 ... 3",
                         "for rank in 1 2 3; do olaf job leave in 7 $rank; done");
}

TEST_F(RemediesOfJobs, SetAJobAnewWhoseFloatsWereTooLarge) {
    lay({.workers = 1, .set = {"--float-bits", "60"}, .lanes = 0, .format = "f32"});
    const auto sum = [&] {
        auto one = worker(0, [](auto &options) { options.format = Format::f32x2; });
        EXPECT_TRUE(one.start());
        std::vector<float> vector(10, 1e6F);
        EXPECT_TRUE(one.allreduce(std::span(vector)));
        return vector[0];
    };
    EXPECT_TRUE(std::isnan(sum()));
    const auto said = remedy("floats were too large for its fixed point");
    EXPECT_TRUE(says(said, "--float-bits below 60"));
    pasted(bed->host, part_of_text(said, "olaf job remove in 7", ","));
    auto again = bed->set_command();
    *std::ranges::find(again, "60") = "20";
    must(bed->olaf(again));
    EXPECT_EQ(sum(), 1e6F);
    expect_mended("floats were too large for its fixed point");
}

TEST_F(RemediesOfJobs, ReleaseAJobWhoseMessagesComeFromElsewhere) {
    lay({.workers = 2, .attach = {"--member-timeout", "3600s"}});
    bed->for_each_worker([](Collective &, unsigned) {});
    move_elsewhere(*bed);
    ASSERT_FALSE(worker(1).start());
    pasted(bed->host,
           part_of_text(remedy("messages refused: job source"), "olaf job release in 7", ","));
    bed->for_each_worker([](Collective &, unsigned) {});
}

TEST(RemediesInATree, RaiseTheMtuOfTheWayToTheParent) {
    NodeBelowRoot bed({.workers = 1});
    bed.start();
    const Inside inside(bed.worker);
    auto one = Collective::make(bed.options(0)).value();
    ASSERT_TRUE(one.start());
    sum_round(one, 0, 1, 0, 100);
    bed.host.ip("link set out mtu 500\n");
    auto sum = std::async(std::launch::async, [&] { return sum_round(one, 0, 1, 1, 100); });
    const auto said = Verdict(bed.olaf).remedy("a sum was too long for the MTU of out");
    pasted(bed.host, said);
    EXPECT_NO_THROW(sum.get());
}

void set_root_anew(const NodeBelowRoot &bed, const std::string &children) {
    must(bed.root()({"job", "remove", "eth0", "7"}));
    must(bed.root()({"job", "set", "eth0", "7", "--children", children, "--lanes",
                     std::to_string(job_lanes), "--format", "i64x1"}));
}

TEST(RemediesInATree, ShowWhomTheParentWaitsFor) {
    NodeBelowRoot bed({.workers = 1});
    bed.start();
    set_root_anew(bed, "2");
    const Inside inside(bed.worker);
    auto one = Collective::make(bed.options(0)).value();
    auto starting = std::async(std::launch::async, [&] { return bool(one.start()); });
    const auto said = Verdict(bed.olaf).remedy("job 7 waits for its parent");
    EXPECT_TRUE(says(pasted(bed.server(), part_of_text(said, "olaf status", " there")),
                     "job 7 waits for rank 1 to ask where to begin"));
    set_root_anew(bed, "1");
    EXPECT_TRUE(starting.get());
}

TEST(RemediesInATree, ShowWhoseSumTheParentWaitsFor) {
    NodeBelowRoot bed({.workers = 1});
    bed.start();
    set_root_anew(bed, "2");
    const auto member = [&](const Netns &of, unsigned rank, const Address &node) {
        auto options = bed.options(0);
        options.rank = rank;
        options.workers = 2;
        options.node = node;
        const Inside inside(of);
        return Collective::make(options).value();
    };
    auto below = member(bed.worker, 0, bed.options(0).node);
    auto beside = member(bed.host, 1, Address::resolve(Testbed::server_peer(4).address).value());
    auto starting = std::async(std::launch::async, [&] { return bool(below.start()); });
    ASSERT_TRUE(beside.start());
    ASSERT_TRUE(starting.get());
    auto sum = std::async(std::launch::async, [&] { return sum_round(below, 0, 2, 0, 100); });
    const auto said = Verdict(bed.olaf).remedy("job 7 waits for its parent, 10.0.1.2");
    EXPECT_TRUE(says(pasted(bed.server(), part_of_text(said, "olaf status", " there")),
                     "job 7 waits for rank 1, silent"));
    sum_round(beside, 1, 2, 0, 100);
    EXPECT_NO_THROW(sum.get());
}

/// A worker's host sends results, as only the parent may, of the job's format or another one.
class RemediesOfStrangers : public testing::TestWithParam<olaf_format> {};

TEST_P(RemediesOfStrangers, ShowWhoSendsWhat) {
    NodeBelowRoot bed({.workers = 1});
    bed.start();
    const UdpSocket stranger(bed.worker, Testbed::worker_peer(4));
    const auto shape =
        static_cast<std::uint16_t>(OLAF_FLAG_CHECKSUM | GetParam() << OLAF_FLAG_FORMAT_SHIFT);
    const auto lie = [&] {
        stranger.send(message(JobMessage{.type = OLAF_RESULT,
                                         .flags = shape,
                                         .lanes = std::vector<std::uint64_t>(job_lanes, 1)}),
                      bed.target(4));
    };
    lie();
    const bool fits = GetParam() == OLAF_FORMAT_I64X1;
    const auto said =
        Verdict(bed.olaf).remedy(fits ? "messages refused: job result" : "messages malformed");
    expect_shows(bed.host, part_of_text(said, "olaf trace ", " shows"),
                 Testbed::worker_peer(4).address, lie);
}

INSTANTIATE_TEST_SUITE_P(Of, RemediesOfStrangers,
                         testing::Values(OLAF_FORMAT_I64X1, OLAF_FORMAT_I32X2),
                         [](const auto &info) {
                             return info.param == OLAF_FORMAT_I64X1 ? "AResult" : "WhatIsNone";
                         });

} // namespace
} // namespace olaf::test::remedies_rounds_test
