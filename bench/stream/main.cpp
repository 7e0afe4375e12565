// SPDX-License-Identifier: BSD-2-Clause
// One stream of updates through one contender: rates, CPU time, latency, ages and loss, as JSON.
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "ages.hpp"
#include "bench/support.hpp"
#include "contender.hpp"
#include "napi.hpp"
#include "slices.hpp"

namespace olaf::bench {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int most_tries = 40;
constexpr std::uint32_t most_narrow = 100; ///< clusters, whose number is in an element
constexpr double calibrating_s = 0.1;
/// Of runs on several CPUs: short beside the 50 ms for which the kernel takes a CPU away.
constexpr double slice_s = 0.02;
constexpr double most_discarded = 20; ///< seconds for each that counts

/// NAPI's threads, where the contender has a CPU for itself.
struct Placed {
    std::optional<Napi> in, out, far;

    static Placed make(const Setting &setting) {
        Placed placed;
        if (!setting.apart)
            return placed;
        placed.in = must(Napi::make("dut", Setting::contender_cpu));
        placed.out = must(Napi::make("out", Setting::contender_cpu));
        if (setting.contender != "tcp") // its other ends are placed where they are
            placed.far = must(Napi::make("sink", Setting::traffic_cpu));
        return placed;
    }
    [[nodiscard]] std::uint64_t ns() const { return in ? in->ns() + out->ns() : 0; }
};

class Run {
  public:
    explicit Run(const Setting &setting)
        : setting_(setting),
          network_(must(Network::make({.mtu = setting.mtu(), .queues = setting.cpus}))),
          contender_(make_contender(network_, setting)), placed_(Placed::make(setting)) {}

    nlohmann::json measure() {
        // The observer sleeps nearly always, but must not be kept from looking.
        must(own_cpu(Setting::traffic_cpu, 5));
        contender_->start();
        begin();
        auto before = settle();
        auto young = contender_->ages();
        Slices slices;
        for (int tries = 1;; ++tries) {
            slices = gather(setting_.seconds);
            if (!calibrate(slices))
                break;
            require(tries < most_tries, setting_.contender + ": the rate settles while measured");
            before = settle();
            young = contender_->ages();
        }
        const auto after = sample();
        const auto old = contender_->ages();
        contender_->stop();
        check();
        auto result = report(slices, before, after);
        if (setting_.stamped) {
            result["latency_ns"] = quantiles(before.figures, after.figures);
            result["age_us"] = report_ages(young, old);
            result["folds"] = folds(before.figures, after.figures);
        }
        return result;
    }

  private:
    /// The kernel waits for a grace period before the generator's first update.
    void begin() const {
        const auto deadline = Clock::now() + 20s;
        while (contender_->figures().taken == 0) {
            require(Clock::now() < deadline,
                    setting_.contender + ": an update arrives within 20 s");
            std::this_thread::sleep_for(20ms);
        }
        std::this_thread::sleep_for(300ms);
    }

    [[nodiscard]] Sample sample() const {
        const auto cpu_ns = placed_.ns() + contender_->thread_ns();
        auto figures = contender_->figures();
        return {.at = Clock::now(), .figures = std::move(figures), .cpu_ns = cpu_ns};
    }

    /// Until as many updates leave as were asked for. Returns what there is then.
    Sample settle() {
        for (int tries = 1; calibrate(gather(calibrating_s)); ++tries) {
            require(tries < most_tries, setting_.contender +
                                            ": so many updates leave as were asked for (does "
                                            "something else keep the CPUs busy?)");
            std::this_thread::sleep_for(20ms);
        }
        return sample();
    }

    bool calibrate(const Slices &slices) {
        return contender_->calibrate(slices.rate(&Slices::taken), slices.rate(&Slices::frames));
    }

