// SPDX-License-Identifier: BSD-2-Clause
#include "host_state.hpp"

#include <algorithm>

#include "loader/attachment/allow_list.hpp"
#include "loader/attachment/hooks.hpp"
#include "loader/attachment/memory.hpp"
#include "loader/attachment/way_out.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/device.hpp"
#include "loader/host/host.hpp"
#include "loader/host/xdp.hpp"
#include "loader/text/address.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Those of the queue's hooks; losses that aren't watched are told of elsewhere.
std::vector<std::string> missing_from_hooks(const Attachment &attachment) {
    if (!require_privileges_to_change("look at the hooks of", attachment.device))
        return {};
    auto missing = missing_programs(attachment);
    std::erase_if(missing, [](const std::string &name) {
        return std::ranges::any_of(programs, [&](const Program &program) {
            return program.name == name && program.hook == Hook::tracepoint;
        });
    });
    return missing;
}

Result<std::vector<std::string>> allowed_sources(const Attachment &attachment) {
    std::vector<std::string> sources;
    if ((attachment.record.config.flags & OLAF_CONFIG_ALLOW_LIST) == 0)
        return sources;
    const auto map = OLAF_TRY(open_map_to_read(attachment, "olaf_allow"));
    for (const auto &prefix : allowed_prefixes(map.get()))
        sources.push_back(prefix_text(prefix));
    return sources;
}

} // namespace

namespace {

/// A queue in a card has no programs, no drain, and no map but the record.
HostState host_of_card(const Attachment &attachment) {
    HostState host;
    host.wall_ns = realtime_ns();
    host.memory_bytes = map_memory(attachment.place);
    host.output_obstacle = output_obstacle(attachment);
    if (attachment.record.config.deliver != OLAF_DELIVER_LOCAL)
        if (const auto output = find_device(attachment.record.config.egress_ifindex))
            host.output = output->name;
    if (attachment.alive)
        host.device_obstacle = device_obstacle(attachment.device, attachment.place.ifindex);
    else
        host.dead = why_dead(attachment);
    return host;
}

} // namespace

Result<HostState> read_host_state(const Attachment &attachment) {
    if (attachment.on_card())
        return host_of_card(attachment);
    auto own = OLAF_TRY(own_difference(attachment));
    auto allowed = OLAF_TRY(allowed_sources(attachment));
    HostState host;
    host.allowed = std::move(allowed);
    host.wall_ns = realtime_ns();
    host.memory_bytes = map_memory(attachment.place);
    host.own = std::move(own);
    host.output_obstacle = output_obstacle(attachment);
    if (attachment.record.config.deliver != OLAF_DELIVER_LOCAL)
        if (const auto output = find_device(attachment.record.config.egress_ifindex))
            host.output = output->name;
    host.drain_obstacle = drain_obstacle(attachment);
    if (!attachment.alive) {
        host.dead = why_dead(attachment);
        if (!attachment.away) {
            host.other_program = foreign_xdp(attachment.place.ifindex);
            host.other_age_ns = foreign_xdp_age_ns(attachment.place.ifindex);
        }
        return host;
    }
    host.device_obstacle = device_obstacle(attachment.device, attachment.place.ifindex);
    host.missing_programs = missing_from_hooks(attachment);
    return host;
}

} // namespace olaf
