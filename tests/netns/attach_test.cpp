// SPDX-License-Identifier: BSD-2-Clause
// `attach`: all or nothing, proven before it says live, with what it says and takes.
#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "loader/datapath/programs.hpp"
#include "process.hpp"
#include "testbed.hpp"
#include "traces.hpp"
#include "traffic.hpp"

namespace olaf::test::attach_test {
namespace {

// All or nothing: an attach that fails says why and leaves no trace; of two at once one wins.

class AttachFails : public testing::Test {
  protected:
    /// The attach ends with status 1 and one line that says `why`; nothing has changed.
    void expect_refused(const std::vector<std::string> &arguments, const std::string &why) {
        const auto before = traces(bed.host);
        const auto told = bed.olaf(joined({"attach", "in"}, arguments));
        EXPECT_TRUE(refused(told, why));
        EXPECT_EQ(told.out, "");
        EXPECT_EQ(traces(bed.host), before);
    }

    Testbed bed{{.way = Way::bridged}};
};

TEST_F(AttachFails, OnAForeignProgram) {
    const ForeignXdp foreign(bed.host, "in");
    expect_refused({"--local"}, "XDP program already");
    expect_refused({"--local", "--dry-run"}, "XDP program already");
    expect_refused({"--forward", "out", "--mode", "skb"}, "XDP program already");
}

TEST_F(AttachFails, WithoutTheOutputDevice) {
    expect_refused({"--forward", "nothing0"}, "nothing0");
}

TEST_F(AttachFails, WithoutARoute) {
    expect_refused({"--upstream", "192.0.2.1"}, "192.0.2.1");
}

TEST_F(AttachFails, WhereALanesNameIsTaken) {
    const auto name = "olaf" + std::to_string(bed.host.ifindex("in")) + "a";
    bed.host.ip("link add " + name + " type bridge\n");
    expect_refused({"--local"}, name);
    const auto kept = run({"ip", "-n", bed.host.name(), "link", "show", name});
    EXPECT_EQ(kept.status, 0) << "it wasn't ours to remove";
}

TEST_F(AttachFails, WhereAQueueIsAlready) {
    bed.attach();
    expect_refused({"--local"}, "a queue of olaf's is there");
    expect_refused({"--forward", "out"}, "a queue of olaf's is there");
    EXPECT_EQ(bed.olaf.status().json["deliver"]["kind"], "forward"); // as before
}

TEST_F(AttachFails, OnADeviceThatIsNot) {
    const auto before = traces(bed.host);
    EXPECT_TRUE(refused(bed.olaf({"attach", "nothing0", "--local"}), "nothing0"));
    EXPECT_EQ(traces(bed.host), before);
}

TEST(AttachRace, OneWinsAndTheOtherIsTold) {
    SocketBed bed;
    const auto before = traces(bed.host);
    Process first(bed.olaf.command({"attach", "in", "--local", "--queue", "5"}));
    Process second(bed.olaf.command({"attach", "in", "--local", "--queue", "6"}));
    const Outcome ends[] = {first.wait(), second.wait()};
    ASSERT_EQ(ends[0].status + ends[1].status, 1) << ends[0].err << ends[1].err;
    const auto &loser = ends[ends[0].status == 0 ? 1 : 0];
    EXPECT_TRUE(loser.err.find("a queue of olaf's is there") != loser.err.npos ||
                loser.err.find("another olaf") != loser.err.npos)
        << loser.err;
    EXPECT_EQ(bed.olaf.status().queue("capacity"), ends[0].status == 0 ? 5u : 6u);
    bed.send(Update{.cluster = 1});
    EXPECT_EQ(bed.receive().cluster, 1u);
    EXPECT_EQ(bed.olaf.status()["passed_through"], 1u);
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

// ---- attach proof ----
// Attach sends a frame the whole way of a token before it says live: where somebody's program takes
// it away, it names that and leaves no trace.

class AttachProof : public testing::TestWithParam<TcFilter::Direction> {
  protected:
    const char *hook() { return GetParam() == TcFilter::received ? "ingress" : "egress"; }
    void expect_refused(const std::string &culprit) {
        const auto before = traces(bed.host);
        for (const char *mode : {"native", "skb"}) {
            const auto told = bed.olaf({"attach", "in", "--local", "--mode", mode});
            EXPECT_TRUE(refused(told, culprit));
            EXPECT_EQ(std::count(told.err.begin(), told.err.end(), '\n'), 1) << told.err;
            EXPECT_EQ(traces(bed.host), before);
        }
    }
    void expect_live() {
        bed.attach();
        bed.olaf.detach();
    }
    Testbed bed;
};

TEST_P(AttachProof, ATcxProgramThatEndsTheWayIsNamed) {
    const ForeignTcx foreign(bed.host, "in", GetParam(), TC_ACT_OK);
    if (foreign.attached())
        expect_refused(std::string("(foreign_verdict) on the ") + hook());
    else // before Linux 6.6 there is no TCX: nothing is in the way
        expect_live();
}

TEST_P(AttachProof, AFilterThatEndsTheWayIsNamed) {
    bed.host.tc(std::string("qdisc add dev in clsact\nfilter add dev in ") + hook() +
                " protocol all prio 1 u32 match u32 0 0 classid 1:1\n");
    expect_refused(std::string("a filter of kind u32 and priority 1 on the ") + hook());
}

TEST_P(AttachProof, ProgramsThatLetFramesOnAreNoObstacle) {
    const ForeignTcx tcx(bed.host, "in", GetParam(), TC_ACT_UNSPEC);
    const ForeignFilter filter(bed.host, "in", GetParam(), 1);
    expect_live();
}

TEST_P(AttachProof, AReplacementTriesTheDrainTooAndTheOldProgramsStayIfItFails) {
    const auto filter = std::string("filter add dev in ") + hook() + " protocol all prio 1 u32 ";
    // One that matches nothing, so that olaf's come behind it.
    bed.host.tc("qdisc add dev in clsact\n" + filter +
                "match u32 0xffffffff 0xffffffff classid 1:1\n");
    bed.attach({"--rate", "1mbit"});
    bed.host.tc(filter + "match u32 0 0 classid 1:1\n");
    const auto before = traces(bed.host);
    EXPECT_TRUE(refused(bed.olaf({"attach", "in", "--replace", "--rate", "2mbit"}),
                        "a filter of kind u32 and priority 1"));
    EXPECT_EQ(traces(bed.host), before);
    EXPECT_EQ(bed.olaf.status().json["rate_bps"], 1'000'000);
    bed.host.tc(std::string("filter del dev in ") + hook() + " protocol all prio 1\n");
    bed.olaf.replace({"--rate", "2mbit"});
    EXPECT_EQ(bed.olaf.status().json["rate_bps"], 2'000'000);
}

INSTANTIATE_TEST_SUITE_P(Hooks, AttachProof, testing::Values(TcFilter::received, TcFilter::sent),
                         [](const auto &info) {
                             return info.param == TcFilter::received ? "Ingress" : "Egress";
                         });

TEST(AttachProofQuiet, NothingOfItReachesTheWire) {
    Testbed bed;
    const PacketSocket wire(bed.worker, "eth0");
    bed.attach();
    while (const auto frame = wire.poll(std::chrono::milliseconds(50)))
        EXPECT_NE(frame->size(), 128u);
    const auto status = bed.olaf.status();
    EXPECT_EQ(status.drain("stale"), 0u);
    EXPECT_EQ(status.drain("ticks"), 0u);
}

TEST(AttachProofDrain, AReplacementSaysThatTheDrainIsDown) {
    Testbed bed;
    bed.attach();
    const auto drain = bed.olaf.status().json["drain"]["device"].get<std::string>();
    bed.set_drain("down");
    EXPECT_TRUE(
        refused(bed.olaf({"attach", "in", "--replace", "--rate", "2mbit"}), drain + " is down"));
    bed.set_drain("up");
    bed.olaf.replace({"--rate", "2mbit"});
}

TEST(AttachProofDown, ADeviceThatIsDownIsNotTried) {
    Testbed bed;
    bed.host.ip("link set in down\n");
    const auto told = bed.olaf({"attach", "in", "--local"});
    EXPECT_EQ(told.status, 0) << told.err;
    EXPECT_TRUE(says(told.err, "in: it is down, so the drain wasn't tried"));
    bed.host.ip("link set in up\n");
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
}

// ---- bridging ----
// --forward bridges only where a bridge stands, and says what it took.

/// What attach says besides its result; attaches.
std::string said(Testbed &bed, const std::vector<std::string> &more = {}) {
    const auto outcome = bed.olaf(joined({"attach", "in", "--forward", "out"}, more));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.err;
}

bool bridges(const Testbed &bed) {
    return bed.olaf.status().json.at("deliver").at("bridge").get<bool>();
}

class Bridging : public testing::Test {
  protected:
    static void detach(Testbed &bed) { EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0); }
};

TEST_F(Bridging, APortOfABridgeBridges) {
    Testbed bed{{.way = Way::bridged}};
    const auto text = said(bed);
    EXPECT_TRUE(says(text, "forwards as a bridge only (in is a port of bridge)"));
    EXPECT_TRUE(bridges(bed));
    bed.olaf.replace({"--rate", "1gbit"});
    EXPECT_TRUE(bridges(bed)); // kept
    bed.host.sysctl("ipv4/ip_forward", "1");
    bed.olaf.replace({"--no-bridge"});
    EXPECT_FALSE(bridges(bed));
    bed.olaf.replace();
    EXPECT_FALSE(bridges(bed));
    detach(bed);
}

TEST_F(Bridging, ADeviceWithAnAddressRoutesUnlessAsked) {
    Testbed bed{{.way = Way::routed}};
    auto text = said(bed);
    EXPECT_TRUE(says(text, "forwards as a router only (in has an address)"));
    EXPECT_FALSE(bridges(bed));
    detach(bed);
    text = said(bed, {"--bridge"});
    EXPECT_TRUE(says(text, "forwards as a bridge and a router (--bridge)"));
    EXPECT_TRUE(bridges(bed));
    detach(bed);
}

TEST_F(Bridging, ADeviceWithoutAddressAndMasterBridges) {
    Testbed bed{{.way = Way::routed}};
    bed.host.ip("address flush dev in\n"); // link-local ones remain or not: no matter
    EXPECT_TRUE(says(said(bed), "forwards as a bridge and a router (in has no address)"));
    EXPECT_TRUE(bridges(bed));
    detach(bed);
    bed.host.ip("address add fd00::fe/64 dev in nodad\n");
    said(bed);
    EXPECT_FALSE(bridges(bed));
    detach(bed);
}

TEST_F(Bridging, AnAddressOnTopOfTheDeviceMakesItARouter) {
    Testbed bed{{.way = Way::routed}};
    bed.host.ip("address flush dev in\n"
                "link add link in name vrrp type macvlan\n"
                "address add 10.0.0.254/24 dev vrrp\n");
    EXPECT_TRUE(says(said(bed), "forwards as a router only"));
    detach(bed);
}

TEST_F(Bridging, NeitherBridgeNorRouterIsRefusedWithTheRemedy) {
    Testbed bed{{.way = Way::routed}};
    for (const char *version : {"ipv4", "ipv6"})
        bed.host.sysctl(std::string(version) + "/conf/out/forwarding", "0");
    const auto outcome = bed.olaf({"attach", "in", "--forward", "out"});
    EXPECT_TRUE(refused(outcome, "net.ipv4.conf.out.forwarding=1"));
    EXPECT_TRUE(says(outcome.err, "--bridge"));
    bed.host.sysctl("ipv6/conf/out/forwarding", "1");
    EXPECT_TRUE(says(said(bed), "IPv4 isn't routed until sysctl net.ipv4.conf.out.forwarding=1"));
    detach(bed);
    bed.host.ip("link set out name out.7\n");
    EXPECT_TRUE(says(bed.olaf({"attach", "in", "--forward", "out.7"}).err, "sysctl net/ipv4/conf/out.7/forwarding=1"));
    detach(bed);
}

TEST_F(Bridging, IsRefusedWithoutForward) {
    Testbed bed;
    const auto outcome = bed.olaf({"attach", "in", "--local", "--bridge"});
    EXPECT_TRUE(refused(outcome, "--forward"));
}

// ---- memory ----
// What a queue takes of the host's memory: little, told, and no more for fifo than is asked for.

/// Bytes that the values of the queue's pinned arrays hold, as their sizes say.
std::uint64_t bytes_in_arrays(const Netns &netns, const std::string &device) {
    std::uint64_t bytes = 0;
    for (const auto &pin : std::filesystem::directory_iterator(pin_directory(netns, device))) {
        const int fd = bpf_obj_get(pin.path().c_str());
        bpf_map_info info{};
        __u32 length = sizeof info;
        if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &length) == 0 &&
            info.type == BPF_MAP_TYPE_ARRAY && length >= offsetof(bpf_map_info, map_flags))
            bytes += std::uint64_t{info.max_entries} * info.value_size;
        ::close(fd);
    }
    return bytes;
}

