// SPDX-License-Identifier: BSD-2-Clause
#include "attachment.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>

#include "device.hpp"
#include "netns.hpp"
#include "xdp.hpp"

namespace olaf {
namespace {

std::unexpected<Error> none(const std::string &device) {
    return fail("find a queue on", device, 0, "olaf attach puts one there, olaf status lists all",
                "none is attached");
}

} // namespace

Attachment read_attachment(const PinPlace &place) {
    Attachment attachment;
    attachment.place = place;
    if (const auto map = RecordMap::open(place))
        attachment.record = map->read().value_or(Record{});
    const Fd link(bpf_obj_get(place.path(pin::link).c_str()));
    attachment.alive = link && xdp_link_device(link.get()) == place.ifindex;
    const auto device = find_device(place.ifindex);
    attachment.device = device ? device->name : attachment.record.device;
    return attachment;
}

Result<std::vector<Attachment>> attachments() {
    const auto netns = netns_inode();
    if (!netns)
        return std::unexpected(netns.error());
    std::vector<Attachment> found;
    for (const auto &place : pinned_places())
        if (place.netns == *netns)
            found.push_back(read_attachment(place));
    std::ranges::sort(found, {}, [](const Attachment &a) { return a.place.ifindex; });
    return found;
}

Result<Attachment> find_attachment(const std::string &name) {
    const auto all = attachments();
    if (!all)
        return std::unexpected(all.error());
    const auto device = find_device(name);
    const auto found = std::ranges::find_if(*all, [&](const Attachment &candidate) {
        return device ? candidate.place.ifindex == device->ifindex : candidate.device == name;
    });
    if (found != all->end())
        return *found;
    if (!device)
        return std::unexpected(device.error());
    return none(name);
}

Result<Attachment> live_attachment(const std::string &device) {
    auto found = find_attachment(device);
    if (found && (!found->alive || !found->record.complete))
        return fail("use the queue on", device, 0, "olaf detach " + device + ", then attach again",
                    "it is half there: its attach was interrupted or its device has gone");
    return found;
}

Result<Fd> open_map(const Attachment &attachment, const char *name) {
    Fd fd(bpf_obj_get(attachment.place.path(name).c_str()));
    if (!fd)
        return fail("open map", attachment.place.path(name), errno,
                    errno == EPERM || errno == EACCES ? "run as root" : "");
    return fd;
}

} // namespace olaf
