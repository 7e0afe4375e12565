// SPDX-License-Identifier: BSD-2-Clause
// What a person and a program see of a queue: by attach and status, as JSON, as values of functions, and
// where they may not look.
#include <gtest/gtest.h>

#include <csignal>

#include "listening.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/commands/commands.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/netns.hpp"
#include "testbed.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::status_test {
namespace {

// What a person sees of a queue at a glance: what attach says of it, and what status shows of how
// it is attached, of its rates and of queues elsewhere.

TEST(DryRun, SaysWhatThereWouldBeAndChangesNothing) {
    Testbed bed{{.way = Way::upstream4}};
    const auto before = traces(bed.host);
    const auto text = bed.olaf({"attach", "in", "--upstream", "10.0.1.2", "--dry-run"});
    ASSERT_EQ(text.status, 0) << text.err;
    const auto drain = "olaf" + std::to_string(bed.host.ifindex("in"));
    for (const auto &what :
         {std::string("would be live"), std::string("olaf_ingress at XDP of in"),
          std::string("olaf_ack_return at TC ingress of out"), drain + "a and " + drain + "b",
          std::string("clsact on in, out, "), std::string("nothing was changed")})
        EXPECT_TRUE(says(text.out, what));
    EXPECT_EQ(traces(bed.host), before);
    const auto json = bed.olaf({"--json", "attach", "in", "--upstream", "10.0.1.2", "--dry-run"});
    expect_schema("attach", json.out);
    EXPECT_EQ(traces(bed.host), before);

    // What it says is what attach then does.
    bed.attach();
    const auto status = bed.olaf.status().json;
    const auto would = nlohmann::json::parse(json.out);
    EXPECT_EQ(status["drain"]["device"], would["dry_run"]["devices"][0]);
    EXPECT_EQ(status["drain"]["peer"], would["dry_run"]["devices"][1]);
    EXPECT_EQ(status["clsact_added"], nlohmann::json({"in", "out"}));
    EXPECT_NEAR(status["memory_bytes"].get<double>(), would["memory_bytes"].get<double>(),
                0.02 * status["memory_bytes"].get<double>());
    EXPECT_TRUE(
        refused(bed.olaf({"attach", "in", "--local", "--dry-run"}), "a queue of olaf's is there"));
}

TEST(Attaching, SaysWhatFollowsFromWhatWasGiven) {
    Testbed bed{{.way = Way::bridged}};
    const auto said = [&](std::vector<std::string> options) {
        options.insert(options.begin(), {"attach", "in", "--dry-run"});
        const auto told = bed.olaf(std::move(options));
        EXPECT_EQ(told.status, 0) << told.err;
        return told.err;
    };
    const auto local = said({"--local"});
    EXPECT_TRUE(says(local, "nothing will ever wait"));
    EXPECT_TRUE(says(local, "at most 178 lanes come in (in has MTU 1500)"));
    for (const auto &options : {std::vector<std::string>{"--local", "--rate", "1mbit"},
                                std::vector<std::string>{"--local", "--window", "4"}})
        EXPECT_FALSE(says(said(options), "nothing will ever wait"));
    EXPECT_TRUE(says(said({"--local", "--max-lanes", "1024"}),
                     "1024 lanes take an MTU of 8268 (with IPv6 of 8288); in has 1500"));
    EXPECT_TRUE(says(said({"--local", "--strict"}), "olaf cluster set in ID --worker ID=ADDR"));
    EXPECT_FALSE(says(local, "is down") || says(local, "no carrier")) << local;
    bed.host.ip("link set out down\n");
    EXPECT_TRUE(
        says(said({"--forward", "out"}), "out is down: nothing leaves until ip link set out up"));
    bed.worker.ip("link set eth0 down\n");
    EXPECT_TRUE(says(said({"--local"}), "in has no carrier: nothing comes in"));
}

TEST(Status, ShowsSinceWhenWhoseUpdatesAndWhatThereIsBecauseOfTheQueue) {
    Testbed bed;
    const auto before = boottime_ns();
    bed.attach({"--strict", "--allow", "10.0.0.0/16", "--allow", "fd00::/32"});
    auto status = bed.olaf.status().json;
    EXPECT_LE(status["attached"]["for_ns"], boottime_ns() - before);
    EXPECT_TRUE(status["attached"]["replaced_for_ns"].is_null());
    EXPECT_EQ(status["allowed"].size(), 2u);
    EXPECT_EQ(status["drain"]["qdisc"], "tbf");
    const auto told = bed.olaf({"status", "in"}).out;
    for (const auto &what :
         {"  since       20", "fd00::/32", "10.0.0.0/16", "registered workers only (--strict)",
          "the drain's veth pair, with qdisc tbf; qdisc clsact on in", "maps take"})
        EXPECT_TRUE(says(told, what));
    bed.olaf.replace();
    status = bed.olaf.status().json;
    EXPECT_LE(status["attached"]["replaced_for_ns"], status["attached"]["for_ns"]);
}

TEST(Status, HasAgeOfModelInItsTableOfClusters) {
    Testbed bed{{.way = Way::bridged}};
    bed.attach();
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    worker.send(Update{.cluster = 3}, bed.target(4));
    bed.olaf.await_drained(1);
    const auto told = bed.olaf({"status", "in", "--clusters"}).out;
    EXPECT_TRUE(says(told, "AoM now  average     peak\n"));
    EXPECT_TRUE(says(told, "\n       3          1          0"));
}

TEST(Status, PrintsRatesSoManyTimesOrUntilInterrupted) {
    Testbed bed{{.way = Way::bridged}};
    bed.attach();
    const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
    Process watching(bed.olaf.command({"status", "in", "--interval", "200ms", "--count", "2"}));
    await(
        [&, sequence = 0u]() mutable {
            worker.send(Update{.sequence = sequence++}, bed.target(4));
            return !watching.running();
        },
        [] { return "the end of two intervals"; }, std::chrono::milliseconds(5));
    const auto told = watching.wait();
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(std::ranges::count(told.out, '\n'), 3) << told.out; // titles and two lines
    EXPECT_TRUE(says(told.out, "working: 1 cluster active"));

    Process json(bed.olaf.command({"--json", "status", "in", "--interval", "100ms"}));
    const auto lines = interrupted_after(json, "\n{");
    expect_schema("live", lines.out);
}

TEST(Status, OfAllNetworkNamespacesFindsQueuesOfNamedOnesAndOfProcesses) {
    Testbed named{{.way = Way::bridged}};
    named.attach();
    const auto list = nlohmann::json::parse(named.olaf({"--json", "status", "--all"}).out);
    const auto in = [](const nlohmann::json &all, const std::string &netns) {
        return std::ranges::count_if(all,
                                     [&](const auto &queue) { return queue.at("netns") == netns; });
    };
    EXPECT_EQ(in(list, named.host.name()), 1) << list;
    EXPECT_EQ(in(list, named.worker.name()), 0) << list;
    const auto told = named.olaf({"status", "--all"}).out;
    EXPECT_TRUE(says(told, "network namespace " + named.host.name() + "\nin: idle"));

    // One that has no name, only a process.
    Process nameless({"unshare", "--net", "sh", "-c",
                      "ip link add in type veth peer name far && ip link set in up && " OLAF_BINARY
                      " attach in --local && echo ready && exec sleep 600"});
    nameless.await_output("ready\n");
    const auto pid = std::to_string(nameless.pid());
    const auto all = nlohmann::json::parse(run({OLAF_BINARY, "--json", "status", "--all"}).out);
    EXPECT_EQ(in(all, "of process " + pid), 1) << all;
    EXPECT_EQ(in(all, named.host.name()), 1) << all;
    expect_schema("status", all.dump());
    EXPECT_EQ(
        run({"nsenter", "--net=/proc/" + pid + "/ns/net", OLAF_BINARY, "detach", "in"}).status, 0);
    nameless.kill();
}

TEST(Status, ReadsNoMapsOfAnotherLayoutAndShowsOtherQueuesAllTheSame) {
    Testbed ours;
    ours.attach();
    const Netns elsewhere("elsewhere");
    elsewhere.ip("link add in type veth peer name far\nlink set in up\n");
    OlafCommand other(elsewhere, "in");
    other.attach({"--local"});
    const auto write_layout = [&](std::uint32_t layout) {
        const Inside inside(elsewhere);
        const auto map =
            RecordMap::open({.netns = netns_inode().value(),
                             .ifindex = static_cast<std::uint32_t>(elsewhere.ifindex("in"))});
        auto record = map->read().value();
        record.layout = layout;
        ASSERT_TRUE(map->write(record));
    };
    write_layout(OLAF_LAYOUT + 1);
    EXPECT_TRUE(
        refused(other({"status", "in"}), "cannot use the queue on in: its maps have layout"));
    const auto all = ours.olaf({"status", "--all"});
    EXPECT_EQ(all.status, 0) << all.err;
    EXPECT_TRUE(says(all.err, "network namespace " + elsewhere.name() + ": cannot use"));
    EXPECT_TRUE(says(all.out, "network namespace " + ours.host.name() + "\nin: idle"));
    write_layout(OLAF_LAYOUT);
}

// ---- schema ----
// Everything printed as JSON is what docs/schema says.

class Schema : public testing::Test {
  protected:
    explicit Schema(Way way = Way::bridged) : bed({.way = way}) {}

