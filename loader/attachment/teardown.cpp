// SPDX-License-Identifier: BSD-2-Clause
#include "teardown.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ranges>

#include "attachment.hpp"
#include "card.hpp"
#include "hooks.hpp"
#include "loader/card/find.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "loader/host/merging.hpp"
#include "loader/host/netns.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/tc.hpp"
#include "loader/host/xdp.hpp"
#include "output.hpp"

namespace olaf {
namespace {

void keep_first(Result<void> &first, const Result<void> &result) {
    if (first && !result)
        first = result;
}

void remove_from_device(const PinPlace &place, const Record &record, Result<void> &first) {
    // First: on the queue's own device it is a filter in the same clsact.
    keep_first(first, remove_return(place, record));
    keep_first(first, leave_parents(place, record));
    // Programs on the drain go with it.
    keep_first(first, Filters(place).remove(On::device, place.ifindex,
                                            {.ours = record.clsact_ours != 0,
                                             .same = record.complete == 0}));
}

/// Once no program of ours is on these devices.
void restore_offloads(const PinPlace &place, const Record &record) {
    if (!knows_layout(record))
        return;
    if (const auto device = find_device(place.ifindex); device)
        restore_merging(*device, record.merging_on);
    if (const auto output = find_device(record.config.egress_ifindex); output)
        restore_merging(*output, record.output_merging_on);
}

} // namespace

Result<void> take_off_xdp(const PinPlace &place) {
    shut_xdp_gates_towards(place.ifindex);
    for (const auto &program : std::views::reverse(programs)) { // the entrance first
        if (program.hook != Hook::xdp)
            continue;
        const Fd link(bpf_obj_get(place.path(program.link).c_str()));
        if (link && xdp_link_device(link.get()) != 0 && bpf_link_detach(link.get()) != 0)
            return fail("remove the XDP program from", place.path(), errno);
    }
    return {};
}

Result<void> tear_down(PinLock &lock, bool keep_record) {
    const auto &place = lock.place();
    Result<void> first = take_off_xdp(place);
    const auto here = netns_inode();
    const auto map = RecordMap::open(place);
    const auto record = map ? map->read() : std::unexpected(map.error());
    if (record && here && *here == place.netns) {
        // If this process is killed after it removed the filter and before its clsact, the next
        // detach must still know that the clsact is ours.
        auto half = *record;
        half.complete = 0;
        keep_first(first, map->write(half));
        remove_from_device(place, *record, first);
        if (record->drain_ours)
            keep_first(first, remove_drain(record->drain(place.ifindex)));
        restore_offloads(place, *record);
    } else if (!record && record.error().code != ENOENT) {
        keep_first(first, std::unexpected(record.error()));
        return first; // keep the pins for the olaf that can read the record
    }
    // Of a card that may still hold updates nobody would know without its pin; and without the
    // device's, nobody elsewhere knows whether that is there.
    keep_first(first, keep_record ? lock.clear_but({pin::record, pin::card, pin::device})
                                  : lock.clear_but({pin::card, pin::device}));
    return first;
}

namespace {

/// Whether the device of another network namespace has gone, that namespace perhaps with it. That no
/// process here sees the namespace shows nothing: it may be known in other mount namespaces alone.
bool certainly_gone(const PinPlace &place) {
    return device_presence(place) == Presence::gone;
}

/// Whether somebody's XDP program is on some device by this place's link, or nobody can tell.
bool may_be_linked(const PinPlace &place) {
    const Fd link(bpf_obj_get(place.path(entrance.link).c_str()));
    return link ? xdp_link_device(link.get()) != 0 : errno != ENOENT;
}

} // namespace

void sweep_stale(const std::optional<PinPlace> &but) {
    const auto here = netns_inode();
    if (!here)
        return;
    const auto namespaces = visible_netns();
    const auto places = pinned_places();
    if (!places)
        return; // no right to know
    for (const auto &place : *places) {
        const bool ours = place.netns == *here;
        if (but && place.netns == but->netns && place.ifindex == but->ifindex)
            continue;
        if (ours ? find_device(place.ifindex).has_value() : namespaces.contains(place.netns))
            continue;
        auto lock = PinLock::existing(place);
        if (!lock)
            continue; // somebody is at work on it
        if (may_be_linked(place))
            continue;
        if (!ours && !certainly_gone(place)) {
            // Of an attach that was killed before it pinned anything; else this fails.
            ::rmdir(place.path().c_str());
            continue;
        }
        const std::string device(read_attachment(place).record.device);
        leave_card(place);
        if (tear_down(*lock) && lock->remove())
            note(fmt::format("{}: removed what was left of its queue, for its {} has gone", device,
                             ours ? "device" : "network namespace"));
    }
}

} // namespace olaf
