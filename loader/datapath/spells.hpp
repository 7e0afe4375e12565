// SPDX-License-Identifier: BSD-2-Clause
// Since when something goes wrong: what each CPU noted (olaf/spells.h), joined.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "olaf/result.hpp"
#include "olaf/spells.h"
#include "snapshot.hpp"

namespace olaf {

/// Moments of CLOCK_MONOTONIC. It began no later than that: a CPU that pauses for longer than the
/// gap, while others go on, forgets when its own part began.
struct Spell {
    std::uint64_t began_ns = 0;
    std::uint64_t last_ns = 0; ///< not before it began

    /// Whether one more at `now_ns` would still belong to it.
    [[nodiscard]] bool goes_on(std::uint64_t now_ns) const {
        return now_ns <= last_ns + OLAF_SPELL_GAP_NS;
    }
};

/// The last spell of each trouble, by enum olaf_trouble; nothing: there was none.
using Spells = std::array<std::optional<Spell>, OLAF_TROUBLES>;

/// The last spell of one trouble, of the copies of all CPUs: what overlaps, or follows within the
/// gap, is one.
std::optional<Spell> joined(std::span<const olaf_spell> cpus);

/// Without what was before that moment: a spell that went on then begins there.
Spells spells_since(const Spells &spells, std::uint64_t from_ns);

/// Reads the map olaf_spells while programs write it. A copy that is read halfway is a spell that
/// begins just then.
Result<Spells> read_spells(const MapFinder &map_fd);

} // namespace olaf
