// SPDX-License-Identifier: BSD-2-Clause
#include "parents.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "hooks.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/device.hpp"
#include "loader/host/device_pin.hpp"
#include "loader/host/tc.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// A job's need of a device.
struct Need {
    std::uint32_t job_index, ifindex;
    bool clsact_ours;
    bool same; ///< the index still means the device that it meant when the job was set
};

/// Of every job that is set; none if the queue has no jobs.
std::vector<Need> needs_of(const PinPlace &place) {
    std::vector<Need> needs;
    const Fd jobs(get_pin(place.path("olaf_jobs"), BPF_F_RDONLY));
    for (std::uint32_t index = 0; jobs && index < OLAF_MAX_JOBS; index++) {
        olaf_job job{};
        if (bpf_map_lookup_elem(jobs.get(), &index, &job) != 0)
            break;
        if (job.state != OLAF_JOB_NONE && job.setup.parent_ifindex != 0)
            needs.push_back({index, job.setup.parent_ifindex,
                             (job.setup.flags & OLAF_JOB_OUR_CLSACT) != 0,
                             is_parents_device(place, index, job.setup.parent_ifindex)});
    }
    return needs;
}

bool is_at_parents(const Program &program) {
    return program.on == On::parents;
}

Result<void> remove_from(const PinPlace &place, const Need &need) {
    const auto device = find_device(need.ifindex);
    if (!device)
        return {}; // gone, and the filter with it
    const Filters filters(place);
    bool removed_one = false;
    for (const auto &program : programs) {
        if (!is_at_parents(program))
            continue;
        removed_one |= OLAF_TRY(filters.remove(program, *device));
    }
    // A command may have been killed before it put the filter there, or after it took it away. But
    // another device may have got the index meanwhile.
    if (need.clsact_ours && (removed_one || need.same))
        return remove_empty_clsact(device->name, need.ifindex);
    return {};
}

} // namespace

Result<bool> clsact_would_be_ours(const PinPlace &place, std::uint32_t ifindex) {
    const auto needs = needs_of(place);
    const auto other = std::ranges::find(needs, ifindex, &Need::ifindex);
    if (other != needs.end())
        return other->clsact_ours;
    const auto device = OLAF_TRY(find_device(ifindex));
    const auto there = has_clsact(device.name, ifindex);
    return there ? Result<bool>(!*there) : there;
}

Result<void> watch_parent(const PinPlace &place, std::uint32_t job_index,
                          const olaf_job_setup &setup) {
    if (setup.parent_ifindex == 0)
        return {};
    const auto device = OLAF_TRY(find_device(setup.parent_ifindex));
    OLAF_TRY(pin_parents_device(place, job_index, device.ifindex));
    OLAF_TRY(ensure_clsact(device.name, device.ifindex));
    const Filters filters(place);
    for (const auto &program : programs) {
        if (!is_at_parents(program) || filters.find(program, device) != 0)
            continue;
        const auto path = place.path(program.pin);
        const Fd pinned(bpf_obj_get(path.c_str()));
        if (!pinned)
            return fail("open", path, errno);
        OLAF_TRY(add_filter(device.name, device.ifindex, TcHook::ingress, pinned.get()));
    }
    return {};
}

Result<void> leave_parent(const PinPlace &place, std::uint32_t job_index) {
    const auto needs = needs_of(place);
    const auto own = std::ranges::find(needs, job_index, &Need::job_index);
    if (own == needs.end() || std::ranges::count(needs, own->ifindex, &Need::ifindex) > 1)
        return {};
    return remove_from(place, *own);
}

Result<void> leave_parents(const PinPlace &place) {
    std::map<std::uint32_t, Need> devices;
    for (const auto &need : needs_of(place)) {
        Need &all = devices.try_emplace(need.ifindex, need).first->second;
        all.clsact_ours |= need.clsact_ours;
        all.same |= need.same;
    }
    Result<void> first;
    for (const auto &[ifindex, need] : devices)
        if (auto done = remove_from(place, need); !done && first)
            first = done;
    return first;
}

Result<void> swap_at_parents(const PinPlace &place, const Datapath &queue, Undo &undo) {
    const Filters filters(place);
    for (const auto &need : needs_of(place)) {
        const auto device = find_device(need.ifindex);
        if (!device)
            continue; // its parent is lost until the job is set anew
        OLAF_TRY(ensure_clsact(device->name, device->ifindex));
        for (const auto &program : programs)
            if (is_at_parents(program))
                OLAF_TRY(filters.put(program, *device, queue, undo));
    }
    return {};
}

std::vector<std::string> missing_at_parents(const PinPlace &place) {
    const auto needs = needs_of(place);
    const Filters filters(place);
    std::vector<std::string> missing;
    for (const auto &program : programs)
        if (is_at_parents(program) && std::ranges::any_of(needs, [&](const Need &need) {
                const auto device = find_device(need.ifindex);
                return !device || filters.find(program, *device) == 0;
            }))
            missing.emplace_back(program.name);
    return missing;
}

} // namespace olaf
