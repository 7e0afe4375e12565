// SPDX-License-Identifier: BSD-2-Clause
// What a ParameterServer is made of: server_receive.cpp handles what arrives,
// server_next.cpp does so one update at a time.
#pragma once

#include <olaf/parameter_server.hpp>

#include <map>
#include <optional>
#include <utility>

#include "ack_outbox.hpp"
#include "receive_batch.hpp"

namespace olaf {

class ParameterServer::Impl {
  public:
    Impl(const ServerOptions &options, UdpSocket socket)
        : options_(options), socket_(std::move(socket)), batch_(kBatch) {}

    Result<void> add_cluster(ClusterSettings settings);
    Result<std::size_t> receive(std::chrono::nanoseconds timeout);
    Result<std::optional<PendingUpdate>> next(std::chrono::nanoseconds timeout);
    void finish(bool changed);
    ServerStats stats() const;

    const UdpSocket &socket() const { return socket_; }
    const Cluster *cluster(std::uint32_t id) const {
        const auto found = clusters_.find(id);
        return found == clusters_.end() ? nullptr : &found->second.cluster;
    }

  private:
    static constexpr std::size_t kBatch = 32; // datagrams

    // What an ACK says of the message it answers.
    struct Answered {
        std::uint32_t worker;
        std::uint32_t sequence;
        std::int64_t generated_ns;
        Address source;
    };
    struct Served {
        Cluster cluster;
        Segments acks; // how the weights are cut
    };

    // Accepted by next(), to be finished.
    struct Pending {
        Served *served;
        Contribution contribution;
        Answered answered;
        std::int64_t delivered_ns;
    };

    Result<bool> fill(std::chrono::nanoseconds timeout);
    Decoded<void> handle(std::size_t message);
    Decoded<void> accept(std::size_t message);
    Decoded<void> handle_update(std::size_t message);
    Decoded<void> handle_join(std::size_t message);
    Decoded<Served *> find(std::uint32_t cluster);
    Decoded<Served *> find_or_admit(const Update &update);
    void answer(const Served &served, Slice slice, const Answered &answered, bool to_all);

    ServerOptions options_;
    UdpSocket socket_;
    ReceiveBatch batch_;
    std::size_t received_ = 0; // messages in the batch
    std::size_t handled_ = 0;  // of those
    std::optional<Pending> pending_;
    AckOutbox outbox_;
    std::map<std::uint32_t, Served> clusters_; // nodes: cluster() hands out addresses
    ServerStats stats_;
};

} // namespace olaf
