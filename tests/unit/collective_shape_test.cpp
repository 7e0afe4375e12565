// SPDX-License-Identifier: BSD-2-Clause
// A node tells the shape of its job: who wasn't told it takes it, and who was told another fails at once.
#include "collective_test.hpp"

namespace olaf::test::collective_shape_test {
namespace {

using namespace olaf;
using namespace olaf::test;

constexpr std::uint16_t kLanes = 40;

/// A job of two whose node tells its lanes.
class CollectiveShape : public testing::Test {
  protected:
    LoopbackNode node{{.children = 2, .max_count = 2, .pool = 3},
                      {.job = 5, .lanes = kLanes}};

    CollectiveOptions options(std::uint32_t rank) const {
        return {.node = node.address(), .job = 5, .rank = rank, .workers = 2};
    }

    /// What join() says to the first member; the second has the job's shape.
    Result<void> join_with(const CollectiveOptions &first) const {
        std::jthread second([&] {
            auto other = Collective::make(options(1)).value();
            static_cast<void>(other.join());
        });
        auto collective = Collective::make(first).value();
        return collective.join();
    }
    void expect_fails(const CollectiveOptions &first, const std::string &what) const {
        const auto joined = join_with(first);
        ASSERT_FALSE(joined);
        EXPECT_NE(joined.error().message().find(what), std::string::npos)
            << joined.error().message();
    }
};

TEST_F(CollectiveShape, IsTheJobsForWhoIsToldNone) {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < 2; rank++)
        threads.emplace_back([&, rank] {
            auto collective = Collective::make(options(rank)).value();
            const auto joined = collective.join();
            ASSERT_TRUE(joined) << joined.error().message();
            std::vector<std::int32_t> vector(1'000, static_cast<std::int32_t>(rank) + 1);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            EXPECT_EQ(vector, std::vector<std::int32_t>(1'000, 3));
            EXPECT_EQ(report->chunks, (1'000 + 2 * (kLanes - 1) - 1) / (2 * (kLanes - 1)));
        });
}

TEST_F(CollectiveShape, OfOtherLanesThanTheJobsFailsAtOnce) {
    auto wrong = options(0);
    wrong.lanes = 41;
    expect_fails(wrong, "its contributions have 40 lanes of i32x2 with a checksum, and this worker's "
                        "have 41 lanes");
}

TEST_F(CollectiveShape, OfAnotherFormatThanTheJobsFailsAtOnce) {
    auto wrong = options(0);
    wrong.format = Format::i16x4;
    expect_fails(wrong, "lanes of i16x4");
    wrong = options(0);
    wrong.checksum = false;
    expect_fails(wrong, "without a checksum");
}

TEST_F(CollectiveShape, ThatTheWayHasNoRoomForFailsAtOnce) {
    auto narrow = options(0);
    narrow.mtu = 300;
    expect_fails(narrow, "are IP packets of 396 bytes, and the way to the node has an MTU of 300");
    expect_fails(narrow, "--lanes 28");
}

} // namespace
} // namespace olaf::test::collective_shape_test