    std::string says(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "--json");
        const auto outcome = bed.olaf(std::move(arguments));
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return outcome.out;
    }

    Testbed bed;
};

TEST_F(Schema, CanFail) {
    for (const auto &[name, text] : {std::pair{"status", "{}"},
                                     {"meter", R"({"device": "in"})"},
                                     {"doctor", R"([{"subject": "kernel"}])"},
                                     {"job", R"([{"job": 7}])"}})
        EXPECT_EQ(run({"/usr/bin/python3", OLAF_VALIDATE, name}, text).status, 1) << name;
}

TEST_F(Schema, StatusOfAQueueAtWork) {
    expect_schema("attach", says({"attach", "in", "--forward", "out", "--rate", "1mbit"}));
    expect_schema("status", says({"status", "in", "--clusters"})); // nothing has come
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    const PacketSocket socket(bed.worker, "eth0");
    socket.send(frames_of(bed, random_updates(500, 9, 8, 5)));
    socket.send(bed.path().carrying(Update{.cluster = 1, .count = 0}));
    bed.olaf.await_drained(500);
    for (const auto &arguments : std::vector<std::vector<std::string>>{
             {"status", "in"}, {"status", "in", "--clusters"}, {"status"}})
        expect_schema("status", says(arguments));
    const auto json = nlohmann::json::parse(says({"status", "in", "--clusters"}));
    EXPECT_EQ(json.at("aom").at("clusters"), 9);
    EXPECT_EQ(json.at("clusters").size(), 9u);
    expect_schema("detach", says({"detach", "in"}));
    expect_schema("status", says({"status"})); // none
}

