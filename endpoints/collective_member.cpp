// SPDX-License-Identifier: BSD-2-Clause
#include "collective_member.hpp"

#include <algorithm>
#include <string>

#include <olaf/rounds.h>
#include <olaf/segments.hpp>

#include "block_exponent.hpp"

namespace olaf {
namespace {

Result<void> check(const CollectiveOptions &options) {
    const auto refuse = [&](std::string reason) {
        return fail("take part in", "job " + std::to_string(options.job), 0, {}, std::move(reason));
    };
    if (options.job == OLAF_EVERY_WORKER)
        return refuse("that id is nobody's");
    if (options.rank >= OLAF_RANKS)
        return refuse("ranks are 0 to " + std::to_string(OLAF_RANKS - 1));
    if (options.workers == 0)
        return refuse("say how many workers it has");
    if (options.ahead == 0)
        return refuse("exponents must travel ahead by at least one chunk");
    if (options.format == Format::f32x2)
        return {};
    return validate({.format = options.format, .max_count = options.workers});
}

// What a float32 has no bits for may be lost by a guess.
unsigned bits_to_lose(const CollectiveOptions &options) {
    constexpr int kFloatBits = 24;
    if (options.workers == 0 || options.format == Format::f32x2)
        return 0;
    const int bits = bits_of_block(options.format, options.workers);
    return static_cast<unsigned>(std::max(0, bits - kFloatBits));
}

// A sum of floats has no checksum that could be a sum of theirs.
CollectiveOptions completed(CollectiveOptions options) {
    options.checksum = options.checksum && options.format != Format::f32x2;
    options.guess_bits = std::min(options.guess_bits, bits_to_lose(options));
    return options;
}

// Lanes of a frame at most: what the MTU has room for, and a node for floats.
std::size_t room_of(const CollectiveOptions &options) {
    const std::size_t room = lanes_in_mtu(options.mtu, options.node.is_ipv6());
    return options.format == Format::f32x2
               ? std::min<std::size_t>(room, OLAF_MAX_LANES / OLAF_FLOAT_LANES)
               : room;
}

} // namespace

Result<std::unique_ptr<CollectiveMember>> CollectiveMember::open(const CollectiveOptions &given) {
    CollectiveOptions options = completed(given);
    if (auto valid = check(options); !valid)
        return std::unexpected(valid.error());
    auto sockets =
        RoundSockets::open(options.node, options.group,
                           {.receive = options.receive_buffer, .send = options.send_buffer});
    if (!sockets)
        return std::unexpected(sockets.error());
    if (options.mtu == 0) {
        const auto mtu = sockets->node().mtu();
        if (!mtu)
            return std::unexpected(mtu.error());
        options.mtu = *mtu;
    }
    const std::size_t room = room_of(options);
    const std::size_t lanes = options.lanes == 0 ? room : options.lanes;
    if (lanes > room || lanes < (options.checksum ? 2U : 1U))
        return fail("take part in", "job " + std::to_string(options.job), 0,
                    "lower the lanes or raise the MTU",
                    "a frame has room for " + std::to_string(room) + " lanes");
    return std::unique_ptr<CollectiveMember>(
        new CollectiveMember(options, static_cast<std::uint16_t>(lanes), std::move(*sockets)));
}

} // namespace olaf
