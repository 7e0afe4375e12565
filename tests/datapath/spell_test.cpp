// SPDX-License-Identifier: BSD-2-Clause
// Since when something goes wrong: what the programs note, and when a spell begins anew.
#include <set>
#include <thread>

#include "queue_test.hpp"
#include "spells.hpp"
#include "tests/effort.hpp"

namespace olaf::test::spell_test {
using olaf::Spells;

namespace {

constexpr std::uint64_t second = 1'000'000'000;

class Spell : public QueueTest {
  protected:
    // A frame of each kind of trouble.
    void refuse() { queue.offer(ipv4().carrying(Update{.cluster = 99})); }
    void malform() { queue.offer(ipv4().carrying(Update{.cluster = 1, .count = 0})); }
    void leave_alone() {
        queue.offer(ipv4().carrying(JobMessage{.type = OLAF_CONTRIBUTION, .lanes = {1, 2}}));
    }
    void fill() {
        for (std::uint32_t cluster = 0; cluster < 4; cluster++)
            append(ipv4().carrying(Update{.cluster = cluster}));
    }
    void drop() { queue.offer(ipv4().carrying(Update{.cluster = 7})); }

    [[nodiscard]] std::set<std::size_t> troubles() const {
        std::set<std::size_t> noted;
        const Spells spells = spells_of(queue);
        for (std::size_t i = 0; i < spells.size(); i++)
            if (spells[i])
                noted.insert(i);
        return noted;
    }
    [[nodiscard]] olaf::Spell spell(olaf_trouble trouble) const {
        return spells_of(queue)[trouble].value_or(olaf::Spell{});
    }
};

using Troubles = std::set<std::size_t>;

TEST_F(Spell, NothingIsNotedWhereAllGoesWell) {
    queue.set_rule(1, rule(OLAF_POLICY_OLAF, 0));
    const Frame frame = ipv4().carrying(Update{.cluster = 1, .reward = 5});
    queue.link_free();
    queue.offer(frame); // passes
    append(frame);
    queue.offer(frame); // replaces
    // The first folds, the second's reward is too low.
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 2, .reward = 5}));
    queue.offer(ipv4().carrying(Update{.cluster = 1, .worker = 3, .reward = 1}));
    queue.link_free();
    queue.offer(ipv4().carrying(Update{.cluster = 2})); // carries the head away
    queue.offer(ipv4().carrying(Ack{.cluster = 1}));    // other traffic
    EXPECT_EQ(queue.totals().passed_through, 1u);
    EXPECT_EQ(queue.totals().replaced, 1u);
    EXPECT_EQ(queue.totals().aggregated, 1u);
    EXPECT_EQ(queue.totals().dropped_reward, 1u);
    EXPECT_EQ(queue.totals().departed_riding, 1u);
    EXPECT_EQ(troubles(), Troubles{});
}

TEST_F(Spell, EachTroubleIsNotedAsItself) {
    refuse();
    EXPECT_EQ(troubles(), Troubles{OLAF_TROUBLE_NOT_ALLOWED});
    malform();
    EXPECT_EQ(troubles(), (Troubles{OLAF_TROUBLE_MALFORMED, OLAF_TROUBLE_NOT_ALLOWED}));
    leave_alone();
    EXPECT_EQ(troubles(),
              (Troubles{OLAF_TROUBLE_MALFORMED, OLAF_TROUBLE_NOT_ALLOWED, OLAF_TROUBLE_BYPASSED}));
    fill();
    drop();
    EXPECT_EQ(queue.totals().dropped_full, 1u);
    EXPECT_EQ(troubles(), (Troubles{OLAF_TROUBLE_MALFORMED, OLAF_TROUBLE_NOT_ALLOWED,
                                    OLAF_TROUBLE_BYPASSED, OLAF_TROUBLE_DROPPED}));
}

