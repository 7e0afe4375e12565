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

/// An order to the queue's programs that no new update may wait. The order is a lease: if this process
/// dies, the order ends within a second, and the queue works as before.
class EmptyingLease {
  public:
    static Result<EmptyingLease> take(const Attachment &attachment);
    EmptyingLease(EmptyingLease &&) noexcept = default;
    EmptyingLease &operator=(EmptyingLease &&) = delete;
    ~EmptyingLease(); ///< ends the order at once

    /// Call this often. Writes only when a quarter of the lease has passed.
    Result<void> renew();

    /// Waiting updates don't leave either, for a few seconds at most, while other programs take over.
    /// The hold is longer than the lease: if this process is stopped and updates come to wait, they
    /// are still there.
    Result<void> hold();
    Result<void> let_go();
    /// Whether the order was in force all the time since hold().
    [[nodiscard]] bool unbroken();

  private:
    explicit EmptyingLease(Fd control) : control_(std::move(control)) {}
    Result<void> write() const;
    Fd control_;
    olaf_control orders_{}; ///< what is written; no other command writes meanwhile
    bool broken_ = false;
};

/// Returns once the queue is empty. Goes on for as long as departures keep their pace. `lease` is null
/// where no update reaches the queue. Fails with the reason why nothing leaves, or with EINTR after a
/// signal. `verbose` notes the number of waiting messages twice a second.
Result<void> empty_queue(const Attachment &attachment, EmptyingLease *lease, const Signals &stop,
                   bool verbose);

struct EmptyOptions {
    bool force = false;   ///< drop the updates that can't leave
    bool verbose = false; ///< as for empty_queue()
};

/// Empties a queue in the kernel and takes the XDP program off. Returns the number of dropped updates,
/// which is 0 without force. Updates may also wait in a queue that has lost its XDP program: the drain
/// still sends them to another device, but not to this host.
Result<std::uint64_t> empty_kernel(const Attachment &attachment, const Signals &stop,
                                   const EmptyOptions &options);

/// The number of waiting updates, folded ones included.
Result<std::uint64_t> updates_waiting(const Attachment &attachment);

// Why what waits can't leave, in words for a person.

/// "out is down", "out has no carrier"; "" if the output can send, or none is needed.
std::string output_obstacle(const Attachment &attachment);

/// "in has gone", "in is down", "in has no carrier"; "" if the device is up. `name` is its last name.
std::string device_obstacle(const std::string &name, std::uint32_t ifindex);

/// The same of an end of the drain.
std::string drain_obstacle(const olaf_config &config);

/// The first obstacle on the way of the queue's head: the output, "there is no route to ADDRESS by DEV",
/// "the next hop ADDRESS doesn't answer on DEV", or the drain. "" if none is known.
std::string obstacle(const Attachment &attachment);

/// What members of jobs don't get when the queue goes.
struct JobsLeft {
    std::uint64_t results = 0; ///< that couldn't be sent; one for each member and chunk
    std::uint64_t chunks = 0;  ///< that weren't complete, or waited for the parent
};

/// Sends the results that jobs still owe, in clones, and returns what couldn't be sent. Call it after
/// take_off_xdp(), when no contribution arrives any more. Takes a second at most.
Result<JobsLeft> send_last_results(const Attachment &attachment);

} // namespace olaf
