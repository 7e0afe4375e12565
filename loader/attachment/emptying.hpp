// SPDX-License-Identifier: BSD-2-Clause
// Emptying a queue, for `detach` and for a --replace that sends updates another way, and the reason
// why what waits can't leave.
#pragma once

#include <cstdint>
#include <string>

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

struct EmptyOptions {
    bool force = false;   ///< what can't leave is dropped
    bool verbose = false; ///< notes how many wait, twice a second
};

/// Of a queue in the kernel: lets leave what waits and takes the XDP program off, so that nothing new
/// can wait. Returns how many updates are dropped: none without force. A queue without its XDP program
/// may have something waiting, too: what waits for another device leaves by the drain.
Result<std::uint64_t> empty_kernel(const Attachment &attachment, const Signals &stop,
                                   const EmptyOptions &options);

/// Sum of the counts of what waits.
Result<std::uint64_t> updates_waiting(const Attachment &attachment);

// Why what waits can't leave, in words for a person.

/// "out is down", "out has no carrier"; "" if the output can send, or none is needed.
std::string output_obstacle(const Attachment &attachment);

/// "in has gone", "in is down", "in has no carrier"; "" if it is up. `name` is what it was called.
std::string device_obstacle(const std::string &name, std::uint32_t ifindex);

/// The same of an end of the drain.
std::string drain_obstacle(const Attachment &attachment);

/// That of the output, or "there is no route to ADDRESS by DEV", "the next hop ADDRESS doesn't answer", of the
/// head of the queue, or that of the drain; "" if nothing is known to be in its way.
std::string obstacle(const Attachment &attachment);

// What jobs owe their members when the queue goes.

/// What members go without.
struct JobsLeft {
    std::uint64_t results = 0; ///< that were owed and couldn't be sent, one a member and chunk
    std::uint64_t chunks = 0;  ///< that weren't complete, or were with a parent
};

/// Sends what all jobs owe, in clones, and says what is left. To be called once no contribution
/// comes any more (take_off_xdp()). Takes a second at most.
Result<JobsLeft> send_last_results(const Attachment &attachment);

} // namespace olaf