TEST_F(Spell, AMisfitAndALockThatIsHeldAreDroppedToo) {
    append(ipv4().carrying(Update{.cluster = 1}));
    append(ipv6().carrying(Update{.cluster = 1}));
    EXPECT_EQ(troubles(), Troubles{});
    queue.offer(ipv4().vlan(3).carrying(Update{.cluster = 1}));
    EXPECT_EQ(queue.totals().dropped_misfit, 1u);
    EXPECT_EQ(troubles(), Troubles{OLAF_TROUBLE_DROPPED});

    queue.reset();
    set_spell(queue, OLAF_TROUBLE_DROPPED, {});
    const std::uint32_t index = 1 * queue.config().max_segments;
    auto slot = queue.slot(index);
    slot.lock = 1;
    queue.write("olaf_slots", index, slot);
    queue.link_busy();
    queue.offer(ipv4().carrying(Update{.cluster = 1}));
    EXPECT_EQ(queue.counters().dropped_contended, 1u);
    EXPECT_EQ(troubles(), Troubles{OLAF_TROUBLE_DROPPED});
    queue.reset(); // a contended lock breaks a queue at rest
}

TEST_F(Spell, BeginsOnceAndGoesOn) {
    const auto before = monotonic_ns();
    refuse();
    const auto between = monotonic_ns();
    const auto first = spell(OLAF_TROUBLE_NOT_ALLOWED);
    EXPECT_GE(first.began_ns, before);
    EXPECT_LE(first.began_ns, between);
    EXPECT_EQ(first.last_ns, first.began_ns);
    refuse();
    const auto later = spell(OLAF_TROUBLE_NOT_ALLOWED);
    EXPECT_EQ(later.began_ns, first.began_ns);
    EXPECT_GE(later.last_ns, between);
    EXPECT_LE(later.last_ns, monotonic_ns());
}

TEST_F(Spell, WithinTheGapIsTheSame) {
    const auto now = monotonic_ns();
    set_spell(queue, OLAF_TROUBLE_NOT_ALLOWED,
              {.last_ns = now - OLAF_SPELL_GAP_NS / 2, .began_ns = now - 50 * second});
    refuse();
    EXPECT_EQ(spell(OLAF_TROUBLE_NOT_ALLOWED).began_ns, now - 50 * second);
    EXPECT_GE(spell(OLAF_TROUBLE_NOT_ALLOWED).last_ns, now);
}

TEST_F(Spell, AfterTheGapBeginsAnew) {
    const auto now = monotonic_ns();
    set_spell(queue, OLAF_TROUBLE_NOT_ALLOWED,
              {.last_ns = now - OLAF_SPELL_GAP_NS - 1, .began_ns = now - 50 * second});
    refuse();
    EXPECT_GE(spell(OLAF_TROUBLE_NOT_ALLOWED).began_ns, now);
    EXPECT_GE(spell(OLAF_TROUBLE_NOT_ALLOWED).last_ns, now);
}

/// Each CPU notes its own, and what is read is one spell.
TEST_F(Spell, OfTwoCpusIsOne) {
    const auto on = [&](unsigned cpu, auto what) {
        std::thread([&] {
            pin_to(cpu);
            what();
        }).join();
    };
    on(0, [&] { malform(); });
    on(1, [&] { malform(); });
    on(1, [&] { malform(); });
    const auto copies = copies_of(queue, OLAF_TROUBLE_MALFORMED);
    EXPECT_EQ(copies[0].began_ns, copies[0].last_ns);
    EXPECT_GT(copies[1].began_ns, copies[0].last_ns);
    EXPECT_GT(copies[1].last_ns, copies[1].began_ns);
    EXPECT_EQ(spell(OLAF_TROUBLE_MALFORMED).began_ns, copies[0].began_ns);
    EXPECT_EQ(spell(OLAF_TROUBLE_MALFORMED).last_ns, copies[1].last_ns);
}

} // namespace
} // namespace olaf::test::spell_test
