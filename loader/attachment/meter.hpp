// SPDX-License-Identifier: BSD-2-Clause
// A measuring-only program on a device (bpf/meter.bpf.c), for as long as this lives: it is
// attached to a socket of this process and goes with it, however that ends.
#pragma once

#include <cstdint>
#include <memory>

#include "loader/datapath/aom.hpp"
#include "loader/host/device.hpp"
#include "loader/host/fd.hpp"
#include "olaf/result.hpp"

namespace olaf {

class Meter {
  public:
    struct Options {
        std::uint16_t port = OLAF_DEFAULT_PORT;
        bool sent = false; ///< frames that the device sends, not those it receives
        std::uint32_t max_clusters = 1024;
        std::uint32_t max_segments = 1;
    };

    struct Reading {
        AomReading aom;
        olaf_counters counters{}; ///< received, updates_in, malformed, not_allowed
        std::uint64_t unread = 0; ///< frames of several messages (UDP segmentation offload)
    };

    /// Measures from here on.
    static Result<Meter> attach(const Device &device, const Options &options);

    Meter(Meter &&) noexcept;
    Meter &operator=(Meter &&) noexcept;
    ~Meter();

    [[nodiscard]] Result<Reading> read() const;

  private:
    struct Parts;
    explicit Meter(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

} // namespace olaf
