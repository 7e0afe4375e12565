// SPDX-License-Identifier: BSD-2-Clause
#include "hooks.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <memory>

#include "loader/datapath/object.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "loader/host/tc.hpp"
#include "loader/host/xdp.hpp"
#include "olaf/try.hpp"
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
    case On::output:  // by its own means: output.hpp
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
    case Hook::tail_call:
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
    OLAF_TRY(add_filter(device, hook_of(program), queue.program_fd(program.name)));
    return {};
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
    return find_filter(device, hook_of(program), program.name, maps_);
}

Result<void> Filters::remove(On on, std::uint32_t ifindex, Clsact clsact) const {
    const auto device = find_device(ifindex);
    if (!device)
        return {}; // gone, and the filters with it
    Result<void> first;
    for (const auto &program : programs) {
        if (!runs_by_tc(program) || program.on != on)
            continue;
        const auto removed = remove_filter(*device, hook_of(program), program.name, maps_);
        if (!removed && first)
            first = std::unexpected(removed.error());
        clsact.same |= removed && *removed;
    }
    if (clsact.ours && clsact.same)
        if (auto done = remove_empty_clsact(*device); !done && first)
            first = done;
    return first;
}

Result<void> Filters::put(const Program &program, const Device &device, const Datapath &queue,
                          Undo &undo) const {
    const auto priority = find(program, device);
    if (priority == 0) { // somebody has removed it, with its clsact perhaps
        undo.add([=, maps = maps_, had_clsact = OLAF_TRY(has_clsact(device))] {
            (void)remove_filter(device, hook_of(program), program.name, maps);
            if (!had_clsact)
                (void)remove_empty_clsact(device);
        });
        OLAF_TRY(ensure_clsact(device));
        return add(program, device, queue);
    }
    const auto path = place_.path(program.pin);
    const auto old = std::make_shared<Fd>(bpf_obj_get(path.c_str()));
    if (!*old)
        return fail("open", path, errno);
    undo.add([=] {
        (void)replace_filter(device, hook_of(program), priority, old->get());
    });
    return replace_filter(device, hook_of(program), priority, queue.program_fd(program.name));
}

