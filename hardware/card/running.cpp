// SPDX-License-Identifier: BSD-2-Clause
#include "running.hpp"

#include <poll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "model.hpp"
#include "olaf/registers.h"
#include "port.hpp"
#include "registers.hpp"

namespace olaf::card {
namespace {

using namespace std::chrono_literals;

/// Cycles between two looks at the ports, and at this host's clock.
constexpr int cycles_at_once = 32;
/// Frames of a port that the model hasn't taken yet; more stay in the socket.
constexpr std::size_t most_untaken = 32;

/// How long it sleeps where nothing moves: the longest that a register waits; an update that waits for
/// its time; and a frame that a device had no room for.
constexpr std::chrono::nanoseconds idle = 5ms, paced = 50us, blocked = 1ms;

class Running {
  public:
    Running(const Options &options, const volatile std::sig_atomic_t &stopped)
        : stopped_(stopped), ports_{Port(options.worker_side), Port(options.server_side)},
          registers_(options.bar, model_, [this] { move(); }) {}

    /// One turn: frames in, cycles, frames out, registers.
    void turn() {
        move();
        if (registers_.serve())
            waits_ = !empty();
    }

    /// Sleeps until a port has a frame, but not for long, if nothing else is to be done.
    void rest() {
        if (!model_.quiet() && !held_)
            return;
        if (!held_ && std::exchange(moved_, false))
            waits_ = !empty();
        const auto time = held_ ? blocked : waits_ ? paced : idle;
        const timespec most{.tv_sec = 0, .tv_nsec = time.count()};
        pollfd ports[] = {{.fd = ports_[workers].fd(), .events = POLLIN, .revents = 0},
                          {.fd = ports_[server].fd(), .events = POLLIN, .revents = 0}};
        // A port with frames that the model can't take needs no look.
        if (ppoll(ports, held_ ? 0 : std::size(ports), &most, nullptr) < 0 && errno != EINTR)
            throw std::runtime_error(std::string("can't wait for frames: ") + std::strerror(errno));
        model_.advance(now());
        model_.stir();
    }

    [[nodiscard]] const Port &port(Side side) const { return ports_[side]; }

  private:
    [[nodiscard]] std::uint64_t now() {
        if (stopped_ == 0)
            now_ = static_cast<std::uint64_t>(
                std::chrono::nanoseconds(std::chrono::steady_clock::now() - began_).count());
        return now_;
    }

    bool empty() { return (model_.read(OLAF_REGISTER_STATUS) & 8) != 0; }

    void move() {
        for (const Side side : sides)
            while (model_.untaken(side) < most_untaken)
                if (auto frame = ports_[side].receive()) {
                    model_.put(side, std::move(*frame));
                    model_.stir();
                    moved_ = true;
                } else
                    break;
        model_.advance(now());
        for (int i = 0; i < cycles_at_once && !model_.quiet(); i++)
            model_.cycle();
        held_ = false;
        for (const Side side : sides) {
            auto &left = model_.left(side);
            moved_ |= !left.empty();
            while (!left.empty() && ports_[side].send(left.front()))
                left.pop_front();
            model_.hold(side, !left.empty());
            held_ |= !left.empty();
        }
    }

    const volatile std::sig_atomic_t &stopped_; // the clock is
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::uint64_t now_ = 0; // ns since then
    Model model_;
    std::array<Port, 2> ports_;
    bool held_ = false;  ///< a frame waits for its device
    bool waits_ = false; ///< an update waits in the queue
    bool moved_ = true;  ///< so that may have changed
    Registers registers_; ///< last: reading them takes all of the above
};

} // namespace

void run(const Options &options, const volatile std::sig_atomic_t &ended,
         const volatile std::sig_atomic_t &stopped) {
    Running card(options, stopped);
    std::cout << "olaf-card: ready: workers at " << options.worker_side << ", server at "
              << options.server_side << ", registers in " << options.bar << std::endl;
    while (ended == 0) {
        card.turn();
        card.rest();
    }
    for (const Side side : sides)
        if (const auto &port = card.port(side); port.dropped() != 0)
            std::cerr << "olaf-card: " << port.device() << ": dropped " << port.dropped() << " frames\n";
}

} // namespace olaf::card
