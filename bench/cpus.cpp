// SPDX-License-Identifier: BSD-2-Clause
// What a second CPU adds to whole rounds in the kernel: contributions a second of one generator, and
// of two on two CPUs that share out the job's children, as flows are shared out among receive queues,
// or its chunks, or that have a job each: what the machine can do where nothing is shared. Results are
// checked first.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "repeating.hpp"
#include "round_job.hpp"
#include "turns.hpp"

namespace olaf::bench {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::uint32_t slots = 64;
constexpr std::uint64_t checked_runs = 160'000;
/// How long each stream is measured.
struct Effort {
    int turns, slices;
};
constexpr Effort whole = {.turns = 7, .slices = 20}, least = {.turns = 1, .slices = 2};
/// Short beside the 50 ms of each second for which the kernel keeps a CPU from real-time threads.
constexpr auto slice = 20ms;
constexpr int observers_cpu = 1, observers_priority = 5;

enum class Split { none, children, chunks, jobs };

/// The generators of a job, or of one each, one a CPU.
class Stream {
  public:
    Stream(const char *name, std::uint32_t children, Split split)
        : name_(fmt::format("rounds of {}: {}", children, name)), children_(children) {
        const std::uint32_t cpus = split == Split::none ? 1 : 2;
        for (std::uint32_t job = 0; job < (split == Split::jobs ? cpus : 1); job++)
            jobs_.push_back(must(RoundJob::make({.children = children, .slots = slots})));
        for (std::uint32_t cpu = 0; cpu < cpus; cpu++) {
            const bool shares = split == Split::children || split == Split::chunks;
            const Turns *other = shares && cpu > 0 ? turns_[0].get() : nullptr;
            turns_.push_back(std::make_unique<Turns>(
                must(Turns::make(jobs_[cpu % jobs_.size()].program(),
                                 {.children = children,
                                  .chunks = slots,
                                  .first = jobs_[0].first_contribution(),
                                  .frags = true,
                                  .share = share(split, cpu),
                                  .other = other}))));
        }
        running_.resize(cpus);
    }

    [[nodiscard]] const std::string &name() const { return name_; }
    [[nodiscard]] const std::vector<double> &rates() const { return rates_; }

    /// Every result that rode was the sum, and every child got as many as the others, but for those
    /// that are in line or in a generator's last frame.
    void check() {
        for (const auto &turns : turns_)
            turns->check(true);
        start();
        while (made() < checked_runs)
            std::this_thread::sleep_for(1ms);
        stop();
        std::uint64_t results = 0;
        for (const auto &turns : turns_) {
            turns->check(false);
            require(turns->wrong() == 0, name_ + ": every result is the sum");
            for (std::uint32_t child = 0; child < children_; child++)
                results += turns->results(child);
        }
        require(results + turns_.size() >= counters().riding,
                name_ + ": every result that rode was compared");
        account();
    }

    /// A few slices. One in which neither CPU got to run, on a busy machine, lasts longer.
    void measure(int slices) {
        start();
        for (int i = 0; i < slices; i++) {
            const auto before = made();
            const auto begin = Clock::now();
            auto after = before;
            while (after == before) {
                std::this_thread::sleep_for(slice);
                after = made();
            }
            rates_.push_back(static_cast<double>(after - before) /
                             std::chrono::duration<double>(Clock::now() - begin).count());
        }
        stop();
        account();
    }

  private:
    [[nodiscard]] Share share(Split split, std::uint32_t cpu) const {
        if (split == Split::children)
            return {.first_child = cpu * children_ / 2,
                    .end_child = (cpu + 1) * children_ / 2,
                    .window = slots / 2,
                    .number = cpu};
        if (split == Split::chunks)
            return {.first_chunk = cpu, .stride = 2, .window = slots / 2, .number = cpu};
        return {};
    }

