// SPDX-License-Identifier: BSD-2-Clause
#include "attachment.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>

#include "loader/card/record.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/device.hpp"
#include "loader/host/device_pin.hpp"
#include "loader/host/netns.hpp"
#include "loader/host/xdp.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

std::unexpected<Error> none(const std::string &device) {
    return fail("find a queue on", device, 0, "olaf attach puts one there, olaf status lists all",
                "none is attached");
}

/// Whether the pinned XDP program is on the device. A link can't be opened by one who may only
/// read its pin: then the device tells which program it has.
bool is_alive(const PinPlace &place) {
    const Fd link(bpf_obj_get(place.path(entrance.link).c_str()));
    if (link)
        return xdp_link_device(link.get()) == place.ifindex;
    if (errno != EACCES && errno != EPERM)
        return false;
    const Fd program(get_pin(place.path(entrance.pin), BPF_F_RDONLY));
    return program && xdp_program_on(place.ifindex, program.get());
}

Result<Fd> open_map(const Attachment &attachment, const char *name, std::uint32_t file_flags) {
    Fd fd(get_pin(attachment.place.path(name), file_flags));
    if (!fd)
        return fail("open map", attachment.place.path(name), errno,
                    errno == EPERM || errno == EACCES ? "run as root" : "");
    return fd;
}

} // namespace

Attachment read_attachment(const PinPlace &place) {
    Attachment attachment;
    attachment.place = place;
    if (const auto map = RecordMap::open_to_read(place))
        attachment.record = map->read().value_or(Record{});
    const auto device = find_device(place.ifindex);
    attachment.card = card_of(place);
    const bool running = attachment.on_card()
                             ? device && device_presence(place) != Presence::gone
                             : is_alive(place);
    attachment.alive = running && device;
    attachment.away = running && !device;
    attachment.device = device ? device->name : attachment.record.device;
    return attachment;
}

Result<std::vector<Attachment>> attachments() {
    const auto netns = OLAF_TRY(netns_inode());
    const auto places = OLAF_TRY(pinned_places());
    std::vector<Attachment> found;
    for (const auto &place : places)
        if (place.netns == netns)
            found.push_back(read_attachment(place));
    std::ranges::sort(found, {}, [](const Attachment &a) { return a.place.ifindex; });
    return found;
}

Result<Attachment> find_attachment(const std::string &name) {
    const auto all = OLAF_TRY(attachments());
    const auto device = find_device(name);
    const auto found = std::ranges::find_if(all, [&](const Attachment &candidate) {
        return device ? candidate.place.ifindex == device->ifindex : candidate.device == name;
    });
    if (found != all.end())
        return *found;
    if (!device)
        return std::unexpected(device.error());
    return none(name);
}

Result<Attachment> live_attachment(const std::string &device) {
    auto found = find_attachment(device);
    if (found && !found->record.complete)
        return fail("use the queue on", device, 0, "olaf detach " + device + ", then attach again",
                    "it is half there: its attach was interrupted");
    if (found && !found->alive)
        return fail("use the queue on", device, 0, "olaf detach " + device + ", then attach again",
                    why_dead(*found));
    return found;
}

Result<Attachment> kernel_attachment(const std::string &device, const std::string &lacks) {
    auto found = live_attachment(device);
    if (found && found->on_card())
        return fail("use the queue on", device, 0,
                    "olaf attach " + device + " --replace --hw off moves it into the kernel",
                    "it is in a card, which has no " + lacks);
    return found;
}

std::string why_dead(const Attachment &attachment) {
    if (attachment.away)
        return "its device has moved to another network namespace";
    return find_device(attachment.place.ifindex) ? "its XDP program was taken off"
                                                 : "its device has gone";
}

Result<Fd> open_map(const Attachment &attachment, const char *name) {
    return open_map(attachment, name, 0);
}

Result<Fd> open_map_to_read(const Attachment &attachment, const char *name) {
    return open_map(attachment, name, BPF_F_RDONLY);
}

} // namespace olaf
