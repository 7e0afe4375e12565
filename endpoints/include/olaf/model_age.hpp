// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include <olaf/aom_meter.hpp>

namespace olaf {

/// Age-of-Model of a model that arrives in segments: it is as old as its oldest segment,
/// and has no age before each of them was delivered once. Not thread-safe.
class ModelAge {
  public:
    /// As AomMeter::deliver() for one segment. Precondition: segment < segments. Where
    /// `segments` is not what it was, every new segment starts as old as the model was.
    /// Returns the model's age after the delivery, 0 while it has none.
    std::int64_t deliver(std::int64_t delivered_ns, std::int64_t generated_ns,
                         std::uint16_t segment, std::uint16_t segments);

    [[nodiscard]] const AomMeter &meter() const { return meter_; }

  private:
    AomMeter meter_;
    std::vector<std::int64_t> newest_; // generated_ns by segment, kMissing before the first
    std::int64_t oldest_ = kMissing;   // the minimum of those

    static constexpr std::int64_t kMissing = -1;
};

} // namespace olaf
