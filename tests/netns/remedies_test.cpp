// SPDX-License-Identifier: BSD-2-Clause
// What olaf says to do works as it is printed: a person pastes it.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <unistd.h>

#include "foreign.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/host.hpp"
#include "remedies.hpp"

namespace olaf::test::remedies_test {
namespace {

class Remedies : public RemedyTest {};

// ---- of the verdict ----

TEST_F(Remedies, BringDevicesUp) {
    lay(Way::routed);
    bed->host.ip("link set in down\n");
    expect_mends("in is down", "ip link set in up");
    bed->host.ip("link set out down\n");
    expect_mends("out is down", "ip link set out up");
    bed->set_drain("down");
    const auto drain = bed->olaf.status().json.at("drain").at("device").get<std::string>();
    expect_mends(drain + " is down", "ip link set " + drain + " up");
}

TEST_F(Remedies, PutBackWhatWasTakenOffItsHook) {
    lay(Way::bridged);
    bed->host.tc("filter delete dev in egress\n");
    expect_mends("took the program olaf_egress off its hook", "olaf attach in --replace");
}

TEST_F(Remedies, ClearAQueueWhoseProgramGaveWayToAnother) {
    lay(Way::bridged);
    const auto pin = pin_directory(bed->host, "in") + "/" + std::string(entrance.link);
    const int link = bpf_obj_get(pin.c_str());
    ASSERT_EQ(bpf_link_detach(link), 0);
    ::close(link);
    EXPECT_EQ(remedy("its XDP program was taken off"), "olaf detach in, then attach again");
    const ForeignXdp other(bed->host, "in");
    const auto text = remedy("(foreign_pass) stands there now");
    const auto end = text.find("; then attach again");
    ASSERT_NE(end, std::string::npos) << text;
    expect_pasted(text, text.substr(0, end));
    bed->attach();
}

TEST_F(Remedies, BeginAnewWhereTheDrainIsGone) {
    lay(Way::bridged);
    const auto drain = bed->olaf.status().json.at("drain").at("device").get<std::string>();
    bed->host.ip("link delete " + drain + "\n");
    expect_pasted(remedy("it is the drain's"), "olaf detach in --force");
    bed->attach();
}

TEST_F(Remedies, TakeInAnAddressThatIsNew) {
    lay(Way::local);
    bed->host.ip("address add 10.0.1.77/32 dev in\n");
    bed->worker.ip("neighbour add 10.0.1.77 lladdr " + text(server_mac) + " dev eth0 nud permanent\n");
    send("10.0.1.77");
    const auto said = remedy("passed the queue by: foreign updates");
    expect_pasted(said, "olaf attach in --replace");
    send("10.0.1.77");
    (void)bed->olaf.await([](const Status &s) { return s["received"] == 1; });
}

TEST_F(Remedies, LetAHaltedJobGoOn) {
    lay(Way::local, {"--round-slots", "64"});
    must(bed->olaf({"job", "set", "in", "7", "--children", "2", "--lanes", "8"}));
    must(bed->olaf({"job", "halt", "in", "7"}));
    expect_mends("job 7 is halted", "olaf job resume in 7");
}

TEST_F(Remedies, ShowWhatTheyPromiseToShow) {
    lay(Way::routed);
    bed->server().ip("link set eth0 arp off\nlink set eth0 address 02:00:00:00:00:77\n");
    bed->host.ip("neighbour replace 10.0.1.2 lladdr 02:00:00:00:00:02 dev out nud stale\n"
                 "neighbour flush dev out nud all\n");
    send();
    expect_pasted(remedy("doesn't answer on out"), "ip neighbour show dev out");
}

TEST_F(Remedies, DropWhatWaitsForAnOutputThatIsGone) {
    lay(Way::bridged);
    bed->unplug("out");
    expect_pasted(remedy("has gone: nothing leaves"), "olaf detach in --force");
    EXPECT_EQ(bed->olaf({"--json", "status"}).out, "[]\n");
}

TEST_F(Remedies, TryAnOutputAgainThatWasDown) {
    lay(Way::bridged, {});
    bed->host.ip("link set out down\n");
    bed->attach();
    const std::string trouble = "wasn't tried: the drain sends what departs";
    bed->host.ip("link set out up\n");
    bed->host.await_links();
    expect_mends(trouble, "olaf attach in --replace");
}

TEST_F(Remedies, TakeTheSpeedOfALineOnceItIsKnown) {
    lay(Way::local, {});
    for (const auto *device : {"in", "tap"}) {
        if (device == std::string("tap"))
            pasted(bed->host,
                   "ip tuntap add tap mode tap; ip link set tap up; ethtool -s tap speed 0");
        bed->host.sysctl("ipv4/conf/" + std::string(device) + "/forwarding", "1");
    }
    const auto attached = bed->olaf({"attach", "in", "--forward", "tap"});
    ASSERT_EQ(attached.status, 0) << attached.err;
    const auto said = remedy("the link speed of tap wasn't known at attach");
    pasted(bed->host, "ethtool -s tap speed 100 duplex full");
    EXPECT_TRUE(says(attached.err, "olaf attach in --replace takes it"));
    expect_pasted(said, "olaf attach in --replace");
    expect_mended("wasn't known at attach");
    EXPECT_EQ(bed->olaf.status().json.at("rate_bps"), 100'000'000);
    EXPECT_EQ(bed->olaf({"detach", "in"}).status, 0);
}

TEST_F(Remedies, ShowTheWayThatTheKernelTakes) {
    lay(Way::routed);
    bed->host.ip("neighbour delete 10.0.1.2 dev out\naddress delete 10.0.1.254/24 dev out\n"
                 "route add 10.0.1.2 dev in\n");
    send();
    const auto said = remedy("there is no route to 10.0.1.2 by out");
    EXPECT_TRUE(says(expect_pasted(said, "ip route get 10.0.1.2"), "10.0.1.2 dev in"));
}

/// Either way that is said.
TEST_F(Remedies, ReplaceALostToken) {
    const std::string trouble = "the drain's token is missing";
    for (const bool by_a_frame : {true, false}) {
        lay(Way::local, {"--rate", "20kbit"});
        bed->host.sysctl("ipv6/conf/in/disable_ipv6", "1"); // its frames would replace the token
        bed->worker.sysctl("ipv6/conf/eth0/disable_ipv6", "1");
        const auto drain = bed->olaf.status().json.at("drain").at("device").get<std::string>();
        const auto qdisc = [&](const std::string &tbf) {
            bed->host.tc("qdisc replace dev " + drain + " root tbf " + tbf + "\n");
        };
        qdisc("rate 8bit burst 1 limit 1"); // it takes no frame
        send_large(9);
        const auto said = remedy(trouble);
        qdisc("rate 10mbit burst 8kb limit 32kb");
        EXPECT_TRUE(says(said, "any frame through in replaces it; if that doesn't help: "));
        if (by_a_frame)
            send();
        else
            expect_pasted(said, "olaf attach in --replace");
        expect_mended(trouble);
        EXPECT_EQ(bed->olaf({"detach", "in", "--force"}).status, 0);
    }
}

TEST_F(Remedies, TryTheOutputsXdpAnew) {
    lay(Way::bridged, {"--rate", "20kbit"});
    set_offloads(bed->server(), "eth0", {.gro = false});
    send_large(30);
    const std::string trouble = "out refuses redirected frames of ";
    const auto said = remedy(trouble);
    set_offloads(bed->server(), "eth0", {});
    expect_pasted(said, "olaf attach in --replace");
    expect_mended(trouble);
    EXPECT_GT(bed->olaf.status()["updates_waiting"], 0u); // else it would say nothing of the output
    EXPECT_EQ(bed->olaf({"detach", "in", "--force"}).status, 0);
}

TEST_F(Remedies, ShowTheFirewallThatTakesWhatLeft) {
    lay(Way::local);
    pasted(bed->host,
           "nft add table inet t; nft 'add chain inet t c { type filter hook input priority 0; }'; "
           "nft add rule inet t c udp dport 6523 drop");
    send();
    EXPECT_TRUE(
        says(expect_pasted(remedy("updates lost behind the queue: stack"), "nft list ruleset"),
             "udp dport 6523 drop"));
}

TEST_F(Remedies, ShowTheOutputThatRefusesWhatTheDrainSends) {
    lay(Way::bridged, {"--rate", "1mbit"});
    bed->host.tc("qdisc replace dev out root bfifo limit 1\n"); // no frame is so short
    send_large(9);
    const auto said = remedy("updates lost behind the queue: drain send refused");
    EXPECT_TRUE(says(expect_pasted(said, said), "RX:"));
}

TEST_F(Remedies, ShowTheOutputThatTakesNothingOfTheQueue) {
    lay(Way::bridged, slow_link);
    bed->host.ip("link set out down\n");
    send_large(9);
    (void)remedy("updates lost behind the queue: redirect refused");
    bed->host.tc("qdisc replace dev out root bfifo limit 1\n"); // nor does it take a probe
    bed->host.ip("link set out up\n");
    const auto said = remedy("out refuses what the queue sends");
    EXPECT_TRUE(says(expect_pasted(said, said), "bfifo"));
    EXPECT_EQ(bed->olaf({"detach", "in", "--force"}).status, 0);
}

TEST_F(Remedies, LeaveTagsInTheFrame) {
    bed.emplace(Wiring{.way = Way::local, .worker = {.tx_vlan = true}});
    const TagsBeside tags(bed->worker, "eth0");
    bed->attach({"--mode", "skb"});
    const auto frame = bed->path().from(tagged_mac).carrying(Update{.cluster = 1});
    const PacketSocket wire(bed->worker, "eth0");
    wire.send(frame);
    const auto said = remedy("passed the queue by: tagged updates");
    pasted(bed->worker,
           filled(part_of_text(said, "ethtool -K PEER", " on in"), {{"PEER", "eth0"}}));
    must(bed->olaf({"reset", "in"}));
    wire.send(frame);
    (void)bed->olaf.await([](const Status &s) { return s["received"] == 1; });
    expect_mended("tagged");
}

TEST_F(Remedies, BridgeWhatIsForAnotherMacAddress) {
    lay(Way::routed);
    bed->host.ip("link set in promisc on\nlink set out promisc on\n");
    const auto frame = bed->path().to(server_mac).carrying(Update{.cluster = 1});
    const PacketSocket wire(bed->worker, "eth0");
    wire.send(frame);
    expect_pasted(remedy("passed the queue by: unbridged updates"),
                  "olaf attach in --replace --bridge");
    wire.send(frame);
    (void)bed->olaf.await([](const Status &s) { return s["received"] == 1; });
}

TEST_F(Remedies, TakeANewMtuIn) {
    lay(Way::bridged, slow_link);
    send_large(9);
    bed->olaf.await([](const Status &s) { return s["received"] == 9; });
    bed->host.ip("link set out mtu 1280\n");
    expect_pasted(remedy("departures failed: unfit"), "olaf attach in --replace");
    EXPECT_EQ(bed->olaf.status().json.at("limits").at("egress_mtu"), 1280);
    EXPECT_EQ(bed->olaf({"detach", "in", "--force"}).status, 0);
}

TEST_F(Remedies, SayWhyLossesAreNotWatched) {
    lay(Way::local, {});
    const auto attached = bed->olaf.without_btf("attach in --local");
    ASSERT_EQ(attached.status, 0) << attached.err;
    expect_mends("losses behind the queue aren't watched", "olaf attach in --replace");
    EXPECT_EQ(bed->olaf({"detach", "in"}).status, 0);
}

TEST_F(Remedies, ShowWhatIsMalformed) {
    lay(Way::local);
    const auto bad = [&] { worker->send(Update{.cluster = 1, .count = 0}, bed->target(4)); };
    bad();
    expect_shows(bed->host, part_of_text(remedy("messages malformed"), "olaf trace ", " shows"),
                 Testbed::worker_peer(4).address, bad);
}

TEST_F(Remedies, ShowWhoseUpdatesAreDropped) {
    lay(Way::local, {"--rate", "20kbit", "--policy", "aggregate"});
    send_large(9);
    for (const std::size_t lanes : {2, 3, 4, 5}) // two of them may wait
        worker->send(Update{.cluster = 55, .lanes = std::vector<std::uint64_t>(lanes, 1)},
                     bed->target(4));
    const auto shown =
        expect_pasted(remedy("messages dropped by the queue"), "olaf status in --clusters");
    EXPECT_TRUE(says(shown, "\n      55 "));
}

// ---- of the verdict, of what is refused ----

class RemediesOfRefusals : public Remedies {
  protected:
    void attach(const std::vector<std::string> &options) { lay(Way::local, options); }
    void send(const Update &update) const { worker->send(update, bed->target(4)); }
    /// It is refused for that reason, until what is said is done.
    void expect_taken_after(const Update &update, const std::string &reason,
                            const std::function<void(const std::string &said)> &mend) const {
        send(update);
        mend(remedy("refused: " + reason));
        const auto before = bed->olaf.status()["received"];
        send(update);
        (void)bed->olaf.await([&](const Status &s) { return s["received"] == before + 1; });
    }
    /// The command that is said, with more options.
    void paste_with(const std::string &said, const std::string &command,
                    const std::string &more) const {
        EXPECT_TRUE(says(said, command));
        pasted(bed->host, command + more);
    }
};

TEST_F(RemediesOfRefusals, AllowASource) {
    attach({"--allow", "192.0.2.0/24"});
    expect_taken_after({.cluster = 1}, "source address not in --allow", [&](const auto &said) {
        paste_with(said, "olaf attach in --replace", " --allow 192.0.2.0/24 --allow 10.0.0.0/24");
    });
}

TEST_F(RemediesOfRefusals, AttachWithMoreClustersAndSegments) {
    attach({"--max-clusters", "4"});
    expect_taken_after({.cluster = 4}, "cluster id 4 or above", [&](const auto &said) {
        expect_pasted(said, "olaf detach in");
        EXPECT_TRUE(says(said, "attach with a larger --max-clusters"));
        bed->attach({"--max-clusters", "5"});
    });
    expect_taken_after({.cluster = 4, .segments = 2}, "model in more segments than 1",
                       [&](const auto &said) {
                           expect_pasted(said, "olaf detach in");
                           EXPECT_TRUE(says(said, "attach with a larger --max-segments"));
                           bed->attach({"--max-clusters", "5", "--max-segments", "2"});
                       });
}

TEST_F(RemediesOfRefusals, AttachAgainAfterTheMtuWasRaised) {
    attach({"--rate", "unlimited"});
    bed->worker.ip("link set eth0 mtu 3000\n");
    bed->host.ip("link set in mtu 3000\n");
    expect_taken_after({.cluster = 1, .lanes = std::vector<std::uint64_t>(300, 1)},
                       "size above 192 lanes", [&](const auto &said) {
                           expect_pasted(said, "olaf detach in");
                           bed->attach();
                       });
}

TEST_F(RemediesOfRefusals, RaiseMaxCount) {
    attach({"--rate", "unlimited"});
    must(bed->olaf({"cluster", "set", "in", "3", "--max-count", "4"}));
    expect_taken_after(
        {.cluster = 3, .count = 9}, "count above the cluster's max_count", [&](const auto &said) {
            pasted(bed->host, filled(part_of_text(said, "olaf cluster set in"),
                                     {{"ID", "3"}, {"--max-count N", "--max-count 9"}}));
        });
}

TEST_F(RemediesOfRefusals, RegisterAWorker) {
    attach({"--strict"});
    const auto mend = [&](const auto &said) {
        pasted(bed->host,
               filled(part_of_text(said, "olaf cluster set in"),
                      {{"ID --worker", "3 --worker"}, {"ID=ADDR[:PORT]", "2=10.0.0.1"}}));
    };
    expect_taken_after({.cluster = 3, .worker = 2}, "worker not registered", mend);
    must(bed->olaf({"cluster", "set", "in", "3", "--worker", "2=10.0.0.9"}));
    must(bed->olaf({"reset", "in"}));
    expect_taken_after({.cluster = 3, .worker = 2}, "address other than the registered worker's",
                       mend);
}

// ---- of doctor ----

class RemediesOfDoctor : public Remedies {
  protected:
    /// What doctor advises about a subject; "": nothing.
    [[nodiscard]] std::string advice(const std::string &subject,
                                     const std::string &device = "in") const {
        return check(subject, device).at("remedy");
    }
    /// The check of a subject.
    [[nodiscard]] nlohmann::json check(const std::string &subject,
                                       const std::string &device = "in") const {
        const auto checks = nlohmann::json::parse(bed->olaf({"--json", "doctor", device}).out);
        for (const auto &check : checks)
            if (check.at("subject") == subject)
                return check;
        throw std::runtime_error("doctor says nothing of " + subject + ": " + checks.dump());
    }
    /// It advises the command, and no more once that was done.
    void expect_cures(const std::string &subject, const std::string &command) const {
        expect_pasted(advice(subject), command);
        const auto checks = nlohmann::json::parse(bed->olaf({"--json", "doctor", "in"}).out);
        for (const auto &check : checks)
            if (check.at("subject") == subject) {
                EXPECT_EQ(check.at("remedy"), "") << check;
            }
    }
};

TEST_F(RemediesOfDoctor, BringDevicesUp) {
    lay(Way::routed);
    bed->host.ip("link set in down\n");
    expect_cures("state", "ip link set in up");
    bed->host.ip("link set out down\n");
    expect_cures("output", "ip link set out up");
}

TEST_F(RemediesOfDoctor, FreeTheHook) {
    lay(Way::local, {});
    const ForeignXdp other(bed->host, "in");
    expect_cures("XDP hook", advice("XDP hook"));
}

TEST_F(RemediesOfDoctor, PutProgramsBackAndTakeInWhatIsNew) {
    lay(Way::bridged);
    bed->host.tc("filter delete dev in egress\n");
    expect_cures("programs", "olaf attach in --replace");
    bed->host.ip("link set out mtu 1400\n");
    expect_cures("output's MTU", "olaf attach in --replace");
    bed->host.ip("address add 10.0.1.77/32 dev bridge\n");
    expect_cures("own addresses", "olaf attach in --replace");
    bed->unplug("out");
    expect_pasted(advice("output"), "olaf detach in --force");
}

TEST_F(RemediesOfDoctor, AttachAgainForMoreRoom) {
    lay(Way::local);
    bed->host.ip("link set in mtu 3000\n");
    expect_pasted(advice("room"), "olaf detach in");
    bed->attach();
    EXPECT_THROW((void)advice("room"), std::runtime_error);
}

TEST_F(RemediesOfDoctor, ForwardPackets) {
    lay(Way::local, {});
    bed->host.sysctl("ipv4/ip_forward", "0");
    expect_cures("ip_forward", part_of_text(advice("ip_forward"), "sysctl "));
}

TEST_F(RemediesOfDoctor, LowerAnMtuThatTheDriverCannotTake) {
    lay(Way::local, {});
    pasted(bed->host, "ip tuntap add in.7 mode tap; ip link set in.7 mtu 9000 up");
    expect_pasted(advice("MTU", "in.7"), "ip link set in.7 mtu 3498");
    EXPECT_EQ(advice("MTU", "in.7"), "");
}

TEST_F(RemediesOfDoctor, LetAVethTakeRedirectedFrames) {
    lay(Way::local, {});
    set_offloads(bed->worker, "eth0", {.gro = false});
    const auto said = advice("redirect target");
    if (said.empty()) { // Linux before 6.3 has no such question, and then doctor must say so
        EXPECT_TRUE(says(check("redirect target").dump(), "this kernel doesn't tell"));
        EXPECT_LT(running_kernel(), (KernelVersion{6, 3}));
        return;
    }
    pasted(bed->worker, filled(part_of_text(said, "ethtool -K PEER"), {{"PEER", "eth0"}}));
    EXPECT_EQ(advice("redirect target"), "");
}

TEST_F(RemediesOfDoctor, MountTheBpfFileSystem) {
    lay(Way::local, {});
    const auto doctor = OLAF_BINARY " --json doctor || true";
    const auto first =
        run({"unshare", "-m", "sh", "-euc",
             std::string("while umount -l /sys/fs/bpf 2>/dev/null; do :; done; ") + doctor});
    std::string said;
    for (const auto &check : nlohmann::json::parse(first.out))
        if (check.at("subject") == "bpffs")
            said = check.at("remedy");
    const auto then = run({"unshare", "-m", "sh", "-euc",
                           "while umount -l /sys/fs/bpf 2>/dev/null; do :; done; " +
                               part_of_text(said, "mount -t bpf") + "; " + doctor});
    for (const auto &check : nlohmann::json::parse(then.out))
        if (check.at("subject") == "bpffs") {
            EXPECT_EQ(check.at("verdict"), "ok") << check;
        }
}

/// Of the network namespace that `ip netns exec` enters, whose mounts hide the BPF file system.
TEST_F(RemediesOfDoctor, EnterANamespaceByOlafItself) {
    lay(Way::local);
    const auto said = run({"ip", "netns", "exec", bed->host.name(), OLAF_BINARY, "status", "in"}).err;
    const auto command =
        filled(part_of_text(said, "olaf --netns NAME", " in place"), {{"NAME", bed->host.name()}});
    const auto shown = run(shell(command + " status in"));
    EXPECT_EQ(shown.status, 0) << shown.err;
    EXPECT_TRUE(says(shown.out, "in"));
}

// ---- of commands that refuse ----

TEST_F(Remedies, OfAPageOfAQueueThatIsNotThereYet) {
    lay(Way::local, {});
    const auto told = bed->olaf({"serve", "in"});
    EXPECT_NE(told.status, 0);
    const auto command = part_of_text(told.err, "olaf serve --wait", " waits for it");
    Process server(bed->olaf.command(words_of(command.substr(5))));
    server.await_output("waiting");
    bed->attach();
    server.await_output("/metrics\n");
    server.kill(SIGTERM);
    EXPECT_EQ(server.wait().status, 0);
}

TEST_F(Remedies, OfAnAttachToADeviceThatHasAQueue) {
    lay(Way::local);
    const auto told = bed->olaf({"attach", "in", "--local"});
    ASSERT_EQ(told.status, 1);
    expect_pasted(told.err, "olaf attach in --replace");
    expect_pasted(told.err, "olaf detach in");
    bed->attach();
}

TEST_F(Remedies, OfAnAttachToADeviceThatHasAnotherProgram) {
    lay(Way::local, {});
    const ForeignProgram other("foreign_pass", [](auto &) {});
    const auto index = bed->host.ifindex("in");
    const std::tuple<const char *, std::uint32_t> modes[] = {{"xdp", XDP_FLAGS_DRV_MODE},
                                                             {"xdpgeneric", XDP_FLAGS_SKB_MODE}};
    for (const auto &[word, mode] : modes) {
        {
            const Inside inside(bed->host);
            ASSERT_EQ(bpf_xdp_attach(index, other.fd, mode, nullptr), 0);
        }
        const auto told = bed->olaf({"attach", "in", "--local"});
        ASSERT_EQ(told.status, 1);
        expect_pasted(told.err, std::string("ip link set in ") + word + " off");
        bed->attach();
        bed->olaf.detach();
    }
}

TEST_F(Remedies, OfAnAttachToADeviceWhoseProgramIsThereByALink) {
    lay(Way::local, {});
    const ForeignXdp other(bed->host, "in");
    const auto told = bed->olaf({"attach", "in", "--local"});
    ASSERT_EQ(told.status, 1);
    const auto begin = told.err.find("bpftool link detach id ");
    ASSERT_NE(begin, std::string::npos) << told.err;
    expect_pasted(told.err, told.err.substr(begin, told.err.find(" removes it") - begin));
    bed->attach();
}

TEST_F(Remedies, OfAnAttachWhereProgramsTakeTheDrainsFrames) {
    lay(Way::local, {});
    bed->host.tc("qdisc add dev in clsact\nfilter add dev in egress protocol all prio 1 u32 "
                 "match u32 0 0 classid 1:1\n");
    const TcFilter takes(bed->host, "in", TcFilter::received, 1, "foreign_verdict",
                         [](auto &config) { config.verdict = TC_ACT_SHOT; });
    const auto told = bed->olaf({"attach", "in", "--local"});
    ASSERT_EQ(told.status, 1);
    const auto shown =
        expect_pasted(told.err, part_of_text(told.err, "bpftool net show", " list what"));
    for (const auto *each : {"foreign_verdict", "filter protocol all pref 1 u32"})
        EXPECT_TRUE(says(shown, each));
}

TEST_F(Remedies, OfFiguresThatAnotherOlafBegan) {
    lay(Way::local);
    must(bed->olaf({"reset", "in"}));
    const auto path = pin_directory(bed->host, "in") + "/start";
    const Fd other(bpf_map_create(BPF_MAP_TYPE_ARRAY, "olaf_start", sizeof(std::uint32_t),
                                  sizeof(std::uint64_t), 7, nullptr));
    ASSERT_EQ(unlink(path.c_str()), 0);
    ASSERT_EQ(bpf_obj_pin(other.get(), path.c_str()), 0);
    const auto told = bed->olaf({"status", "in"});
    ASSERT_EQ(told.status, 1);
    expect_pasted(told.err, "olaf reset in");
    EXPECT_EQ(bed->olaf({"status", "in"}).status, 0);
}

TEST_F(Remedies, OfAnAttachWhereTheDrainsNameIsTaken) {
    lay(Way::local);
    const auto drain = bed->olaf.status().json.at("drain").at("device").get<std::string>();
    bed->olaf.detach();
    bed->host.ip("link add " + drain + " type veth peer name other\n");
    const auto told = bed->olaf({"attach", "in", "--local"});
    ASSERT_EQ(told.status, 1);
    expect_pasted(told.err, "ip link delete " + drain);
    bed->attach();
}

TEST_F(Remedies, OfAForwardingThatIsOff) {
    lay(Way::local, {});
    bed->host.ip("link add out type veth peer name end\nlink set out up\nlink set end up\n");
    for (const auto *family : {"ipv4", "ipv6"})
        bed->host.sysctl(std::string(family) + "/conf/in/forwarding", "0");
    bed->host.sysctl("ipv4/conf/out/forwarding", "0");
    bed->host.sysctl("ipv6/conf/out/forwarding", "0");
    const auto told = bed->olaf({"attach", "in", "--forward", "out"});
    ASSERT_EQ(told.status, 1);
    const auto begin = told.err.find("sysctl ");
    ASSERT_NE(begin, std::string::npos) << told.err;
    expect_pasted(told.err, told.err.substr(begin, told.err.find(" makes it a router") - begin));
    EXPECT_EQ(bed->olaf({"attach", "in", "--forward", "out"}).status, 0);
}

TEST_F(Remedies, OfAReplacementWithAnotherSize) {
    lay(Way::local);
    const auto told = bed->olaf({"attach", "in", "--replace", "--max-clusters", "9"});
    ASSERT_EQ(told.status, 1);
    expect_pasted(told.err, "olaf detach in");
    bed->attach({"--max-clusters", "9"});
}

TEST_F(Remedies, OfADetachWhereNothingLeaves) {
    lay(Way::bridged, {"--rate", "20kbit"});
    bed->host.ip("link set out down\n");
    for (int i = 0; i < 3; i++)
        send();
    (void)bed->olaf.await([](const Status &s) { return s["received"] == 3; });
    const auto told = bed->olaf({"detach", "in"});
    ASSERT_EQ(told.status, 1);
    expect_pasted(told.err, "olaf detach in --force");
    EXPECT_EQ(bed->olaf({"--json", "status"}).out, "[]\n");
}

TEST_F(Remedies, OfAJobThatIsThereAlready) {
    lay(Way::local, {"--round-slots", "64"});
    const std::vector<std::string> set = {"job", "set", "in", "7", "--children", "2", "--lanes", "8"};
    must(bed->olaf(set));
    const auto told = bed->olaf(set);
    ASSERT_EQ(told.status, 1);
    expect_pasted(told.err, "olaf job remove in 7");
    EXPECT_EQ(bed->olaf(set).status, 0);
}

TEST_F(Remedies, OfAJobWithoutRoom) {
    lay(Way::local);
    const auto told = bed->olaf({"job", "set", "in", "7", "--children", "2", "--lanes", "8"});
    ASSERT_EQ(told.status, 1);
    expect_pasted(told.err, "olaf detach in");
    bed->attach({"--round-slots", "64"});
    EXPECT_EQ(bed->olaf({"job", "set", "in", "7", "--children", "2", "--lanes", "8"}).status, 0);
}

TEST_F(Remedies, OfAReplacementWhereNoQueueIs) {
    lay(Way::local, {});
    const auto told = bed->olaf({"attach", "in", "--local", "--replace"});
    ASSERT_EQ(told.status, 1);
    EXPECT_TRUE(says(told.err, "olaf attach without --replace"));
    bed->attach();
}

TEST_F(Remedies, OfAReplacementWhoseOutputIsAnotherAndSmaller) {
    lay(Way::routed, slow_link);
    for (std::uint32_t cluster = 0; cluster < 9; cluster++)
        worker->send(Update{.cluster = cluster}, bed->target(4));
    bed->olaf.await([](const Status &s) { return s["received"] == 9; });
    bed->unplug("out");
    const auto gone = bed->olaf({"attach", "in", "--replace"});
    ASSERT_EQ(gone.status, 1);
    EXPECT_TRUE(says(gone.err, "or olaf detach in --force"));
    bed->host.ip(
        "link add out mtu 1400 type veth peer name end\nlink set out up\nlink set end up\n");
    set_offloads(bed->host, "end", {});
    bed->host.sysctl("ipv4/conf/out/forwarding", "1");
    const auto told = bed->olaf({"attach", "in", "--replace"});
    ASSERT_EQ(told.status, 1);
    expect_pasted(told.err, part_of_text(told.err, "ip link set out mtu", ", or"));
    const auto then = bed->olaf({"attach", "in", "--replace"});
    EXPECT_EQ(then.status, 0) << then.err;
    expect_pasted(gone.err, "olaf detach in --force");
}

TEST_F(Remedies, OfAClusterWithoutRoomForFifo) {
    lay(Way::local);
    const std::vector<std::string> set = {"cluster", "set", "in", "3", "--policy", "fifo"};
    const auto told = bed->olaf(set);
    ASSERT_EQ(told.status, 1);
    expect_pasted(told.err, part_of_text(told.err, "olaf detach in", ","));
    EXPECT_TRUE(says(told.err, "attach it with --fifo"));
    bed->attach({"--fifo"});
    must(bed->olaf(set));
}

class RemediesOfJobSet : public Remedies {
  protected:
    static std::vector<std::string> set(const std::vector<std::string> &more) {
        return joined({"job", "set", "in", "7", "--children", "2"}, more);
    }
    /// It fails, and what it says brings it about.
    void expect_set_after(const std::vector<std::string> &more,
                          const std::function<void(const std::string &)> &mend) {
        const auto told = bed->olaf(set(more));
        ASSERT_EQ(told.status, 1) << told.out;
        mend(told.err);
        must(bed->olaf(set(more)));
    }
};

TEST_F(RemediesOfJobSet, AttachWithRoomForItsLanes) {
    lay(Way::local, {"--round-slots", "64", "--max-lanes", "16"});
    const auto attached_with = [&](const std::string &lanes) {
        return [this, lanes](const std::string &said) {
            expect_pasted(said, "olaf detach in");
            EXPECT_TRUE(says(said, "attach it with --max-lanes " + lanes));
            bed->attach({"--round-slots", "64", "--max-lanes", lanes});
        };
    };
    expect_set_after({"--lanes", "40"}, attached_with("40"));
    must(bed->olaf({"job", "remove", "in", "7"}));
    expect_set_after({"--lanes", "40", "--format", "f32"}, attached_with("80"));
}

TEST_F(RemediesOfJobSet, ForwardOnTheWayToItsParent) {
    lay(Way::local, {"--round-slots", "64"});
    bed->host.sysctl("ipv4/conf/in/forwarding", "0");
    expect_set_after(
        {"--max-count", "4", "--parent", "10.0.0.1", "--rank", "0"},
        [&](const auto &said) { expect_pasted(said, part_of_text(said, "sysctl ", "=1") + "=1"); });
}

TEST_F(RemediesOfJobSet, RaiseTheMtuTowardsItsParent) {
    lay(Way::local, {"--round-slots", "64"});
    bed->host.ip("link add out mtu 600 type veth peer name end\nlink set out up\nlink set end up\n"
                 "address add 10.9.0.1/24 dev out\n");
    expect_set_after({"--max-count", "4", "--parent", "10.9.0.2", "--rank", "0", "--lanes", "128"},
                     [&](const auto &said) {
                         expect_pasted(said, part_of_text(said, "ip link set out mtu", " if"));
                     });
}

TEST_F(Remedies, OfAHookWhosePrioritiesAreAllTaken) {
    lay(Way::local, {});
    bed->host.tc("qdisc add dev in clsact\n");
    const auto filter = [&](const std::string &what, unsigned priority, const std::string &match) {
        bed->host.tc("filter " + what + " dev in egress protocol 0x88b5 prio " +
                     std::to_string(priority) + match + "\n");
    };
    for (unsigned priority = 1; priority <= 8; priority++)
        filter("add", priority, " u32 match u32 0 0 classid 1:1");
    const auto told = bed->olaf({"attach", "in", "--local"});
    const auto shown = expect_pasted(told.err, "tc filter show dev in egress");
    for (unsigned priority = 1; priority <= 8; priority++)
        EXPECT_TRUE(says(shown, "pref " + std::to_string(priority) + " "));
    filter("delete", 8, "");
    bed->attach();
}

TEST_F(Remedies, OfALowLimitOfOpenFiles) {
    lay(Way::local, {});
    const auto attach = OLAF_BINARY " --netns " + bed->host.name() + " attach in --local";
    const auto told = run({"sh", "-c", "ulimit -S -n 20; " + attach});
    ASSERT_EQ(told.status, 1) << told.err;
    const auto limit = part_of_text(told.err, "ulimit -n 256");
    EXPECT_EQ(run({"sh", "-c", "ulimit -S -n 20; " + limit + "; " + attach}).status, 0);
    EXPECT_EQ(bed->olaf({"detach", "in"}).status, 0);
}

} // namespace
} // namespace olaf::test::remedies_test
