// SPDX-License-Identifier: BSD-2-Clause
// The parameter server: one UDP socket, many clusters.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

#include <olaf/address.hpp>
#include <olaf/cluster.hpp>

namespace olaf {

struct ServerOptions {
    /// Where to listen; port 0 takes a free one. On a wildcard address each worker is answered
    /// from the address that it sent to. ACKs that a queue copies come from one of them: have
    /// all workers of a cluster send to the same.
    Address bind = {};
    /// IP MTU in bytes of the way to the workers; ACKs are cut to fit it.
    std::size_t mtu = 1500;
    /// Answer each update to every worker of its cluster heard of, not only to the one
    /// in its header, which is the newest of those folded. For use where nothing in
    /// the network copies ACKs. Costs one ACK per worker and update.
    bool ack_all_known_workers = false;
    /// Address ACKs to OLAF_EVERY_WORKER rather than to one worker.
    bool address_every_worker = false;
    /// Kernel buffers in bytes; without CAP_NET_ADMIN net.core.{r,w}mem_max cap them.
    int receive_buffer = 8 << 20;
    int send_buffer = 8 << 20;
    /// Asked when an UPDATE comes for a cluster that isn't there: what to add it with, which is
    /// then handled like any other, or nothing, and it is rejected as unknown_cluster. Its
    /// `cluster` is set by the server. None is ever added if empty.
    std::function<std::optional<ClusterSettings>(const Update &first)> admit = {};
};

struct ServerStats {
    std::uint64_t datagrams = 0;
    std::uint64_t acks_sent = 0;
    std::uint64_t acks_unsent = 0; ///< lost here: buffer full, no route, larger than the MTU
    RejectCounts rejected = {};    ///< all of them, those counted by a cluster included
};

/// An update whose receiver changes the weights itself, in a loop rather than a rule.
struct PendingUpdate {
    std::uint32_t cluster = 0;
    Contribution contribution = {}; ///< its gradient is there until the cluster's next update
    std::span<float> weights = {};  ///< the contribution's slice of them, to be changed in place
};

/// Not thread-safe: one thread calls everything. To read it while serve() runs, do so
/// from the rule, which runs on that thread, or call receive() in a loop instead.
class ParameterServer {
  public:
    [[nodiscard]] static Result<ParameterServer> make(const ServerOptions &options);
    ParameterServer(ParameterServer &&) noexcept;
    ParameterServer &operator=(ParameterServer &&) noexcept;
    ~ParameterServer();

    /// Fails if the cluster exists, its settings are invalid or its model too large.
    [[nodiscard]] Result<void> add_cluster(ClusterSettings settings);

    /// Waits for datagrams, at most `timeout`, and handles one batch of them: applies each
    /// update and answers it. Returns the number of datagrams, 0 if the time was over.
    /// Fails only if the socket does; what arrives never makes it fail.
    [[nodiscard]] Result<std::size_t> receive(std::chrono::nanoseconds timeout);
    /// The same for a caller that changes the weights itself: waits for the next update, at
    /// most `timeout`; joins are answered meanwhile. The clusters' rules aren't asked. The
    /// update is answered when finish() is called; one never finished counts as unchanged.
    [[nodiscard]] Result<std::optional<PendingUpdate>> next(std::chrono::nanoseconds timeout);
    /// Answers the update that next() gave, if there is one. `changed`: its weights were.
    void finish(bool changed);
    /// receive() until asked to stop, which it notices within 100 ms.
    [[nodiscard]] Result<void> serve(std::stop_token stop);

    /// Where it listens, with the port it got.
    [[nodiscard]] Result<Address> local_address() const;
    /// For event loops: readable when receive() has something to do.
    [[nodiscard]] int fd() const;
    /// nullptr if there is none. Stays valid as long as the server.
    [[nodiscard]] const Cluster *cluster(std::uint32_t id) const;
    [[nodiscard]] ServerStats stats() const;

  private:
    class Impl;
    explicit ParameterServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace olaf
