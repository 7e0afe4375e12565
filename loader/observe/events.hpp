// SPDX-License-Identifier: BSD-2-Clause
// Events of a queue: listening, and their text.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loader/attachment/attachment.hpp"
#include "olaf/events.h"
#include "options.hpp"
#include "reading.hpp"

struct ring_buffer;

namespace olaf {

// One event as it is read from the ring buffer, what follows from it, and how it is shown.

struct Event {
    olaf_event record;
    std::span<const std::uint8_t> frame; ///< its first bytes; valid while the event is handled

    /// Whether it is about an update whose fields could be read.
    [[nodiscard]] bool has_update() const;
    /// When, CLOCK_TAI, ns: comparable with generated_ns.
    [[nodiscard]] std::int64_t tai_ns() const;
    /// Since the update was generated, ns; negative if the worker's clock is ahead.
    [[nodiscard]] std::optional<std::int64_t> age_ns() const;
    /// Of a departure: since the newest folded update arrived at the engine, ns.
    [[nodiscard]] std::optional<std::uint64_t> engine_age_ns() const;
    /// Of a departure: since the first folded update took its place, ns.
    [[nodiscard]] std::optional<std::uint64_t> wait_ns() const;
};

/// A record of the ring buffer; nothing if it is cut short.
std::optional<Event> read_event(const void *data, std::size_t bytes);

bool passes(const EventFilter &filter, const Event &event);

/// Why a filter lets nothing or next to nothing through, of a queue for so many clusters: a line
/// each.
std::vector<std::string> doubts(const EventFilter &filter, std::uint32_t max_clusters);

std::string event_text(const Event &event); ///< one line, without its end
std::string event_json(const Event &event); ///< the same; docs/schema/trace.json
/// What happened in a few words, for a packet's comment.
std::string event_comment(const Event &event);

/// Events that the reader was too slow for.
std::string missed_text(std::uint64_t events);
std::string missed_json(std::uint64_t events);

// The one listener to a queue's events (olaf/events.h).

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
