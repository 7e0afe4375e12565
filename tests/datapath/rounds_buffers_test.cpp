// SPDX-License-Identifier: BSD-2-Clause
// Frames that lie in several buffers: where the first one ends, and results that are longer than a frame at hand.
#include "rounds_clones.hpp"

namespace olaf::test::rounds_buffers_test {
namespace {

/// Can a test say how much of a frame is in its first buffer? Linux 6.18.
bool can_split(const Harness &queue) {
    const bool can = can_choose_linear_bytes(queue.queue().program_fd("olaf_ingress"));
    if (!can)
        testing::Test::RecordProperty("kernel", "can't choose the first buffer's length");
    return can;
}

/// Frames of few lanes.
class RoundsOfTwoBuffers : public RoundsTest, public testing::WithParamInterface<int> {
  protected:
    bool can_choose() { return can_split(queue); }
    /// So many bytes of the message are in the first buffer.
    Ran offer_split(const JobMessage &message, const Path &path, std::size_t bytes) {
        const auto frame = path.carrying(message);
        return queue.offer(frame, {.linear_bytes = frame.message + bytes});
    }
    std::vector<Path> paths_of(std::uint32_t rank) {
        const auto path = path_of(rank, GetParam());
        std::vector<Path> paths = {path, Path(path).service_vlan(9).vlan(7)};
        if (GetParam() == 4)
            paths.push_back(Path(path).options(40));
        return paths;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsOfTwoBuffers, testing::Values(4, 6), [](const auto &info) {
    return "Ipv" + std::to_string(info.param);
});

TEST_P(RoundsOfTwoBuffers, TheFirstMayEndBehindTheHeaderAndInALane) {
    if (!can_choose())
        return;
    const std::size_t all = sizeof(olaf_header) + 8 * std::size_t{setup.lanes};
    std::uint32_t i = 0;
    for (const std::size_t bytes : {std::size_t{48}, std::size_t{49}, std::size_t{48 + 7}, std::size_t{48 + 8},
                                    std::size_t{48 + 8 * 2 + 4}, all - 8, all - 1})
        for (const auto &[first, second] : {std::pair(0, 0), std::pair(1, 0), std::pair(0, 1), std::pair(1, 1)}) {
            SCOPED_TRACE(std::to_string(bytes) + " bytes, paths " + std::to_string(first) + std::to_string(second));
            const std::uint32_t chunk = i % setup.slots, round = i / setup.slots;
            i++;
            const auto from = paths_of(0)[static_cast<std::size_t>(first)];
            const auto then = paths_of(1)[static_cast<std::size_t>(second)];
            dropped(offer_split(contribution(0, chunk, round), from, bytes));
            EXPECT_EQ(sent_to(0, offer_split(contribution(1, chunk, round), then, bytes), GetParam()),
                      result(0, {0, 1}, chunk, round));
            EXPECT_EQ(sent_to(1, offer_split(contribution(1, chunk, round), then, bytes), GetParam()),
                      result(1, {0, 1}, chunk, round));
        }
    EXPECT_EQ(counters().completed, i);
}

TEST_P(RoundsOfTwoBuffers, OptionsBeforeTheEndOfTheFirstChangeNothing) {
    if (!can_choose())
        return;
    for (std::uint32_t chunk = 0; const auto &path : paths_of(1)) {
        dropped(offer_split(contribution(0, chunk), paths_of(0)[0], 48 + 3));
        EXPECT_EQ(sent_to(0, offer_split(contribution(1, chunk), path, 48 + 3), GetParam()), result(0, {0, 1}, chunk));
        EXPECT_EQ(sent_to(1, offer(contribution(1, chunk), path), GetParam()), result(1, {0, 1}, chunk));
        chunk++;
    }
}

TEST_P(RoundsOfTwoBuffers, AHeaderThatIsntWholeInTheFirstIsMalformed) {
    if (!can_choose())
        return;
    std::uint64_t refused = 0;
    for (const std::size_t bytes : {2u, 3u, 20u, 44u, 47u})
        for (const auto &path : paths_of(0)) {
            dropped(offer_split(contribution(0, 0), path, bytes));
            EXPECT_EQ(queue.counters().malformed[OLAF_MALFORMED_TRUNCATED], ++refused) << bytes << " bytes";
        }
    EXPECT_EQ(counters().received, 0u);
    dropped(offer(contribution(0, 0), GetParam()));
    EXPECT_EQ(counters().added, 1u);
}

/// A sum is longer than a buffer of any frame.
class RoundsOfJumboResults : public RoundsWithClones, public testing::WithParamInterface<int> {
  protected:
    RoundsOfJumboResults() : RoundsWithClones(large(), OLAF_MAX_LANES) {}
    static olaf_job_setup large() {
        auto setup = small_job();
        setup.lanes = 1101;
        setup.slots = 4;
        setup.pool = 2;
        return setup;
    }
    Ran offer_here(const JobMessage &message) { return offer(message, GetParam()); }
    JobMessage sent_here(std::uint32_t rank, const Ran &ran) { return sent_to(rank, ran, GetParam()); }
    JobMessage probe(std::uint32_t rank, std::uint32_t chunk) {
        auto message = contribution(rank, chunk);
        message.lanes.clear();
        return message;
    }
    /// The first child gets the result in the second one's frame.
    void complete(std::uint32_t chunk) {
        dropped(offer_here(contribution(0, chunk)));
        EXPECT_EQ(sent_here(0, offer_here(contribution(1, chunk))), result(0, {0, 1}, chunk));
    }
    /// An order's first page: the test runner has no longer frame for TC.
    static Ran order_of(Ran ran) {
        EXPECT_STREQ(verdict_name(ran.verdict), "XDP_PASS");
        ran.bytes.resize(std::min(ran.bytes.size(), std::size_t{1500}));
        return ran;
    }
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsOfJumboResults, testing::Values(4, 6), [](const auto &info) {
    return "Ipv" + std::to_string(info.param);
});

TEST_P(RoundsOfJumboResults, TheFirstBufferMayEndInALane) {
    if (!can_split(queue))
        return;
    std::uint32_t chunk = 0;
    for (const std::size_t bytes : {std::size_t{48}, std::size_t{48 + 8 * 100 + 3}, std::size_t{3000}}) {
        const auto split = [&](const JobMessage &message) {
            const auto frame = path_of(message.rank, GetParam()).carrying(message);
            return queue.offer(frame, {.linear_bytes = frame.message + bytes});
        };
        dropped(split(contribution(0, chunk)));
        EXPECT_EQ(sent_here(0, split(contribution(1, chunk))), result(0, {0, 1}, chunk)) << bytes;
        EXPECT_EQ(sent_here(1, split(contribution(1, chunk))), result(1, {0, 1}, chunk)) << bytes;
        chunk++;
    }
}

TEST_P(RoundsOfJumboResults, AFlushSendsThemInClones) {
    dropped(offer_here(contribution(0, 0)));
    dropped(offer_here(contribution(0, 1)));
    EXPECT_EQ(sent_here(0, offer_here(contribution(1, 0))), result(0, {0, 1}, 0));
    const auto clones = clones_of(order_of(offer_here(flushing(contribution(1, 1)))));
    ASSERT_EQ(clones.size(), 3u);
    EXPECT_EQ(sent_here(1, clones[0]), result(1, {0, 1}, 0));
    EXPECT_EQ(sent_here(0, clones[1]), result(0, {0, 1}, 1));
    EXPECT_EQ(sent_here(1, clones[2]), result(1, {0, 1}, 1));
    EXPECT_EQ(counters().copied, 3u);
    EXPECT_EQ(owed(), 0u);
}

TEST_P(RoundsOfJumboResults, AProbeWithFlushSendsWhatWaitsInClones) {
    complete(0);
    const auto clones = clones_of(order_of(offer_here(flushing(probe(0, 1)))));
    ASSERT_EQ(clones.size(), 1u);
    EXPECT_EQ(sent_here(1, clones[0]), result(1, {0, 1}, 0));
}

TEST_P(RoundsOfJumboResults, AProbeLeavesWhatItAsksForToALongerFrame) {
    complete(0);
    dropped(offer_here(probe(1, 0)));
    EXPECT_EQ(owed(), 1u);
    EXPECT_EQ(counters().undelivered, 0u);
    EXPECT_EQ(sent_here(1, offer_here(contribution(0, 1))), result(1, {0, 1}, 0));
}

TEST_P(RoundsOfJumboResults, AProbeWithFlushBringsWhatItAsksForInAClone) {
    complete(0);
    const auto clones = clones_of(order_of(offer_here(flushing(probe(1, 0)))));
    ASSERT_EQ(clones.size(), 1u);
    EXPECT_EQ(sent_here(1, clones[0]), result(1, {0, 1}, 0));
}

TEST_P(RoundsOfJumboResults, AProbeOfOneTakesNoResultFromAnother) {
    complete(0);
    dropped(offer_here(probe(0, 1))); // too short for what is owed to the other
    EXPECT_EQ(owed(), 1u);
    EXPECT_EQ(counters().undelivered, 0u);
    EXPECT_EQ(sent_here(1, offer_here(contribution(0, 1))), result(1, {0, 1}, 0));
}

} // namespace
} // namespace olaf::test::rounds_buffers_test
