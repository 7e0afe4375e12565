// SPDX-License-Identifier: BSD-2-Clause
// A worker and a server in one process over loopback, and the files about it.
#include "results.hpp"
#include "rules.hpp"
#include "training_worker.hpp"
#include "wire.hpp"

#include <gtest/gtest.h>

#include <future>
#include <sstream>

namespace olaf::cartpole {
namespace {

using namespace std::chrono_literals;

TEST(CartPoleTraining, WorkerAndServerAgreeOnWhatWasSent) {
    auto server = ParameterServer::make({.bind = *Address::resolve("127.0.0.1", 0)});
    ASSERT_TRUE(server);
    const Packing packing = packing_for(Format::i32x2);
    const Parameters first = first_weights(1, 0);
    ASSERT_TRUE(server->add_cluster({.cluster = 0,
                                     .weights = {first.begin(), first.end()},
                                     .scale = packing.scale,
                                     .max_count = packing.max_count,
                                     .rule = make_rule(RuleName::adam),
                                     .max_series = 1000}));
    std::stop_source stop;
    auto training = std::async(std::launch::async, train,
                               TrainingOptions{.connection = {.server = *server->local_address(),
                                                              .elements = kParameters,
                                                              .packing = packing},
                                               .interval = 5ms,
                                               .actor = {}},
                               stop.get_token());
    Progress progress(*server, 1, 400);
    while (server->cluster(0)->stats().messages < 20 && server->stats().datagrams < 1000)
        ASSERT_TRUE(server->receive(1s));
    const auto asked = std::chrono::steady_clock::now();
    stop.request_stop();
    const auto report = training.get();
    EXPECT_LT(std::chrono::steady_clock::now() - asked, 2s) << "workers end promptly";
    while (*server->receive(10ms) > 0) {
    }
    progress.update();

    ASSERT_TRUE(report);
    EXPECT_EQ(report->stats.updates, server->cluster(0)->stats().folded);
    EXPECT_GT(report->stats.acks, 0U);
    EXPECT_EQ(report->stats.clipped, 0U);

    const std::string json = summary_json(progress, server->stats(), {.rule = "adam"});
    EXPECT_NE(json.find("\"updates_folded\": " + std::to_string(report->stats.updates)),
              std::string::npos);
    EXPECT_NE(json.find("\"time_to_target_s\": null"), std::string::npos) << json;
    EXPECT_NE(json.find("\"checksum_failures\": 0"), std::string::npos);
}

TEST(CartPoleResults, SawtoothHasBothPointsOfAJump) {
    auto server = ParameterServer::make({.bind = *Address::resolve("127.0.0.1", 0)});
    ASSERT_TRUE(server);
    ASSERT_TRUE(
        server->add_cluster({.weights = {0, 0}, .rule = async_sgd_rule(), .max_series = 9}));
    auto worker = Worker::make({.server = *server->local_address(), .elements = 2});
    ASSERT_TRUE(worker);
    const std::vector<float> gradient = {1, 2};
    for (const double reward : {30.0, 50.0}) {
        ASSERT_TRUE(worker->push(gradient, reward, 1));
        ASSERT_EQ(server->receive(1s), 1U);
    }
    Progress progress(*server, 1, 400);
    progress.update();
    const auto &series = server->cluster(0)->series();
    const double apart = progress.seconds(series[1].time_ns);

    std::istringstream aom(aom_csv(progress));
    std::string header;
    std::getline(aom, header);
    EXPECT_EQ(header, "time_s,cluster,aom_ms");
    double time[3], age[3];
    char comma;
    int cluster;
    for (int row = 0; row < 3; ++row)
        ASSERT_TRUE(aom >> time[row] >> comma >> cluster >> comma >> age[row]);
    EXPECT_EQ(time[0], 0);
    EXPECT_EQ(time[1], time[2]);
    EXPECT_NEAR(age[1], age[0] + 1e3 * apart, 0.01) << "the peak is what the age grew to";
    EXPECT_LE(age[2], age[1]);

    std::istringstream learning(learning_csv(progress, 400));
    std::string line;
    for (int row = 0; row < 3; ++row)
        std::getline(learning, line);
    EXPECT_TRUE(line.ends_with(",0,40.00")) << line;
}

} // namespace
} // namespace olaf::cartpole
