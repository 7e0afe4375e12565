// SPDX-License-Identifier: BSD-2-Clause
// Each rule of docs/rounds.md, broken: a simulation notices.
#include <gtest/gtest.h>

#include "round_simulation.hpp"

using namespace olaf::model;

namespace {

// What a rule is for shows where it is broken.
struct Broken {
    const char *name;
    void (*break_it)(RoundWorld &);
    // The first world to look at: most of those before it don't show the rule, and take time.
    std::uint64_t first = 1;
};

void PrintTo(const Broken &broken, std::ostream *out) {
    *out << broken.name;
}

class RoundRule : public testing::TestWithParam<Broken> {};

TEST_P(RoundRule, IsMissedWhereItIsBroken) {
    const std::uint64_t first = GetParam().first;
    for (std::uint64_t seed = first; seed < first + 10000; seed++) {
        RoundWorld world = random_world(seed);
        GetParam().break_it(world);
        if (RoundSimulation(world).run().empty())
            continue;
        // Nodes that keep all rules have no trouble in that world. Some rules are the workers'.
        RoundWorld whole = world;
        whole.broken = {};
        if (whole.broken == world.broken || RoundSimulation(whole).run().empty())
            return;
    }
    FAIL() << "nobody noticed";
}

// Below one node of a tree windows are wider than below the other, and than the root's.
void disagree_on_pools(RoundWorld &world) {
    world.broken.pool_is_not_agreed_upwards = true;
    world.tree = true;
    world.workers = 4;
    world.pool = 4;
    world.second_pool = 0;
    world.restarts = 1;
    world.loss = 0.01;
    world.lag = 0;
    world.under_way = 4;
    world.vectors = {40, 40, 40};
}

constexpr Broken kBroken[] = {
    {"AggregatesGoUpAgain", [](RoundWorld &w) { w.broken.never_sends_up_again = true; }},
    {"ASyncStopsTheJob", [](RoundWorld &w) { w.broken.sync_does_not_stop = true; }},
    {"DuplicatesAreNotAdded", [](RoundWorld &w) { w.broken.duplicates_are_added = true; }},
    {"DuplicatesAreAnswered", [](RoundWorld &w) { w.broken.duplicates_are_not_answered = true; }},
    {"GenerationsAreCompared", [](RoundWorld &w) { w.broken.generations_do_not_matter = true; }},
    {"AllBeginAtTheLowest", [](RoundWorld &w) { w.broken.begins_where_the_last_one_asks = true; }},
    {"AStaleOfTheParentStops", [](RoundWorld &w) { w.broken.parents_stale_is_ignored = true; }},
    {"AStaleEchoes", [](RoundWorld &w) { w.broken.stale_echoes_nothing = true; }},
    {"AllHaveOnePool", disagree_on_pools},
    {"WorkersSendAgain", [](RoundWorld &w) { w.never_again = true; }},
    {"WhoFinishesBidsFarewell", [](RoundWorld &w) { w.finishes = w.finishes_at_once = true; }},
    {"WhatAMemberWasNotToldMatters",
     [](RoundWorld &w) {
         w = other_exponents_world(w.seed);
         w.broken.what_a_member_was_not_told_does_not_matter = true;
     },
     1},
    {"WhoHasJoinedOpensNoChunks",
     [](RoundWorld &w) {
         w = without_restarts(w.seed);
         w.broken.joiners_open_chunks = true;
     }},
    {"AJoiningWaitsForANewRound",
     [](RoundWorld &w) {
         w = without_restarts(w.seed);
         w.broken.joins_begin_at_once = true;
     }},
    {"WhoForgotSaysSo",
     [](RoundWorld &w) {
         w = changing_world(w.seed);
         w.broken.what_was_forgotten_does_not_matter = true;
     },
     5'460},
    {"WhoAbstainsIsNotWaitedFor",
     [](RoundWorld &w) {
         w = other_exponents_world(w.seed);
         w.broken.nobody_may_abstain = true;
     },
     1'070},
    {"TheWindowIsKept", [](RoundWorld &w) { w.wider_window = 2; }},
    {"AllSpareTheSame",
     [](RoundWorld &w) {
         w.lag = 1;
         w.spares = w.spares_by_worker = true;
     }},
    {"AChangeIsOverWhenAllHoldWhatWasBefore",
     [](RoundWorld &w) {
         w = restless_world(w.seed);
         w.broken.changes_are_over_soon = true;
     },
     485},
    {"WhoLeavesAJobThatIsStoppedMayBeMissing",
     [](RoundWorld &w) {
         w = restless_world(w.seed);
         w.broken.who_leaves_a_stopped_job_is_not_missed = true;
     },
     28'000},
    {"VectorsAreCompared",
     [](RoundWorld &w) {
         w = odd_world(w.seed);
         w.broken.vectors_do_not_matter = true;
     }},
    {"WhoHasBegunAnewIsNotSummedWith",
     [](RoundWorld &w) {
         w = reborn_world(w.seed);
         w.broken.sessions_do_not_matter = true;
     }},
    {"ANodeTellsItsParentThatSomebodyHasBegunAnew",
     [](RoundWorld &w) {
         w = reborn_world(w.seed);
         w.broken.who_is_new_is_not_told_upwards = true;
     }},
    {"AnEarlierRunDoesNotComeBack",
     [](RoundWorld &w) {
         w = later_world(w.seed);
         w.broken.older_runs_come_back = true;
     }},
    {"ThereIsOneSession",
     [](RoundWorld &w) {
         w = parted_world(w.seed);
         w.broken.two_sessions_do_not_matter = true;
     }},
    {"WhoWasNotAnsweredHasNotBegunAnew",
     [](RoundWorld &w) { // without its part, so that others have sums by then
         w = impatient_world(w.seed);
         w.loss = 0.2;
         w.resets = 6;
         w.broken.incarnations_are_not_compared = true;
     }},
    {"WhoseStampIsOldIsToldTheNewestOne",
     [](RoundWorld &w) {
         w = reborn_world(w.seed);
         w.broken.newest_stamp_is_not_told = true;
     }},
    {"WhoJoinsIsToldTheSession",
     [](RoundWorld &w) {
         w = changing_world(w.seed);
         w.broken.joiners_are_told_no_session = true;
     }},
    {"WhatIsDamagedIsGatheredAnew",
     [](RoundWorld &w) {
         w = damaged_world(w.seed);
         w.broken.damaged_sums_stay = true;
     }},
    {"WhoGaveBeforeIsNotLate",
     [](RoundWorld &w) {
         w = damaged_world(w.seed);
         w.broken.who_gave_before_is_late = true;
     }},
    {"OnlyWhoGaveBeforeGivesAgain",
     [](RoundWorld &w) {
         w = impatient_damaged_world(w.seed);
         w.broken.anybody_may_give_again = true;
     }},
    {"BelowATreeWhoHasJoinedOpensNoChunks",
     [](RoundWorld &w) {
         w = tree_without_restarts(w.seed);
         w.broken.joiners_open_chunks = true;
     }},
    {"BelowATreeAJoiningWaitsForANewRound",
     [](RoundWorld &w) {
         w = tree_without_restarts(w.seed);
         w.broken.joins_begin_at_once = true;
     }},
    {"BelowATreeAChangeIsOverWhenAllHoldWhatWasBefore",
     [](RoundWorld &w) {
         w = restless_tree(w.seed);
         w.broken.changes_are_over_soon = true;
     }},
    {"BelowATreeWhoForgotSaysSo",
     [](RoundWorld &w) {
         w = restless_tree(w.seed);
         w.broken.what_was_forgotten_does_not_matter = true;
     },
     490},
    {"BelowATreeWhatLacksWhoHasLeftIsPartial",
     [](RoundWorld &w) {
         w = restless_tree(w.seed);
         w.broken.nobodys_part_is_missed = true;
     }},
    {"BelowATreeAStaleOfTheParentStops",
     [](RoundWorld &w) {
         w = changing_tree(w.seed);
         w.broken.parents_stale_is_ignored = true;
     }},
    {"BelowATreeAllBeginAtTheLowest",
     [](RoundWorld &w) {
         w = changing_tree(w.seed);
         w.broken.begins_where_the_last_one_asks = true;
     }},
};

INSTANTIATE_TEST_SUITE_P(All, RoundRule, testing::ValuesIn(kBroken),
                         [](const auto &each) { return each.param.name; });

} // namespace
