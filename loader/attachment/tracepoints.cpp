// SPDX-License-Identifier: BSD-2-Clause
#include "tracepoints.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "loader/datapath/object.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/bpf_log.hpp"
#include "loader/host/device.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

struct LinkCloser {
    void operator()(bpf_link *link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, LinkCloser>;

/// The map in which programs look up whose frames they watch, where they have it.
constexpr auto watched_map = "olaf_watched";

/// Maps that are the object's alone; constants and variables aside.
std::vector<std::string> own_maps(const Object &object, const olaf_config &config) {
    const auto shared = map_sizes(config);
    std::vector<std::string> names;
    const bpf_map *map = nullptr;
    bpf_object__for_each_map(map, object.get()) {
        const std::string name(bpf_map__name(map));
        if (!bpf_map__is_internal(map) &&
            std::ranges::none_of(shared, [&](const MapSize &size) { return name == size.name; }))
            names.push_back(name);
    }
    return names;
}

/// Losses count on the queue's device, and on the device that departures leave by.
Result<void> write_watched(int fd, const PinPlace &place, const olaf_config &config) {
    const olaf_watched watched{.netns = static_cast<std::uint32_t>(place.netns),
                               .ifindex = place.ifindex,
                               .egress_ifindex =
                                   config.deliver == OLAF_DELIVER_LOCAL ? 0 : config.egress_ifindex,
                               .drain_ifindex = config.drain_ifindex,
                               .kick_ifindex = config.kick_ifindex,
                               .skb_mode = (config.flags & OLAF_CONFIG_SKB_MODE) != 0,
                               .port_be = config.port_be,
                               .pad = {}};
    const std::uint32_t key = 0;
    if (bpf_map_update_elem(fd, &key, &watched, BPF_ANY) != 0)
        return fail("write", watched_map, errno);
    return {};
}

/// Tells programs that run already what to watch from now on.
Result<void> update_watched(const PinPlace &place, const olaf_config &config) {
    const auto path = place.path(watched_map);
    const Fd fd(bpf_obj_get(path.c_str()));
    if (fd)
        return write_watched(fd.get(), place, config);
    return errno == ENOENT ? Result<void>{} : fail("open", path, errno);
}

Result<void> pin(int fd, const std::string &path) {
    if (bpf_obj_pin(fd, path.c_str()) != 0)
        return fail("pin", path, errno);
    return {};
}

Result<void> attach_one(const Object &object, const Program &line, const PinPlace &place) {
    const auto *program =
        bpf_object__find_program_by_name(object.get(), std::string(line.name).c_str());
    const Link link(program != nullptr ? bpf_program__attach(program) : nullptr);
    if (!link)
        return fail("watch", std::string(line.section), errno,
                    "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_TRACEPOINTS");
    return pin(bpf_link__fd(link.get()), place.path(line.link));
}

Result<void> attach_all(const Object &object, const olaf_config &config, const PinPlace &place) {
    if (const int fd = object.map_fd(watched_map); fd >= 0)
        OLAF_TRY(write_watched(fd, place, config));
    for (const auto &name : own_maps(object, config))
        OLAF_TRY(pin(object.map_fd(name), place.path(name)));
    for (const auto &line : programs)
        if (line.object == object.name())
            OLAF_TRY(attach_one(object, line, place));
    return {};
}

/// Takes back what an attempt that failed, or was killed, has pinned.
void forget(const PinPlace &place, const Object &object, const olaf_config &config) {
    for (const auto &line : programs)
        if (line.object == object.name())
            ::unlink(place.path(line.link).c_str());
    for (const auto &name : own_maps(object, config))
        ::unlink(place.path(name).c_str());
}

/// access() would forget capabilities, which a service's user has instead of rights.
bool there(const std::string &path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0;
}

/// That the queue won't see tags which the device takes off frames, why, and the remedy. The queue
/// works all the same for updates without a tag.
std::string tags_unseen(const Device &device, const std::string &why) {
    return fmt::format("VLAN tags that aren't among a frame's bytes can't be seen{}: updates that "
                       "have one leave without it, until {}",
                       why, untagging_remedy(device));
}

std::string without(std::string_view object, const Error &error) {
    return fmt::format("{}: {}",
                       object == "loss" ? "losses behind the queue won't be counted"
                                        : fmt::format("it works without {}", object),
                       error.message());
}

} // namespace

std::string untagging_remedy(const Device &device) {
    return device.kind == "veth"
               ? fmt::format("ethtool -K PEER txvlan off on {}'s peer", device.name)
               : fmt::format("ethtool -K {} rxvlan off", device.name);
}

bool at_tracepoints(const PinPlace &place, std::string_view object) {
    return std::ranges::all_of(programs, [&](const Program &line) {
        // To open a link takes more rights than to see it.
        return line.object != object || there(place.path(line.link));
    });
}

namespace {

/// Loads an object, attaches its programs, and pins them with the maps that only this object has, all or
/// nothing. Programs that run already go on (--replace) and are told what may have changed. Fails where
/// the kernel has no BTF or refuses tracepoint programs.
Result<void> attach_object(const Datapath &queue, const PinPlace &place, std::string_view name) {
    const auto &config = queue.config();
    if (at_tracepoints(place, name))
        return update_watched(place, config);
    const QuietBpfLog quiet; // it may fail: a queue works without it
    auto object = OLAF_TRY(Object::open(name));
    forget(place, object, config);
    OLAF_TRY(object.set("olaf_cfg", config));
    OLAF_TRY(object.set("olaf_beside_ifindex", place.ifindex));
    OLAF_TRY(object.set("olaf_beside_netns", static_cast<std::uint32_t>(place.netns)));
    OLAF_TRY(object.share_maps(config, [&](const char *map) { return queue.map_fd(map); }));
    OLAF_TRY(object.load());
    auto done = attach_all(object, config, place);
    if (!done)
        forget(place, object, config);
    return done;
}

} // namespace

std::vector<std::string> attach_tracepoints(const Datapath &queue, const PinPlace &place,
                                            const Device &device) {
    const auto &config = queue.config();
    const auto wanted = objects_where(
        [&](const Program &line) { return line.hook == Hook::tracepoint && stands(line, config); });
    const bool tags_hidden = (config.flags & OLAF_CONFIG_TAGS_HIDDEN) != 0;
    std::vector<std::string> missing;
    for (const auto object : wanted) {
        const auto done = attach_object(queue, place, object);
        if (!done && object != "beside")
            missing.push_back(without(object, done.error()));
        else if (!done && tags_hidden)
            missing.push_back(tags_unseen(device, fmt::format(" ({})", done.error().message())));
    }
    // Where XDP is native, it asks the driver for tags.
    if (tags_hidden && (config.flags & OLAF_CONFIG_SKB_MODE) == 0 && !queue.asks_driver()) {
        const auto &why = queue.why_silent();
        missing.push_back(tags_unseen(
            device, ", because " + (why.empty() ? "the driver doesn't tell native XDP" : why)));
    }
    return missing;
}

Result<std::optional<olaf_losses>> read_losses(const Attachment &attachment) {
    if (!at_tracepoints(attachment.place, "loss"))
        return std::nullopt;
    const auto fd = OLAF_TRY(open_map_to_read(attachment, "olaf_losses"));
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    std::vector<olaf_losses> copies(static_cast<std::size_t>(cpus));
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(fd.get(), &key, copies.data()) != 0)
        return fail("read map", "olaf_losses", errno);
    olaf_losses sum{};
    for (const auto &copy : copies)
        for (std::size_t i = 0; i < OLAF_LOST_PLACES; i++)
            sum.frames[i] += copy.frames[i], sum.updates[i] += copy.updates[i];
    return sum;
}

std::optional<std::uint64_t> deaths_unseen(const Attachment &attachment) {
    std::uint64_t unseen = 0;
    for (const auto &line : programs) {
        if (line.object != "loss")
            continue;
        const Fd link(get_pin(attachment.place.path(line.link), 0));
        bpf_link_info found{};
        __u32 length = sizeof found;
        if (!link || bpf_obj_get_info_by_fd(link.get(), &found, &length) != 0)
            return {};
        const Fd program(bpf_prog_get_fd_by_id(found.prog_id));
        bpf_prog_info info{};
        length = sizeof info;
        if (!program || bpf_obj_get_info_by_fd(program.get(), &info, &length) != 0)
            return {};
        unseen += info.recursion_misses;
    }
    return unseen;
}

} // namespace olaf
