// SPDX-License-Identifier: BSD-2-Clause
// Updates per second from end to end on one CPU: an in-kernel generator, the
// program under test on a veth, a receiving program at the far end. What arrives
// there is checked lane by lane, and every update is accounted for.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "e2e_cases.hpp"

namespace olaf::bench {
namespace {

constexpr auto warm_up = std::chrono::milliseconds(300);
constexpr auto slice_length = std::chrono::milliseconds(500);
constexpr std::size_t slices = 7;
constexpr int most_slices = 30; // those that calibrate() rejects included

struct Rates {
    double input = 0;  ///< updates/s taken by the program under test
    double output = 0; ///< frames/s at the sink
};

class Run {
  public:
    Run(const Network &network, const E2eCase &c)
        : name_(c.name), contender_(c.make(network)),
          generator_(must(Generator::make(network, contender_->config()))),
          sink_(must(Sink::make(network, contender_->config()))) {}

    /// Best and median slice.
    std::pair<Rates, Rates> measure() {
        generator_.start(cpu);
        std::this_thread::sleep_for(warm_up);
        std::vector<Rates> all;
        for (int i = 0; i < most_slices && all.size() < slices; ++i) {
            const auto rates = slice(slice_length);
            if (!contender_->calibrate(rates.input, rates.output))
                all.push_back(rates);
        }
        generator_.stop();
        check();
        require(!all.empty(), name_ + ": the output is a third of the input in no slice");
        std::sort(all.begin(), all.end(), [](auto &a, auto &b) { return a.input < b.input; });
        return {all.back(), all[all.size() / 2]};
    }

  private:
    Rates slice(std::chrono::milliseconds length) {
        using Clock = std::chrono::steady_clock;
        const auto taken = contender_->ledger().taken;
        const auto frames = sink_.arrived().frames;
        const auto start = Clock::now();
        std::this_thread::sleep_for(length);
        const auto input = static_cast<double>(contender_->ledger().taken - taken);
        const auto output = static_cast<double>(sink_.arrived().frames - frames);
        const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
        return {.input = input / elapsed, .output = output / elapsed};
    }

    void check() {
        // What the last slice left to softirqs and timers gets there.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        const auto arrived = sink_.arrived();
        const auto ledger = contender_->ledger();
        require(ledger.taken > 0 && ledger.taken <= generator_.sent(), name_ + ": updates arrive");
        require(arrived.wrong == 0, fmt::format("{}: {} of {} frames have a wrong lane", name_,
                                                arrived.wrong, arrived.frames));
        require(ledger.taken == ledger.departed + ledger.waiting + ledger.dropped,
                fmt::format("{}: taken {} = departed {} + waiting {} + dropped {}", name_,
                            ledger.taken, ledger.departed, ledger.waiting, ledger.dropped));
        require(ledger.departed == arrived.updates,
                fmt::format("{}: departed {} = arrived at the sink {}", name_, ledger.departed,
                            arrived.updates));
    }

    std::string name_;
    std::unique_ptr<Contender> contender_;
    Generator generator_;
    Sink sink_;
};

int run(bool csv, const char *only) {
    const auto network = must(Network::make());
    fmt::print("{}\n", csv ? "name,updates_per_s,median_updates_per_s,output_ratio"
                           : "case            best M/s  median M/s  out/in");
    for (const auto &c : e2e_cases()) {
        if (only && c.name != only)
            continue;
        const auto [best, median] = Run(network, c).measure();
        const double ratio = best.output / best.input;
        if (csv)
            fmt::print("{},{:.0f},{:.0f},{:.3f}\n", c.name, best.input, median.input, ratio);
        else
            fmt::print("{:14} {:9.2f} {:11.2f} {:7.3f}\n", c.name, best.input / 1e6,
                       median.input / 1e6, ratio);
        std::fflush(stdout);
    }
    return 0;
}

} // namespace
} // namespace olaf::bench

int main(int argc, char **argv) {
    bool csv = false;
    const char *only = nullptr;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--csv") == 0) {
            csv = true;
        } else if (std::strcmp(argv[i], "--case") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else {
            fmt::print(stderr, "usage: {} [--csv] [--case NAME]\n", argv[0]);
            return 2;
        }
    }
    return olaf::bench::run(csv, only);
}