    void start() {
        const auto before = made();
        for (std::size_t cpu = 0; cpu < turns_.size(); cpu++) {
            const int program = turns_[cpu]->program();
            running_[cpu].start(static_cast<int>(cpu),
                                [program, frame = jobs_[0].first_contribution()] {
                                    return run_on(program, frame);
                                });
        }
        // The kernel waits for a grace period first.
        while (made() == before)
            std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(100ms);
    }

    void stop() {
        for (auto &running : running_)
            running.stop();
    }

    [[nodiscard]] std::uint64_t made() const {
        std::uint64_t all = 0;
        for (const auto &turns : turns_)
            all += turns->contributions();
        return all;
    }

    [[nodiscard]] olaf_job_counters counters() const {
        olaf_job_counters sum{};
        for (const auto &job : jobs_) {
            const auto one = job.counters();
            sum.received += one.received;
            sum.added += one.added;
            sum.riding += one.riding;
            sum.undelivered += one.undelivered;
        }
        return sum;
    }

    /// Every contribution was added, no result gave way, and what is owed is what a line may hold.
    void account() const {
        const auto now = counters();
        require(now.received == now.added && now.added == made(),
                fmt::format("{}: of {} contributions {} are added", name_, made(), now.added));
        require(now.undelivered == 0, name_ + ": no result gives way to a newer one");
        require(now.riding + jobs_.size() * children_ * slots >= made(),
                name_ + ": as many results ride as contributions come");
    }

    std::string name_;
    std::uint32_t children_;
    std::vector<RoundJob> jobs_;
    std::vector<std::unique_ptr<Turns>> turns_;
    std::vector<Repeating> running_; ///< after what they run: they stop first
    std::vector<double> rates_;
};

double best(const Stream &stream) {
    return *std::ranges::max_element(stream.rates());
}

double median(const Stream &stream) {
    auto rates = stream.rates();
    std::ranges::sort(rates);
    return rates[rates.size() / 2];
}

int run(bool csv, const Effort &effort) {
    must(own_cpu(observers_cpu, observers_priority));
    fmt::print("{}\n", csv ? "name,contributions_per_s,median_contributions_per_s,times_one_cpu" :
                             "contributions a second              best M/s  median M/s  times one CPU");
    for (const std::uint32_t children : {4u, 8u}) {
        std::vector<std::unique_ptr<Stream>> streams;
        streams.push_back(std::make_unique<Stream>("one CPU", children, Split::none));
        streams.push_back(std::make_unique<Stream>("children shared out", children, Split::children));
        streams.push_back(std::make_unique<Stream>("chunks shared out", children, Split::chunks));
        streams.push_back(std::make_unique<Stream>("a job each", children, Split::jobs));
        for (const auto &stream : streams)
            stream->check();
        for (int turn = 0; turn < effort.turns; turn++)
            for (const auto &stream : streams)
                stream->measure(effort.slices);
        for (const auto &stream : streams) {
            const double times = best(*stream) / best(*streams[0]);
            if (csv)
                fmt::print("{},{:.0f},{:.0f},{:.3f}\n", stream->name(), best(*stream),
                           median(*stream), times);
            else
                fmt::print("{:34} {:9.2f} {:11.2f} {:14.2f}\n", stream->name(),
                           best(*stream) / 1e6, median(*stream) / 1e6, times);
            std::fflush(stdout);
        }
    }
    return 0;
}

} // namespace
} // namespace olaf::bench

int main(int argc, char **argv) {
    CLI::App app("Contributions a second of one CPU and of two. Root.");
    bool csv = false, quick = false;
    app.add_flag("--csv", csv);
    app.add_flag("--quick", quick, "shortly: that it runs");
    CLI11_PARSE(app, argc, argv);
    if (std::thread::hardware_concurrency() < 2) {
        fmt::print(stderr, "error: cannot measure a second CPU: this machine has one\n");
        return 1;
    }
    return olaf::bench::run(csv, quick ? olaf::bench::least : olaf::bench::whole);
}
