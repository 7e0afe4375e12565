// SPDX-License-Identifier: BSD-2-Clause
#include "turnround.hpp"

#include <bpf/bpf.h>

#include <cerrno>
#include <memory>

#include "device.hpp"
#include "tc.hpp"

namespace olaf {
namespace {

/// Of the pinned program; 0 if there is none.
std::uint32_t pinned_program_id(const PinPlace &place) {
    const Fd fd(bpf_obj_get(place.path(pin::ack_return).c_str()));
    bpf_prog_info info{};
    __u32 length = sizeof info;
    return fd && bpf_obj_get_info_by_fd(fd.get(), &info, &length) == 0 ? info.id : 0;
}

std::uint32_t wanted_ifindex(const olaf_config &config) {
    return config.deliver == OLAF_DELIVER_UPSTREAM ? config.egress_ifindex : 0;
}

} // namespace

Result<void> install_return(const RecordMap &map, Record &record, const Datapath &queue) {
    const auto ifindex = wanted_ifindex(record.config);
    record.return_ifindex = ifindex;
    record.return_priority = 0;
    record.return_clsact_ours = 0;
    if (ifindex == 0)
        return {};
    const auto device = find_device(ifindex);
    if (!device)
        return std::unexpected(device.error());
    const auto had_clsact = has_clsact(device->name, ifindex);
    if (!had_clsact)
        return std::unexpected(had_clsact.error());
    record.return_clsact_ours = !*had_clsact;
    if (auto done = map.write(record); !done)
        return done;
    if (auto done = ensure_clsact(device->name, ifindex); !done)
        return done;
    const auto priority =
        add_filter(device->name, ifindex, TcHook::ingress, queue.ack_return_fd());
    if (!priority)
        return std::unexpected(priority.error());
    record.return_priority = *priority;
    return map.write(record);
}

Result<void> remove_return(const PinPlace &place, const Record &record) {
    if (record.return_ifindex == 0)
        return {};
    const auto device = find_device(record.return_ifindex);
    if (!device)
        return {}; // gone, and the filter with it
    // Other queues may send upstream by the same device: ours is the one written down, or the
    // one that was pinned when an attach got stuck before it could be.
    const FilterMark ours{.priority = record.return_priority,
                          .program_id = pinned_program_id(place)};
    if (ours.priority == 0 && ours.program_id == 0)
        return {};
    const auto removed =
        remove_filter(device->name, device->ifindex, TcHook::ingress, pin::ack_return, ours);
    if (!removed)
        return std::unexpected(removed.error());
    if (record.return_clsact_ours && (*removed || !record.complete))
        return remove_empty_clsact(device->name, device->ifindex);
    return {};
}

Result<void> swap_return(const PinPlace &place, const RecordMap &map, const Record &running,
                         Record &record, const Datapath &queue, Undo &undo) {
    const auto wanted = wanted_ifindex(record.config);
    if (wanted != running.return_ifindex) {
        undo.add([&map, running] { (void)map.write(running); });
        undo.add([&place, &record] { (void)remove_return(place, record); });
        return install_return(map, record, queue);
    }
    if (wanted == 0)
        return {};
    const auto device = find_device(wanted);
    if (!device)
        return std::unexpected(device.error());
    const auto old = std::make_shared<Fd>(bpf_obj_get(place.path(pin::ack_return).c_str()));
    if (!*old)
        return fail("open", place.path(pin::ack_return), errno);
    undo.add([=, priority = running.return_priority, device = *device] {
        (void)replace_filter(device.name, device.ifindex, TcHook::ingress, priority, old->get());
    });
    return replace_filter(device->name, device->ifindex, TcHook::ingress, running.return_priority,
                          queue.ack_return_fd());
}

} // namespace olaf
