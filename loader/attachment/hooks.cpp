// SPDX-License-Identifier: BSD-2-Clause
#include "hooks.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>

#include "loader/datapath/map_sizes.hpp"
#include "loader/host/tc.hpp"
#include "loader/host/xdp.hpp"
#include "parents.hpp"
#include "tracepoints.hpp"

namespace olaf {
namespace {

std::uint32_t ifindex_of(On on, const PinPlace &place, const Record &record) {
    switch (on) {
    case On::device:
        return place.ifindex;
    case On::drain_near:
        return record.drain_ifindex_a;
    case On::drain_far:
        return record.drain_ifindex_b;
    case On::way_back:
        return record.return_ifindex;
    case On::parents: // each job says for itself
    case On::host:
        break;
    }
    return 0;
}

TcHook hook_of(const Program &program) {
    return program.hook == Hook::tc_ingress ? TcHook::ingress : TcHook::egress;
}

bool is_there(const Program &program, const Attachment &attachment, const Filters &filters) {
    const auto &place = attachment.place;
    switch (program.hook) {
    case Hook::xdp: {
        const Fd link(bpf_obj_get(place.path(program.link).c_str()));
        return link &&
               xdp_link_device(link.get()) == ifindex_of(program.on, place, attachment.record);
    }
    case Hook::tc_ingress:
    case Hook::tc_egress: {
        const auto device = device_of(program, place, attachment.record);
        return device && filters.find(program, *device) != 0;
    }
    case Hook::tracepoint:
        return at_tracepoints(place, program.object);
    case Hook::socket:
    case Hook::command:
    case Hook::room:
        break;
    }
    return true;
}

} // namespace

std::optional<Device> device_of(const Program &program, const PinPlace &place,
                                const Record &record) {
    const auto ifindex = ifindex_of(program.on, place, record);
    auto device = ifindex != 0 ? find_device(ifindex) : Result<Device>(std::unexpected(Error{}));
    return device ? std::optional(std::move(*device)) : std::nullopt;
}

Result<void> add(const Program &program, const Device &device, const Datapath &queue) {
    const auto priority =
        add_filter(device.name, device.ifindex, hook_of(program), queue.program_fd(program.name));
    return priority ? Result<void>{} : std::unexpected(priority.error());
}

Filters::Filters(const PinPlace &place) : place_(place) {
    for (const auto &map : map_sizes({})) {
        const Fd fd(bpf_obj_get(place.path(map.name).c_str()));
        bpf_map_info info{};
        __u32 length = sizeof info;
        if (fd && bpf_obj_get_info_by_fd(fd.get(), &info, &length) == 0)
            maps_.push_back(info.id);
    }
}

std::uint32_t Filters::find(const Program &program, const Device &device) const {
    return find_filter(device.ifindex, hook_of(program), program.name, maps_);
}

Result<bool> Filters::remove(const Program &program, const Device &device) const {
    return remove_filter(device.name, device.ifindex, hook_of(program), program.name, maps_);
}

Result<void> Filters::put(const Program &program, const Device &device, const Datapath &queue,
                          Undo &undo) const {
    const auto priority = find(program, device);
    if (priority == 0) {
        undo.add([=, filters = *this] { (void)filters.remove(program, device); });
        return add(program, device, queue);
    }
    const auto path = place_.path(program.pin);
    const auto old = std::make_shared<Fd>(bpf_obj_get(path.c_str()));
    if (!*old)
        return fail("open", path, errno);
    undo.add([=] {
        (void)replace_filter(device.name, device.ifindex, hook_of(program), priority, old->get());
    });
    return replace_filter(device.name, device.ifindex, hook_of(program), priority,
                          queue.program_fd(program.name));
}

std::vector<std::string> missing_programs(const Attachment &attachment) {
    const Filters filters(attachment.place);
    std::vector<std::string> missing;
    for (const auto &program : programs)
        if (stands(program, attachment.record.config) && !is_there(program, attachment, filters))
            missing.emplace_back(program.name);
    std::ranges::move(missing_at_parents(attachment.place), std::back_inserter(missing));
    return missing;
}

} // namespace olaf
