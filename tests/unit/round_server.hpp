// SPDX-License-Identifier: BSD-2-Clause
// A job's node on a loopback socket: the model of the kernel's, in a thread.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include <tests/model/round_node.hpp>
#include <tests/model/round_wire.hpp>

#include <olaf/clock.hpp>

#include "loopback.hpp"

namespace olaf::test {

class LoopbackNode {
  public:
    LoopbackNode(const model::RoundSetup &setup, const model::RoundShape &shape, double loss = 0)
        : setup_(setup), shape_(shape), loss_(loss), node_(setup, 17),
          socket_(Address::resolve("127.0.0.1", 0).value()), address_(socket_.address()),
          thread_([this] { serve(); }) {}
    LoopbackNode(const LoopbackNode &) = delete;
    LoopbackNode &operator=(const LoopbackNode &) = delete;
    ~LoopbackNode() {
        stop_ = true;
        RawSocket(Address::resolve("127.0.0.1", 0).value()).send({}, address_);
        thread_.join();
    }

    [[nodiscard]] Address address() const { return address_; }
    /// So many contributions complete a chunk. Before anybody joins.
    void set_threshold(std::uint32_t threshold) {
        setup_.threshold = threshold;
        restart();
    }
    /// Forgets everything, as a host does that boots.
    void restart() {
        const std::scoped_lock lock(mutex_);
        node_ = model::RoundNode(setup_, static_cast<std::uint32_t>(random_()) | 1U);
    }
    /// Loses the sums that are sent to that rank; none: no more.
    void lose_results_of(std::optional<std::uint32_t> rank) { loses_ = rank.value_or(UINT32_MAX); }
    /// After so many messages from now on.
    void restart_after(unsigned messages) { restart_in_ = messages; }
    [[nodiscard]] model::RoundCounters counters() {
        const std::scoped_lock lock(mutex_);
        return node_.counters();
    }

  private:
    static std::uint64_t now() {
        return static_cast<std::uint64_t>(
            std::chrono::steady_clock::now().time_since_epoch().count());
    }
    bool lost() { return std::uniform_real_distribution<>()(random_) < loss_; }

    void serve() {
        auto frame = std::make_unique<Frame>();
        while (!stop_) {
            const auto [size, source] = socket_.receive(*frame);
            const auto message = model::from_bytes(frame->bytes(size));
            if (!message || lost() || message->rank >= setup_.children)
                continue;
            if (restart_in_ > 0 && --restart_in_ == 0)
                restart();
            children_[message->rank] = source;
            std::vector<model::RoundSent> out;
            {
                const std::scoped_lock lock(mutex_);
                node_.arrive(now(), tai_now_ns(), *message, out);
            }
            for (const model::RoundSent &sent : out)
                if (!lost() && !(sent.to == loses_ && !sent.message.lanes.empty()))
                    socket_.send(model::to_bytes(shape_, sent.message), children_[sent.to]);
        }
    }

    model::RoundSetup setup_;
    model::RoundShape shape_;
    double loss_;
    std::mt19937_64 random_{1};
    std::mutex mutex_;
    model::RoundNode node_;
    RawSocket socket_;
    Address address_;
    std::map<std::uint32_t, Address> children_;
    std::atomic<unsigned> restart_in_ = 0;
    std::atomic<std::uint32_t> loses_ = UINT32_MAX;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

} // namespace olaf::test
