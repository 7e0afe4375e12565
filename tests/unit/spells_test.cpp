// SPDX-License-Identifier: BSD-2-Clause
// Spells of trouble: those of all CPUs joined, and what a reset leaves of them.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "loader/datapath/spells.hpp"

namespace olaf::test::spells_test {
namespace {

using namespace olaf;

constexpr std::uint64_t second = 1'000'000'000;

/// What a CPU keeps of a spell between these seconds.
constexpr olaf_spell noted(std::uint64_t began, std::uint64_t last) {
    return {.last_ns = last * second, .began_ns = began * second};
}

void expect_joined(std::initializer_list<olaf_spell> cpus, std::uint64_t began,
                   std::uint64_t last) {
    const auto spell = joined(std::vector(cpus));
    ASSERT_TRUE(spell);
    EXPECT_EQ(spell->began_ns, began * second);
    EXPECT_EQ(spell->last_ns, last * second);
}

TEST(Spells, WhereNoCpuSawAnyThereIsNone) {
    EXPECT_FALSE(joined({}));
    EXPECT_FALSE(joined(std::array<olaf_spell, 4>{}));
}

TEST(Spells, OfOneCpuIsWhatItNoted) {
    expect_joined({{}, noted(20, 30), {}}, 20, 30);
}

TEST(Spells, ThatOverlapAreOne) {
    expect_joined({noted(20, 30), noted(15, 25)}, 15, 30);
    expect_joined({noted(22, 25), noted(20, 30)}, 20, 30);
}

TEST(Spells, ThatFollowWithinTheGapAreOneAndLaterOnesAreTheLast) {
    expect_joined({noted(40, 50), noted(20, 30)}, 20, 50);
    expect_joined({noted(41, 50), noted(20, 30)}, 41, 50);
}

TEST(Spells, ThatJoinOverAThirdAreOneInWhateverOrder) {
    expect_joined({noted(60, 70), noted(20, 30), noted(38, 52)}, 20, 70);
    expect_joined({noted(38, 52), noted(60, 70), noted(20, 30)}, 20, 70);
}

/// Between both writes of a new spell the end is still the old one's.
TEST(Spells, ThatAreReadHalfwayHaveJustBegun) {
    expect_joined({noted(50, 30)}, 50, 50);
}

TEST(Spells, GoOnUntilTheGapIsOver) {
    const Spell spell{20 * second, 30 * second};
    EXPECT_TRUE(spell.goes_on(30 * second + OLAF_SPELL_GAP_NS));
    EXPECT_FALSE(spell.goes_on(30 * second + OLAF_SPELL_GAP_NS + 1));
}

TEST(Spells, FromBeforeAResetAreForgottenAndOneThatGoesOnBeginsThere) {
    Spells spells{};
    spells[OLAF_TROUBLE_MALFORMED] = Spell{20 * second, 30 * second};
    spells[OLAF_TROUBLE_LOST] = Spell{20 * second, 40 * second};
    spells[OLAF_TROUBLE_UNFIT] = Spell{36 * second, 37 * second};
    const auto since = spells_since(spells, 35 * second);
    EXPECT_FALSE(since[OLAF_TROUBLE_MALFORMED]);
    ASSERT_TRUE(since[OLAF_TROUBLE_LOST]);
    EXPECT_EQ(since[OLAF_TROUBLE_LOST]->began_ns, 35 * second);
    EXPECT_EQ(since[OLAF_TROUBLE_LOST]->last_ns, 40 * second);
    ASSERT_TRUE(since[OLAF_TROUBLE_UNFIT]);
    EXPECT_EQ(since[OLAF_TROUBLE_UNFIT]->began_ns, 36 * second);
    EXPECT_FALSE(since[OLAF_TROUBLE_DROPPED]);
}

} // namespace
} // namespace olaf::test::spells_test
