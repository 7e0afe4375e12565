// SPDX-License-Identifier: BSD-2-Clause
// Workers of several clusters, each a socket of its own.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>

#include "testbed.hpp"

namespace olaf::test {

inline constexpr std::uint32_t clusters = 3, workers = 8;

/// clusters × workers sockets, each a worker of its own.
class Fleet {
  public:
    Fleet(const Testbed &bed, int family) : bed_(bed), family_(family) {
        for (auto &cluster : sockets_)
            for (auto &socket : cluster)
                socket = std::make_unique<UdpSocket>(bed.worker, Testbed::worker_peer(family));
    }

    [[nodiscard]] const UdpSocket &at(std::uint32_t cluster, std::uint32_t worker) const {
        return *sockets_.at(cluster).at(worker);
    }
    [[nodiscard]] Peer peer(std::uint32_t cluster, std::uint32_t worker) const {
        return Testbed::worker_peer(family_, at(cluster, worker).port());
    }
    /// Every worker sends an update; returns when the queue has received them all.
    void speak() {
        for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
            for (std::uint32_t worker = 0; worker < workers; worker++)
                at(cluster, worker)
                    .send(Update{.cluster = cluster, .worker = worker}, bed_.target(family_));
        spoken_ += clusters * workers;
        bed_.olaf.await([&](const Status &status) { return status["received"] == spoken_; });
    }
    /// Each worker of that cluster gets one ACK, its own; nobody else gets any.
    void expect_own(std::uint32_t cluster, const std::function<void(const Ack &)> &check) const {
        for (std::uint32_t worker = 0; worker < workers; worker++) {
            const auto ack = at(cluster, worker).receive().ack();
            EXPECT_EQ(ack.cluster, cluster);
            EXPECT_EQ(ack.worker, worker);
            check(ack);
        }
        for (const auto &others : sockets_)
            for (const auto &socket : others)
                EXPECT_FALSE(socket->poll(std::chrono::milliseconds(0)));
    }

  private:
    const Testbed &bed_;
    int family_;
    std::uint64_t spoken_ = 0;
    std::array<std::array<std::unique_ptr<UdpSocket>, workers>, clusters> sockets_;
};

} // namespace olaf::test
