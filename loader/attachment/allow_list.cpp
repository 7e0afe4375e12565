// SPDX-License-Identifier: BSD-2-Clause
#include "allow_list.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "loader/text/address.hpp"

namespace olaf {
namespace {

bool same(const olaf_prefix &a, const olaf_prefix &b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

} // namespace

std::vector<olaf_prefix> allowed_prefixes(int map_fd) {
    std::vector<olaf_prefix> found;
    olaf_prefix key{}, next{};
    for (int more = bpf_map_get_next_key(map_fd, nullptr, &next); more == 0;
         more = bpf_map_get_next_key(map_fd, &key, &next)) {
        key = next;
        found.push_back(key);
    }
    return found;
}

Result<void> allow(int map_fd, const std::vector<olaf_prefix> &prefixes, Undo *undo) {
    const auto before = allowed_prefixes(map_fd);
    for (const auto &prefix : prefixes) {
        const auto known = [&](const olaf_prefix &other) { return same(other, prefix); };
        if (std::ranges::any_of(before, known))
            continue;
        const std::uint32_t yes = 1;
        if (bpf_map_update_elem(map_fd, &prefix, &yes, BPF_ANY) != 0)
            return fail("allow", prefix_text(prefix), errno,
                        errno == ENOSPC ? "give fewer, wider prefixes" : "");
        if (undo != nullptr)
            undo->add([=] { bpf_map_delete_elem(map_fd, &prefix); });
    }
    return {};
}

Result<void> allow_only(int map_fd, const std::vector<olaf_prefix> &prefixes) {
    for (const auto &prefix : allowed_prefixes(map_fd)) {
        const auto kept = [&](const olaf_prefix &other) { return same(other, prefix); };
        if (std::ranges::none_of(prefixes, kept) && bpf_map_delete_elem(map_fd, &prefix) != 0 &&
            errno != ENOENT)
            return fail("refuse again", prefix_text(prefix), errno);
    }
    return {};
}

} // namespace olaf
