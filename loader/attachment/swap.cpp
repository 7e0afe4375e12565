// SPDX-License-Identifier: BSD-2-Clause
#include "swap.hpp"

#include <bpf/bpf.h>

#include <cerrno>
#include <memory>

#include "hooks.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/xdp.hpp"
#include "olaf/try.hpp"

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

/// Those of the table that are `chosen`, each by `put`, in its order.
template <class Chosen, class Put>
Result<void> swap_each(const PinPlace &place, const Record &running, const Datapath &queue,
                       Chosen chosen, Put put) {
    for (const auto &program : programs) {
        if (!chosen(program) || !stands(program, queue.config()))
            continue;
        const auto device = device_of(program, place, running);
        if (!device)
            return fail("find the device of", std::string(program.name), ENODEV);
        OLAF_TRY(put(program, *device));
    }
    return {};
}

} // namespace

Result<void> swap_filters(const PinPlace &place, const Record &running, const Datapath &queue,
                          Undo &undo) {
    const Filters filters(place);
    return swap_each(
        place, running, queue,
        [](const Program &program) { return runs_by_tc(program) && program.on != On::way_back; },
        [&](const Program &program, const Device &device) {
            return filters.put(program, device, queue, undo);
        });
}

Result<void> swap_entrance(const PinPlace &place, const Record &running, const Datapath &queue,
                           Undo &undo) {
    OLAF_TRY(queue.open_rooms());
    return swap_each(
        place, running, queue,
        [](const Program &program) { return program.hook == Hook::xdp; },
        [&](const Program &program, const Device &device) {
            return swap_xdp(program, place, device.name, queue, undo);
        });
}

} // namespace olaf
