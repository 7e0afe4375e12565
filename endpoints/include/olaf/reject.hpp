// SPDX-License-Identifier: BSD-2-Clause
// Why a message was not accepted, and how many for each reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace olaf {

enum class Reject : std::uint8_t {
    too_short,       ///< not even a header
    wrong_length,    ///< not 48 + 8 × lanes bytes, or longer than any message
    wrong_magic,     ///< not ours
    wrong_version,   ///< ours, but not of the version that its type has
    wrong_type,      ///< unknown, or not for this side
    wrong_format,    ///< unknown, or not one that this message may have
    wrong_count,     ///< 0, or more than the cluster's max_count
    wrong_segment,   ///< not below segments, or more segments than the model allows
    wrong_lanes,     ///< not as many as the model's segment has
    wrong_checksum,  ///< the aggregate was damaged
    unknown_cluster, ///< not one that this side serves
    not_addressed,   ///< ACK for another worker
    wrong_header,    ///< of a job: bits of the header were flipped on the way
};

inline constexpr std::size_t kRejectReasons = static_cast<std::size_t>(Reject::wrong_header) + 1;

[[nodiscard]] constexpr std::string_view name(Reject reason) {
    constexpr std::array<std::string_view, kRejectReasons> names = {
        "too_short",   "wrong_length",   "wrong_magic",     "wrong_version",
        "wrong_type",  "wrong_format",   "wrong_count",     "wrong_segment",
        "wrong_lanes", "wrong_checksum", "unknown_cluster", "not_addressed",
        "wrong_header"};
    return names[static_cast<std::size_t>(reason)];
}

/// Rejected messages by reason. Not thread-safe.
class RejectCounts {
  public:
    void add(Reject reason) { counts_[static_cast<std::size_t>(reason)]++; }
    [[nodiscard]] std::uint64_t operator[](Reject reason) const {
        return counts_[static_cast<std::size_t>(reason)];
    }
    [[nodiscard]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : counts_)
            sum += count;
        return sum;
    }

    RejectCounts &operator+=(const RejectCounts &other) {
        for (std::size_t reason = 0; reason < kRejectReasons; reason++)
            counts_[reason] += other.counts_[reason];
        return *this;
    }

  private:
    std::array<std::uint64_t, kRejectReasons> counts_{};
};

} // namespace olaf
