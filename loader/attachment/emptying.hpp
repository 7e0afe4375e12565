// SPDX-License-Identifier: BSD-2-Clause
// Emptying a queue, for `detach` and for a --replace that sends updates another way.
#pragma once

#include <cstdint>

#include "attachment.hpp"
#include "loader/host/signals.hpp"
#include "olaf/queue.h"

namespace olaf {

/// Tells the queue's programs that nothing new may wait. It is a lease: if this process dies,
/// however that happens, it runs out within a second and the queue works as before.
class EmptyingLease {
  public:
    static Result<EmptyingLease> take(const Attachment &attachment);
    EmptyingLease(EmptyingLease &&) noexcept = default;
    EmptyingLease &operator=(EmptyingLease &&) = delete;
    ~EmptyingLease(); ///< takes the order back at once

    /// To be called often; writes only when a good part of the lease has passed.
    Result<void> renew();

    /// From now on what waits doesn't leave either, for some seconds at most, while other programs
    /// take over. This outlives the lease: if this process is stopped and updates come to wait
    /// meanwhile, they are found.
    Result<void> hold();
    Result<void> let_go();
    /// Whether the order has stood all the time since hold().
    [[nodiscard]] bool unbroken();

  private:
    explicit EmptyingLease(Fd control) : control_(std::move(control)) {}
    Result<void> write() const;
    Fd control_;
    olaf_control orders_{}; ///< what is written; no other command writes meanwhile
    bool broken_ = false;
};

/// Waits until nothing waits any more, for as long as departures keep their pace. Without a lease
/// for a queue that no update comes to. Fails with the reason why nothing leaves, or with EINTR when
/// a signal says stop.
Result<void> empty_queue(const Attachment &attachment, EmptyingLease *lease, const Signals &stop,
                   bool verbose);

/// Sum of the counts of what waits.
Result<std::uint64_t> updates_waiting(const Attachment &attachment);

} // namespace olaf
