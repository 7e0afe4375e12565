// SPDX-License-Identifier: BSD-2-Clause
// What people write for rates, times and ranges, read strictly: the whole text or an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "olaf/result.hpp"

namespace olaf {

/// What a reader of such a text fails with; `what` it was to be, and what to write in its place.
std::unexpected<Error> cannot_read(std::string_view what, std::string_view text, std::string hint);

/// "20gbit", "1.5mbit", "line", "unlimited".
struct Rate {
    bool line = false;     ///< the output device's link speed
    std::uint64_t bps = 0; ///< 0: unlimited; meaningless with line
    bool operator==(const Rate &) const = default;
};
Result<Rate> parse_rate(std::string_view text);

/// "100us", "1.5ms", "1s": nanoseconds.
Result<std::uint64_t> parse_duration(std::string_view text);

/// "1500", "40kb", "240mb", "1.5gb": bytes, in powers of 1,000.
Result<std::uint64_t> parse_bytes(std::string_view text);

/// "17"; "0x11" is refused.
Result<std::uint32_t> parse_count(std::string_view text, std::uint32_t least, std::uint32_t most);

/// A count, or the word, which gives nothing: "auto", "mtu".
Result<std::optional<std::uint32_t>> parse_count_or(std::string_view word, std::string_view text,
                                                    std::uint32_t least, std::uint32_t most);

/// How many departures may be unacknowledged: "8", "auto", "off".
struct Window {
    bool automatic = false; ///< finds its own size, at most `most`
    std::uint32_t most = 0; ///< 0: any number
    bool operator==(const Window &) const = default;
};
Result<Window> parse_window(std::string_view text);

/// "3" or "3-17".
struct Range {
    std::uint32_t first = 0, last = 0;
    bool operator==(const Range &) const = default;
};
Result<Range> parse_range(std::string_view text);

/// "0.5", "off": signed Q47.16; off is -1.
Result<std::int64_t> parse_reward(std::string_view text);

std::string rate_text(std::uint64_t rate_bps);   ///< "20gbit", "unlimited"
std::string duration_text(std::uint64_t ns);     ///< "100us", as parse_duration() reads it
/// The same with all digits: whole bits a second, or nanoseconds, where a text would tell another value.
std::string exact_rate_text(std::uint64_t rate_bps);
std::string exact_duration_text(std::uint64_t ns);
std::string window_text(const Window &window);   ///< "8", "auto", "off"
std::string size_text(std::uint64_t bytes);      ///< "12.3 MiB", three digits
std::string reward_text(std::int64_t threshold); ///< "0.5", "off"

} // namespace olaf
