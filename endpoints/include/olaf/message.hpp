// SPDX-License-Identifier: BSD-2-Clause
// Messages in host byte order, and the only code that converts them to and from the
// wire. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <span>
#include <string_view>

#include <olaf/packing.hpp>
#include <olaf/protocol.h>
#include <olaf/reject.hpp>

namespace olaf {

/// One message's bytes as they are in memory and on the wire. Its lanes are aligned.
struct alignas(64) Frame {
    olaf_header header;
    std::uint64_t lanes[OLAF_MAX_LANES];

    [[nodiscard]] std::span<const std::byte> bytes(std::size_t size) const {
        return {reinterpret_cast<const std::byte *>(this), size};
    }
};
static_assert(offsetof(Frame, lanes) == sizeof(olaf_header), "lanes follow the header");

/// Bytes of a message with that many lanes.
[[nodiscard]] constexpr std::size_t message_size(std::size_t lanes) {
    return sizeof(olaf_header) + lanes * sizeof(std::uint64_t);
}

/// UPDATE, worker to parameter server.
struct Update {
    std::uint32_t cluster = 0;
    std::uint32_t worker = 0;
    std::uint32_t sequence = 0;
    std::uint32_t count = 1;       ///< updates folded in
    std::int64_t generated_ns = 0; ///< CLOCK_TAI
    std::int64_t reward = 0;       ///< Q47.16, sum over the updates folded in
    std::uint32_t model_version = 0;
    std::uint16_t segment = 0;
    std::uint16_t segments = 1;
    std::uint16_t lanes = 0; ///< checksum lane included
    Format format = Format::i32x2;
    bool has_checksum = true;

    [[nodiscard]] std::size_t data_lanes() const { return lanes - (has_checksum ? 1U : 0U); }
};

/// ACK, parameter server to worker.
struct Ack {
    std::uint32_t cluster = 0;
    std::uint32_t worker = OLAF_EVERY_WORKER;
    std::uint32_t sequence = 0;
    std::int64_t generated_ns = 0;
    std::uint16_t active_clusters = 0;
    std::uint32_t queue_capacity = 0;
    std::uint32_t queue_length = 0;
    std::uint32_t model_version = 0;
    std::uint16_t segment = 0;
    std::uint16_t segments = 1;
    std::uint16_t lanes = 0; ///< 0: no weights
    bool has_checksum = false;
    bool stamped = false;
    bool congested = false;

    [[nodiscard]] std::size_t data_lanes() const { return lanes - (has_checksum ? 1U : 0U); }
};

/// CONTROL "join": a worker asks for the weights. It has no lanes, and the action in the
/// place of an UPDATE's count. A queue passes CONTROL through untouched, so asking can
/// neither be folded into a gradient nor spoil its reward.
struct Join {
    std::uint32_t cluster = 0;
    std::uint32_t worker = 0;
    std::uint32_t sequence = 0;
    std::int64_t generated_ns = 0;
};

/// Value of a CONTROL message's action field (offset 20).
inline constexpr std::uint32_t kControlJoin = 1;

[[nodiscard]] olaf_header encode(const Update &update);
[[nodiscard]] olaf_header encode(const Ack &ack);
[[nodiscard]] olaf_header encode(const Join &join);

template <class T> using Decoded = std::expected<T, Reject>;

/// Checks what all messages share (size, magic, version, type) and returns the type.
[[nodiscard]] Decoded<olaf_message_type> decode_type(std::span<const std::byte> message);
/// Each checks everything that the message alone can tell, except the checksum lane.
[[nodiscard]] Decoded<Update> decode_update(std::span<const std::byte> message);
[[nodiscard]] Decoded<Ack> decode_ack(std::span<const std::byte> message);
[[nodiscard]] Decoded<Join> decode_join(std::span<const std::byte> message);

/// Whether the last of `lanes` is the checksum of the others; false if there is none.
[[nodiscard]] bool checksum_matches(std::span<const std::uint64_t> lanes);

/// A reward as Q47.16, rounded to nearest and saturated to what max_count times over
/// can't overflow. NaN becomes the lowest: it must not pass a gate.
[[nodiscard]] std::int64_t to_reward(double reward, std::uint32_t max_count);
/// Mean reward of a sum over `count` updates. Precondition: count > 0.
[[nodiscard]] double mean_reward(std::int64_t sum, std::uint32_t count);

} // namespace olaf
