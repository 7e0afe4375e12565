// SPDX-License-Identifier: BSD-2-Clause
// What the contenders that take datagrams have in common: the generators in front, the far end
// behind.
#pragma once

#include <numeric>
#include <optional>

#include "ages.hpp"
#include "contender.hpp"
#include "traffic.hpp"

namespace olaf::bench {

class Wire : public Contender {
  public:
    Wire(const Network &network, const Setting &setting, bool xagg)
        : network_(network), setting_(setting) {
        auto config =
            config_for(xagg, setting.clusters, xagg ? setting.whole_fold() : setting.workers,
                       setting.lanes, setting.narrow);
        config.stamped = setting.stamped;
        config.shuffled = setting.shuffled;
        config.interval_ns = setting.interval_ns();
        const auto part = setting.common || setting.cpus == 1 ? setting.clusters
                                                              : setting.clusters / setting.cpus;
        sink_.emplace(must(Sink::make(network, config)));
        config.clusters = part;
        config.stride = stride(part);
        for (std::uint32_t i = 0; i < setting.cpus; ++i) {
            config.first = setting.common ? 0 : i * part;
            generators_.push_back(must(Generator::make(network, config)));
        }
    }

    void start() override {
        for (std::uint32_t i = 0; i < setting_.cpus; ++i)
            generators_[i].start(setting_.apart ? Setting::traffic_cpu : static_cast<int>(i));
    }

    void stop() override {
        for (auto &generator : generators_)
            generator.stop();
    }

    [[nodiscard]] Figures figures() const final {
        Figures figures;
        for (const auto &generator : generators_) {
            figures.shares.push_back(generator.sent());
            figures.offered += figures.shares.back();
        }
        ledger(figures);
        const auto arrived = sink_->arrived();
        figures.frames = arrived.frames;
        figures.arrived = arrived.updates;
        figures.wrong = arrived.wrong;
        if (setting_.stamped) {
            figures.latency = sink_->latency();
            figures.folds = sink_->folds();
        }
        return figures;
    }

    [[nodiscard]] std::vector<bench_age> ages() const override {
        std::vector<bench_age> ages;
        for (std::uint32_t cluster = 0; setting_.stamped && cluster < setting_.clusters; ++cluster)
            ages.push_back(up_to_now(sink_->age(cluster)));
        return ages;
    }

  protected:
    /// Fills in taken, waiting, dropped and departed.
    virtual void ledger(Figures &figures) const = 0;

    const Network network_;
    const Setting setting_;

  private:
    /// About 0.618 of `n` and with no divisor in common with it, so that clusters come in an order
    /// that no prefetcher follows.
    static std::uint32_t stride(std::uint32_t n) {
        if (n < 32)
            return n > 1 ? 1 : 0;
        auto stride = static_cast<std::uint32_t>(0.618 * n);
        while (std::gcd(stride, n) != 1)
            ++stride;
        return stride;
    }

    std::optional<Sink> sink_;
    std::vector<Generator> generators_;
};

} // namespace olaf::bench
