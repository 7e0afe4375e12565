// SPDX-License-Identifier: BSD-2-Clause
#include "losses.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <loss.skel.h>

#include "bpf_log.hpp"
#include "map_sizes.hpp"

namespace olaf {
namespace {

struct LossCloser {
    void operator()(loss *skeleton) const { loss__destroy(skeleton); }
};
struct LinkCloser {
    void operator()(bpf_link *link) const { bpf_link__destroy(link); }
};
using Loss = std::unique_ptr<loss, LossCloser>;
using Link = std::unique_ptr<bpf_link, LinkCloser>;

/// Maps that are theirs alone; the rest they share with the queue.
constexpr const char *own_maps[] = {"olaf_losses", "olaf_watched"};
/// Pins of the links; each is there or none.
constexpr const char *links[] = {"olaf_lost_redirect", "olaf_lost_xmit", "olaf_lost_bulk_tx",
                                 "olaf_lost_tx", "olaf_lost_skb"};

std::string hint_for(int code) {
    if (code == EPERM || code == EACCES)
        return "run as root (CAP_BPF and CAP_PERFMON)";
    if (code == ESRCH || code == ENOENT)
        return "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_TRACEPOINTS";
    return "olaf attach -v shows the kernel's words";
}

Result<Loss> load(const Datapath &queue) {
    const QuietBpfLog quiet; // it may well fail, and is done without then
    Loss skeleton(loss__open());
    if (!skeleton)
        return fail("open", "the loss programs", errno);
    skeleton->rodata->olaf_cfg = queue.config();
    for (const auto &size : map_sizes(queue.config())) {
        bpf_map *map = bpf_object__find_map_by_name(skeleton->obj, size.name);
        if (map == nullptr)
            continue;
        if (const int error = bpf_map__reuse_fd(map, queue.map_fd(size.name)); error != 0)
            return fail("share map", size.name, -error);
    }
    if (const int error = loss__load(skeleton.get()); error != 0)
        return fail("load", "the loss programs", -error, hint_for(-error));
    return skeleton;
}

Result<void> write_watched(int fd, const olaf_watched &watched) {
    const std::uint32_t key = 0;
    if (bpf_map_update_elem(fd, &key, &watched, BPF_ANY) != 0)
        return fail("write", "olaf_watched", errno);
    return {};
}

Result<void> pin_map(const Loss &skeleton, const PinPlace &place, const char *name) {
    const int fd = bpf_object__find_map_fd_by_name(skeleton->obj, name);
    const auto path = place.path(name);
    if (bpf_obj_pin(fd, path.c_str()) != 0)
        return fail("pin map", path, errno);
    return {};
}

Result<Link> attach(const bpf_program *program) {
    const QuietBpfLog quiet;
    Link link(bpf_program__attach(program));
    if (!link)
        return fail("watch", bpf_program__section_name(program), errno, hint_for(errno));
    return link;
}

bool pinned(const PinPlace &place, const char *name) {
    struct stat status {}; // to open a link takes more rights; access() forgets capabilities
    return ::stat(place.path(name).c_str(), &status) == 0;
}

bool watching(const PinPlace &place) {
    for (const auto *name : links)
        if (!pinned(place, name))
            return false;
    return true;
}

/// Takes back what an attempt that failed has pinned.
void forget(const PinPlace &place) {
    for (const auto *name : links)
        ::unlink(place.path(name).c_str());
    for (const auto *name : own_maps)
        ::unlink(place.path(name).c_str());
}

Result<void> watch(const Datapath &queue, const PinPlace &place) {
    const auto skeleton = load(queue);
    if (!skeleton)
        return std::unexpected(skeleton.error());
    const int watched = bpf_object__find_map_fd_by_name((*skeleton)->obj, "olaf_watched");
    if (auto done = write_watched(watched, watched_of(place, queue.config())); !done)
        return done;
    for (const auto *name : own_maps)
        if (auto done = pin_map(*skeleton, place, name); !done)
            return done;
    for (const auto *name : links) {
        const auto *program = bpf_object__find_program_by_name((*skeleton)->obj, name);
        const auto link = attach(program);
        if (!link)
            return std::unexpected(link.error());
        const auto path = place.path(name);
        if (bpf_obj_pin(bpf_link__fd(link->get()), path.c_str()) != 0)
            return fail("pin", path, errno);
    }
    return {};
}

} // namespace

olaf_watched watched_of(const PinPlace &place, const olaf_config &config) {
    return {.netns = static_cast<std::uint32_t>(place.netns),
            .ifindex = place.ifindex,
            .egress_ifindex = config.deliver == OLAF_DELIVER_LOCAL ? 0 : config.egress_ifindex,
            .lane_ifindex = config.lane_ifindex,
            .kick_ifindex = config.kick_ifindex,
            .skb_mode = (config.flags & OLAF_CONFIG_SKB_MODE) != 0,
            .port_be = config.port_be,
            .pad = {}};
}

Result<void> watch_losses(const Datapath &queue, const PinPlace &place) {
    if (!watching(place)) {
        forget(place);
        auto done = watch(queue, place);
        if (!done)
            forget(place);
        return done;
    }
    const Fd fd(bpf_obj_get(place.path("olaf_watched").c_str()));
    if (!fd)
        return fail("open", place.path("olaf_watched"), errno);
    return write_watched(fd.get(), watched_of(place, queue.config()));
}

Result<std::optional<olaf_losses>> read_losses(const Attachment &attachment) {
    if (!watching(attachment.place))
        return std::nullopt;
    const auto fd = open_map_to_read(attachment, "olaf_losses");
    if (!fd)
        return std::unexpected(fd.error());
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    std::vector<olaf_losses> copies(static_cast<std::size_t>(cpus));
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(fd->get(), &key, copies.data()) != 0)
        return fail("read map", "olaf_losses", errno);
    olaf_losses sum{};
    for (const auto &copy : copies)
        for (std::size_t i = 0; i < OLAF_LOST_PLACES; i++)
            sum.frames[i] += copy.frames[i], sum.updates[i] += copy.updates[i];
    return sum;
}

} // namespace olaf
