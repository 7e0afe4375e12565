// SPDX-License-Identifier: BSD-2-Clause
// Many updates: what they add up to, who collects them, and floods of them from every CPU.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "testbed.hpp"
#include "tests/effort.hpp"

namespace olaf::test {

/// What folding must keep of the updates of one cluster.
struct Sum {
    std::uint64_t count = 0;
    std::int64_t reward = 0;
    std::vector<std::uint64_t> lanes;

    void add(const Sum &more, std::uint64_t times = 1);
    bool operator==(const Sum &) const = default;
};

struct Tally {
    std::map<std::uint32_t, Sum> clusters;
    std::uint64_t messages = 0;
    std::uint64_t updates = 0; ///< sum of count

    void add(const Update &update, std::uint64_t times = 1);
    void add(const Tally &more);
};

/// A testbed with a worker's socket and the server's.
class SocketBed : public Testbed {
  public:
    explicit SocketBed(const Wiring &wiring = {}, int family = 4);

    const int family; ///< of the worker's packets
    const int outer;  ///< of what reaches the server
    const UdpSocket from{worker, worker_peer(family)}, to{server(), server_peer(outer)};

    void send(const Update &update) const { from.send(update, target(family)); }
    void send(const Bytes &message) const { from.send(message, target(family)); }
    /// All of them; returns what they add up to.
    Tally send(const std::vector<Update> &updates) const;
    /// The next one.
    [[nodiscard]] Update receive() const { return to.receive().update(); }
    /// What comes until there are so many, folded ones counted; `check` sees each datagram.
    Tally receive(std::uint64_t updates,
                  const std::function<void(const Datagram &)> &check = {}) const;
    /// Receives all of that, in exact sums. Returns what came.
    Tally expect_arrival(const Tally &sent,
                         const std::function<void(const Datagram &)> &check = {}) const;
    /// No socket of the server's host has refused anything.
    void expect_checksums_right() const;
};

/// A way that updates go, as suites take it.
struct Route {
    const char *name;
    Way way;
    int family = 4; ///< of the worker's packets
    const char *mode = "auto";
    bool partial = false; ///< the sender's device is left the checksum
};

/// A frame of a kind that nobody knows.
Bytes experimental_frame(const Mac &from, const Mac &to);

/// Receives on a thread of its own until it goes.
class Collector {
  public:
    /// Called for each update that came, on that thread and before it counts as collected.
    using Taken = std::function<void(const Datagram &, const Update &)>;

    explicit Collector(const UdpSocket &socket, Taken taken = {});
    ~Collector();
    /// What there is once that many updates have come; throws WaitRanOut.
    Tally await(std::uint64_t updates) { return await(&Tally::updates, updates); }
    /// The same once there are so many messages.
    Tally await_messages(std::uint64_t messages) { return await(&Tally::messages, messages); }
    [[nodiscard]] std::uint64_t updates();

  private:
    void collect(const std::stop_token &stop, const UdpSocket &socket);
    Tally await(std::uint64_t Tally::*what, std::uint64_t wanted);

    Taken taken_;
    std::mutex mutex_;
    std::condition_variable arrived_;
    Tally tally_;
    std::string error_;
    std::jthread thread_; // last: it uses the rest
};

/// `frames` updates of `clusters` clusters from several workers and source ports, with random
/// lanes.
std::vector<Update> random_updates(std::size_t count, std::uint32_t clusters, std::size_t lanes,
                                   unsigned seed);
/// Each in a frame of its own on that way; source ports spread them over receive queues.
std::vector<Frame> frames_of(const Testbed &testbed, std::span<const Update> updates,
                             int family = 4);

/// Sends the frames `times` times from a thread on each CPU at once; returns when all are sent.
void flood(const Testbed &testbed, std::span<const Frame> frames, unsigned times);

/// The same of updates. Returns what was sent.
Tally flood(const Testbed &testbed, const std::vector<Update> &updates, unsigned times);

/// Floods of updates until it is stopped.
class Flooding {
  public:
    Flooding(const Testbed &testbed, const std::vector<Update> &updates);
    /// Returns what was sent.
    Tally stop();

  private:
    Tally sent_;
    std::jthread thread_; // last: it uses the rest
};

/// Waits until the queue is empty and all of that has arrived, in exact sums; none of it was
/// dropped or refused. Returns what came.
Tally expect_all_arrive(const Testbed &testbed, const Tally &sent, Collector &collector);

/// A process that floods until it is killed.
Process endless_flood(const Testbed &testbed, std::span<const Frame> frames);

/// Attach arguments of a link that is slow enough to fill the queue at leisure, and the cluster
/// that occupy() uses.
inline const std::vector<std::string> slow_link = {
    "--rate", place_under_test() == Place::card ? "125kbit" : "20kbit"};
inline constexpr std::uint32_t busy_cluster = 15;

/// Sends two large updates on a slow link, by which its credit is spent and it is busy for
/// almost half a second; returns when the server has both.
void occupy(const Testbed &testbed, const UdpSocket &worker, const UdpSocket &server);
inline void occupy(const SocketBed &bed) {
    occupy(bed, bed.from, bed.to);
}

} // namespace olaf::test
