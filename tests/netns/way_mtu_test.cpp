// SPDX-License-Identifier: BSD-2-Clause
// What workers make of ICMP errors: a way that carries less than they send, and errors that somebody forged.
#include <gtest/gtest.h>

#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include <olaf/collective.hpp>
#include <olaf/parameter_server.hpp>
#include <olaf/rules.hpp>
#include <olaf/segments.hpp>
#include <olaf/worker.hpp>

#include "testbed.hpp"
#include "tests/patience.hpp"

namespace olaf::test::way_mtu_test {
namespace {

constexpr std::size_t elements = 340; // of one message where 1500 bytes fit, and of two where 1280 do

ParameterServer serve(const Testbed &bed, int family, std::size_t mtu) {
    const Inside inside(bed.server());
    const auto at = Address::resolve(bed.target(family).address).value();
    auto server = ParameterServer::make({.bind = at, .mtu = mtu}).value();
    EXPECT_TRUE(server.add_cluster(
        {.weights = std::vector<float>(elements), .rule = async_sgd_rule(1.0)}));
    return server;
}

Worker work(const Testbed &bed, int family, std::size_t mtu) {
    const Inside inside(bed.worker);
    return Worker::make({.server = Address::resolve(bed.target(family).address).value(),
                         .elements = elements,
                         .mtu = mtu})
        .value();
}

void push(Worker &worker) {
    const std::vector<float> gradient(elements, 1.0F);
    const auto pushed = worker.push(gradient, 0, 1);
    ASSERT_TRUE(pushed) << pushed.error().message();
    EXPECT_EQ(pushed->unsent, 0U);
}

/// Everything that is pushed arrives, and comes back.
void expect_training(Worker &worker, ParameterServer &server) {
    const auto before = worker.stats().acks;
    push(worker);
    while (worker.stats().acks == before) {
        ASSERT_TRUE(server.receive(patience).value_or(0));
        const auto heard = worker.wait(std::chrono::milliseconds(1));
        ASSERT_TRUE(heard) << heard.error().message();
    }
}

class NarrowWay : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, NarrowWay, testing::Values(4, 6), by_family);

TEST_P(NarrowWay, EndsNoTrainingAndIsTold) {
    const Testbed bed{{.way = Way::routed, .out_mtu = 1280}};
    auto server = serve(bed, GetParam(), 1280);
    auto worker = work(bed, GetParam(), 1500);
    EXPECT_EQ(worker.report().way_mtu, 0U);
    while (worker.report().way_mtu == 0) {
        ASSERT_LT(worker.stats().updates, 10'000U);
        push(worker);
        const auto heard = worker.wait(std::chrono::milliseconds(1));
        ASSERT_TRUE(heard) << heard.error().message();
    }
    EXPECT_EQ(worker.report().way_mtu, 1280U);
    const std::vector<float> gradient(elements, 1.0F);
    EXPECT_EQ(worker.push(gradient, 0, 1)->way_mtu, 1280U);
    // What is told works.
    auto narrow = work(bed, GetParam(), worker.report().way_mtu);
    expect_training(narrow, server);
    EXPECT_EQ(narrow.report().way_mtu, 0U);
}

TEST_P(NarrowWay, IsNamedByOlafSend) {
    const Testbed bed{{.way = Way::routed, .out_mtu = 1280}};
    Process receiver({OLAF_BINARY, "--netns", bed.server().name(), "receive"});
    receiver.await_output("receiving on");
    const auto send = [&](std::size_t lanes) {
        return run({OLAF_BINARY, "--netns", bed.worker.name(), "send",
                    bed.target(GetParam()).address, "--updates", "9", "--patience", "500ms",
                    "--lanes", std::to_string(lanes)});
    };
    const auto most = lanes_in_mtu(1280, GetParam() == 6);
    EXPECT_TRUE(refused(send(most + 1), "give at most --lanes " + std::to_string(most)));
    EXPECT_EQ(send(most).status, 0);
}

/// The node's own device takes longer frames than the way to it.
TEST_P(NarrowWay, IsNamedToAWorkerOfAJob) {
    const Testbed bed{{.way = Way::routed}};
    bed.host.ip("link set out mtu 1280");
    OlafCommand node(bed.server(), "eth0");
    node.attach({"--local", "--round-slots", "64"});
    must(node({"job", "set", "eth0", "5", "--children", "1"}));
    const Inside inside(bed.worker);
    auto collective =
        Collective::make({.node = Address::resolve(bed.target(GetParam()).address).value(),
                          .job = 5,
                          .workers = 1,
                          .run = "test"})
            .value();
    const auto started = collective.start();
    ASSERT_FALSE(started);
    EXPECT_TRUE(says(started.error().message(),
                     "(" + std::to_string(lanes_in_mtu(1280, GetParam() == 6)) + " fit an MTU of 1280)"));
    // What is told works.
    must(node({"job", "remove", "eth0", "5"}));
    must(node({"job", "set", "eth0", "5", "--children", "1", "--lanes",
               std::to_string(lanes_in_mtu(1280, GetParam() == 6))}));
    const auto again = collective.start();
    EXPECT_TRUE(again) << again.error().message();
}

// ---- errors that somebody forged ----

std::uint16_t sum_of(const Bytes &bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
        sum += std::uint32_t{bytes[i]} << 8 | bytes[i + 1];
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return htons(static_cast<std::uint16_t>(~sum));
}

/// "What you sent to the server doesn't arrive", for that reason.
Bytes unreachable(std::uint8_t code, const Worker &worker) {
    sockaddr_in from{}, to{};
    socklen_t size = sizeof(from);
    EXPECT_EQ(getsockname(worker.fd(), reinterpret_cast<sockaddr *>(&from), &size), 0);
    EXPECT_EQ(getpeername(worker.fd(), reinterpret_cast<sockaddr *>(&to), &size), 0);
    icmphdr icmp{};
    icmp.type = ICMP_DEST_UNREACH;
    icmp.code = code;
    if (code == ICMP_FRAG_NEEDED)
        icmp.un.frag.mtu = htons(600);
    iphdr ip{};
    ip.version = 4;
    ip.ihl = 5;
    ip.tot_len = htons(1000);
    ip.ttl = 60;
    ip.protocol = IPPROTO_UDP;
    ip.saddr = from.sin_addr.s_addr;
    ip.daddr = to.sin_addr.s_addr;
    udphdr udp{};
    udp.source = from.sin_port;
    udp.dest = to.sin_port;
    udp.len = htons(980);
    const auto packed = [&] {
        Bytes bytes(sizeof(icmp) + sizeof(ip) + sizeof(udp));
        std::memcpy(bytes.data(), &icmp, sizeof(icmp));
        std::memcpy(bytes.data() + sizeof(icmp), &ip, sizeof(ip));
        std::memcpy(bytes.data() + sizeof(icmp) + sizeof(ip), &udp, sizeof(udp));
        return bytes;
    };
    icmp.checksum = sum_of(packed());
    return packed();
}

TEST(ForgedErrors, ChangeNothingOfATraining) {
    const Testbed bed{{.way = Way::routed}};
    auto server = serve(bed, 4, 1500);
    auto worker = work(bed, 4, 1500);
    const Inside inside(bed.host);
    const int forger = ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
    ASSERT_GE(forger, 0);
    const auto victim = Address::resolve(Testbed::worker_peer(4).address).value();
    for (int code = 0; code <= NR_ICMP_UNREACH; code++) {
        SCOPED_TRACE(code);
        const auto lie = unreachable(static_cast<std::uint8_t>(code), worker);
        const auto heard = bed.worker.snmp("IcmpInDestUnreachs");
        ASSERT_EQ(::sendto(forger, lie.data(), lie.size(), 0, victim.data(), victim.size()),
                  static_cast<ssize_t>(lie.size()));
        while (bed.worker.snmp("IcmpInDestUnreachs") == heard)
            continue;
        const auto polled = worker.poll();
        EXPECT_TRUE(polled) << polled.error().message();
        expect_training(worker, server);
    }
    ::close(forger);
    EXPECT_EQ(worker.report().way_mtu, 600U) << "was said";
    EXPECT_EQ(server.stats().rejected.total(), 0U);
}

} // namespace
} // namespace olaf::test::way_mtu_test
