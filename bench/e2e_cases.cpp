// SPDX-License-Identifier: BSD-2-Clause
#include "e2e_cases.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include <arpa/inet.h>
#include <bench_drop.skel.h>
#include <bench_xagg.skel.h>
#include <bpf/bpf.h>

#include "aggregates.hpp"
#include "arrivals.hpp"
#include "queue.hpp"
#include "udp_aggregator.hpp"

namespace olaf::bench {

namespace {

/// XDP_DROP: what generator and veth can do.
class Drop final : public Contender {
  public:
    explicit Drop(const Network &network)
        : skeleton_(must(open<bench_drop>("drop"))), arrivals_(network) {
        must(load(skeleton_, "drop"));
        attached_ = std::make_unique<Attached>(
            must(Attached::make(network.dut, bpf_program__fd(skeleton_->progs.drop))));
    }

    bench_config config() const override { return config_for(false, clusters, workers); }
    Ledger ledger() const override {
        return {.taken = arrivals_.count(), .dropped = arrivals_.count()};
    }
    bool forwards() const override { return false; }

  private:
    Skeleton<bench_drop> skeleton_;
    Arrivals arrivals_;
    std::unique_ptr<Attached> attached_;
};

/// XAgg's Algorithm 1, one child a worker.
class XAgg final : public Contender {
  public:
    explicit XAgg(const Network &network)
        : skeleton_(must(open<bench_xagg>("xagg"))), arrivals_(network) {
        skeleton_->rodata->config.children = workers;
        skeleton_->rodata->config.parent_ifindex = static_cast<std::uint32_t>(network.out.ifindex);
        size_aggregates(*skeleton_, clusters, BENCH_XAGG_ELEMENTS);
        must(load(skeleton_, "xagg"));
        attached_ = std::make_unique<Attached>(
            must(Attached::make(network.dut, bpf_program__fd(skeleton_->progs.xagg))));
    }

    bench_config config() const override { return config_for(true, clusters, workers); }
    Ledger ledger() const override {
        Ledger ledger{.taken = arrivals_.count()};
        for (std::uint32_t idx = 0; idx < clusters; ++idx) {
            xagg_aggregate aggregate{};
            bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.agg_array), &idx, &aggregate);
            ledger.waiting += aggregate.counter;
        }
        ledger.departed = ledger.taken - ledger.waiting; // none are dropped: children take turns
        return ledger;
    }

  private:
    Skeleton<bench_xagg> skeleton_;
    Arrivals arrivals_;
    std::unique_ptr<Attached> attached_;
};

/// Olaf's queue, its rate set so that one frame leaves for each three that arrive.
class Olaf : public Contender {
  public:
    explicit Olaf(const Network &network, bool meter = true)
        : dut_(network.dut),
          queue_(must(
              Queue::make({.clusters = clusters,
                           .capacity = queue_capacity,
                           .max_lanes = BENCH_LANES,
                           .rate_bps = 8'000'000'000,
                           .egress_ifindex = static_cast<std::uint32_t>(network.out.ifindex),
                           .meter = meter}))),
          attached_(must(Attached::make(dut_, queue_.program()))) {}

    bench_config config() const override { return config_for(false, clusters, workers); }

    bool calibrate(double input, double output) override {
        if (std::abs(output / input - 1.0 / workers) < 0.02)
            return false;
        // In proportion, not absolutely: time that a neighbour takes from this CPU sends nothing.
        const double factor = std::clamp(input / workers / std::max(output, 1.0), 0.2, 5.0);
        const double rate = static_cast<double>(queue_.options().rate_bps) * factor;
        queue_ = must(queue_.with_rate(static_cast<std::uint64_t>(rate)));
        must(attached_.replace(queue_.program()));
        return true;
    }

    Ledger ledger() const override {
        const auto totals = queue_.totals();
        return {.taken = totals.in,
                .waiting = queue_.updates_waiting(),
                .dropped = totals.dropped + totals.superseded,
                .departed = totals.departed};
    }

  private:
    Network::Device dut_;
    Queue queue_;
    Attached attached_;
};

/// The same without the Age-of-Model meter: what that costs.
class OlafUnmetered final : public Olaf {
  public:
    explicit OlafUnmetered(const Network &network) : Olaf(network, false) {}
};

/// The UDP socket. Generator and aggregator share the CPU; the aggregator goes first, so it takes
/// each batch as soon as it is in, nothing is lost and no time is spent on what would be lost: the
/// best such a program can do there.
class Userspace final : public Contender {
  public:
    explicit Userspace(const Network &network)
        : aggregator_(must(
              UdpAggregator::make(address("10.0.0.2"), address("10.0.1.2"), clusters, workers))) {
        // A veth takes redirected frames only with NAPI on, which GRO brings.
        must(shell(std::string("ethtool -K ") + network.dut.name + " gro on"));
        thread_ = std::jthread([this](const std::stop_token &stop) {
            must(own_cpu(cpu, 2)); // before the generator, which has 1
            while (!stop.stop_requested())
                aggregator_.poll();
        });
    }

    bench_config config() const override { return config_for(false, clusters, workers); }
    Ledger ledger() const override {
        const auto taken = aggregator_.received(), waiting = aggregator_.waiting();
        return {.taken = taken, .waiting = waiting, .departed = taken - waiting};
    }

  private:
    static sockaddr_in address(const char *text) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(OLAF_DEFAULT_PORT);
        inet_pton(AF_INET, text, &address.sin_addr);
        return address;
    }

    UdpAggregator aggregator_;
    std::jthread thread_; // last: it ends first
};

template <class C> std::unique_ptr<Contender> make(const Network &network) {
    return std::make_unique<C>(network);
}

} // namespace

std::vector<E2eCase> e2e_cases() {
    return {{"xdp_drop", make<Drop>},
            {"xagg", make<XAgg>},
            {"olaf", make<Olaf>},
            {"olaf_unmetered", make<OlafUnmetered>},
            {"userspace", make<Userspace>}};
}

} // namespace olaf::bench
