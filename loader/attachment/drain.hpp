// SPDX-License-Identifier: BSD-2-Clause
// Emptying a queue, for `detach` and for a --replace that sends updates another way.
#pragma once

#include <cstdint>

#include "attachment.hpp"
#include "loader/host/until.hpp"

namespace olaf {

/// The order that nothing new waits. It is a lease: when this process dies, however that happens,
/// it runs out within a second and the queue is what it was.
class DrainLease {
  public:
    static Result<DrainLease> take(const Attachment &attachment);
    DrainLease(DrainLease &&) noexcept = default;
    DrainLease &operator=(DrainLease &&) = delete;
    ~DrainLease(); ///< takes the order back at once

    /// To be called often; writes only when a good part of the lease has passed.
    Result<void> renew();

  private:
    explicit DrainLease(Fd control) : control_(std::move(control)) {}
    Result<void> write(std::uint64_t until_ns) const;
    Fd control_;
    std::uint64_t until_ns_ = 0;
};

/// Waits until nothing waits any more, for as long as departures keep their pace. Without a lease
/// for a queue that no update comes to. Fails with the reason why nothing leaves, or with EINTR when
/// a person interrupts.
Result<void> drain(const Attachment &attachment, DrainLease *lease, const Interrupts &interrupts,
                   bool verbose);

/// Sum of the counts of what waits.
Result<std::uint64_t> updates_waiting(const Attachment &attachment);

} // namespace olaf
