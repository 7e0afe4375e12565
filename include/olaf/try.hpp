// SPDX-License-Identifier: BSD-2-Clause
// OLAF_TRY: takes the value out of a Result, or returns its error to the caller. Not installed:
// no public header includes it.
#pragma once

#include <expected>
#include <utility>

/// The value of EXPRESSION, a std::expected, moved out of it. If it holds an error, the function
/// that contains the macro returns that error. Works for std::expected<void, …> too:
///
///     const auto device = OLAF_TRY(find_device(name));
///     OLAF_TRY(require_kernel("attach to", name));
///
/// GCC's and Clang's statement expressions allow the `return` inside an expression.
#define OLAF_TRY(...)                                                                              \
    __extension__({                                                                                \
        auto olaf_tried = (__VA_ARGS__);                                                           \
        if (!olaf_tried)                                                                           \
            return std::unexpected(std::move(olaf_tried).error());                                 \
        *std::move(olaf_tried);                                                                    \
    })
