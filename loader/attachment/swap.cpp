// SPDX-License-Identifier: BSD-2-Clause
#include "swap.hpp"

#include <bpf/bpf.h>

#include <cerrno>
#include <memory>

#include "hooks.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/xdp.hpp"

namespace olaf {
namespace {

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

} // namespace

Result<void> swap_programs(const PinPlace &place, const Record &running, const Datapath &queue,
                           Undo &undo) {
    const Filters filters(place);
    for (const auto &program : programs) {
        const bool by_tc = runs_by_tc(program) && program.on != On::way_back;
        if ((!by_tc && program.hook != Hook::xdp) || !stands(program, queue.config()))
            continue;
        const auto device = device_of(program, place, running);
        if (!device)
            return fail("find the device of", std::string(program.name), ENODEV);
        if (auto done = by_tc ? filters.put(program, *device, queue, undo)
                              : swap_xdp(program, place, device->name, queue, undo);
            !done)
            return done;
    }
    return {};
}

} // namespace olaf
