// SPDX-License-Identifier: BSD-2-Clause
#include "turnround.hpp"

#include <bpf/bpf.h>

#include <cerrno>
#include <memory>

#include "device.hpp"
#include "tc.hpp"

namespace olaf {
namespace {

/// Of a map that the filters of this queue use, whichever version of it, and no other's do.
/// 0 if there is none: then there is no filter either, for it comes behind the pins.
std::uint32_t queue_id(const PinPlace &place) {
    const Fd fd(bpf_obj_get(place.path("olaf_members").c_str()));
    bpf_map_info info{};
    __u32 length = sizeof info;
    return fd && bpf_obj_get_info_by_fd(fd.get(), &info, &length) == 0 ? info.id : 0;
}

/// From one device; whether it was there.
Result<bool> remove_from(const PinPlace &place, std::uint32_t ifindex) {
    const auto device = find_device(ifindex);
    const auto id = queue_id(place);
    if (!device || id == 0)
        return false; // gone, and the filter with it
    return remove_filter(device->name, ifindex, TcHook::ingress, pin::ack_return, id);
}

Result<void> remove_clsact_from(std::uint32_t ifindex) {
    const auto device = find_device(ifindex);
    return device ? remove_empty_clsact(device->name, ifindex) : Result<void>{};
}

/// From the device that a --replace moved to or from.
Result<void> remove_other(const PinPlace &place, const Record &record) {
    if (record.other_return_ifindex == 0)
        return {};
    if (const auto removed = remove_from(place, record.other_return_ifindex); !removed)
        return std::unexpected(removed.error());
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
    const auto device = find_device(ifindex);
    if (!device)
        return std::unexpected(device.error());
    const auto had_clsact = has_clsact(device->name, ifindex);
    if (!had_clsact)
        return std::unexpected(had_clsact.error());
    record.return_ifindex = ifindex;
    record.return_clsact_ours = !*had_clsact;
    if (auto done = map.write(record); !done)
        return done;
    if (auto done = ensure_clsact(device->name, ifindex); !done)
        return done;
    const auto priority =
        add_filter(device->name, ifindex, TcHook::ingress, queue.ack_return_fd());
    if (!priority)
        return std::unexpected(priority.error());
    return {};
}

Result<void> remove_return(const PinPlace &place, const Record &record) {
    if (auto done = remove_other(place, record); !done || record.return_ifindex == 0)
        return done;
    const auto removed = remove_from(place, record.return_ifindex);
    if (!removed)
        return std::unexpected(removed.error());
    if (record.return_clsact_ours && (*removed || !record.complete))
        return remove_clsact_from(record.return_ifindex);
    return {};
}

Result<void> swap_return(const PinPlace &place, const RecordMap &map, const Record &running,
                         Record &record, const Datapath &queue, Undo &undo) {
    const auto wanted = wanted_ifindex(record.config);
    auto noted = running;
    if (running.other_return_ifindex != 0 && running.other_return_ifindex != wanted) {
        if (auto done = remove_other(place, running); !done)
            return done;
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
    const auto device = find_device(wanted);
    if (!device)
        return std::unexpected(device.error());

    if (wanted != running.return_ifindex) {
        if (noted.other_return_ifindex != wanted) {
            const auto had_clsact = has_clsact(device->name, wanted);
            if (!had_clsact)
                return std::unexpected(had_clsact.error());
            noted.other_return_ifindex = wanted;
            noted.other_return_clsact_ours = !*had_clsact;
        }
        record.return_clsact_ours = noted.other_return_clsact_ours;
        undo.add([&place, &map, running, noted] {
            if (remove_other(place, noted))
                (void)map.write(running);
        });
        if (auto done = map.write(noted); !done)
            return done;
        if (auto done = ensure_clsact(device->name, wanted); !done)
            return done;
    }
    const auto priority = find_filter(wanted, TcHook::ingress, pin::ack_return, queue_id(place));
    if (priority == 0) {
        // The device was in another network namespace, say, and lost it there.
        if (auto done = ensure_clsact(device->name, wanted); !done)
            return done;
        const auto added =
            add_filter(device->name, wanted, TcHook::ingress, queue.ack_return_fd());
        return added ? Result<void>{} : std::unexpected(added.error());
    }
    const auto old = std::make_shared<Fd>(bpf_obj_get(place.path(pin::ack_return).c_str()));
    if (!*old)
        return fail("open", place.path(pin::ack_return), errno);
    undo.add([=, device = *device] {
        (void)replace_filter(device.name, wanted, TcHook::ingress, priority, old->get());
    });
    return replace_filter(device->name, wanted, TcHook::ingress, priority, queue.ack_return_fd());
}

Result<void> leave_return(const PinPlace &place, const RecordMap &map, Record &record) {
    if (record.other_return_ifindex == 0)
        return {};
    if (auto done = remove_other(place, record); !done)
        return done;
    record.other_return_ifindex = 0;
    record.other_return_clsact_ours = 0;
    return map.write(record);
}

} // namespace olaf
