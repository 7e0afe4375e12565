// SPDX-License-Identifier: BSD-2-Clause
#include "turnround.hpp"

#include "hooks.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/device.hpp"
#include "loader/host/tc.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

bool turns_round(const Program &program) {
    return runs_by_tc(program) && program.on == On::way_back;
}

/// From one device; whether one was there.
Result<bool> remove_from(const PinPlace &place, std::uint32_t ifindex) {
    const auto device = find_device(ifindex);
    if (!device)
        return false; // gone, and the filter with it
    const Filters filters(place);
    bool removed_one = false;
    for (const auto &program : programs) {
        if (!turns_round(program))
            continue;
        removed_one |= OLAF_TRY(filters.remove(program, *device));
    }
    return removed_one;
}

Result<void> remove_clsact_from(std::uint32_t ifindex) {
    const auto device = find_device(ifindex);
    return device ? remove_empty_clsact(device->name, ifindex) : Result<void>{};
}

/// From the device that a --replace moved to or from.
Result<void> remove_other(const PinPlace &place, const Record &record) {
    if (record.other_return_ifindex == 0)
        return {};
    OLAF_TRY(remove_from(place, record.other_return_ifindex));
    if (record.other_return_clsact_ours)
        return remove_clsact_from(record.other_return_ifindex);
    return {};
}

std::uint32_t wanted_ifindex(const olaf_config &config) {
    return config.deliver == OLAF_DELIVER_UPSTREAM ? config.egress_ifindex : 0;
}

} // namespace

Result<void> install_return(const RecordMap &map, Record &record, const Datapath &queue) {
    const auto ifindex = wanted_ifindex(record.config);
    if (ifindex == 0)
        return {};
    const auto device = OLAF_TRY(find_device(ifindex));
    const auto had_clsact = OLAF_TRY(has_clsact(device.name, ifindex));
    record.return_ifindex = ifindex;
    record.return_clsact_ours = !had_clsact;
    OLAF_TRY(map.write(record));
    OLAF_TRY(ensure_clsact(device.name, ifindex));
    for (const auto &program : programs)
        if (turns_round(program))
            OLAF_TRY(add(program, device, queue));
    return {};
}

Result<void> remove_return(const PinPlace &place, const Record &record) {
    if (auto done = remove_other(place, record); !done || record.return_ifindex == 0)
        return done;
    const auto removed = OLAF_TRY(remove_from(place, record.return_ifindex));
    if (record.return_clsact_ours && (removed || !record.complete))
        return remove_clsact_from(record.return_ifindex);
    return {};
}

Result<void> swap_return(const PinPlace &place, const RecordMap &map, const Record &running,
                         Record &record, const Datapath &queue, Undo &undo) {
    const auto wanted = wanted_ifindex(record.config);
    auto noted = running;
    if (running.other_return_ifindex != 0 && running.other_return_ifindex != wanted) {
        OLAF_TRY(remove_other(place, running));
        noted.other_return_ifindex = record.other_return_ifindex = 0;
        noted.other_return_clsact_ours = record.other_return_clsact_ours = 0;
    }
    record.return_ifindex = wanted;
    if (wanted != running.return_ifindex) {
        record.other_return_ifindex = running.return_ifindex;
        record.other_return_clsact_ours = running.return_clsact_ours;
        record.return_clsact_ours = 0;
    }
    if (wanted == 0)
        return {};
    const auto device = OLAF_TRY(find_device(wanted));

    if (wanted != running.return_ifindex) {
        if (noted.other_return_ifindex != wanted) {
            const auto had_clsact = OLAF_TRY(has_clsact(device.name, wanted));
            noted.other_return_ifindex = wanted;
            noted.other_return_clsact_ours = !had_clsact;
        }
        record.return_clsact_ours = noted.other_return_clsact_ours;
        undo.add([&place, &map, running, noted] {
            if (remove_other(place, noted))
                (void)map.write(running);
        });
        OLAF_TRY(map.write(noted));
    }
    // New there, or lost since: the device was in another network namespace, say.
    OLAF_TRY(ensure_clsact(device.name, wanted));
    const Filters filters(place);
    for (const auto &program : programs)
        if (turns_round(program))
            OLAF_TRY(filters.put(program, device, queue, undo));
    return {};
}

Result<void> leave_return(const PinPlace &place, const RecordMap &map, Record &record) {
    if (record.other_return_ifindex == 0)
        return {};
    OLAF_TRY(remove_other(place, record));
    record.other_return_ifindex = 0;
    record.other_return_clsact_ours = 0;
    return map.write(record);
}

} // namespace olaf
