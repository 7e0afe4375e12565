// SPDX-License-Identifier: BSD-2-Clause
// A card and the model side by side: the card tells when it decides and pops, the model says what must come
// of it. Every byte that leaves, its order, and every counter and level must agree.
#pragma once

#include <map>
#include <sstream>

#include "card.hpp"
#include "olaf/congestion.h"
#include "oracle.hpp"
#include "tests/model/model.hpp"

namespace olaf::test {

/// How a twin is set up; times in ns.
struct Setting {
    std::uint32_t queue_capacity = 8;
    std::uint64_t ns_per_byte_q24 = 0, drain_interval_ns = 100'000;
    std::uint64_t activity_window_ns = 1'000'000'000;
    std::uint16_t frame_overhead = 0;
    Asked asked;
    /// What the card's clock (ns) and all its counters begin with, after each reset.
    std::uint64_t time_from = 0, counters_from = 0;
};

/// Enough of a frame to see what is wrong.
std::string beginning(const Beats &frame);

class Twin {
  public:
    explicit Twin(const Setting &setting, std::uint64_t seed = 1);

    void set_rule(std::uint32_t cluster, const olaf_rule &rule);
    /// A frame from the workers, or from the server.
    void send(const Bytes &frame);
    void send_back(const Bytes &frame);

    /// Until all that was sent was decided and nothing waits or leaves any more; false: it hangs.
    bool settle(std::uint64_t cycles = 2'000'000);
    /// Drops what is under way in both.
    void reset();

    /// A snapshot, against the model's state in its cycle. What differs.
    std::string compare_counters();
    /// At rest: the slots' counters as well.
    std::string compare_slots();
    /// What differed so far; empty when nothing did.
    [[nodiscard]] std::string differences() const { return faults_.str() + card.faults(); }

    Card card;
    std::map<std::string, std::uint64_t> seen; ///< how often each thing happened
    std::uint64_t departed_frames = 0;
    std::uint64_t counters_wrapped = 0; ///< compared while beyond 2^64, or beyond 2^32 and begun below
    std::uint64_t sequences_wrapped = 0; ///< updates whose worker's sequence number went beyond 2^32

  private:
    struct Frame {
        Beats beats;
        Judged judged;
    };
    struct Expected {
        Beats beats;
        std::uint64_t order = 0; ///< of updates; 0: no update
    };
    struct Counts {
        std::array<std::uint64_t, OLAF_CARD_COUNTERS> value{};
        std::uint64_t length = 0, waiting = 0, active = 0, now = 0;
    };

    void begin();
    void setup();
    bool counts_to(std::uint64_t is, std::uint64_t expected);
    void look_at_sequence(const model::Update &update);
    void trace(const Trace &now);
    void decide(const Trace &now);
    void ignore();
    void pop(const Trace &now);
    void look_at_ack(const Trace &now);
    void stamp(Bytes &ack, const Judged &at, const olaf_congestion &here);
    void receive(Card::Way way, const Beats &frame);
    void count_decided(const model::Update &update, unsigned counter, const model::Counters &before);
    void count_slot(const model::Update &update, unsigned counter, std::uint64_t n);
    [[nodiscard]] Counts counts(std::uint64_t now) const;
    void fault(const std::string &what);

    Setting setting_;
    model::Queue model_;
    std::map<std::uint32_t, olaf_rule> rules_;
    std::map<std::uint32_t, std::uint32_t> servers_; ///< of each cluster: where its newest update went
    std::deque<Frame> undecided_;
    std::deque<Expected> passing_, departing_;
    std::deque<Beats> back_;                 ///< not yet sampled, from the first ACK on
    std::deque<Beats> returning_;            ///< expected on the way back
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> sequences_; ///< by cluster and worker
    std::array<std::uint64_t, OLAF_CARD_COUNTERS> own_{}; ///< what the model doesn't count
    std::map<std::uint32_t, std::array<std::uint64_t, OLAF_CARD_SLOT_COUNTERS>> slots_;
    Counts at_snapshot_;
    std::uint64_t origin_ = 0, order_ = 0, now_ = 0;
    std::ostringstream faults_;
};

} // namespace olaf::test
