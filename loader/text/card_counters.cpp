// SPDX-License-Identifier: BSD-2-Clause
#include "card_counters.hpp"

#include <algorithm>
#include <iterator>

#include "olaf/registers.h"

namespace olaf {
namespace {

constexpr std::string_view named[] = {
#define NONE(...)
#define NAME(name, ...) #name,
    OLAF_CARD_COUNTER_LIST(NONE, NAME, NAME)
#undef NONE
#undef NAME
};

} // namespace

bool is_on_card(Source source, olaf_group group, const std::string &field) {
    if (source == Source::slots)
        return true;
    if (source == Source::levels)
        return group != OLAF_GROUP_window;
    if (source != Source::cpus && source != Source::acks)
        return false;
    const auto name = (source == Source::acks ? "acks_" : "") + field;
    return std::ranges::find(named, name) != std::end(named);
}

} // namespace olaf
