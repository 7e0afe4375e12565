// SPDX-License-Identifier: BSD-2-Clause
// The first line of `olaf status`: each thing that can be wrong with a queue, made to happen.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "loader/datapath/programs.hpp"
#include "loader/host/clock.hpp"
#include "olaf/spells.h"
#include "traffic.hpp"

namespace olaf::test::verdict_test {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

class Verdicts : public testing::Test {
  protected:
    void send(std::uint32_t count, std::uint32_t first_cluster = 0) {
        for (std::uint32_t i = 0; i < count; i++)
            worker->send(Update{.cluster = first_cluster + i % 9, .sequence = next++},
                         bed->target(4));
    }
    /// Whether the verdict is that.
    static bool is(const Status &status, const std::string &state, const std::string &text) {
        const auto &verdict = status.json.at("verdict");
        return verdict.at("state") == state &&
               verdict.at("text").get<std::string>().find(text) != std::string::npos;
    }
    /// The verdict, also of a queue that is dead: then status fails.
    [[nodiscard]] Status status() const {
        const auto asked = bed->olaf({"--json", "status", "in"});
        if (asked.out.empty())
            throw std::runtime_error("olaf status: " + asked.err);
        return {nlohmann::json::parse(asked.out)};
    }
    /// Until status says so, as JSON; then text and doctor say it too.
    void expect(const std::string &state, const std::string &text) {
        await([&] { return is(status(), state, text); },
              [&] { return state + ", " + text + ", not " + status().json.at("verdict").dump(); });
        const auto verdict = status().json.at("verdict");
        EXPECT_NE(verdict.at("remedy"), "");
        const auto told = bed->olaf({"status", "in"});
        const auto first = told.out.substr(0, told.out.find('\n'));
        EXPECT_EQ(first.find("in: " + state), 0u) << told.out;
        EXPECT_NE(first.find(text), first.npos) << told.out;
        const auto doctor = bed->olaf({"doctor", "in"});
        const auto line = doctor.out.substr(0, doctor.out.find('\n'));
        EXPECT_NE(line.find("queue              " + state), line.npos) << doctor.out;
        EXPECT_NE(line.find(text), line.npos) << doctor.out;
        if (state == "blocked") {
            EXPECT_EQ(doctor.status, 1) << doctor.out;
        }
    }
    /// The verdict's line for people.
    [[nodiscard]] std::string line() const {
        const auto told = bed->olaf({"status", "in"}).out;
        return told.substr(0, told.find('\n'));
    }
    /// Whatever went wrong did so that much earlier.
    void age_troubles(std::uint64_t ns) {
        const auto pin = pin_directory(bed->host, "in") + "/olaf_spells";
        const int map = bpf_obj_get(pin.c_str());
        std::vector<olaf_spell> cpus(static_cast<std::size_t>(libbpf_num_possible_cpus()));
        for (std::uint32_t trouble = 0; trouble < OLAF_TROUBLES; trouble++) {
            ASSERT_EQ(bpf_map_lookup_elem(map, &trouble, cpus.data()), 0);
            for (auto &spell : cpus)
                if (spell.last_ns != 0)
                    spell = {spell.last_ns - ns, spell.began_ns - ns};
            ASSERT_EQ(bpf_map_update_elem(map, &trouble, cpus.data(), BPF_ANY), 0);
        }
        ::close(map);
    }
    void attach(Way way = Way::bridged, bool server_known = true) {
        bed.emplace(Wiring{.way = way, .server_known = server_known});
        worker.emplace(bed->worker, Testbed::worker_peer(4));
        bed->attach();
    }

