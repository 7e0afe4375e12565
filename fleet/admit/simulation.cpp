// SPDX-License-Identifier: BSD-2-Clause
#include "simulation.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>

#include "fleet/plan/random.hpp"

namespace olaf::fleet {

std::uint64_t Outcome::figure(const Setting &setting) const {
    switch (setting.objective.kind) {
    case Objective::Kind::peak:
        return *std::ranges::max_element(highest_ns);
    case Objective::Kind::fairness: {
        double least = 0, most = 0;
        bool any = false;
        for (std::size_t i = 0; i < mean_ns.size(); ++i)
            if (highest_ns[i] > 0) {
                least = any ? std::min(least, mean_ns[i]) : mean_ns[i];
                most = any ? std::max(most, mean_ns[i]) : mean_ns[i];
                any = true;
            }
        return static_cast<std::uint64_t>(std::floor(most - least));
    }
    case Objective::Kind::loss:
        break;
    }
    return lost;
}

bool Outcome::breaks(const Setting &setting) const {
    return figure(setting) > setting.objective.most_ns;
}

namespace {

struct Entry {
    std::size_t cluster, segment;
    std::uint64_t generated_ns;
};

class Simulation {
  public:
    explicit Simulation(const Setting &setting) : setting(setting), queues(setting.hops.size()) {
        for (const auto &cluster : setting.clusters)
            newest.emplace_back(cluster.frames.size());
        outcome.highest_ns.resize(setting.clusters.size());
        outcome.mean_ns.resize(setting.clusters.size());
        peaks.resize(setting.clusters.size());
    }

    Outcome run(const std::vector<Arrival> &arrivals) {
        for (const auto &arrival : arrivals)
            for (std::size_t i = 0; i < setting.clusters[arrival.cluster].frames.size(); ++i)
                push({arrival.at_ns, false, 0, 0, {arrival.cluster, i, arrival.at_ns}});
        while (!events.empty()) {
            const auto event = events.top();
            events.pop();
            if (event.is_sent)
                sent(event);
            else
                arrives(event);
        }
        for (std::size_t i = 0; i < peaks.size(); ++i)
            if (peaks[i] > 0)
                outcome.mean_ns[i] /= static_cast<double>(peaks[i]);
        return outcome;
    }

  private:
    struct Event {
        std::uint64_t at_ns;
        bool is_sent; ///< by its hop; else it arrives there, or at the server
        std::uint64_t number;
        std::size_t step; ///< of the cluster's hops
        Entry entry;
        [[nodiscard]] auto order() const { return std::tuple(at_ns, !is_sent, number); }
        bool operator>(const Event &other) const { return order() > other.order(); }
    };
    struct Queue {
        std::deque<Event> waiting;
        bool busy = false;
    };

    void push(Event event) {
        event.number = next_number++;
        events.push(event);
    }
    void arrives(const Event &event) {
        const auto &hops = setting.clusters[event.entry.cluster].hops;
        if (event.step == hops.size())
            return delivered(event);
        auto &queue = queues[hops[event.step]];
        if (!queue.busy)
            return send(event, event.at_ns);
        const auto same = std::ranges::find_if(queue.waiting, [&](const Event &one) {
            return one.entry.cluster == event.entry.cluster &&
                   one.entry.segment == event.entry.segment;
        });
        if (same != queue.waiting.end())
            same->entry.generated_ns = std::max(same->entry.generated_ns, event.entry.generated_ns);
        else if (queue.waiting.size() < setting.hops[hops[event.step]].places)
            queue.waiting.push_back(event);
        else
            ++outcome.lost;
    }
    void send(Event event, std::uint64_t now_ns) {
        const auto &cluster = setting.clusters[event.entry.cluster];
        const auto hop = cluster.hops[event.step];
        queues[hop].busy = true;
        event.is_sent = true;
        event.at_ns = now_ns + setting.service_ns(hop, cluster.frames[event.entry.segment]);
        push(event);
    }
    void sent(const Event &event) {
        const auto hop = setting.clusters[event.entry.cluster].hops[event.step];
        push({event.at_ns + setting.hops[hop].delay_ns, false, 0, event.step + 1, event.entry});
        auto &queue = queues[hop];
        queue.busy = false;
        if (!queue.waiting.empty()) {
            const auto next = queue.waiting.front();
            queue.waiting.pop_front();
            send(next, event.at_ns);
        }
    }
    /// A cluster's model is as new as the oldest of its segments.
    void delivered(const Event &event) {
        auto &of = newest[event.entry.cluster];
        const auto before = *std::ranges::min_element(of);
        of[event.entry.segment] =
            std::max(of[event.entry.segment], std::optional(event.entry.generated_ns));
        const auto after = *std::ranges::min_element(of);
        if (!before || after == before)
            return;
        const auto peak_ns = event.at_ns - *before;
        auto &highest = outcome.highest_ns[event.entry.cluster];
        highest = std::max(highest, peak_ns);
        outcome.mean_ns[event.entry.cluster] += static_cast<double>(peak_ns);
        ++peaks[event.entry.cluster];
    }