namespace {

bool turns_round(const Program &program) {
    return runs_by_tc(program) && program.on == On::way_back;
}

/// From the device that a --replace moved to or from.
Result<void> remove_other(const PinPlace &place, const Record &record) {
    return Filters(place).remove(On::way_back, record.other_return_ifindex,
                                 {.ours = record.other_return_clsact_ours != 0, .same = true});
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
    record.return_ifindex = ifindex;
    record.return_clsact_ours = !OLAF_TRY(has_clsact(device));
    OLAF_TRY(map.write(record));
    OLAF_TRY(ensure_clsact(device));
    for (const auto &program : programs)
        if (turns_round(program))
            OLAF_TRY(add(program, device, queue));
    return {};
}

Result<void> remove_return(const PinPlace &place, const Record &record) {
    OLAF_TRY(remove_other(place, record));
    return Filters(place).remove(
        On::way_back, record.return_ifindex,
        {.ours = record.return_clsact_ours != 0, .same = record.complete == 0});
}

Result<void> swap_return(const Attachment &running, const RecordMap &map, Record &record,
                         const Datapath &queue, Undo &undo) {
    const auto &place = running.place;
    const auto &before = running.record;
    const auto ifindex = wanted_ifindex(record.config);
    auto noted = before;
    if (before.other_return_ifindex != 0 && before.other_return_ifindex != ifindex) {
        OLAF_TRY(remove_other(place, before));
        noted.other_return_ifindex = record.other_return_ifindex = 0;
        noted.other_return_clsact_ours = record.other_return_clsact_ours = 0;
    }
    record.return_ifindex = ifindex;
    if (ifindex != before.return_ifindex) {
        record.other_return_ifindex = before.return_ifindex;
        record.other_return_clsact_ours = before.return_clsact_ours;
        record.return_clsact_ours = 0;
    }
    if (ifindex == 0)
        return {};
    const auto device = OLAF_TRY(find_device(ifindex));

    if (ifindex != before.return_ifindex) {
        if (noted.other_return_ifindex != ifindex) {
            noted.other_return_ifindex = ifindex;
            noted.other_return_clsact_ours = !OLAF_TRY(has_clsact(device));
        }
        record.return_clsact_ours = noted.other_return_clsact_ours;
        undo.add([&place, &map, before, noted] {
            if (remove_other(place, noted))
                (void)map.write(before);
        });
        OLAF_TRY(map.write(noted));
    }
    // New there, or lost since: the device was in another network namespace, say.
    OLAF_TRY(ensure_clsact(device));
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

namespace {

/// A job's need of a device.
struct Need {
    std::uint32_t job_index = 0, ifindex = 0;
    bool clsact_ours = false;
    bool same = false; ///< the index still means the device that it meant when the job was set
};

/// Of every job that is set; none if the queue has no jobs.
std::vector<Need> needs_of(const PinPlace &place) {
    std::vector<Need> needs;
    const Fd jobs(get_pin(place.path("olaf_jobs"), BPF_F_RDONLY));
    if (!jobs || !check_value_size({.name = "olaf_jobs", .value_size = sizeof(olaf_job)}, jobs.get()))
        return needs;
    for (std::uint32_t index = 0; index < OLAF_MAX_JOBS; index++) {
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

/// A command may have been killed before it put the filter there, or after it took it away.
Result<void> remove_from(const PinPlace &place, const Need &need) {
    return Filters(place).remove(On::parents, need.ifindex,
                                 {.ours = need.clsact_ours, .same = need.same});
}

} // namespace

Result<bool> clsact_would_be_ours(const PinPlace &place, std::uint32_t ifindex) {
    const auto needs = needs_of(place);
    const auto other = std::ranges::find(needs, ifindex, &Need::ifindex);
    if (other != needs.end())
        return other->clsact_ours;
    const auto device = OLAF_TRY(find_device(ifindex));
    return !OLAF_TRY(has_clsact(device));
}

Result<void> watch_parent(const PinPlace &place, std::uint32_t job_index,
                          const olaf_job_setup &setup) {
    if (setup.parent_ifindex == 0)
        return {};
    const auto device = OLAF_TRY(find_device(setup.parent_ifindex));
    OLAF_TRY(pin_parents_device(place, job_index, device.ifindex));
    OLAF_TRY(ensure_clsact(device));
    const Filters filters(place);
    for (const auto &program : programs) {
        if (!is_at_parents(program) || filters.find(program, device) != 0)
            continue;
        const auto path = place.path(program.pin);
        const Fd pinned(bpf_obj_get(path.c_str()));
        if (!pinned)
            return fail("open", path, errno);
        OLAF_TRY(add_filter(device, TcHook::ingress, pinned.get()));
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

Result<void> leave_parents(const PinPlace &place, const Record &record) {
    std::map<std::uint32_t, Need> devices;
    // Jobs of another layout can't be read: the pinned devices are known all the same, and not whose the
    // clsact is, so it stays.
    for (const auto ifindex : parents_devices(place))
        devices.try_emplace(ifindex, Need{.ifindex = ifindex});
    for (const auto &need : knows_layout(record) ? needs_of(place) : std::vector<Need>{}) {
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
        OLAF_TRY(ensure_clsact(*device));
        for (const auto &program : programs)
            if (is_at_parents(program))
                OLAF_TRY(filters.put(program, *device, queue, undo));
    }
    return {};
}

namespace {

/// Names of programs that a job needs and that aren't there.
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

/// One XDP program for the other, by the link that keeps it there.
Result<void> swap_xdp(const Program &program, const PinPlace &place, const std::string &device,
                      const Datapath &queue, Undo &undo) {
    struct Old {
        Fd program, link; ///< for as long as they may have to come back
    };
    const auto old = std::make_shared<Old>();
    for (const auto &[fd, name] :
         {std::pair{&old->program, program.pin}, std::pair{&old->link, program.link}}) {
        *fd = Fd(bpf_obj_get(place.path(name).c_str()));
        if (!*fd)
            return fail("open", place.path(name), errno);
    }
    undo.add([=] { (void)update_xdp(old->link.get(), device, old->program.get()); });
    return update_xdp(old->link.get(), device, queue.program_fd(program.name));
}

/// Those of the table that are `chosen`, each by `put`, in its order.
template <class Chosen, class Put>
Result<void> swap_each(const Attachment &running, const Datapath &queue, Chosen chosen, Put put) {
    for (const auto &program : programs) {
        if (!chosen(program) || !stands(program, queue.config()))
            continue;
        const auto device = device_of(program, running.place, running.record);
        if (!device)
            return fail("find the device of", std::string(program.name), ENODEV);
        OLAF_TRY(put(program, *device));
    }
    return {};
}

} // namespace

Result<void> swap_filters(const Attachment &running, const Datapath &queue, Undo &undo) {
    const Filters filters(running.place);
    return swap_each(
        running, queue,
        [](const Program &program) { return runs_by_tc(program) && program.on != On::way_back; },
        [&](const Program &program, const Device &device) {
            return filters.put(program, device, queue, undo);
        });
}

Result<void> swap_entrance(const Attachment &running, const Datapath &queue, Undo &undo) {
    OLAF_TRY(queue.set_tail_calls());
    return swap_each(
        running, queue, [](const Program &program) { return program.hook == Hook::xdp; },
        [&](const Program &program, const Device &device) {
            return swap_xdp(program, running.place, device.name, queue, undo);
        });
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
