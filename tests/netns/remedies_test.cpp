// SPDX-License-Identifier: BSD-2-Clause
// What olaf says to do works as it is printed: a person pastes it.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <unistd.h>

#include "foreign.hpp"
#include "loader/datapath/programs.hpp"
#include "traffic.hpp"

namespace olaf::test::remedies_test {
namespace {

class Remedies : public testing::Test {
  protected:
    void lay(Way way, const std::vector<std::string> &options = {"--rate", "unlimited"}) {
        bed.emplace(Wiring{.way = way});
        worker.emplace(bed->worker, Testbed::worker_peer(4));
        if (!options.empty())
            bed->attach(options);
    }
    /// Until the verdict says so. Returns what it says to do.
    [[nodiscard]] std::string remedy(const std::string &trouble) const {
        nlohmann::json verdict;
        await(
            [&] {
                verdict = told();
                return has(verdict, trouble);
            },
            [&] { return "that the verdict says: " + trouble + ", not " + verdict.dump(); });
        for (const auto &finding : findings(verdict))
            if (finding.at("text").get<std::string>().find(trouble) != std::string::npos)
                return finding.at("remedy");
        return "";
    }
    void expect_mended(const std::string &trouble) const {
        await([&] { return !has(told(), trouble); },
              [&] { return "that the verdict doesn't say any more: " + trouble; });
    }
    /// Runs a command that stands in a text, as it stands there.
    void expect_pasted(const std::string &text, const std::string &command) const {
        EXPECT_TRUE(says(text, command));
        const auto done =
            run({"sh", "-euc", "olaf() { " OLAF_BINARY " \"$@\"; }\n" + command}, {}, &bed->host);
        EXPECT_EQ(done.status, 0) << command << ": " << done.err;
    }
    /// The verdict says it, the command is its remedy, and then the verdict says it no more.
    void expect_mends(const std::string &trouble, const std::string &command) const {
        expect_pasted(remedy(trouble), command);
        expect_mended(trouble);
    }
    void send(const std::string &to = {}) const {
        auto target = bed->target(4);
        if (!to.empty())
            target.address = to;
        worker->send(Update{.cluster = 1}, target);
    }

    std::optional<Testbed> bed;
    std::optional<UdpSocket> worker;

  private:
    [[nodiscard]] nlohmann::json told() const {
        return nlohmann::json::parse(bed->olaf({"--json", "status", "in"}).out).at("verdict");
    }
    static std::vector<nlohmann::json> findings(const nlohmann::json &verdict) {
        std::vector<nlohmann::json> all{verdict};
        for (const auto &each : verdict.at("besides"))
            all.push_back(each);
        return all;
    }
    static bool has(const nlohmann::json &verdict, const std::string &trouble) {
        return std::ranges::any_of(findings(verdict), [&](const auto &finding) {
            return finding.at("text").template get<std::string>().find(trouble) != std::string::npos;
        });
    }
};

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

// ---- of commands that refuse ----

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

} // namespace
} // namespace olaf::test::remedies_test
