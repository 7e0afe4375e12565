// SPDX-License-Identifier: BSD-2-Clause
// Which run this process is of: docs/rounds.md, "Runs".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <olaf/result.hpp>
#include <olaf/run.h>

namespace olaf {

/// The alias of the training of that name, or what "id:" and 16 hexadecimal digits say. `object`:
/// of errors, which begin with "cannot OPERATION OBJECT".
[[nodiscard]] Result<std::uint64_t> alias_of(std::string_view name, const char *operation,
                                             const std::string &object);
/// What is given, else torchrun's, else Slurm's. `number`: 0 if none is given; then it is the
/// launcher's, where the name is.
[[nodiscard]] Result<olaf_run> run_of_process(const std::string &name, std::uint64_t number,
                                              const std::string &object);
/// As in errors and in olaf job list: "id:0123456789abcdef number 3"; without a number 0.
[[nodiscard]] std::string text_of(std::uint64_t alias, std::uint64_t number);

[[nodiscard]] inline bool is_one_run(const olaf_run &one, const olaf_run &other) {
    return one.training == other.training && one.number == other.number;
}

} // namespace olaf
