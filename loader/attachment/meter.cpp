// SPDX-License-Identifier: BSD-2-Clause
#include "meter.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>

#include "loader/datapath/config.hpp"
#include "loader/datapath/object.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/bpf_log.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr const Program &program = program_named("olaf_meter_frame");

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

Result<Object> load(const olaf_config &config, bool sent) {
    take_bpf_log();
    auto object = OLAF_TRY(Object::open(program.object));
    OLAF_TRY(object.set("olaf_cfg", config));
    OLAF_TRY(object.set("olaf_meter_sent", std::uint32_t{sent}));
    OLAF_TRY(object.size_maps(config));
    OLAF_TRY(object.load());
    return object;
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
    Object object;
    Fd tap; // last: it goes first
};

Meter::Meter(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Meter::Meter(Meter &&) noexcept = default;
Meter &Meter::operator=(Meter &&) noexcept = default;
Meter::~Meter() = default;

Result<Meter> Meter::attach(const Device &device, const Options &options) {
    const auto config = OLAF_TRY(configure(device, options));
    auto object = OLAF_TRY(load(config, options.sent));
    auto tap = OLAF_TRY(open_tap(device, object.program_fd(program.name)));
    return Meter(std::make_unique<Parts>(config, std::move(object), std::move(tap)));
}

Result<Meter::Reading> Meter::read() const {
    const auto find = [&](const char *name) { return parts_->object.map_fd(name); };
    auto aom = OLAF_TRY(read_aom(parts_->config, find));
    const auto counters = OLAF_TRY(read_counters(find("olaf_counters")));
    return Reading{.aom = std::move(aom),
                   .counters = counters,
                   .unread = parts_->object.read_variable("olaf_meter_uncut")};
}

} // namespace olaf
