// SPDX-License-Identifier: BSD-2-Clause
// Each `olaf job` command that writes, killed at each step of what it does: the job sums as before, or
// the next command takes away what is there and sets it anew. The job's parent is behind another device,
// so a filter comes and goes there too. Each kill provably lands midway (killed_at.hpp).
#include "killed_at.hpp"
#include "traces.hpp"
#include "two_armed.hpp"

namespace olaf::test::job_kill_midway_test {
namespace {

struct Case {
    const char *name;
    bool is_set;     ///< the job is there before
    bool sums_after; ///< whatever the kill left, resumed
    std::vector<std::string> more = {};
};

class JobKillMidway : public testing::TestWithParam<Case> {
  protected:
    [[nodiscard]] std::vector<std::string> command() const {
        const std::string word = GetParam().name;
        if (word == "set")
            return node.setting();
        std::vector<std::string> words{"job", word, "in", std::to_string(rounds_job)};
        words.insert(words.end(), GetParam().more.begin(), GetParam().more.end());
        return words;
    }
    [[nodiscard]] std::size_t jobs() const { return node.bed.olaf.status().json.at("jobs").size(); }
    Outcome job(const char *word) const {
        return node.bed.olaf({"job", word, "in", std::to_string(rounds_job)});
    }
    /// Takes away what is there, if anything is.
    void remove() const {
        const auto told = job("remove");
        EXPECT_EQ(jobs(), 0u) << told.err;
        EXPECT_TRUE(traces(node.bed.host) == without) << "something is left behind; " << told.err;
    }

    TwoArmed node;
    std::string without; ///< traces of a queue without jobs
};

TEST_P(JobKillMidway, TheJobSumsOrTheNextCommandsSetItAnew) {
    node.attach();
    without = traces(node.bed.host);
    unsigned step = 0;
    do {
        if (GetParam().is_set && jobs() == 0)
            node.set();
        if (!killed_at(node.bed.olaf.command(command()), ++step))
            break;
        SCOPED_TRACE("killed at step " + std::to_string(step));
        EXPECT_LE(jobs(), 1u);
        if (GetParam().sums_after) {
            const auto resumed = job("resume");
            EXPECT_EQ(resumed.status, 0) << resumed.err;
            node.sum(1);
        } else {
            remove();
            node.set();
            node.sum(1);
            remove();
        }
    } while (!HasFailure());
    EXPECT_GT(step, 2u) << "it was never killed midway";
    RecordProperty("kills", static_cast<int>(step - 1));
}

INSTANTIATE_TEST_SUITE_P(Of, JobKillMidway,
                         testing::Values(Case{"set", false, false}, Case{"remove", true, false},
                                         Case{"leave", true, false, {"3"}}, Case{"reset", true, true},
                                         Case{"halt", true, true}, Case{"resume", true, true},
                                         Case{"flush", true, true}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::job_kill_midway_test
