// SPDX-License-Identifier: BSD-2-Clause
// What `olaf job set` asks for, checked against the queue and itself.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "commands.hpp"
#include "loader/datapath/config.hpp"

namespace olaf {
namespace {

bool of_floats(const JobOptions &options) {
    return options.format == OLAF_FORMAT_F32X2;
}

bool has_checksum(const JobOptions &options) {
    return options.checksum && !of_floats(options);
}

/// What is only with floats, or not with them.
Result<void> check_floats(const JobOptions &options, const olaf_config &config) {
    if (!of_floats(options))
        return options.float_bits ? fail("set job", name_of(options), 0, "give --format f32 too",
                                         "--float-bits is of floats")
                                  : Result<void>{};
    const auto room = OLAF_FLOAT_LANES * options.lanes;
    if (options.lanes > OLAF_MAX_LANES / OLAF_FLOAT_LANES)
        return fail("set job", name_of(options), 0,
                    fmt::format("give {} at most", OLAF_MAX_LANES / OLAF_FLOAT_LANES),
                    fmt::format("{} lanes of floats are more than a node adds", options.lanes));
    if (room > config.max_lanes)
        return fail("set job", name_of(options), 0,
                    fmt::format("give --lanes {} at most, or olaf detach {}, then attach it with "
                                "--max-lanes {}",
                                config.max_lanes / OLAF_FLOAT_LANES, options.device, room),
                    fmt::format("{} lanes of floats are added in {}, more than the queue's "
                                "--max-lanes {}",
                                options.lanes, room, config.max_lanes));
    return {};
}

Result<void> check_lanes(const JobOptions &options, const olaf_config &config) {
    if (options.lanes > config.max_lanes)
        return fail("set job", name_of(options), 0,
                    fmt::format("give fewer, or olaf detach {}, then attach it with --max-lanes {}",
                                options.device, options.lanes),
                    fmt::format("--lanes {} is more than the queue's --max-lanes {}",
                                options.lanes, config.max_lanes));
    if (options.lanes == 0)
        return fail("set job", name_of(options), 0,
                    fmt::format("raise the MTU of {}, or of the device to the parent",
                                options.device),
                    "the MTU has no room for a lane");
    if (has_checksum(options) && options.lanes < 2)
        return fail("set job", name_of(options), 0, "give 2 or more, or --no-checksum",
                    "--lanes 1 is the checksum lane alone");
    return {};
}

/// When a chunk is complete, and how many workers' contributions are in it then.
Result<void> check_counts(const JobOptions &options, std::uint32_t threshold,
                          std::uint32_t max_count) {
    if (!options.any && threshold > options.children)
        return fail("set job", name_of(options), 0, "give fewer, or --any",
                    fmt::format("--threshold {} is more than its {} children", threshold,
                                options.children));
    if (options.parent && !options.max_count)
        return fail("set job", name_of(options), 0,
                    "give --max-count: how many workers all nodes together have",
                    "with a parent, it can't be told from the children here");
    if (max_count < threshold)
        return fail("set job", name_of(options), 0, "give a larger one",
                    fmt::format("--max-count {} is less than the {} contributions that complete "
                                "a chunk",
                                max_count, threshold));
    return {};
}

/// Groups that the node's frames can go to, and come from.
Result<void> check_groups(const JobOptions &options) {
    if (options.parent_group && options.parent_group->family != options.parent->address.family)
        return fail("take results from", address_text(*options.parent_group), 0,
                    "give the group that the parent has",
                    fmt::format("the parent, {}, is of the other IP version",
                                endpoint_text(*options.parent)));
    if (options.group && options.group == options.parent_group)
        return fail("send results to", address_text(*options.group), 0,
                    "give each node a group of its own",
                    "the parent's results go to that group, so its children would hear both");
    return {};
}

Result<void> check_members(const JobOptions &options) {
    for (const auto &member : options.members)
        if (member.worker >= options.children)
            return fail("bind rank", std::to_string(member.worker), 0, "give more --children",
                        fmt::format("ranks are 0 ... {}", options.children - 1));
    for (const auto rank : options.absent)
        if (rank >= options.children)
            return fail("leave out rank", std::to_string(rank), 0, "give more --children",
                        fmt::format("ranks are 0 ... {}", options.children - 1));
    return {};
}

} // namespace

std::string name_of(const JobOptions &options) {
    return fmt::format("{} on {}", options.job.value_or(0), options.device);
}

std::uint32_t usual_job_lanes(std::uint32_t mtu, olaf_format format, const olaf_config &config) {
    constexpr std::uint32_t ipv6_bytes = 40;
    const std::uint32_t values_a_lane = format == OLAF_FORMAT_F32X2 ? OLAF_FLOAT_LANES : 1;
    return std::min({lanes_within(mtu, ipv6_bytes), config.max_lanes / values_a_lane,
                     std::uint32_t{OLAF_MAX_LANES} / values_a_lane});
}

Result<olaf_job_setup> job_setup(const JobOptions &options, const olaf_config &config) {
    const auto threshold = options.threshold.value_or(options.children);
    const auto max_count = options.max_count.value_or(std::max(options.children, threshold));
    for (const auto &good :
         {check_floats(options, config), check_lanes(options, config),
          check_counts(options, threshold, max_count), check_members(options), check_groups(options)})
        if (!good)
            return std::unexpected(good.error());
    olaf_job_setup setup{};
    setup.id = options.job.value_or(0);
    setup.flags = options.any ? OLAF_JOB_ANY : 0;
    setup.children = options.children;
    setup.threshold = threshold;
    setup.max_count = max_count;
    setup.slots = options.pool;
    setup.pool = static_cast<std::uint32_t>(std::countr_zero(options.pool));
    setup.rank = options.rank.value_or(0);
    setup.lanes = static_cast<std::uint16_t>(options.lanes);
    setup.shape = static_cast<std::uint16_t>((has_checksum(options) ? OLAF_FLAG_CHECKSUM : 0) |
                                             options.format << OLAF_FLAG_FORMAT_SHIFT);
    if (of_floats(options)) {
        setup.float_bits =
            static_cast<std::uint8_t>(options.float_bits.value_or(OLAF_DEFAULT_FLOAT_BITS));
        setup.float_headroom = static_cast<std::uint8_t>(std::bit_width(max_count - 1));
    }
    setup.deadline_ns = options.deadline_ns;
    if (options.parent) {
        setup.parent_family = options.parent->address.family;
        setup.parent_port_be = htons(options.parent->port);
        std::ranges::copy(options.parent->address.words_be, setup.parent_addr_be);
    }
    if (options.group) {
        setup.group_family = options.group->family;
        setup.group_hops = options.group_hops;
        std::ranges::copy(options.group->words_be, setup.group_addr_be);
    }
    if (options.parent_group) {
        setup.flags |= OLAF_JOB_PARENTS_GROUP;
        std::ranges::copy(options.parent_group->words_be, setup.parent_group_be);
    }
    return setup;
}

} // namespace olaf