    const Setting &setting;
    std::vector<Queue> queues;
    std::vector<std::vector<std::optional<std::uint64_t>>>
        newest; ///< of each cluster's segments, at the server
    std::vector<std::uint64_t> peaks;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::uint64_t next_number = 0;
    Outcome outcome;
};

/// A run as what can be varied: when each cluster begins, and its gaps.
struct Draft {
    std::vector<std::uint64_t> first_ns;
    std::vector<std::vector<std::uint64_t>> gaps_ns;

    [[nodiscard]] std::vector<Arrival> arrivals() const {
        std::vector<Arrival> found;
        for (std::size_t c = 0; c < first_ns.size(); ++c) {
            auto at = first_ns[c];
            found.push_back({c, at});
            for (const auto gap : gaps_ns[c])
                found.push_back({c, at += gap});
        }
        return found;
    }
};

class Search {
  public:
    Search(const Setting &setting, std::uint64_t seed) : setting(setting), random(seed) {
        for (const auto &cluster : setting.clusters)
            longest_ns = std::max(longest_ns, cluster.interval_ns + cluster.jitter_ns);
        for (std::size_t hop = 0; hop < setting.hops.size(); ++hop)
            busy_ns += (setting.entries(hop) + 1) * setting.longest_service_ns(hop);
    }

    std::optional<Counterexample> run(std::chrono::steady_clock::time_point until) {
        do {
            auto draft = drawn();
            auto best = looked_at(draft);
            for (std::size_t without = 0;
                 without < patience && std::chrono::steady_clock::now() < until; ++without) {
                if (best.outcome.breaks(setting))
                    return best;
                auto other = draft;
                change(other);
                auto found = looked_at(other);
                if (found.outcome.figure(setting) < best.outcome.figure(setting))
                    continue;
                if (found.outcome.figure(setting) > best.outcome.figure(setting))
                    without = 0;
                draft = std::move(other);
                best = std::move(found);
            }
            if (best.outcome.breaks(setting))
                return best;
        } while (std::chrono::steady_clock::now() < until);
        return {};
    }

  private:
    static constexpr std::size_t patience = 60;   ///< changes in vain before another draft is drawn
    static constexpr std::uint64_t intervals = 6; ///< of the slowest cluster, that a run lasts

    Counterexample looked_at(const Draft &draft) {
        auto arrivals = draft.arrivals();
        std::ranges::stable_sort(arrivals, {}, &Arrival::at_ns);
        auto outcome = simulate(setting, arrivals);
        return {std::move(arrivals), std::move(outcome)};
    }
    std::uint64_t between(std::uint64_t least, std::uint64_t most) {
        return least + random.below(most - least + 1);
    }
    /// A gap: the shortest or the longest more often than not, since what is worst lies there.
    std::uint64_t gap(const Cluster &cluster) {
        const auto least = cluster.interval_ns - cluster.jitter_ns,
                   most = cluster.interval_ns + cluster.jitter_ns;
        switch (random.below(3)) {
        case 0:
            return least;
        case 1:
            return most;
        default:
            return between(least, most);
        }
    }
    Draft drawn() {
        Draft draft;
        const bool together = random.below(2) == 0; // nearly at once, or anyhow
        for (const auto &cluster : setting.clusters) {
            draft.first_ns.push_back(between(0, together ? busy_ns : longest_ns));
            auto &gaps = draft.gaps_ns.emplace_back();
            for (std::uint64_t at = 0; at < intervals * longest_ns && gaps.size() < 4000;
                 at += gaps.back())
                gaps.push_back(gap(cluster));
        }
        return draft;
    }
    void change(Draft &draft) {
        const auto c = random.below(draft.first_ns.size());
        if (random.below(2) == 0) {
            auto &first = draft.first_ns[c];
            switch (random.below(3)) {
            case 0:
                first = between(0, longest_ns);
                break;
            case 1:
                first += between(0, busy_ns);
                break;
            default:
                first -= std::min(first, between(0, busy_ns));
                break;
            }
        } else if (auto &gaps = draft.gaps_ns[c]; !gaps.empty()) {
            gaps[random.below(gaps.size())] = gap(setting.clusters[c]);
        }
    }

    const Setting &setting;
    Random random;
    std::uint64_t longest_ns = 0, busy_ns = 0;
};

} // namespace

Outcome simulate(const Setting &setting, std::vector<Arrival> arrivals) {
    return Simulation(setting).run(arrivals);
}

std::optional<Counterexample> search(const Setting &setting, std::uint64_t seed,
                                     std::chrono::steady_clock::time_point until) {
    return Search(setting, seed).run(until);
}

} // namespace olaf::fleet
