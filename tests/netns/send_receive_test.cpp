// SPDX-License-Identifier: BSD-2-Clause
// `olaf send` and `olaf receive` in namespaces, with a queue between them and without: what both
// say adds up.
#include <gtest/gtest.h>

#include <csignal>

#include "listening.hpp"
#include "olaf/clock.hpp"

namespace olaf::test::send_receive_test {
namespace {

using Json = nlohmann::json;

std::vector<std::string> olaf_in(const Netns &netns, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {OLAF_BINARY, "--json", "--netns", netns.name()});
    return arguments;
}

Json parsed(const std::string &schema, const Outcome &outcome, int status = 0) {
    EXPECT_EQ(outcome.status, status) << outcome.err;
    expect_schema(schema, outcome.out);
    return Json::parse(outcome.out);
}

/// `olaf receive` where the testbed has its server.
class Receiver {
  public:
    explicit Receiver(const Testbed &bed,
                      const std::vector<std::string> &more = {"--idle", "2s"})
        : process_(command(bed, more)) {
        process_.await_output("receiving on");
    }
    Json end() { return parsed("receive", process_.wait()); }
    Json interrupt() {
        process_.kill(SIGINT);
        return end();
    }

  private:
    static std::vector<std::string> command(const Testbed &bed, std::vector<std::string> more) {
        more.insert(more.begin(), {"receive", "--bind", "::"});
        return olaf_in(bed.server(), std::move(more));
    }
    Process process_;
};

std::vector<std::string> send_command(const Testbed &bed, int family,
                                      std::vector<std::string> more) {
    more.insert(more.begin(), {"send", bed.target(family).address});
    return olaf_in(bed.worker, std::move(more));
}

/// What `olaf send` says once it has ended well.
Json sent_by(const Testbed &bed, int family, const std::vector<std::string> &more) {
    return parsed("send", run(send_command(bed, family, more)));
}

/// What holds of any run that wasn't cut short by the receiver's end.
void expect_agreement(const Json &sent, const Json &received) {
    EXPECT_TRUE(sent.at("failure").is_null());
    const auto &total = sent.at("total");
    EXPECT_EQ(total.at("updates_of_others"), 0);
    EXPECT_EQ(total.at("updates_unsent"), 0);
    EXPECT_EQ(total.at("updates_sent").get<int>(),
              total.at("updates_received").get<int>() + total.at("updates_lost").get<int>());
    for (const auto *key : {"updates_received", "messages_received", "updates_folded"})
        EXPECT_EQ(total.at(key), received.at(key)) << key;
    ASSERT_EQ(sent.at("clusters").size(), received.at("clusters").size());
    for (std::size_t i = 0; i < sent.at("clusters").size(); i++)
        for (const auto *key :
             {"cluster", "updates_received", "messages_received", "updates_folded"})
            EXPECT_EQ(sent.at("clusters").at(i).at(key), received.at("clusters").at(i).at(key));
    EXPECT_EQ(total.at("updates_folded").get<int>(),
              total.at("updates_received").get<int>() - total.at("messages_received").get<int>());
}

struct Case {
    const char *name;
    Way way;
    int family;
    bool queue;
};

class SendAndReceive : public testing::TestWithParam<Case> {};

TEST_P(SendAndReceive, Agree) {
    const auto &[name, way, family, queue] = GetParam();
    Testbed bed{{.way = way}};
    // Folding loses none: what isn't received was lost by somebody, and nobody is here to.
    if (queue)
        bed.attach({"--rate", "1mbit", "--policy", "aggregate"});
    Receiver receiver(bed);
    const auto sent = sent_by(
        bed, family, {"--clusters", "3", "--workers", "4", "--updates", "900", "--rate", "6mbit"});
    const auto received = receiver.end();
    expect_agreement(sent, received);
    EXPECT_EQ(sent.at("total").at("updates_sent"), 900);
    EXPECT_EQ(sent.at("total").at("updates_lost"), 0);
    EXPECT_EQ(sent.at("family"), family == 4 ? "ipv4" : "ipv6");
    EXPECT_EQ(received.at("clusters").at(0).at("workers"), 4);
    EXPECT_GT(sent.at("total").at("round_trip").at("answered"), 0);
    EXPECT_GT(sent.at("clusters").at(0).at("aom").at("average_ns"), 0);
    EXPECT_FALSE(received.at("clusters").at(0).at("clocks_differ"));
    if (!queue) {
        EXPECT_EQ(received.at("updates_folded"), 0);
        return;
    }
    EXPECT_GT(received.at("updates_folded"), 300);
    // Asking for answers is sending too.
    const auto status = bed.olaf.await_drained(900);
    EXPECT_GE(status["updates_in"], 900u);
    EXPECT_EQ(status["updates_superseded"], 0u);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(Ways, SendAndReceive,
                         testing::Values(Case{"Local4WithoutAQueue", Way::local, 4, false},
                                         Case{"Routed6WithoutAQueue", Way::routed, 6, false},
                                         Case{"Local4", Way::local, 4, true},
                                         Case{"Local6", Way::local, 6, true},
                                         Case{"Bridged4", Way::bridged, 4, true},
                                         Case{"Routed6", Way::routed, 6, true},
                                         Case{"Upstream4", Way::upstream4, 4, true},
                                         Case{"Upstream6", Way::upstream6, 6, true}),
                         by_name);

/// As large as the protocol has them, and a lane smaller: each is one frame, in every format, and
/// folds. An odd number of elements is no reason to cut a model.
class SendTheLargest : public testing::TestWithParam<Route> {};

TEST_P(SendTheLargest, EachUpdateIsAFrameAndFolds) {
    const auto &[name, way, family, mode, partial] = GetParam();
    Testbed bed{{.way = way, .mtu = 9600}};
    bed.attach({"--mode", mode, "--rate", "100mbit", "--policy", "aggregate"});
    Receiver receiver(bed, {"--mtu", "9600"});
    std::uint64_t updates = 0;
    unsigned cluster = 0;
    for (const auto *format : {"i32x2", "i16x4", "i64x1"})
        for (const unsigned lanes : {OLAF_MAX_LANES - 1, OLAF_MAX_LANES}) {
            SCOPED_TRACE(std::to_string(lanes) + " lanes of " + format);
            const auto sent =
                sent_by(bed, family,
                        {"--lanes", std::to_string(lanes), "--format", format, "--first-cluster",
                         std::to_string(cluster++), "--updates", "60", "--rate", "500mbit"});
            EXPECT_EQ(sent.at("total").at("updates_received"), 60);
            EXPECT_EQ(sent.at("total").at("updates_lost"), 0);
            EXPECT_GT(sent.at("total").at("updates_folded"), 0);
            updates += 60;
        }
    EXPECT_EQ(receiver.interrupt().at("updates_received"), updates);
    const auto status = bed.olaf.await_drained(updates);
    EXPECT_EQ(status.json.at("limits").at("max_lanes"), OLAF_MAX_LANES);
    EXPECT_EQ(status.json.at("not_allowed_by_reason").at("segment"), 0);
    expect_identities(status);
}

INSTANTIATE_TEST_SUITE_P(Ways, SendTheLargest,
                         testing::Values(Route{"Local4", Way::local, 4},
                                         Route{"LocalGeneric6", Way::local, 6, "skb"},
                                         Route{"Bridged6", Way::bridged, 6},
                                         Route{"BridgedGeneric4", Way::bridged, 4, "skb"},
                                         Route{"Routed4", Way::routed, 4},
                                         Route{"RoutedGeneric6", Way::routed, 6, "skb"},
                                         Route{"Upstream4", Way::upstream4, 4},
                                         Route{"Upstream6Generic", Way::upstream6, 6, "skb"}),
                         by_name);

TEST(SendAndReceiveTest, AnOddNumberOfElementsIsNoReasonToCutAModel) {
    Testbed bed{{.way = Way::local}};
    bed.attach();
    Receiver receiver(bed, {});
    for (const auto *lanes : {"3", "66", "67", "175"})
        EXPECT_EQ(sent_by(bed, 6, {"--lanes", lanes, "--format", "i64x1", "--first-cluster", lanes,
                                   "--updates", "9"})
                      .at("total")
                      .at("updates_received"),
                  9)
            << lanes;
    EXPECT_EQ(receiver.interrupt().at("updates_received"), 36);
}

struct Alias {
    const char *name;
    const char *address; ///< of the receiver's host, a second one
    const char *asked;   ///< by the sender
    bool queue;
};

class SendAndReceiveByAnAlias : public testing::TestWithParam<Alias> {};

/// The receiver listens on every address, and routing would answer from another one of them: in
/// IPv6 from any that is preferred.
TEST_P(SendAndReceiveByAnAlias, Agree) {
    const auto &[name, address, asked, queue] = GetParam();
    Testbed bed{{.way = Way::local}};
    bed.worker.ip("address add fe80::1/64 dev eth0 nodad");
    bed.host.ip("address add fe80::2/64 dev in nodad\n"
                "address add " +
                std::string(address) + " dev in" + (address[0] == 'f' ? " nodad preferred_lft 0" : ""));
    if (queue)
        bed.attach();
    Receiver receiver(bed);
    const auto sent = parsed("send", run(olaf_in(bed.worker, {"send", asked, "--updates", "90"})));
    expect_agreement(sent, receiver.end());
    EXPECT_EQ(sent.at("total").at("updates_received"), 90);
    EXPECT_GT(sent.at("total").at("round_trip").at("answered"), 0);
}

INSTANTIATE_TEST_SUITE_P(Of, SendAndReceiveByAnAlias,
                         testing::Values(Alias{"Ipv4", "10.0.0.9/32", "10.0.0.9", false},
                                         Alias{"Ipv6", "fd00::9/128", "fd00::9", false},
                                         Alias{"LinkLocal", "fe80::9/64", "fe80::9%eth0", false},
                                         Alias{"Ipv4WithAQueue", "10.0.0.9/32", "10.0.0.9", true},
                                         Alias{"Ipv6WithAQueue", "fd00::9/128", "fd00::9", true}),
                         by_name);

/// What the queue replaced never arrives, and both ends and the queue say so.
TEST(SendAndReceiveTest, WhatIsSupersededIsLost) {
    Testbed bed{{.way = Way::bridged}};
    bed.attach({"--rate", "500kbit", "--policy", "newest"});
    Receiver receiver(bed);
    const auto sent = sent_by(bed, 4, {"--clusters", "2", "--updates", "500", "--rate", "4mbit"});
    expect_agreement(sent, receiver.end());
    EXPECT_GT(sent.at("total").at("updates_lost"), 100);
    EXPECT_EQ(sent.at("total").at("updates_folded"), 0);
    // Some of what was superseded only asked.
    EXPECT_GE(bed.olaf.await_drained(500)["updates_superseded"],
              sent.at("total").at("updates_lost").get<std::uint64_t>());
}

TEST(SendAndReceiveTest, TheReceiverMayStartLater) {
    Testbed bed{{.way = Way::routed}};
    Process sender(send_command(bed, 4, {"--patience", "15s", "--updates", "100"}));
    while (bed.server().snmp("UdpNoPorts") == 0) // it has asked in vain
        ASSERT_TRUE(sender.running());
    Receiver receiver(bed);
    const auto sent = parsed("send", sender.wait());
    expect_agreement(sent, receiver.end());
    EXPECT_EQ(sent.at("total").at("updates_received"), 100);
}

TEST(SendAndReceiveTest, TheReceiverMayEndEarlier) {
    Testbed bed{{.way = Way::routed}};
    Receiver receiver(bed, {});
    Process sender(send_command(bed, 4, {"-v", "--patience", "400ms", "--for", "60s"}));
    sender.await_output(" received  round trip"); // a second has passed
    const auto received = receiver.interrupt();
    const auto outcome = sender.wait();
    EXPECT_TRUE(says(outcome.err, "no update was answered for 400ms"));
    const auto sent = parsed("send", outcome, 1);
    EXPECT_TRUE(sent.at("failure").is_string());
    const auto &total = sent.at("total");
    EXPECT_GT(total.at("updates_lost"), 0);
    EXPECT_LE(total.at("updates_received"), received.at("updates_received"));
    EXPECT_EQ(total.at("updates_sent").get<int>(),
              total.at("updates_received").get<int>() + total.at("updates_lost").get<int>());
}

TEST(SendAndReceiveTest, AnInterruptEndsWithTheSummary) {
    Testbed bed{{.way = Way::bridged}};
    bed.attach();
    Receiver receiver(bed, {});
    Process sender(send_command(bed, 6, {"-v", "--for", "60s"}));
    sender.await_output(" received  round trip");
    sender.kill(SIGINT);
    const auto sent = parsed("send", sender.wait());
    EXPECT_TRUE(sent.at("interrupted"));
    EXPECT_EQ(sent.at("total").at("updates_lost"), 0);
    expect_agreement(sent, receiver.interrupt());
}

TEST(SendAndReceiveTest, UpdatesThatDoNotFitTheDeviceAreNamed) {
    Testbed bed{{.way = Way::routed}};
    Receiver receiver(bed);
    EXPECT_TRUE(refused(run(send_command(bed, 4, {"--lanes", "400"})), "fewer --lanes"));
    const auto sent = sent_by(bed, 4, {"--lanes", "170", "--updates", "9"});
    expect_agreement(sent, receiver.end());
}

/// 37 s are what a host without a TAI offset is behind one that has it.
TEST(SendAndReceiveTest, AClockAheadIsTold) {
    Testbed bed{{.way = Way::local}};
    Receiver receiver(bed);
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    worker.send(Update{.cluster = 3,
                       .generated_ns = static_cast<std::uint64_t>(tai_now_ns() + 37'000'000'000),
                       .lanes = {std::uint64_t{1} << 32, 0}},
                bed.target(4));
    const auto received = receiver.end();
    ASSERT_EQ(received.at("clusters").size(), 1u);
    EXPECT_EQ(received.at("updates_received"), 1);
    EXPECT_TRUE(received.at("clusters").at(0).at("clocks_differ"));
    EXPECT_LT(received.at("clusters").at(0).at("youngest_ns"), -36'000'000'000);
}

/// The same in words, and of a queue as well.
TEST(SendAndReceiveTest, ClocksThatDifferAreNamedWithTheirCause) {
    Testbed bed{{.way = Way::local}};
    bed.attach();
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    for (const std::int64_t seconds : {37, -37}) {
        Process receiver({OLAF_BINARY, "--netns", bed.server().name(), "receive", "--idle", "300ms"});
        receiver.await_output("receiving on");
        must(bed.olaf({"reset", "in"}));
        const auto at = tai_now_ns() + seconds * 1'000'000'000;
        worker.send(Update{.cluster = 3,
                           .generated_ns = static_cast<std::uint64_t>(at),
                           .lanes = {std::uint64_t{1} << 32, 0}},
                    bed.target(4));
        const auto received = receiver.wait();
        const std::string cause = "CLOCK_TAI's offset is set on one host only";
        EXPECT_TRUE(says(received.out + received.err,
                         std::string("generated_ns is 37 s ") + (seconds > 0 ? "ahead of" : "behind") +
                             " this host's clock: " + cause));
        EXPECT_TRUE(says(bed.olaf({"status", "in"}).out,
                         seconds > 0 ? "generated_ns is ahead of this host's clock in 1 of 1 departures: by a "
                                       "small skew, or " + cause
                                     : "generated_ns is 37 s behind this host's clock: " + cause));
    }
    Process receiver({OLAF_BINARY, "--netns", bed.server().name(), "receive", "--idle", "300ms"});
    receiver.await_output("receiving on");
    must(bed.olaf({"reset", "in"}));
    worker.send(Update{.cluster = 3,
                       .generated_ns = static_cast<std::uint64_t>(tai_now_ns()),
                       .lanes = {std::uint64_t{1} << 32, 0}},
                bed.target(4));
    const auto received = receiver.wait();
    EXPECT_FALSE(says(received.out + received.err, "generated_ns is"));
    EXPECT_FALSE(says(bed.olaf({"status", "in"}).out, "generated_ns is"));
}

TEST(SendAndReceiveTest, WhatIsNotOursIsCountedAndNotBelieved) {
    Testbed bed{{.way = Way::local}};
    Receiver receiver(bed, {"--idle", "2s", "--max-clusters", "1"});
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    const std::vector<std::uint64_t> one{std::uint64_t{1} << 32, 0};
    worker.send(Update{.cluster = 1, .checksum = false, .lanes = one}, bed.target(4));
    worker.send(Update{.cluster = 1, .segments = 2, .lanes = one}, bed.target(4));
    worker.send(Update{.cluster = 1, .count = 0, .lanes = one}, bed.target(4));
    worker.send(Update{.cluster = 1, .lanes = one}, bed.target(4));
    worker.send(Update{.cluster = 1, .lanes = {1, 2, 3}}, bed.target(4)); // of another size
    worker.send(Update{.cluster = 2, .lanes = one}, bed.target(4));       // one too many
    worker.send(Bytes(3), bed.target(4));
    const auto received = receiver.end();
    EXPECT_EQ(received.at("updates_received"), 1);
    const auto &refused = received.at("refused");
    EXPECT_EQ(refused.at("unknown_cluster"), 3);
    EXPECT_EQ(refused.at("wrong_count"), 1);
    EXPECT_EQ(refused.at("wrong_lanes"), 1);
    EXPECT_EQ(refused.at("too_short"), 1);
}

} // namespace
} // namespace olaf::test::send_receive_test