TEST_F(Schema, Clusters) {
    bed.attach({"--fifo"});
    bed.olaf.cluster({"set", "3", "--policy", "fifo", "--reward-threshold", "0.5"});
    expect_schema("cluster", says({"cluster", "list", "in"}));
    expect_schema("cluster", says({"cluster", "list", "in", "3"}));
}

TEST_F(Schema, Doctor) {
    // Its status is 1 where something is missing: that is no matter here.
    expect_schema("doctor", bed.olaf({"--json", "doctor"}).out);
    expect_schema("doctor", bed.olaf({"--json", "doctor", "in"}).out);
}

class SchemaOfJobs : public Schema {
  protected:
    SchemaOfJobs() : Schema(Way::local) {}
};

TEST_F(SchemaOfJobs, ListAndStatus) {
    bed.host.sysctl("ipv4/conf/in/forwarding", "1"); // for the parent
    bed.attach({"--round-slots", "256"});
    expect_schema("job", says({"job", "list", "in"})); // none
    says({"job", "set", "in", "7", "--children", "2", "--lanes", "16", "--member", "1=10.0.0.1"});
    says({"job", "set", "in", "8", "--children", "2", "--lanes", "16", "--parent", "10.0.0.1",
          "--rank", "0", "--max-count", "4"});
    says({"job", "set", "in", "9", "--children", "2", "--lanes", "16", "--format", "f32", "--pool",
          "1"});
    says({"job", "halt", "in", "8"});
    expect_schema("job", says({"job", "list", "in"}));
    expect_schema("status", says({"status", "in"}));
}

// ---- commands ----
// The commands called as functions, as a controller does: values come back, nothing is printed,
// and the calling program's signals stay its own.

/// Whether this thread takes the signals that commands hold back while they run.
bool takes_signals() {
    sigset_t held;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &held);
    return sigismember(&held, SIGINT) == 0 && sigismember(&held, SIGTERM) == 0;
}

class Commands : public testing::Test {
  protected:
    Commands() { testing::internal::CaptureStdout(); }
    ~Commands() override {
        EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
        EXPECT_TRUE(takes_signals());
    }

    SocketBed bed;
    const Inside host{bed.host};
};

/// A queue of 8 that delivers to this host.
AttachOptions small_queue() {
    AttachOptions options;
    options.device = "in";
    options.local = true;
    options.queue = 8;
    return options;
}

TEST_F(Commands, ReturnWhatTheyDidAndFound) {
    const auto attached = attach(small_queue());
    ASSERT_TRUE(attached) << attached.error().message();
    EXPECT_EQ(attached->device, "in");
    EXPECT_EQ(attached->record.config.queue_capacity, 8u);
    bed.send(Update{.cluster = 3});
    EXPECT_EQ(bed.receive().cluster, 3u);

    const auto one = status("in");
    ASSERT_TRUE(one) << one.error().message();
    EXPECT_TRUE(one->attachment.alive);
    EXPECT_EQ(one->reading.value().snapshot.counters.received, 1u);
    EXPECT_EQ(status_of_all().value().size(), 1u);

    ClusterOptions rule;
    rule.device = "in";
    rule.action = ClusterOptions::Action::set;
    rule.clusters = Range{3, 3};
    rule.max_count = 2;
    ASSERT_TRUE(change_clusters(rule));
    const auto listing = list_clusters(rule);
    ASSERT_TRUE(listing) << listing.error().message();
    EXPECT_EQ(listing->rows.at(0).rule.max_count, 2u);

    const auto checks = doctor({.device = "in"});
    ASSERT_TRUE(checks) << checks.error().message();
    EXPECT_TRUE(fit_to_attach(*checks));

    const auto detached = detach({.device = "in"});
    ASSERT_TRUE(detached) << detached.error().message();
    EXPECT_EQ(detached->updates_dropped, 0u);
    EXPECT_TRUE(status_of_all().value().empty());
}