    /// Slices of `seconds` together, in each of which every generator had its CPU.
    Slices gather(double seconds) {
        const std::chrono::duration<double> slice(setting_.cpus == 1 ? seconds : slice_s);
        const auto deadline =
            Clock::now() + 2s + std::chrono::duration<double>(most_discarded * seconds);
        Slices slices;
        for (auto a = sample(); slices.seconds < seconds;) {
            require(Clock::now() < deadline,
                    setting_.contender + ": generators have their CPUs at the same time for long "
                                         "enough (what else runs keeps one of them waiting)");
            std::this_thread::sleep_for(slice);
            auto b = sample();
            if (all_ran(a.figures, b.figures))
                slices.add(a, b);
            else
                ++discarded_;
            a = std::move(b);
        }
        return slices;
    }

    /// Every sum is exact and every update is where the books have it, or there is no figure.
    void check() {
        // What was under way gets there.
        Figures last;
        for (Figures now = contender_->figures();
             now.taken != last.taken || now.arrived != last.arrived; now = contender_->figures()) {
            last = now;
            std::this_thread::sleep_for(200ms);
        }
        const auto &name = setting_.contender;
        require(last.taken > 0 && last.taken <= last.offered, name + ": updates arrive");
        require(last.wrong == 0, name + ": " + std::to_string(last.wrong) + " of " +
                                     std::to_string(last.frames) + " sums are wrong");
        if (last.departed > 0) {
            require(last.taken == last.departed + last.waiting + last.dropped,
                    name + ": the books hold " + std::to_string(last.taken) + " updates: " +
                        std::to_string(last.departed) + " sent, " + std::to_string(last.waiting) +
                        " waiting, " + std::to_string(last.dropped) + " dropped");
            behind_ = static_cast<double>(last.departed - last.arrived) /
                      static_cast<double>(last.departed);
            require(last.arrived <= last.departed, name + ": no more arrives than left");
        }
    }

    static nlohmann::json quantiles(const Figures &before, const Figures &after) {
        std::uint64_t all = 0, seen = 0;
        std::vector<std::uint64_t> frames(BENCH_BUCKETS);
        for (std::size_t i = 0; i < frames.size(); ++i)
            all += frames[i] = after.latency[i] - before.latency[i];
        auto result = nlohmann::json::object();
        const std::pair<const char *, double> wanted[] = {{"p50", 0.5}, {"p99", 0.99}};
        std::size_t next = 0;
        for (std::uint32_t i = 0; i < frames.size() && next < 2; ++i) {
            seen += frames[i];
            while (next < 2 && all > 0 &&
                   static_cast<double>(seen) >= wanted[next].second * static_cast<double>(all))
                result[wanted[next++].first] = (bench_bucket_ns(i) + bench_bucket_ns(i + 1)) / 2;
        }
        return result;
    }

    /// Frames by the updates in them, the last with those that have more.
    static nlohmann::json folds(const Figures &before, const Figures &after) {
        auto result = nlohmann::json::object();
        for (std::size_t i = 0; i < after.folds.size(); ++i)
            if (const auto frames = after.folds[i] - before.folds[i])
                result[std::to_string(i)] = frames;
        return result;
    }

    nlohmann::json report(const Slices &slices, const Sample &a, const Sample &b) const {
        const double taken = slices.rate(&Slices::taken), offered = slices.rate(&Slices::offered);
        nlohmann::json result{{"contender", setting_.contender},
                              {"lanes", setting_.lanes},
                              {"clusters", setting_.clusters},
                              {"workers", setting_.workers},
                              {"fold", setting_.fold},
                              {"queue", setting_.capacity},
                              {"meter", setting_.meter},
                              {"cpus", setting_.cpus},
                              {"common", setting_.common},
                              {"apart", setting_.apart},
                              {"load", setting_.load},
                              {"offered_per_s", offered},
                              {"taken_per_s", taken},
                              {"sent_per_s", slices.rate(&Slices::frames)},
                              {"dropped_per_s", slices.rate(&Slices::dropped)},
                              {"superseded_per_s", slices.rate(&Slices::superseded)},
                              {"gbit_per_s", taken * setting_.lanes * 64 / 1e9},
                              {"loss", offered > 0 ? std::max(0.0, 1 - taken / offered) : 0.0},
                              {"lost_behind", behind_},
                              {"discarded_slices", discarded_},
                              {"repeated", b.figures.repeated - a.figures.repeated},
                              {"mode", contender_->mode()}};
        if (setting_.apart) {
            const double cpu_ns = slices.rate(&Slices::cpu_ns); // a second
            result["busy"] = cpu_ns / 1e9;
            result["cpu_ns_per_update"] = cpu_ns / taken;
        } else {
            result["ns_per_update"] = 1e9 * setting_.cpus / taken;
        }
        return result;
    }

