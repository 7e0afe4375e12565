// SPDX-License-Identifier: BSD-2-Clause
#include "plan_sizes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace olaf {
namespace {

constexpr std::uint32_t ipv4_bytes = 20, ipv6_bytes = 40;

/// Lanes of the largest update that can leave, by whatever IP version workers send.
std::uint32_t lanes_out(const Plan &plan) {
    const bool outer6 =
        plan.config.deliver == OLAF_DELIVER_UPSTREAM && plan.config.upstream.family == 6;
    return lanes_within(plan.egress->mtu, outer6 ? ipv6_bytes : ipv4_bytes);
}

/// Room for the largest update that can both come in and leave.
Result<void> plan_lanes(Plan &plan, const AttachOptions &options, const Device &device,
                        const Record *running) {
    auto &config = plan.config;
    const bool by_mtu = options.max_lanes ? !*options.max_lanes : running == nullptr;
    const std::uint32_t asked = options.max_lanes ? options.max_lanes->value_or(0) : 0;
    if (by_mtu)
        config.max_lanes = lanes_of_mtu(device.mtu);
    else if (asked != 0)
        config.max_lanes = asked;
    config.egress_mtu = plan.egress ? plan.egress->mtu : 0;
    if (!plan.egress)
        return {};
    const auto &out = *plan.egress;
    const auto most = lanes_out(plan);
    if (most == 0)
        return fail("send updates out of", out.name, 0, "give it a larger one",
                    fmt::format("its MTU, {}, carries none", out.mtu));
    if (by_mtu)
        config.max_lanes = std::min(config.max_lanes, most);
    if (asked > most)
        plan.notes.push_back(fmt::format("updates of at most {} lanes fit out ({} has MTU {}): "
                                         "larger ones are refused, whatever --max-lanes says",
                                         most, out.name, out.mtu));
    else if (asked == 0 && most < lanes_within(device.mtu))
        plan.notes.push_back(fmt::format("updates of at most {} lanes fit out ({} has MTU {})",
                                         most, out.name, out.mtu));
    return {};
}

} // namespace

Result<void> plan_sizes(Plan &plan, const AttachOptions &options, const Device &device,
                        const Record *running) {
    auto &config = plan.config;
    take(config.max_clusters, options.max_clusters);
    take(config.max_segments, options.max_segments);
    take(config.round_slots, options.round_slots);
    if (running == nullptr)
        config.round_lines = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    if (options.max_workers)
        config.max_workers = options.max_workers;
    if (const auto usual = usual_workers(config.max_clusters);
        !config.max_workers && usual < OLAF_DEFAULT_MAX_WORKERS)
        plan.notes.push_back(fmt::format("ACKs are copied to {} workers of a cluster at most; "
                                         "--max-workers takes more memory for more",
                                         usual));
    config.fifo = options.fifo || (running != nullptr && running->config.fifo_places != 0);
    if (options.queue)
        config.queue_capacity = *options.queue;
    return plan_lanes(plan, options, device, running);
}

} // namespace olaf
