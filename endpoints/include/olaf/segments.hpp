// SPDX-License-Identifier: BSD-2-Clause
// Large models travel in segments, each an UPDATE or ACK of its own. Which elements a
// segment holds follows from the model's size and the number of segments alone, so a
// receiver needs no further agreement, and ACKs may be cut differently from UPDATEs
// (f32x2 weights take twice the room of an i16x4 gradient).
#pragma once

#include <cstddef>
#include <cstdint>

#include <olaf/packing.hpp>
#include <olaf/result.hpp>

namespace olaf {

/// Elements [begin, end) of the model.
struct Slice {
    std::size_t begin = 0;
    std::size_t end = 0;
    [[nodiscard]] std::size_t size() const { return end - begin; }
};

/// A model cut into equal segments, of a multiple of 4 elements (so that no lane of any
/// format straddles two), the last one shorter. Pure and thread-safe.
class Segments {
  public:
    /// The given cut. Empty segments make it fail: 1 <= segments <= 65535 and every
    /// segment must hold at least one element.
    [[nodiscard]] static Result<Segments> of(std::size_t elements, std::size_t segments);
    /// The fewest segments of which none has more than `lanes` data lanes of `format`.
    [[nodiscard]] static Result<Segments> fitting(std::size_t elements, Format format,
                                                  std::size_t lanes);

    [[nodiscard]] std::uint16_t count() const { return count_; }
    [[nodiscard]] std::size_t elements() const { return elements_; }
    /// Precondition: segment < count().
    [[nodiscard]] Slice slice(std::size_t segment) const;
    /// The segment that holds an element. Precondition: element < elements().
    [[nodiscard]] std::size_t holding(std::size_t element) const { return element / each_; }

  private:
    Segments(std::size_t elements, std::size_t each, std::uint16_t count)
        : elements_(elements), each_(each), count_(count) {}

    std::size_t elements_;
    std::size_t each_;
    std::uint16_t count_;
};

/// Bytes of the IP packet that carries a message of so many lanes.
[[nodiscard]] std::size_t packet_of_lanes(std::size_t lanes, bool ipv6);

/// Lanes, checksum lane included, that one frame has room for: `mtu` is the IP MTU in
/// bytes. 0 if it has none.
[[nodiscard]] std::size_t lanes_in_mtu(std::size_t mtu, bool ipv6);

} // namespace olaf
