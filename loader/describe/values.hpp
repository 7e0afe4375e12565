// SPDX-License-Identifier: BSD-2-Clause
// What a shell can offer for an option's value.
#pragma once

#include "description.hpp"

namespace olaf {

enum class ValueKind { nothing, words, device, netns, file, directory };

/// By the name that --help gives the value.
inline ValueKind value_kind(const OptionDescription &option) {
    if (option.type == "DEV" || option.type == "DEV2")
        return ValueKind::device;
    if (option.type == "NAME")
        return ValueKind::netns;
    if (option.type == "FILE")
        return ValueKind::file;
    if (option.type == "DIR")
        return ValueKind::directory;
    return option.words().empty() ? ValueKind::nothing : ValueKind::words;
}

} // namespace olaf