TEST_F(Commands, HandOverWhatTheySee) {
    ASSERT_TRUE(attach(small_queue()));
    bed.send(Update{.cluster = 3});
    EXPECT_EQ(bed.receive().cluster, 3u);
    std::vector<std::uint32_t> seen;
    const auto watched = watch({.device = "in"}, -1, [&](const Reading &, const Rows &rows) {
        for (const auto &row : rows.clusters)
            seen.push_back(row.cluster);
        return false; // enough
    });
    ASSERT_TRUE(watched) << watched.error().message();
    EXPECT_EQ(seen, std::vector{3u});
    EXPECT_TRUE(detach({.device = "in"}));
}

TEST_F(Commands, SayWhyTheyFail) {
    const auto none = status("in");
    ASSERT_FALSE(none);
    EXPECT_TRUE(says(none.error().message(), "none is attached"));
    auto options = small_queue();
    options.device = "nowhere";
    const auto refused = attach(options);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(says(refused.error().message(), "nowhere"));
}

// ---- names ----

TEST(Names, OfAnyBytesAreShownAsUtf8) {
    Testbed bed{{.way = Way::local}};
    const std::string name = "caf\xe9";
    bed.host.ip("link set in name " + name + "\n");
    EXPECT_EQ(bed.olaf({"--json", "attach", name, "--local"}).status, 0);
    for (const auto &words : {std::vector<std::string>{"--json", "status"}, {"--json", "status", name},
                              {"--json", "doctor", name}}) {
        const auto told = bed.olaf(words);
        EXPECT_TRUE(says(told.out, "caf\xef\xbf\xbd")) << told.out << told.err;
        EXPECT_FALSE(nlohmann::json::parse(told.out, nullptr, false).is_discarded());
    }
    EXPECT_EQ(bed.olaf({"--json", "detach", name}).status, 0);
}

// ---- messages ----
// What commands say to one who may not look, or who looks where nothing is to be seen.

class Messages : public testing::Test {
  protected:
    /// The command as nobody, without a capability.
    [[nodiscard]] Outcome nobody(const std::vector<std::string> &arguments) const {
        return run(as_nobody("", arguments), {}, &bed.host);
    }

    Testbed bed{{.way = Way::bridged}};
};

TEST_F(Messages, StatusNamesWhatNobodyMayRead) {
    const auto told = nobody({"status"});
    EXPECT_EQ(told.status, 1);
    EXPECT_TRUE(told.err.starts_with("olaf: cannot read the queues of this host: ")) << told.err;
}

/// It gives a command mounts of its own, without the BPF file system: a queue would go with them.
TEST_F(Messages, NothingIsAttachedUnderIpNetnsExec) {
    const auto before = traces(bed.host);
    const std::vector<std::vector<std::string>> commands{
        {"attach", "in", "--local"}, {"status"}, {"detach", "in"}};
    for (const auto &command : commands) {
        const auto line = joined({"ip", "netns", "exec", bed.host.name(), OLAF_BINARY}, command);
        EXPECT_TRUE(refused(run(line), "use olaf --netns NAME in place of ip netns exec"));
    }
    EXPECT_EQ(traces(bed.host), before);
}

TEST_F(Messages, DoctorOfNobodyCountsNoQueues) {
    bed.attach();
    const auto told = nobody({"doctor"});
    EXPECT_EQ(told.status, 1);
    EXPECT_TRUE(says(told.out, "how many queues are pinned can't be told"));
    EXPECT_TRUE(says(bed.olaf({"doctor"}).out, " pinned\n"));
}

TEST_F(Messages, MeterSaysThatTheQueueOnItsDeviceComesFirst) {
    constexpr auto hint = "in: its queue takes updates before the meter sees them";
    EXPECT_FALSE(says(bed.olaf({"meter", "in", "--for", "1ms"}).err, hint));
    bed.attach();
    EXPECT_TRUE(says(bed.olaf({"meter", "in", "--for", "1ms"}).err, hint));
    EXPECT_EQ(bed.olaf({"meter", "out", "--for", "1ms"}).err, "");
}

} // namespace
} // namespace olaf::test::status_test
