// SPDX-License-Identifier: BSD-2-Clause
// What a RoundServer is made of: round_server_messages.cpp receives and sends,
// round_server_weights.cpp calls the rule and packs.
#pragma once

#include <olaf/round_server.hpp>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exponent_guess.hpp"
#include "receive_batch.hpp"
#include "round_root.hpp"
#include "udp_socket.hpp"

namespace olaf {

class RoundServer::Impl : private RoundRootUser {
  public:
    Impl(const RoundServerOptions &options, std::uint32_t generation, UdpSocket socket,
         std::vector<float> weights, RoundRule rule);

    Result<std::size_t> receive(std::chrono::nanoseconds timeout);
    RoundServerStats stats() const;
    const UdpSocket &socket() const { return socket_; }
    std::span<const float> weights() const { return weights_; }

  private:
    using Clock = std::chrono::steady_clock;
    // Where a child sends from, and is answered.
    struct Child {
        Address address = {};
        Clock::time_point heard = {};
        bool known = false;
    };

    // RoundRootUser
    bool takes(std::uint32_t chunks) const override {
        return chunks == pieces_.pieces + pieces_.lag;
    }
    void answer(RoundTotal &total, std::span<std::uint64_t> lanes) override;
    void send(std::uint32_t rank, const olaf_header &header,
              std::span<const std::uint64_t> lanes) override;

    Decoded<void> handle(std::size_t message);
    Decoded<void> admit(std::uint32_t rank, const Address &source);
    std::span<float> piece(std::uint32_t number);
    std::int16_t exponent_for(std::uint32_t number, std::int16_t contributed);
    void answer_piece(const RoundTotal &total, std::uint32_t number,
                      std::span<std::uint64_t> lanes);

    RoundServerOptions options_;
    UdpSocket socket_;
    ReceiveBatch batch_{32};
    std::array<Child, OLAF_RANKS> children_ = {};
    RoundServerStats counts_; // what the root doesn't count

    std::vector<float> weights_;
    RoundRule rule_;
    FloatPieces pieces_; // of the weights
    // Told to the workers, of pieces whose data hasn't come: by round and piece.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int16_t> exponents_;
    std::vector<float> sum_;
    RoundRoot root_;
};

} // namespace olaf
