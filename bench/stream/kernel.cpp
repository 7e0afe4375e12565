// SPDX-License-Identifier: BSD-2-Clause
// The contenders that are XDP programs.
#include <algorithm>
#include <cmath>

#include "bench/aggregates.hpp"
#include "bench/arrivals.hpp"
#include "bench/queue.hpp"
#include "wire.hpp"

#include <bench_drop.skel.h>
#include <bench_forward.skel.h>
#include <bench_least.skel.h>
#include <bpf/bpf.h>

namespace olaf::bench {

namespace {

class Drop final : public Wire {
  public:
    Drop(const Network &network, const Setting &setting)
        : Wire(network, setting, false), skeleton_(must(open<bench_drop>("drop"))),
          arrivals_(network) {
        must(load(skeleton_, "drop"));
        attached_.emplace(
            must(Attached::make(network.dut, bpf_program__fd(skeleton_->progs.drop))));
    }
    bool forwards() const override { return false; }

  private:
    void ledger(Figures &figures) const override {
        figures.taken = figures.dropped = arrivals_.count();
    }

    Skeleton<bench_drop> skeleton_;
    Arrivals arrivals_;
    std::optional<Attached> attached_;
};

class Forward final : public Wire {
  public:
    Forward(const Network &network, const Setting &setting)
        : Wire(network, setting, false), skeleton_(must(open<bench_forward>("forward"))) {
        skeleton_->rodata->parent_ifindex = static_cast<std::uint32_t>(network.out.ifindex);
        must(load(skeleton_, "forward"));
        attached_.emplace(
            must(Attached::make(network.dut, bpf_program__fd(skeleton_->progs.forward))));
    }

  private:
    void ledger(Figures &figures) const override {
        for (const auto &cpu : skeleton_->bss->forwarded)
            figures.taken += cpu.frames;
        figures.departed = figures.taken;
    }

    Skeleton<bench_forward> skeleton_;
    std::optional<Attached> attached_;
};

/// XAgg's Algorithm 1, one child a worker. Each CPU has clusters of its own: it shares nothing.
class XAgg final : public Wire {
  public:
    XAgg(const Network &network, const Setting &setting)
        : Wire(network, setting, true), skeleton_(must(open<bench_xagg>("xagg"))),
          arrivals_(network) {
        require(!setting.common || setting.cpus == 1, "XAgg has one writer for each aggregate");
        require(setting.fold <= BENCH_MAX_CHILDREN, "XAgg has at most 32 children");
        size_aggregates(*skeleton_, setting.clusters, 2 * setting.lanes);
        skeleton_->rodata->config.children = setting.whole_fold();
        skeleton_->rodata->config.parent_ifindex = static_cast<std::uint32_t>(network.out.ifindex);
        must(load(skeleton_, "xagg"));
        attached_.emplace(
            must(Attached::make(network.dut, bpf_program__fd(skeleton_->progs.xagg))));
    }

  private:
    /// A frame that the device lost leaves its child's place to the child's next.
    void ledger(Figures &figures) const override {
        figures.taken = arrivals_.count();
        for (std::uint32_t idx = 0; idx < setting_.clusters; ++idx) {
            xagg_aggregate aggregate{};
            bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.agg_array), &idx, &aggregate);
            figures.waiting += aggregate.counter;
        }
    }

    Skeleton<bench_xagg> skeleton_;
    Arrivals arrivals_;
    std::optional<Attached> attached_;
};

/// The least that a queue can be: a bound for any.
class Least final : public Wire {
  public:
    Least(const Network &network, const Setting &setting)
        : Wire(network, setting, false), skeleton_(must(open<bench_least>("least"))) {
        require(setting.cpus == 1, "the least queue has one writer");
        require(setting.lanes == BENCH_LANES, "the least queue knows updates of 128 lanes");
        skeleton_->rodata->parent_ifindex = static_cast<std::uint32_t>(network.out.ifindex);
        skeleton_->rodata->fold = setting.whole_fold();
        must(load(skeleton_, "least"));
        attached_.emplace(
            must(Attached::make(network.dut, bpf_program__fd(skeleton_->progs.least))));
    }

  private:
    void ledger(Figures &figures) const override {
        figures.taken = skeleton_->bss->taken;
        figures.waiting = skeleton_->bss->taken - skeleton_->bss->departed;
        figures.departed = skeleton_->bss->departed;
    }

    Skeleton<bench_least> skeleton_;
    std::optional<Attached> attached_;
};

/// Olaf's queue, or one of its policy fifo. Its rate is set so that one frame leaves for each
/// `fold` updates that arrive.
class Olaf final : public Wire {
  public:
    Olaf(const Network &network, const Setting &setting)
        : Wire(network, setting, false),
          queue_(
              must(Queue::make({.clusters = setting.clusters,
                                .capacity = setting.capacity,
                                .max_lanes = setting.lanes,
                                .rate_bps = first_rate(setting),
                                .egress_ifindex = static_cast<std::uint32_t>(network.out.ifindex),
                                .meter = setting.meter,
                                .fifo = setting.contender == "fifo"}))),
          attached_(must(Attached::make(network.dut, queue_.program()))) {}

    bool calibrate(double input, double output) override {
        const double wanted = 1.0 / setting_.fold;
        if (std::abs(output / input - wanted) < setting_.within * wanted)
            return false;
        // In proportion, not absolutely: time that a neighbour takes from this CPU sends nothing.
        // Damped, for departures take time from arrivals: the ratio grows with the rate's power of
        // 1.5, and steps by the whole ratio go past the goal each time.
        const double factor =
            std::clamp(std::pow(input * wanted / std::max(output, 1.0), 0.7), 0.2, 5.0);
        queue_ = must(queue_.with_rate(
            static_cast<std::uint64_t>(static_cast<double>(queue_.options().rate_bps) * factor)));
        must(attached_.replace(queue_.program()));
        return true;
    }

  private:
    static std::uint64_t first_rate(const Setting &setting) {
        const std::uint64_t bits = (BENCH_OLAF_PAYLOAD + setting.lanes * 8ull) * 8;
        return std::max<std::uint64_t>(
            setting.load ? static_cast<std::uint64_t>(static_cast<double>(setting.load * bits) /
                                                      setting.fold)
                         : 1'000'000 * bits,
            1'000'000);
    }

    void ledger(Figures &figures) const override {
        const auto totals = queue_.totals();
        figures.taken = totals.in;
        figures.waiting = queue_.updates_waiting();
        figures.dropped = totals.dropped + totals.superseded;
        figures.superseded = totals.superseded;
        figures.departed = totals.departed;
    }

    Queue queue_;
    Attached attached_;
};

} // namespace

std::unique_ptr<Contender> make_drop(const Network &network, const Setting &setting) {
    return std::make_unique<Drop>(network, setting);
}
std::unique_ptr<Contender> make_forward(const Network &network, const Setting &setting) {
    return std::make_unique<Forward>(network, setting);
}
std::unique_ptr<Contender> make_xagg(const Network &network, const Setting &setting) {
    return std::make_unique<XAgg>(network, setting);
}
std::unique_ptr<Contender> make_least(const Network &network, const Setting &setting) {
    return std::make_unique<Least>(network, setting);
}
std::unique_ptr<Contender> make_olaf(const Network &network, const Setting &setting) {
    return std::make_unique<Olaf>(network, setting);
}

} // namespace olaf::bench
