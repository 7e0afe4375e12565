// SPDX-License-Identifier: BSD-2-Clause
// Frames that nobody should send, on their way out of the queue's device and in from upstream:
// what is no ACK stays as it is, what is one stays one.
//
// OLAF_FUZZ_FRAMES / 8 frames, OLAF_SEED the seed.
#include <arpa/inet.h>
#include <linux/pkt_cls.h>

#include <algorithm>
#include <iostream>
#include <system_error>

#include <gtest/gtest.h>

#include "mutate.hpp"
#include "tests/datapath/harness.hpp"
#include "tests/effort.hpp"

namespace olaf::test::ack_fuzz_test {
namespace {

constexpr RandomUpdates::Range range{.clusters = 6, .segments = 1, .max_lanes = 48};
constexpr auto unspec = static_cast<std::uint32_t>(TC_ACT_UNSPEC);

/// An ACK in all but checksums, which are end to end.
bool is_ack(const Bytes &bytes) {
    std::string why;
    return parse_ack(bytes, &why) || why == "UDP checksum" || why == "IPv4 header checksum";
}

/// All that no queue may change, of an ACK that is right in every checksum.
std::optional<Ack> kept(const Bytes &bytes) {
    auto parsed = parse_ack(bytes);
    if (!parsed)
        return {};
    parsed->ack.worker = 0;
    parsed->ack.state_flags = 0;
    parsed->ack.active_clusters = parsed->ack.pad = 0; // a stamp writes both
    parsed->ack.queue_capacity = parsed->ack.queue_length = 0;
    return parsed->ack;
}

class AckFuzz : public testing::TestWithParam<bool> {
  protected:
    AckFuzz() : queue(config()) {
        queue.set_drain_deadline(UINT64_MAX / 2);
        // Members, reached in several ways: copying is tried, and refused by no device at all.
        Mutator random(5, range);
        for (int i = 0; i < 200; i++)
            queue.offer(random.random().frame(random.random().update()));
        listen_to_fuzz();
    }

    /// Every member sends to where the mutator's ACKs come from.
    void listen_to_fuzz() {
        for (std::uint32_t cluster = 0; cluster < range.clusters; cluster++)
            for (std::uint32_t worker = 0; worker < queue.roster(cluster).end; worker++) {
                auto member = queue.member(cluster, worker);
                std::ranges::fill(member.local_addr_be, 0u);
                member.local_addr_be[0] = htonl(member.family == 4 ? 0x0a000001 : 0xfd000000);
                member.local_addr_be[3] = member.family == 4 ? 0 : htonl(1);
                queue.set_member(cluster, worker, member);
            }
    }

    static olaf::DatapathConfig config() {
        olaf::DatapathConfig config;
        config.queue_capacity = 5;
        config.max_clusters = range.clusters;
        config.max_lanes = range.max_lanes;
        config.rate_bps = 2'000'000;
        if (GetParam()) {
            config.deliver = OLAF_DELIVER_UPSTREAM;
            config.ifindex = config.egress_ifindex = 1;
            config.upstream = {.family = 4, .words_be = {htonl(0x0a000001)}};
            config.source = {.family = 4, .words_be = {htonl(0x0a000101)}};
        }
        return config;
    }

    Harness queue;
};

TEST_P(AckFuzz, WhatIsNoAckStaysAndWhatIsOneStaysOne) {
    Mutator mutator(from_environment("OLAF_SEED", 1) + 1000, range, Mutator::Way::acks);
    const auto frames = from_environment("OLAF_FUZZ_FRAMES", 1'200'000) / 8;
    const int program = GetParam() ? queue.queue().program_fd("olaf_ack_return") : queue.queue().program_fd("olaf_egress");
    std::uint64_t changed = 0, unfit = 0;
    for (std::uint64_t i = 0; i < frames; i++) {
        auto in = mutator.frame();
        Ran ran;
        try {
            ran = run_tc(program, in);
        } catch (const std::system_error &) { // shorter than the IP header that it announces
            unfit++;
            continue;
        }
        if (ran.verdict == unspec && ran.bytes == in)
            continue;
        changed++;
        ASSERT_TRUE(is_ack(in)) << hex(in) << "\n" << hex(ran.bytes);
        if (GetParam() && ran.verdict == TC_ACT_STOLEN)
            continue;
        ASSERT_EQ(ran.verdict, unspec) << hex(in);
        if (const auto before = kept(in)) {
            std::string why;
            ASSERT_TRUE(parse_ack(ran.bytes, &why)) << why << "\n"
                                                   << hex(in) << "\n" << hex(ran.bytes);
            ASSERT_EQ(*before, *kept(ran.bytes)) << hex(in) << "\n" << hex(ran.bytes);
        }
    }
    EXPECT_LT(unfit, frames / 4);
    EXPECT_GT(changed, frames / 100) << "hardly an ACK among them";
    std::cout << changed << " of " << frames << " changed\n";
}

INSTANTIATE_TEST_SUITE_P(Hooks, AckFuzz, testing::Values(false, true), [](const auto &info) {
    return std::string(info.param ? "ingress" : "egress");
});

} // namespace
} // namespace olaf::test::ack_fuzz_test
