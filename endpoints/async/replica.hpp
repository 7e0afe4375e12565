// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <olaf/message.hpp>
#include <olaf/segments.hpp>

namespace olaf {

/// A worker's copy of the weights, kept current by ACKs that may be lost, late, doubled
/// or cut in another number of segments than before. Not thread-safe.
class Replica {
  public:
    explicit Replica(std::size_t elements) : weights_(elements) {}

    enum class Taken : std::uint8_t { fresh, stale, nothing };
    /// Takes the weights that an ACK carries. `lanes` are its data lanes. Weights older
    /// than those held for the segment are stale and left alone, but if a segment sees
    /// nothing else for kRestart ACKs then the server counts versions anew, and is
    /// believed.
    Decoded<Taken> take(const Ack &ack, std::span<const std::uint64_t> lanes);

    static constexpr std::uint32_t kRestart = 16;

    [[nodiscard]] bool complete() const { return missing_ == 0; }
    [[nodiscard]] std::span<const float> weights() const { return weights_; }
    [[nodiscard]] std::uint32_t version() const { return complete() ? oldest_ : 0; }

  private:
    struct Held {
        bool any = false;
        std::uint32_t version = 0;
        std::uint32_t stale_in_a_row = 0;
    };
    void recut(std::size_t segments);
    void find_oldest();

    std::vector<float> weights_;
    std::vector<Held> held_; // by segment
    std::size_t missing_ = 1;
    std::uint32_t oldest_ = 0;
};

} // namespace olaf
