// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/rounds/run.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <system_error>

#include <olaf/try.hpp>

namespace olaf {
namespace {

constexpr const char *kOperation = "take part in";
constexpr std::string_view kHashPrefix = "id:";
constexpr std::size_t kHashDigits = 16;

// Nothing where the text isn't that number alone.
std::optional<std::uint64_t> number_in(std::string_view text, int base) {
    std::uint64_t number = 0;
    const auto *const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, number, base);
    if (error != std::errc() || last != end)
        return {};
    return number;
}

// An empty variable is none.
std::optional<std::string> variable(const char *name) {
    const char *const value = std::getenv(name);
    if (value == nullptr || *value == '\0')
        return {};
    return value;
}

Result<std::uint64_t> number_of(const char *name, std::uint64_t otherwise,
                                const std::string &object) {
    const auto value = variable(name);
    if (!value)
        return otherwise;
    const auto number = number_in(*value, 10);
    if (!number)
        return fail(kOperation, object, 0,
                    "correct it, or give the training a name: CollectiveOptions::run, in Python "
                    "run=...",
                    std::string(name).append(" in the environment is no number: ").append(*value));
    return *number;
}

// Several agents don't count their restarts together.
Result<std::uint64_t> torchrun_number(const std::string &object) {
    if (OLAF_TRY(number_of("GROUP_WORLD_SIZE", 0, object)) != 1)
        return 0;
    return number_of("TORCHELASTIC_RESTART_COUNT", 0, object);
}

} // namespace

Result<std::uint64_t> alias_of(std::string_view name, const char *operation,
                               const std::string &object) {
    if (!name.starts_with(kHashPrefix))
        return olaf_training_alias(olaf_training_id(name.data(), static_cast<__u32>(name.size())));
    const auto digits = name.substr(kHashPrefix.size());
    const auto hash = digits.size() == kHashDigits ? number_in(digits, 16) : std::nullopt;
    if (hash.value_or(0) == 0)
        return fail(operation, object, 0, "see olaf job list DEV",
                    std::string(name).append(" isn't id: and 16 hexadecimal digits"));
    return *hash;
}

Result<olaf_run> run_of_process(const std::string &name, std::uint64_t number,
                                const std::string &object) {
    const auto with = [&](const std::string &training, std::uint64_t counted) -> Result<olaf_run> {
        if (training.starts_with(kHashPrefix))
            return fail(kOperation, object, 0, "give the training's name",
                        training + " is what others are told of a training, not its name");
        return olaf_run{.training =
                            olaf_training_id(training.data(), static_cast<__u32>(training.size())),
                        .number = number != 0 ? number : counted};
    };
    if (!name.empty())
        return with(name, 0);
    if (const auto id = variable("TORCHELASTIC_RUN_ID"); id && *id != "none")
        return with(*id, OLAF_TRY(torchrun_number(object)));
    if (const auto id = variable("SLURM_JOB_ID"))
        return with(*id, OLAF_TRY(number_of("SLURM_RESTART_COUNT", 0, object)));
    return fail(kOperation, object, 0,
                "give the training a name: CollectiveOptions::run, in Python run=..., the same at "
                "all workers and another one for each training",
                "nothing says which training this worker is of");
}

std::string text_of(std::uint64_t alias, std::uint64_t number) {
    std::array<char, kHashDigits> digits;
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), alias, 16);
    const auto used = static_cast<std::size_t>(end - digits.data());
    return std::string(kHashPrefix) + std::string(kHashDigits - used, '0') +
           std::string(digits.data(), used) +
           (number == 0 ? "" : " number " + std::to_string(number));
}

} // namespace olaf