constexpr std::uint64_t gibibyte = 1u << 30, mebibyte = 1u << 20;

TEST(Memory, OfAHundredThousandClustersIsLessThanAGibibyte) {
    SocketBed bed;
    bed.attach({"--max-clusters", "100000"});
    const auto json = bed.olaf.status().json;
    const auto told = json.at("memory_bytes").get<std::uint64_t>();
    EXPECT_LT(told, gibibyte);
    EXPECT_EQ(json.at("queue").at("capacity"), 200'000); // as many as can wait
    // The arrays are almost all of it; the rest is counters, an event buffer and addresses.
    const auto arrays = bytes_in_arrays(bed.host, "in");
    EXPECT_GT(arrays, 500 * mebibyte);
    EXPECT_GE(told, arrays);
    EXPECT_LT(told, arrays + 8 * mebibyte);

    // And the last of them works.
    bed.send(Update{.cluster = 99'999});
    EXPECT_EQ(bed.receive().cluster, 99'999u);
}

TEST(Memory, IsToldByAttachToo) {
    Testbed bed;
    const auto told = bed.olaf({"--json", "attach", "in", "--local"});
    ASSERT_EQ(told.status, 0) << told.err;
    EXPECT_EQ(nlohmann::json::parse(told.out).at("memory_bytes"),
              bed.olaf.status().json.at("memory_bytes"));
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
}

TEST(Memory, ForFifoIsTakenOnlyWhereFifoCanBeUsed) {
    Testbed bed;
    bed.attach();
    const auto without = bed.olaf.status().json.at("memory_bytes").get<std::uint64_t>();
    EXPECT_TRUE(refused(bed.olaf({"cluster", "set", "in", "3", "--policy", "fifo"}), "attach it with --fifo"));
    EXPECT_TRUE(refused(bed.olaf({"attach", "in", "--replace", "--policy", "fifo"}),
                        "without room for policy fifo"));
    EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);

    for (const auto &option : std::vector<std::vector<std::string>>{{"--fifo"}, {"--policy", "fifo"}}) {
        ASSERT_EQ(bed.olaf(joined({"attach", "in", "--local"}, option)).status, 0);
        const auto status = bed.olaf.status().json;
        EXPECT_EQ(status.at("limits").at("fifo_places"), 4096);
        EXPECT_GT(status.at("memory_bytes").get<std::uint64_t>(), without + 3 * mebibyte);
        bed.olaf.cluster({"set", "3", "--policy", "fifo"});
        bed.olaf.replace(); // keeps it
        EXPECT_EQ(bed.olaf.status().json.at("limits").at("fifo_places"), 4096);
        EXPECT_EQ(bed.olaf({"detach", "in"}).status, 0);
    }
}

// ---- programs ----
// What the kernel has attached is what the table of programs says, in every way to deliver.

/// Names of the programs on each hook of each device, "in ingress": of which the kernel keeps 15
/// characters. "xdp", "ingress", "egress" as the kernel's own tools say.
using Hooks = std::map<std::string, std::set<std::string>>;

void note(Hooks &hooks, const std::string &device, const std::string &hook, std::string name) {
    hooks[device + " " + hook].insert(name.substr(0, 15));
}

/// Named by the filters, "olaf_egress:[123]", and by the id of the device's XDP program.
Hooks attached(const Netns &netns) {
    Hooks hooks;
    for (const auto &link :
         nlohmann::json::parse(run({"ip", "-n", netns.name(), "-d", "-j", "link"}).out)) {
        const std::string device = link.at("ifname");
        if (link.contains("xdp")) {
            const auto id = std::to_string(link.at("xdp").at("prog").at("id").get<unsigned>());
            const auto shown = run({"bpftool", "-j", "prog", "show", "id", id}).out;
            note(hooks, device, "xdp", nlohmann::json::parse(shown).at("name"));
        }
        for (const std::string side : {"ingress", "egress"})
            for (const auto &filter : nlohmann::json::parse(
                     run({"tc", "-n", netns.name(), "-j", "filter", "show", "dev", device, side})
                         .out))
                if (filter.contains("options") && filter["options"].contains("bpf_name")) {
                    const std::string name = filter["options"]["bpf_name"];
                    note(hooks, device, side, name.substr(0, name.find(':')));
                }
    }
    return hooks;
}

std::string device_named(On on, const Testbed &bed) {
    const auto drain = "olaf" + std::to_string(bed.host.ifindex("in"));
    switch (on) {
    case On::drain_near:
        return drain + "a";
    case On::drain_far:
        return drain + "b";
    case On::way_back:
        return "out";
    default:
        return "in";
    }
}

olaf_config config_of(const Testbed &bed, bool generic) {
    olaf_config config{};
    config.deliver = bed.upstream() ? OLAF_DELIVER_UPSTREAM : OLAF_DELIVER_LOCAL;
    config.flags = generic ? OLAF_CONFIG_SKB_MODE : 0;
    return config;
}

Hooks wanted(const Testbed &bed, const olaf_config &config) {
    Hooks hooks;
    for (const auto &program : programs)
        if (stands(program, config) && program.hook != Hook::tracepoint)
            note(hooks, device_named(program.on, bed),
                 program.hook == Hook::xdp         ? "xdp"
                 : program.hook == Hook::tc_egress ? "egress"
                                                   : "ingress",
                 std::string(program.name));
    return hooks;
}

/// Pins of the table that are in the queue's directory: those of programs and of links.
std::set<std::string> pins_there(const Testbed &bed) {
    std::set<std::string> known, there;
    for (const auto &program : programs)
        for (const auto pin : {program.pin, program.link})
            known.emplace(pin);
    for (const auto &entry : std::filesystem::directory_iterator(pin_directory(bed.host, "in")))
        if (known.contains(entry.path().filename()))
            there.insert(entry.path().filename());
    return there;
}

std::set<std::string> pins_wanted(const olaf_config &config) {
    std::set<std::string> pins;
    for (const auto &program : programs) {
        if (!program.pin.empty() && is_of_use(program, config))
            pins.emplace(program.pin);
        if (!program.link.empty() && stands(program, config))
            pins.emplace(program.link);
    }
    return pins;
}

std::string doctor_on_programs(const Testbed &bed) {
    for (const auto &check : nlohmann::json::parse(bed.olaf({"doctor", "in", "--json"}).out))
        if (check.at("subject") == "programs")
            return check.at("verdict").get<std::string>() + " " +
                   check.at("finding").get<std::string>();
    return "";
}

struct Case {
    Way way;
    bool generic;
    bool rounds = false;
};

class TableOfPrograms : public testing::TestWithParam<Case> {
  protected:
    Testbed bed{{.way = GetParam().way}};
    olaf_config config = [&] {
        auto made = config_of(bed, GetParam().generic);
        made.round_slots = GetParam().rounds ? 64 : 0;
        return made;
    }();

    void attach() {
        std::vector<std::string> more{"--mode", GetParam().generic ? "skb" : "native"};
        if (GetParam().rounds)
            more.insert(more.end(), {"--round-slots", "64"});
        bed.attach(more);
    }
};

TEST_P(TableOfPrograms, IsWhatIsAttached) {
    const auto before = traces(bed.host);
    attach();
    EXPECT_EQ(attached(bed.host), wanted(bed, config));
    EXPECT_EQ(pins_there(bed), pins_wanted(config));
    EXPECT_EQ(doctor_on_programs(bed), "ok the queue's are all on their hooks");
    bed.olaf.replace();
    EXPECT_EQ(attached(bed.host), wanted(bed, config));
    EXPECT_EQ(pins_there(bed), pins_wanted(config));
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

TEST_P(TableOfPrograms, DoctorNamesWhatIsMissingAndReplaceBringsItBack) {
    attach();
    for (const auto &program : programs) {
        if (!runs_by_tc(program) || !stands(program, config))
            continue;
        const auto side = program.hook == Hook::tc_egress ? "egress" : "ingress";
        bed.host.tc("filter del dev " + device_named(program.on, bed) + " " + side);
        EXPECT_TRUE(says(doctor_on_programs(bed), std::string(program.name)));
        bed.olaf.replace();
        EXPECT_EQ(attached(bed.host), wanted(bed, config)) << program.name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, TableOfPrograms,
                         testing::Values(Case{Way::local, false}, Case{Way::local, true},
                                         Case{Way::local, false, true},
                                         Case{Way::bridged, false}, Case{Way::upstream4, false},
                                         Case{Way::upstream4, true}),
                         [](const auto &info) {
                             const auto way = info.param.way;
                             return std::string(way == Way::local     ? "Local"
                                                : way == Way::bridged ? "Bridged"
                                                                      : "Upstream") +
                                    (info.param.generic ? "Generic" : "Native") +
                                    (info.param.rounds ? "WithRounds" : "");
                         });

} // namespace
} // namespace olaf::test::attach_test
