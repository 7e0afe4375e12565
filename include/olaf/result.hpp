// SPDX-License-Identifier: BSD-2-Clause
// The one error model of Olaf's user space: a value, never an exception, that
// tells a person what failed, on which object, why, and what to do about it.
#pragma once

#include <cstring>
#include <expected>
#include <string>
#include <utility>

namespace olaf {

/// A failure, ready to be printed as one line.
struct Error {
    std::string operation; ///< what was being done: "attach XDP program"
    std::string object;    ///< to what: "eth0"; may be empty
    int code = 0;          ///< positive errno, 0 when the reason is not an errno
    std::string reason;    ///< why, when errno doesn't say it; may be empty
    std::string hint;      ///< what to do; may be empty

    /// "cannot OPERATION OBJECT: WHY (HINT)"
    [[nodiscard]] std::string message() const {
        std::string text = "cannot " + operation;
        if (!object.empty())
            text += " " + object;
        if (!reason.empty())
            text += ": " + reason;
        if (code != 0)
            text += std::string(": ") + std::strerror(code);
        if (!hint.empty())
            text += "; " + hint;
        return text;
    }
};

template <class T> using Result = std::expected<T, Error>;

/// Shorthand for `return fail("open map", path, errno, "…");`
inline std::unexpected<Error> fail(std::string operation, std::string object, int code = 0,
                                   std::string hint = {}, std::string reason = {}) {
    return std::unexpected(Error{.operation = std::move(operation),
                                 .object = std::move(object),
                                 .code = code,
                                 .reason = std::move(reason),
                                 .hint = std::move(hint)});
}

} // namespace olaf