    Setting setting_;
    Network network_;
    std::unique_ptr<Contender> contender_;
    Placed placed_;
    double behind_ = 0;
    int discarded_ = 0; ///< slices in which a generator was kept from its CPU
};

} // namespace

std::unique_ptr<Contender> make_contender(const Network &network, const Setting &setting) {
    using Make = std::unique_ptr<Contender> (*)(const Network &, const Setting &);
    static const std::pair<const char *, Make> contenders[] = {
        {"drop", make_drop},     {"forward", make_forward}, {"xagg", make_xagg},
        {"olaf", make_olaf},     {"fifo", make_olaf},       {"udp", make_udp},
        {"af_xdp", make_af_xdp}, {"tcp", make_tcp},         {"least", make_least}};
    for (const auto &[name, make] : contenders)
        if (setting.contender == name)
            return make(network, setting);
    require(false, "no contender " + setting.contender);
    return nullptr;
}

} // namespace olaf::bench

int main(int argc, char **argv) {
    using namespace olaf::bench;
    Setting setting;
    CLI::App app("One stream of updates through one contender, measured; prints JSON. Root.");
    app.add_option("contender", setting.contender,
                   "drop, forward, xagg, least, olaf, fifo, udp, af_xdp or tcp");
    app.add_option("--lanes", setting.lanes, "of an update, two values each")
        ->check(CLI::Range(2, BENCH_MAX_LANES));
    app.add_option("--clusters", setting.clusters)->check(CLI::Range(1, BENCH_MAX_CLUSTERS));
    app.add_option("--workers", setting.workers, "a cluster; xagg has as many as --fold");
    app.add_option("--fold", setting.fold, "updates that come for each frame that leaves")
        ->check(CLI::Range(1.0, double{BENCH_MAX_CHILDREN}));
    app.add_option("--within", setting.within, "how exactly: a part of that")
        ->check(CLI::Range(0.001, 1.0));
    app.add_option("--queue", setting.capacity, "Qmax");
    app.add_flag("!--unmetered", setting.meter, "the queue doesn't meter ages");
    app.add_option("--cpus", setting.cpus, "that generate and fold")->check(CLI::Range(1, 64));
    app.add_flag("--common", setting.common, "all CPUs send to the same clusters");
    app.add_flag("--shuffled", setting.shuffled, "updates come at random, not in turns");
    app.add_option_function<std::string>(
           "--format", [&](const std::string &name) { setting.narrow = name == "i16x4"; },
           "of the elements")
        ->check(CLI::IsMember({"i32x2", "i16x4"}));
    app.add_flag("--apart", setting.apart,
                 "the contender has CPU 0 for itself, traffic is on CPU 1");
    app.add_flag("--stamped", setting.stamped, "latency and ages");
    app.add_option("--load", setting.load, "updates/s; 0: as many as there can be");
    app.add_option("--batch", setting.batch,
                   "updates that a tcp worker writes at once; 1: each a segment");
    app.add_option("--seconds", setting.seconds);
    CLI11_PARSE(app, argc, argv);
    const bool queue = setting.contender == "olaf" || setting.contender == "fifo";
    require(queue || setting.fold == setting.whole_fold(),
            "only a queue has a --fold that isn't whole");
    require(queue || !(setting.narrow || setting.shuffled || !setting.meter),
            "only a queue takes --format i16x4, --shuffled or --unmetered");
    require(!setting.narrow || setting.clusters <= most_narrow,
            "16 bits have room for few clusters");
    require(!setting.apart || setting.cpus == 1, "--apart measures one CPU");
    std::puts(Run(setting).measure().dump().c_str());
}
