// SPDX-License-Identifier: BSD-2-Clause
// The workers of one `olaf send`, each with a socket of its own, and what they hear.
#pragma once

#include <olaf/aom_meter.hpp>
#include <olaf/worker.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loader/host/fd.hpp"
#include "options.hpp"
#include "summary.hpp"

namespace olaf {

/// Sockets that a fleet may have.
inline constexpr std::uint32_t most_sockets = 2048;

class Fleet {
  public:
    /// `interrupt` is a file to be readable when somebody wants an end. Fails if workers, lanes and
    /// format don't go together, or the system has no more sockets.
    static Result<Fleet> make(const SendOptions &options, const Address &server, int interrupt);

    /// Asks the server for the books that aren't known, or don't have all that was sent.
    Result<void> ask();
    /// The next worker's update, by turns: each cluster once before any a second time.
    Result<void> push();
    /// Waits for answers until `deadline_ns` (CLOCK_MONOTONIC) and takes in what has come; true if
    /// interrupted. Fails if the server was started anew.
    Result<bool> hear(std::uint64_t deadline_ns);

    /// Whether the server has answered for every cluster; an error if it has no book of ours.
    [[nodiscard]] Result<bool> greeted();
    /// What is known of the server's book from now on counts from here.
    void start();
    /// Nothing that is heard from now on is measured.
    void stop();

    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] std::uint64_t received() const; ///< of those, as far as was told
    [[nodiscard]] std::uint64_t answers() const { return answers_; } ///< of any kind
    /// Since when the server owes an answer (CLOCK_MONOTONIC); 0: it doesn't.
    [[nodiscard]] std::uint64_t waiting_since_ns() const { return waiting_since_; }
    [[nodiscard]] const Spread &round_trip_ns() const { return round_trip_; } ///< of all
    [[nodiscard]] std::uint64_t frame_bytes() const { return frame_bytes_; }
    /// Lanes that the way carries, if a router on it called updates too long.
    [[nodiscard]] std::optional<std::size_t> lanes_of_way() const;
    [[nodiscard]] std::vector<SentCluster> clusters() const;

  private:
    struct Cluster {
        std::uint32_t id = 0;
        std::uint32_t newest_version = 0, first_version = 0;
        std::vector<float> book = {}, first_book = {}; ///< newest known, and as it was at start()
        std::vector<std::uint64_t> sent = {};          ///< by worker
        std::uint64_t unsent = 0;
        AomMeter aom = {};
        Spread round_trip = {}, version_lag = {};
    };
    /// A worker that sends, or a cluster's last one, which only asks.
    struct Member {
        Worker worker;
        std::size_t cluster;
        std::size_t number; ///< within it
        std::uint64_t answered = 0, acks = 0;
        std::uint32_t version = 0;
    };
    Fleet(const SendOptions &options, bool ipv6) : options_(options), ipv6_(ipv6) {}
    Result<void> enlist(const Address &server, std::size_t elements, Format format);
    Result<void> take(Member &member);
    Result<void> note(const Member &member, Cluster &cluster);
    [[nodiscard]] std::uint32_t arrived(const Cluster &cluster, std::size_t element) const;
    [[nodiscard]] SentCluster summed(const Cluster &cluster) const;

    SendOptions options_;
    bool ipv6_;
    Fd epoll_;
    std::vector<Cluster> clusters_;
    std::vector<Member> members_; ///< by cluster, then by number
    std::vector<float> gradient_; ///< zeros
    std::size_t turn_ = 0;
    std::uint64_t sent_ = 0, answers_ = 0, waiting_since_ = 0, frame_bytes_ = 0;
    std::int64_t stopped_ns_ = 0; ///< CLOCK_TAI
    bool measuring_ = false;
    Spread round_trip_;
};

} // namespace olaf
