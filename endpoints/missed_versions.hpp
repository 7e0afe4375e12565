// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace olaf {

/// Counts model versions that no ACK brought, where each ACK goes to the whole cluster.
/// Reordering among the latest 64 is forgiven. Not thread-safe.
class MissedVersions {
  public:
    /// An ACK brought `version`; `believed` if its weights were taken, which for an old
    /// version means that the server counts anew.
    void saw(std::uint32_t version, bool believed) {
        const auto ahead = static_cast<std::int32_t>(version - newest_);
        if (!started_ || (believed && ahead <= -kWindow)) {
            started_ = true;
            newest_ = version;
            came_ = ~std::uint64_t{0}; // what was before isn't missed
        } else if (ahead > 0) {
            missed_ += static_cast<std::uint64_t>(ahead) - 1;
            came_ = ahead < kWindow ? came_ << ahead | 1 : 1;
            newest_ = version;
        } else if (const std::uint64_t bit = bit_of(-std::int64_t{ahead});
                   bit != 0 && (came_ & bit) == 0) {
            came_ |= bit;
            missed_--;
        }
    }
    [[nodiscard]] std::uint64_t count() const { return missed_; }

  private:
    static constexpr std::int32_t kWindow = 64;
    static constexpr std::uint64_t bit_of(std::int64_t behind) {
        return behind < kWindow ? std::uint64_t{1} << behind : 0;
    }

    bool started_ = false;
    std::uint32_t newest_ = 0;
    std::uint64_t came_ = 0; // bit i: newest_ − i did
    std::uint64_t missed_ = 0;
};

} // namespace olaf
