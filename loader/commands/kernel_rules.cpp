// SPDX-License-Identifier: BSD-2-Clause
#include "kernel_rules.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>

#include "loader/datapath/config.hpp"
#include "loader/datapath/datapath.hpp"
#include "olaf/try.hpp"

namespace olaf {

Result<std::vector<olaf_rule>> rules_in_kernel(const Attachment &attachment,
                                               const olaf_config &config) {
    const auto map = OLAF_TRY(open_map(attachment, "olaf_rules"));
    const auto clusters = std::min(attachment.record.config.max_clusters, config.max_clusters);
    const auto from =
        default_rule(static_cast<olaf_policy>(attachment.record.config.default_policy));
    const auto to = default_rule(static_cast<olaf_policy>(config.default_policy));
    std::vector<olaf_rule> rules(clusters);
    for (std::uint32_t id = 0; id < clusters; id++) {
        if (bpf_map_lookup_elem(map.get(), &id, &rules[id]) != 0)
            return fail("read the rule of cluster", std::to_string(id), errno);
        if (same_rule(rules[id], from))
            rules[id] = to;
    }
    return rules;
}

Result<void> set_kernel_rules(const PinPlace &place, const std::vector<olaf_rule> &rules) {
    const auto map = OLAF_TRY(open_map(read_attachment(place), "olaf_rules"));
    for (std::uint32_t id = 0; id < rules.size(); id++)
        OLAF_TRY(write_rules(map.get(), id, id, rules[id]));
    return {};
}

} // namespace olaf
