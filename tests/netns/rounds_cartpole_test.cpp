// SPDX-License-Identifier: BSD-2-Clause
// The CartPole example as iSwitch trains: real programs, a node whose sums need two of three workers,
// and a bound on how old a gradient may be.
#include <gtest/gtest.h>

#include "rounds.hpp"

namespace olaf::test::rounds_cartpole_test {
namespace {

constexpr unsigned workers = 3, staleness = 2;

Process start(const Testbed &bed, std::vector<std::string> words) {
    words.insert(words.begin(), OLAF_CARTPOLE_ROUNDS);
    return Process(words, {}, &bed.worker);
}

nlohmann::json summary(Process &program) {
    const Outcome outcome = program.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json{};
}

// An episode takes the longer the better its worker plays, so they race.
TEST(RoundsCartPole, WorkersLearnWithinTheBoundAndEndWhenTheServerSaysSo) {
    Testbed bed{{.way = Way::local}};
    bed.host.sysctl("ipv4/conf/in/forwarding", "1"); // the way to the parent
    bed.attach({"--round-slots", "64"});
    set_job(bed, workers, 132,
            {"--threshold", "2", "--parent", "10.0.0.1:7000", "--rank", "0", "--max-count",
             std::to_string(workers)});
    Process server = start(bed, {"server", "--bind", "10.0.0.1:7000", "--target", "40"});
    std::vector<Process> programs;
    for (unsigned rank = 0; rank < workers; rank++)
        programs.push_back(start(bed, {"worker", "--node", bed.target(4).address, "--rank",
                                       std::to_string(rank), "--staleness",
                                       std::to_string(staleness)}));
    const auto served = summary(server);
    ASSERT_TRUE(served.is_object());
    EXPECT_FALSE(served.at("time_to_target_s").is_null()) << served;
    std::uint64_t committed = 0, unknown = 0;
    std::string of_workers;
    for (Process &program : programs) {
        const auto worked = summary(program);
        ASSERT_TRUE(worked.is_object());
        EXPECT_TRUE(worked.at("trained").get<bool>()) << worked;
        EXPECT_LE(worked.at("stalest").get<unsigned>(), staleness);
        committed += worked.at("committed").get<std::uint64_t>();
        unknown += worked.at("unknown").get<std::uint64_t>();
        of_workers += worked.dump() + "\n";
    }
    const auto gradients = served.at("gradients").get<std::uint64_t>();
    EXPECT_LE(committed, gradients) << served << of_workers;
    EXPECT_GE(committed + unknown, gradients) << served << of_workers;
    expect_jobs_add_up(bed.olaf);
}

} // namespace
} // namespace olaf::test::rounds_cartpole_test
