// SPDX-License-Identifier: BSD-2-Clause
#include "meter.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>

#include <meter.skel.h>

#include "bpf_log.hpp"
#include "config.hpp"
#include "map_sizes.hpp"

namespace olaf {
namespace {

struct MeterCloser {
    void operator()(meter *skeleton) const { meter__destroy(skeleton); }
};
using Skeleton = std::unique_ptr<meter, MeterCloser>;

Result<olaf_config> configure(const Device &device, const Meter::Options &options) {
    DatapathConfig human;
    human.port = options.port;
    human.max_clusters = options.max_clusters;
    human.max_segments = options.max_segments;
    human.max_lanes = OLAF_MAX_LANES;
    human.queue_capacity = 1; // nothing waits here
    human.ifindex = device.ifindex;
    return make_config(human);
}

Result<Skeleton> load(const olaf_config &config, bool sent) {
    take_bpf_log();
    Skeleton skeleton(meter__open());
    if (!skeleton)
        return fail("open", "the meter program", errno);
    skeleton->rodata->olaf_cfg = config;
    skeleton->rodata->olaf_meter_sent = sent;
    for (const auto &size : map_sizes(config)) {
        bpf_map *map = bpf_object__find_map_by_name(skeleton->obj, size.name);
        if (map == nullptr || size.max_entries == 0)
            continue;
        if (const int error = bpf_map__set_max_entries(map, size.max_entries); error != 0)
            return fail("size map", size.name, -error);
    }
    if (const int error = meter__load(skeleton.get()); error != 0)
        return fail("load", "the meter program", -error,
                    error == -ENOMEM ? "ask for less: --max-clusters, --max-segments"
                                     : "olaf doctor tells what this kernel lacks");
    return skeleton;
}

/// A packet socket that takes nothing: its filter sees each frame and turns it away. The filter
/// is there before the socket is bound, so that not one frame is kept.
Result<Fd> open_tap(const Device &device, int program_fd) {
    Fd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!fd)
        return fail("open a packet socket on", device.name, errno, "run as root (CAP_NET_RAW)");
    if (::setsockopt(fd.get(), SOL_SOCKET, SO_ATTACH_BPF, &program_fd, sizeof program_fd) != 0)
        return fail("attach the meter to", device.name, errno);
    sockaddr_ll where{};
    where.sll_family = AF_PACKET;
    where.sll_protocol = htons(ETH_P_ALL);
    where.sll_ifindex = static_cast<int>(device.ifindex);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr *>(&where), sizeof where) != 0)
        return fail("attach the meter to", device.name, errno);
    return fd;
}

} // namespace

struct Meter::Parts {
    olaf_config config{};
    Skeleton skeleton;
    Fd tap; // last: it goes first
};

Meter::Meter(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Meter::Meter(Meter &&) noexcept = default;
Meter &Meter::operator=(Meter &&) noexcept = default;
Meter::~Meter() = default;

Result<Meter> Meter::attach(const Device &device, const Options &options) {
    const auto config = configure(device, options);
    if (!config)
        return std::unexpected(config.error());
    auto skeleton = load(*config, options.sent);
    if (!skeleton)
        return std::unexpected(skeleton.error());
    auto tap = open_tap(device, bpf_program__fd((*skeleton)->progs.olaf_meter_frame));
    if (!tap)
        return std::unexpected(tap.error());
    auto parts = std::make_unique<Parts>();
    parts->config = *config;
    parts->skeleton = std::move(*skeleton);
    parts->tap = std::move(*tap);
    return Meter(std::move(parts));
}

Result<Meter::Reading> Meter::read() const {
    const auto find = [&](const char *name) {
        return bpf_object__find_map_fd_by_name(parts_->skeleton->obj, name);
    };
    auto aom = read_aom(parts_->config, find);
    if (!aom)
        return std::unexpected(aom.error());
    const auto counters = read_counters(find("olaf_counters"));
    if (!counters)
        return std::unexpected(counters.error());
    return Reading{.aom = std::move(*aom),
                   .counters = *counters,
                   .unread = parts_->skeleton->bss->olaf_meter_uncut};
}

} // namespace olaf
