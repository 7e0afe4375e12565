// SPDX-License-Identifier: BSD-2-Clause
#include "install.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdio>

#include "allow_list.hpp"
#include "beside.hpp"
#include "hooks.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/drain.hpp"
#include "loader/host/tc.hpp"
#include "loader/host/xdp.hpp"
#include "olaf/try.hpp"
#include "own_addresses.hpp"
#include "proof.hpp"
#include "tracepoints.hpp"
#include "turnround.hpp"

namespace olaf {
namespace {

/// A unicast address that nobody else has.
std::array<std::uint8_t, 6> random_mac() {
    std::array<std::uint8_t, 6> mac{};
    [[maybe_unused]] const auto got = ::getrandom(mac.data(), mac.size(), 0);
    mac[0] = static_cast<std::uint8_t>((mac[0] & 0xfc) | 0x02);
    return mac;
}

template <std::size_t N> void copy_text(char (&field)[N], const std::string &text) {
    std::snprintf(field, N, "%s", text.c_str());
}

Result<void> install_drain(const RecordMap &map, Record &record, const Device &device,
                          std::uint64_t interval) {
    const Drain names = drain_names(device.ifindex);
    for (const auto &name : {names.a, names.b})
        if (find_device(name))
            return fail("make the drain", name, EEXIST,
                        "another device has that name: ip link delete it");
    record.drain_ours = 1;
    OLAF_TRY(map.write(record));
    const auto drain = OLAF_TRY(make_drain(device.ifindex, device.mtu, interval));
    record.drain_ifindex_a = drain.ifindex_a;
    record.drain_ifindex_b = drain.ifindex_b;
    return map.write(record);
}

/// Filters of the drain's ends and of the queue's device.
Result<void> install_filters(const PinPlace &place, const RecordMap &map, Record &record,
                             const Datapath &queue, const Device &device) {
    const auto had_clsact = OLAF_TRY(has_clsact(device.name, device.ifindex));
    record.clsact_ours = !had_clsact;
    OLAF_TRY(map.write(record));
    for (const auto &program : programs) {
        if (!runs_by_tc(program) || program.on == On::way_back || !stands(program, record.config))
            continue;
        const auto where = device_of(program, place, record);
        if (!where)
            return fail("find the device of", std::string(program.name), ENODEV);
        OLAF_TRY(ensure_clsact(where->name, where->ifindex));
        OLAF_TRY(add(program, *where, queue));
    }
    return {};
}

Result<void> install_xdp(const PinPlace &place, const Datapath &queue, const Record &record) {
    for (const auto &program : programs) {
        if (program.hook != Hook::xdp || !stands(program, record.config))
            continue;
        const auto device = device_of(program, place, record);
        if (!device)
            return fail("find the device of", std::string(program.name), ENODEV);
        const auto link =
            OLAF_TRY(attach_xdp(*device, queue.program_fd(program.name), record.skb_mode != 0));
        const auto path = place.path(program.link);
        if (bpf_obj_pin(link.get(), path.c_str()) != 0)
            return fail("pin", path, errno);
    }
    return {};
}

} // namespace

Result<Record> install(const PinPlace &place, const Device &device, const Plan &plan,
                       const std::vector<olaf_prefix> &allowed, bool skb_mode) {
    Record record;
    record.skb_mode = skb_mode;
    copy_text(record.device, device.name);
    copy_text(record.target, plan.target);
    copy_text(record.hw_reason, plan.no_card);
    record.hw_asked = static_cast<std::uint32_t>(plan.hardware);
    const auto map = OLAF_TRY(RecordMap::create(place, record));
    OLAF_TRY(install_drain(map, record, device, plan.config.drain_interval_ns));

    auto human = plan.config;
    human.drain_ifindex = record.drain_ifindex_a;
    human.kick_ifindex = record.drain_ifindex_b;
    human.skb_mode = skb_mode;
    human.drain_mac = random_mac();
    const auto config = OLAF_TRY(make_config(human));
    record.config = config;
    const auto queue = OLAF_TRY(Datapath::load(
        config, {.pinned_maps = {}, .asks_driver = !skb_mode && driver_tells_tags(device)}));
    OLAF_TRY(allow(queue.map_fd("olaf_allow"), allowed));
    OLAF_TRY(
        refresh_addresses(queue.map_fd("olaf_own"), queue.map_fd("olaf_own_macs"), device.ifindex));
    OLAF_TRY(queue.pin_maps(place.path()));
    OLAF_TRY(pin_programs(queue, place, false));
    OLAF_TRY(queue.open_rooms());
    OLAF_TRY(install_filters(place, map, record, queue, device));
    OLAF_TRY(install_return(map, record, queue));
    OLAF_TRY(prove_drain(queue, device));
    attach_tracepoints_or_say(queue, place, device);
    say_if_driver_is_silent(queue, device);
    OLAF_TRY(install_xdp(place, queue, record));
    record.complete = 1;
    record.attached_ns = monotonic_ns();
    OLAF_TRY(map.write(record));
    return record;
}

Result<void> pin_programs(const Datapath &queue, const PinPlace &place, bool replace) {
    for (const auto &program : programs) {
        if (program.pin.empty() || program.when == When::driver_tells)
            continue; // the other line of that name pins whichever of the two is loaded
        if (!is_of_use(program, queue.config()))
            continue;
        const int fd = queue.program_fd(program.name);
        const auto path = place.path(program.pin);
        // The new one is pinned under another name, then renamed over the old one.
        const auto first = replace ? path + "_new" : path;
        if (replace)
            ::unlink(first.c_str());
        if (bpf_obj_pin(fd, first.c_str()) != 0)
            return fail("pin program", first, errno);
        if (replace && std::rename(first.c_str(), path.c_str()) != 0)
            return fail("pin program", path, errno);
    }
    return {};
}

} // namespace olaf
