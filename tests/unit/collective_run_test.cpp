// SPDX-License-Identifier: BSD-2-Clause
// Which run a Collective is of, by its options and by the environment.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include <olaf/collective.hpp>

#include "endpoints/rounds/run.hpp"
#include "loopback.hpp"

namespace olaf::test::collective_run_test {
namespace {

using Variables = std::map<std::string, std::string>;

/// The environment has these variables of launchers and no others, as long as this lives.
class Environment {
  public:
    explicit Environment(const Variables &variables) {
        for (const char *name : {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
                                 "GROUP_WORLD_SIZE", "SLURM_JOB_ID", "SLURM_RESTART_COUNT"}) {
            const char *const value = std::getenv(name);
            before_[name] = value ? std::optional<std::string>(value) : std::nullopt;
            ::unsetenv(name);
        }
        for (const auto &[name, value] : variables)
            ::setenv(name.c_str(), value.c_str(), 1);
    }
    Environment(const Environment &) = delete;
    Environment &operator=(const Environment &) = delete;
    ~Environment() {
        for (const auto &[name, value] : before_)
            if (value)
                ::setenv(name.c_str(), value->c_str(), 1);
            else
                ::unsetenv(name.c_str());
    }

  private:
    std::map<std::string, std::optional<std::string>> before_;
};

std::uint64_t hash(const std::string &name) {
    return olaf_training_id(name.data(), static_cast<__u32>(name.size()));
}

void expect_run(const Variables &variables, const std::string &name, std::uint64_t number,
                const std::string &given = {}, std::uint64_t given_number = 0) {
    const Environment environment(variables);
    const auto run = run_of_process(given, given_number, "job 5");
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->training, hash(name));
    EXPECT_EQ(run->number, number);
}

TEST(CollectiveRun, IsTheOneThatIsGivenWhateverTheLauncherSays) {
    expect_run({{"TORCHELASTIC_RUN_ID", "abc"}, {"SLURM_JOB_ID", "17"}}, "mine", 0, "mine");
    expect_run({}, "mine", 3, "mine", 3);
}

TEST(CollectiveRun, IsNotWhatOthersAreToldOfIt) {
    const Environment none(Variables{});
    expect_fails(run_of_process("id:00000000000abc12", 0, "job 5"), "give the training's name");
}

TEST(TrainingAlias, IsOfItsNameOrWhatIsShownOfIt) {
    const std::uint64_t alias = olaf_training_alias(hash("mine"));
    EXPECT_EQ(alias_of("mine", "serve", "job 5").value(), alias);
    EXPECT_EQ(alias_of(text_of(alias, 0), "serve", "job 5").value(), alias);
    EXPECT_EQ(alias_of("id:00000000000ABC12", "serve", "job 5").value(), 0xabc12U);
    for (const char *wrong :
         {"id:", "id:12", "id:00000000000abc1g", "id:0000000000000000", "id:00000000000abc123"})
        expect_fails(alias_of(wrong, "serve", "job 5"), "16 hexadecimal digits");
}

// Of another implementation, which gives the first vector of the paper on SipHash.
TEST(TrainingAlias, IsSipHashOfNothingKeyedByTheTraining) {
    EXPECT_EQ(olaf_training_alias(0xabc), 0x867a048b8032ba7cU);
    EXPECT_EQ(olaf_training_alias(1), 0x54e761ac4b1ca3deU);
}

TEST(CollectiveRun, IsTorchruns) {
    expect_run({{"TORCHELASTIC_RUN_ID", "abc"}, {"SLURM_JOB_ID", "17"}}, "abc", 0);
    expect_run({{"TORCHELASTIC_RUN_ID", "abc"},
                {"TORCHELASTIC_RESTART_COUNT", "2"},
                {"GROUP_WORLD_SIZE", "1"}},
               "abc", 2);
    expect_run({{"TORCHELASTIC_RUN_ID", "abc"}}, "abc", 8, "", 8);
}

TEST(CollectiveRun, HasNoNumberOfTorchrunsWhereSeveralAgentsCountTheirOwn) {
    expect_run({{"TORCHELASTIC_RUN_ID", "abc"},
                {"TORCHELASTIC_RESTART_COUNT", "2"},
                {"GROUP_WORLD_SIZE", "2"}},
               "abc", 0);
    expect_run({{"TORCHELASTIC_RUN_ID", "abc"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}, "abc", 0);
}

TEST(CollectiveRun, IsSlurmsWhereTorchrunHasNone) {
    expect_run({{"TORCHELASTIC_RUN_ID", "none"}, {"SLURM_JOB_ID", "17"}}, "17", 0);
    expect_run({{"TORCHELASTIC_RUN_ID", ""}, {"SLURM_JOB_ID", "17"}, {"SLURM_RESTART_COUNT", "4"}},
               "17", 4);
}

TEST(CollectiveRun, ThatNobodyNamesIsAnErrorBeforeAnythingIsOpened) {
    const Environment none(Variables{{"TORCHELASTIC_RUN_ID", "none"}});
    for (const unsigned threads : {1U, 2U}) {
        // Whose node can't be reached either.
        const auto made = Collective::make({.workers = 2, .threads = threads});
        expect_fails(made, "nothing says which training");
        expect_fails(made, "in Python run=..., the same at all workers and another one for each");
    }
}

TEST(CollectiveRun, WhoseNumberIsNoneIsAnErrorThatNamesTheVariable) {
    for (const char *wrong : {"x", "-1", "1x", " 1", "18446744073709551616"}) {
        {
            const Environment slurm(
                Variables{{"SLURM_JOB_ID", "17"}, {"SLURM_RESTART_COUNT", wrong}});
            expect_fails(run_of_process("", 0, "job 5"),
                         "SLURM_RESTART_COUNT in the environment is no number: " +
                             std::string(wrong));
        }
        const Environment torchrun(Variables{{"TORCHELASTIC_RUN_ID", "abc"},
                                             {"TORCHELASTIC_RESTART_COUNT", wrong},
                                             {"GROUP_WORLD_SIZE", "1"}});
        expect_fails(run_of_process("", 0, "job 5"),
                     "TORCHELASTIC_RESTART_COUNT in the environment is no number");
    }
}

} // namespace
} // namespace olaf::test::collective_run_test
