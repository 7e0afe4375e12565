// SPDX-License-Identifier: BSD-2-Clause
// The queue's RTL as Verilator made it: whole frames in and out, registers, a clock. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

class Volaf_queue;

namespace olaf::card {

/// A frame from its destination address on, without its check sequence.
using Frame = std::vector<std::uint8_t>;

/// Where a frame comes from, or goes.
enum Side { workers, server };
inline constexpr Side sides[] = {workers, server};

class Model {
  public:
    /// Reset, and ready for frames.
    Model();
    ~Model();
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    /// A frame that this side has sent. It is taken when the queue has room.
    void put(Side from, Frame frame) { in_[from].frames.push_back(std::move(frame)); }
    [[nodiscard]] std::size_t untaken(Side from) const { return in_[from].frames.size(); }
    /// Frames that have left towards this side, in their order. The caller takes them out.
    std::deque<Frame> &left(Side to) { return out_[to].frames; }
    /// Lets no beat out towards this side until it is told otherwise.
    void hold(Side to, bool holds) { out_[to].held = holds; }

    /// One cycle of the clock, which counts as many ns as NS_PER_CYCLE says.
    void cycle();
    /// Whether cycles change nothing but time: nothing is under way. Updates may wait in the queue.
    [[nodiscard]] bool quiet() const { return clock_ >= quiet_at_; }
    /// It isn't quiet for so many cycles, since time has passed or a register was written.
    void stir(unsigned cycles = 8) { quiet_at_ = std::max(quiet_at_, clock_ + cycles); }
    /// The card's clock, ns. It never goes back.
    void advance(std::uint64_t to_ns);

    /// A register; each takes some cycles, in which frames move on. Offsets as in docs/registers.md.
    std::uint32_t read(std::uint32_t offset);
    void write(std::uint32_t offset, std::uint32_t value);

  private:
    struct In {
        std::deque<Frame> frames;
        std::size_t at = 0; ///< bytes of the first that were taken
    };
    struct Out {
        std::deque<Frame> frames;
        Frame begun;
        bool held = false;
    };
    template <class Port> void offer(In &in, Port port);
    template <class Port> bool take(In &in, Port port) const;
    template <class Port> void collect(Out &out, Port port);
    void settle();

    std::unique_ptr<Volaf_queue> top_;
    In in_[2];
    Out out_[2];
    std::uint64_t clock_ = 0, quiet_at_ = 0; ///< cycles
    std::size_t longest_ = 0; ///< beats of a frame since it was quiet
};

} // namespace olaf::card
