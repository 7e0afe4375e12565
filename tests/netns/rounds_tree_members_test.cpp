// SPDX-License-Identifier: BSD-2-Clause
// Workers that come and go below both leaves of a tree while others sum: every sum is of those that it
// says, at every worker, and the nodes' books add up.
#include <gtest/gtest.h>

#include "round_members.hpp"
#include "round_tree.hpp"

namespace olaf::test::rounds_tree_members_test {
namespace {

// Workers 0, 1 and 2 are below node 1, and 3 and 4 below node 2. The last of each come and go.
constexpr unsigned others = 0b01011, all = 0b11111;

RoundTree make_tree() {
    return RoundTree({{0, 0}, {0, 3, {2}}, {0, 2, {1}}});
}

CollectiveOptions options_of(const RoundTree &tree, unsigned worker) {
    auto options = tree.options_of(worker);
    options.format = Format::i64x1;
    options.lanes = member_lanes;
    return options;
}

/// The workers that are there from the beginning.
Summers those_who_stay(const RoundTree &tree) {
    return {.netns = tree.netns_of_workers(),
            .workers = {0, 1, 3},
            .options = [&tree](unsigned worker) { return options_of(tree, worker); },
            .check_books = [&tree] { tree.expect_books_to_add_up(); }};
}

std::jthread guest(const RoundTree &tree, unsigned worker, unsigned workers_in_sums) {
    return std::jthread([&tree, worker, workers_in_sums] {
        const Inside inside(tree.netns_of_workers());
        try {
            come_and_go(options_of(tree, worker), worker, workers_in_sums);
        } catch (const std::exception &error) {
            ADD_FAILURE() << "worker " << worker << ": " << error.what();
        }
    });
}

struct Circumstances {
    const char *name;
    unsigned loss;      ///< in a hundred, on each link and each way
    unsigned resets_at; ///< the node at which all must agree anew; 3: nowhere
    unsigned turns;
};

class RoundsInTreeMembers : public testing::TestWithParam<Circumstances> {
  protected:
    RoundsInTreeMembers() {
        for (unsigned node = 0; node < 3; node++)
            tree.start(node, member_lanes);
        tree.lose(GetParam().loss);
    }
    void disturb() {
        if (GetParam().resets_at < 3)
            tree.reset(GetParam().resets_at);
    }
    RoundTree tree = make_tree();
};

TEST_P(RoundsInTreeMembers, AreInTheSumsFromJoiningToDeparting) {
    Summing summing(those_who_stay(tree));
    summing.await_sum_of(others);
    for (unsigned turn = 0; turn < GetParam().turns; turn++) {
        {
            const auto below_one = guest(tree, 2, all), below_other = guest(tree, 4, all);
            summing.await_sum_of(all);
            disturb();
        }
        summing.await_sum_of(others);
        disturb();
    }
    {
        const auto alone = guest(tree, 4, others | 0b10000);
        summing.await_sum_of(others | 0b10000);
    }
    summing.await_sum_of(others);
    summing.stop();
    EXPECT_TRUE(summing.errors().empty()) << summing.errors().begin()->second;
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsInTreeMembers,
                         testing::Values(Circumstances{"GoodLinks", 0, 3, 3},
                                         Circumstances{"LinksThatLose", 5, 3, 1},
                                         Circumstances{"ARootThatIsReset", 0, 0, 3},
                                         Circumstances{"ALeafThatIsReset", 0, 1, 3}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_tree_members_test