    std::optional<Testbed> bed;
    std::optional<UdpSocket> worker;
    std::uint32_t next = 0;
};

TEST_F(Verdicts, SayThatTheQueueIsIdleAndThenThatItWorks) {
    attach();
    expect("idle", "no update has come");
    bed->olaf.await([&](const Status &s) {
        send(9);
        return is(s, "working", "9 clusters active");
    });
}

TEST_F(Verdicts, SayThatTheOutputIsDownAndForHowLong) {
    attach();
    bed->host.ip("link set out down\n");
    bed->olaf.await([&](const Status &s) {
        send(9);
        return is(s, "blocked", "out is down: nothing leaves; 9 messages wait and fold") &&
               !s.json.at("verdict").at("since_ns").is_null();
    });
    expect("blocked", "out is down");
    // The other end's, once it is up again.
    bed->host.ip("link set out up\n");
    bed->server().ip("link set eth0 down\n");
    expect("blocked", "out has no carrier");
}

TEST_F(Verdicts, SayThatTheNextHopIsSilent) {
    attach(Way::routed, false);
    bed->server().ip("link set eth0 arp off\n");
    bed->server().ip("link set eth0 address 02:00:00:00:00:77\n");
    bed->host.ip("neighbour flush dev out\n");
    send(9);
    expect("blocked", "the next hop to 10.0.1.2 doesn't answer on out; 9 messages wait");
}

TEST_F(Verdicts, SayForHowLongATroubleGoesOnAndHowLongAgoItEnded) {
    attach();
    send(9, 5000);
    expect("impaired", "9 of 9 messages refused: cluster id 1024 or above");
    EXPECT_EQ(line().find("in: impaired for "), 0u) << line();
    EXPECT_TRUE(status().json.at("verdict").at("last_ns").is_null());

    age_troubles(20 * second);
    expect("impaired", "9 of 9 messages refused");
    EXPECT_EQ(line().find("in: impaired: 9 of 9"), 0u) << line();
    EXPECT_NE(line().find("; the last one 2"), std::string::npos) << line();
    EXPECT_GE(status().json.at("verdict").at("last_ns"), 20 * second);

    age_troubles(60 * second); // it impairs nothing any more
    expect("idle", "no update has come");
    EXPECT_EQ(status().json.at("verdict").at("besides").at(0).at("state"), "working");
    EXPECT_TRUE(says(bed->olaf({"status", "in"}).out, "also        9 of 9 messages refused"));
    EXPECT_TRUE(says(bed->olaf({"doctor", "in"}).out, "9 of 9 messages refused"));
}

TEST_F(Verdicts, ForgetAtAResetWhatWasBefore) {
    attach();
    send(9, 5000);
    expect("impaired", "9 of 9 messages refused");
    age_troubles(5 * second);
    const auto before = monotonic_ns();
    ASSERT_EQ(bed->olaf({"reset", "in"}).status, 0);
    EXPECT_EQ(line().find("in: idle: "), 0u) << line();
    EXPECT_TRUE(status().json.at("verdict").at("besides").empty());
    // Within the gap: the kernel's spell goes on, and what is told begins with the reset.
    send(1, 5000);
    expect("impaired", "1 of 1 messages refused");
    const auto since = status().json.at("verdict").at("since_ns").get<std::uint64_t>();
    EXPECT_LE(since, monotonic_ns() - before);
}

TEST_F(Verdicts, SayThatUpdatesAreLostBehindTheQueueAndWhere) {
    attach(Way::local);
    send(9); // nobody listens
    expect("impaired", "9 of 9 updates lost behind the queue: socket missing");
    EXPECT_EQ(line().find("in: impaired for "), 0u) << line();
}

TEST_F(Verdicts, SayThatAProgramOfSomebodyElsesStandsInPlaceOfOurs) {
    attach();
    const auto pin = pin_directory(bed->host, "in") + "/" + std::string(entrance.link);
    const int link = bpf_obj_get(pin.c_str());
    ASSERT_EQ(bpf_link_detach(link), 0);
    ::close(link);
    expect("blocked", "its XDP program was taken off: nothing comes in");
    const auto before = boottime_ns();
    const ForeignXdp other(bed->host, "in");
    expect("blocked", "(foreign_pass) stands there now: nothing comes in");
    EXPECT_EQ(line().find("in: blocked for "), 0u) << line();
    const auto since = status().json.at("verdict").at("since_ns").get<std::uint64_t>();
    EXPECT_LE(since, boottime_ns() - before);
}

TEST_F(Verdicts, SayThatAFilterWasTakenOffItsHook) {
    attach();
    bed->host.tc("filter delete dev in egress\n");
    expect("impaired", "somebody took the program olaf_egress off its hook");
}

TEST_F(Verdicts, SayThatTheDrainIsDown) {
    attach();
    const auto drain = bed->olaf.status().json.at("drain").at("device").get<std::string>();
    bed->host.ip("link set " + drain + " down\n");
    expect("impaired", drain + " is down: it is the drain's");
}

} // namespace
} // namespace olaf::test::verdict_test
