// SPDX-License-Identifier: BSD-2-Clause
#include "attach_checks.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "loader/attachment/native.hpp"
#include "loader/host/xdp.hpp"

namespace olaf {

Result<void> check_no_queue(const Attachment &before, const Device &device) {
    if (before.alive && before.record.complete)
        return fail("attach to", device.name, EEXIST,
                    fmt::format("olaf detach {0} first, or olaf attach {0} --replace", device.name),
                    "a queue of olaf's is there");
    return {};
}

Result<void> check_no_program(const Device &device) {
    if (const auto other = foreign_xdp(device.ifindex); !other.empty())
        return fail("attach to", device.name, EBUSY,
                    fmt::format("ip link set {} xdp off removes it", device.name),
                    fmt::format("it has an XDP program already, {}", other));
    return {};
}

Result<std::string> check_mode(const AttachOptions &options, const Device &device,
                               const Plan &plan) {
    if (options.mode == XdpMode::skb)
        return {};
    auto obstacle = native_obstacle(device, plan);
    if (options.mode == XdpMode::native && !obstacle.empty())
        return fail("attach natively to", device.name, 0, "use --mode skb or auto", obstacle);
    return obstacle;
}

} // namespace olaf
