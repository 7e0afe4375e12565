// SPDX-License-Identifier: BSD-2-Clause
// The RTL as Verilator made it, with what belongs around it: a clock, streams that stall, registers.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "olaf/registers.h"
#include "tests/datapath/wire.hpp"

class Volaf_queue;

namespace olaf::test {

/// A frame on a stream, and the opaque half of its side band.
struct Beats {
    Bytes bytes;
    std::uint32_t side = 0;

    bool operator==(const Beats &) const = default;
};

/// What happens in a cycle: the t_ ports of olaf_queue.
struct Trace {
    std::uint64_t now = 0; ///< ns of the card's clock
    bool restarts = false, ignored = false, decided = false, way_clear = false;
    bool popped = false, freed = false, sampled = false, foreign = false, snapshot = false;
    unsigned action = 0; ///< olaf::action_t
};

/// What a run has met, so that a test can ask that it truly did. Arrays by Card::Way.
struct Met {
    std::array<std::uint64_t, 2> stalls_in{};  ///< cycles in which a frame waits and isn't taken
    std::array<std::uint64_t, 2> stalls_out{}; ///< cycles in which a beat comes out and isn't taken
    std::array<std::uint64_t, 2> cut_in{}, cut_out{}; ///< resets in the middle of a frame
    std::uint64_t ring_wraps = 0;   ///< the ring's head began anew
    std::uint64_t ticket_wraps = 0; ///< the 8 bits in which commands are counted did
    std::uint64_t time_carries = 0; ///< the clock's low word did
};

/// How often a stream's other side isn't ready, in 256ths, and for how long at most.
struct Stalls {
    unsigned in = 0, out = 0, longest = 1;
};

class Card {
  public:
    enum Way { up = 0, down = 1 };

    /// Of a card of this seed, which its stalls follow.
    explicit Card(std::uint64_t seed = 1);
    ~Card();
    Card(const Card &) = delete;
    Card &operator=(const Card &) = delete;

    /// Frames that wait to be sent into it, and what is done with those that come out.
    void send(Way way, Beats frame) { in_[way].frames.push_back(std::move(frame)); }
    [[nodiscard]] std::size_t unsent(Way way) const { return in_[way].frames.size(); }
    std::function<void(Way, Beats)> received = [](Way, const Beats &) {};
    std::function<void(const Trace &)> traced = [](const Trace &) {};
    Stalls stalls;
    bool blocked = false; ///< the output `up` takes nothing at all

    void cycle();
    void cycles(std::uint64_t n) {
        while (n-- > 0)
            cycle();
    }

    /// The clock, ns, and every counter, of slots too, from now on. Only while nothing is under way.
    void set_time(std::uint64_t ns);
    void set_counters(std::uint64_t value);
    [[nodiscard]] const Met &met() const { return met_; }

    /// Resets it for some cycles, whatever is under way, and waits until it has prepared itself.
    void reset();

    std::uint32_t read(std::uint32_t offset);
    std::uint64_t read64(std::uint32_t offset) {
        const std::uint64_t low = read(offset);
        return low | static_cast<std::uint64_t>(read(offset + 4)) << 32;
    }
    void write(std::uint32_t offset, std::uint32_t value);
    void write64(std::uint32_t offset, std::uint64_t value) {
        write(offset, static_cast<std::uint32_t>(value));
        write(offset + 4, static_cast<std::uint32_t>(value >> 32));
    }
    /// Returns whether the card took it.
    bool commit();
    void set_rule(std::uint32_t cluster, const olaf_rule &rule);
    void snapshot() { write(OLAF_REGISTER_SNAPSHOT, 1); }
    std::uint64_t counter(unsigned index) {
        return read64(OLAF_REGISTER_COUNTER + OLAF_REGISTER_STRIDE_COUNTER * index);
    }

    /// The cycle in which the newest frame of that way began to come out.
    [[nodiscard]] std::uint64_t began(Way way) const { return out_[way].began; }
    [[nodiscard]] std::uint64_t clock() const { return clock_; } ///< cycles
    [[nodiscard]] const std::string &faults() const { return faults_; } ///< of its streams

  private:
    struct In {
        std::deque<Beats> frames;
        std::size_t at = 0; ///< bytes of the first that were taken
        unsigned stalled = 0;
        bool offers = false;
    };
    struct Out {
        Beats frame;
        std::uint64_t user = 0, began = 0;
        bool held = false;
        unsigned stalled = 0;
        std::array<std::uint32_t, 16> data{};
        std::uint64_t keep = 0;
        bool last = false;
    };
    template <class Port> void offer(Way way, Port port);
    template <class Port> void take(Way way, Port port);
    void drive();
    void sample();
    void watch();
    bool stalls_now(unsigned &stalled, unsigned often);
    void fault(const std::string &what);

    std::unique_ptr<Volaf_queue> top_;
    std::mt19937_64 random_;
    In in_[2];
    Out out_[2];
    std::uint64_t clock_ = 0;
    Met met_;
    unsigned head_ = 0, ticket_ = 0; ///< in the cycle before, as is time_
    std::uint64_t time_ = 0;
    std::string faults_;
};

} // namespace olaf::test
