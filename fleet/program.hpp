// SPDX-License-Identifier: BSD-2-Clause
// A program that `olaf` becomes. Its options come as CBOR on standard input: as JSON, names of files
// could only be UTF-8, and as an argument they could have 128 KiB at most.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

namespace olaf::fleet {

/// Reads Options and runs `run`, whose exit status it returns; 2 for options that can't be read. What
/// is thrown, no memory above all, is told in one line, with exit status 1.
/// \param command such as "olaf plan": whoever runs the program itself is told to run that.
template <class Options> int run_program(std::string_view command, int (*run)(const Options &)) {
    const auto failed = [&](std::string_view what, int status) {
        fmt::print(stderr, "olaf: {}: {}\n", command, what);
        return status;
    };
    try {
        const auto given = ::isatty(STDIN_FILENO) != 0
                               ? nlohmann::json(nlohmann::json::value_t::discarded)
                               : nlohmann::json::from_cbor(std::cin, true, false);
        if (given.is_discarded())
            return failed("this program is a part of it; run that", 2);
        return run(given.get<Options>());
    } catch (const std::bad_alloc &) {
        return failed("this machine has too little memory for it; ask for less at once", 1);
    } catch (const std::exception &error) {
        return failed(error.what(), 1);
    }
}

} // namespace olaf::fleet
