// SPDX-License-Identifier: BSD-2-Clause
// The one listener to a queue's events (olaf/events.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "event.hpp"
#include "loader/attachment/attachment.hpp"
#include "pin_watch.hpp"

struct ring_buffer;

namespace olaf {

/// What a listener asks the kernel for. The less it is, the less it costs the data path.
struct Interest {
    std::uint32_t first_cluster = 0;
    std::uint32_t last_cluster = 0xffffffff;
    std::uint32_t kinds = (1U << OLAF_EVENT_KINDS) - 1; ///< a bit a kind
    std::uint32_t sample = 1;
    std::uint32_t frame_bytes = 0;
};

class Listener {
  public:
    /// Takes an event; false: it wants no more.
    using Handler = std::function<bool(const Event &)>;

    /// Starts listening. Fails with EBUSY if somebody else listens.
    static Result<std::unique_ptr<Listener>> start(const Attachment &attachment,
                                                   const Interest &interest, Handler handler);
    /// Stops: nothing more is written for us.
    ~Listener();
    Listener(const Listener &) = delete;
    Listener &operator=(const Listener &) = delete;

    /// Readable when there are events.
    [[nodiscard]] int fd() const;
    /// Hands over every event there is.
    Result<void> consume();
    /// Renews the lease if that is due; to be called every `renewal` at least. Fails with ENOENT
    /// when the queue was detached.
    Result<void> renew();
    /// Asks for no more; what was written before is still to be consumed.
    void stop();

    /// Events since the start that found the ring buffer full.
    [[nodiscard]] Result<std::uint64_t> missed() const;

    static constexpr std::chrono::nanoseconds renewal{OLAF_LISTEN_LEASE_NS / 3};

  private:
    explicit Listener(const Attachment &attachment) : watch_(attachment) {}
    Result<void> open(const Attachment &attachment);
    Result<void> wait_for_lease();
    Result<void> write(std::uint64_t until_ns);
    [[nodiscard]] Result<std::uint64_t> lost() const;
    static int handle(void *self, void *data, std::size_t bytes);

    PinWatch watch_;
    Handler handler_;
    Fd listen_, counters_, events_;
    olaf_listen request_{};
    std::uint64_t started_ns_ = 0, renewed_ns_ = 0; ///< CLOCK_MONOTONIC; 0: not listening
    std::uint64_t lost_before_ = 0;
    struct Free {
        void operator()(ring_buffer *buffer) const;
    };
    std::unique_ptr<ring_buffer, Free> buffer_;
};

} // namespace olaf
