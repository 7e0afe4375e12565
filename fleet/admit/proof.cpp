// SPDX-License-Identifier: BSD-2-Clause
// The model of the OLAF paper's appendix 12.2, corrected (docs/fleet.md says what was wrong). Times
// are real numbers of nanoseconds, conditions linear: QF_LRA.
#include "proof.hpp"

#include <z3++.h>

#include <algorithm>
#include <string>

namespace olaf::fleet {
namespace {

constexpr std::size_t most_clusters = 3, most_arrivals = 40;

bool within_reach(const Setting &setting) {
    return setting.objective.kind == Objective::Kind::peak && setting.hops.size() == 1 &&
           setting.clusters.size() <= most_clusters && setting.never_full() &&
           std::ranges::all_of(setting.clusters,
                               [](const Cluster &one) { return one.frames.size() == 1; });
}

/// One queue that serves in the order in which entries were opened.
class Queue {
  public:
    Queue(z3::context &context, z3::solver &solver, const Setting &setting)
        : context(context), solver(solver), setting(setting) {}

    struct Entry {
        z3::expr there;    ///< whether it exists
        z3::expr opened;   ///< orders entries; from time 0 on it is a time
        z3::expr departed; ///< when it has been sent
        std::uint64_t service_ns;
        [[nodiscard]] z3::expr started() const {
            return departed - departed.ctx().real_val(service_ns);
        }
    };

    z3::expr real(const std::string &name) { return context.real_const(name.c_str()); }
    z3::expr ns(std::uint64_t value) { return context.real_val(value); }
    [[nodiscard]] std::uint64_t service_ns(std::size_t cluster) const {
        return setting.service_ns(0, setting.clusters[cluster].frames.front());
    }
    /// An entry that no condition binds yet.
    std::size_t add(const std::string &name, std::size_t cluster, const z3::expr &there,
                    const z3::expr &opened) {
        entries.push_back({there, opened, real("departed " + name), service_ns(cluster)});
        return entries.size() - 1;
    }
    Entry &operator[](std::size_t i) { return entries[i]; }

    /// Each entry that exists starts once it is opened and all before it are sent, and no later; of
    /// two that are opened at one time either may be first. busy: until when the queue was sending
    /// something that isn't among them.
    void bind(const z3::expr &busy) {
        const auto zero = ns(0);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const auto &entry = entries[i];
            const auto start = entry.started();
            const auto ready = z3::ite(entry.opened > zero, entry.opened, zero);
            z3::expr at_once = start == ready || start == busy;
            for (std::size_t j = 0; j < entries.size(); ++j)
                if (j != i)
                    at_once = at_once || (entries[j].there && start == entries[j].departed);
            solver.add(z3::implies(entry.there, start >= ready && start >= busy && at_once));
            for (std::size_t j = 0; j < i; ++j) {
                const auto &other = entries[j];
                solver.add(z3::implies(
                    entry.there && other.there,
                    (other.opened <= entry.opened && start >= other.departed) ||
                        (entry.opened <= other.opened && other.started() >= entry.departed)));
            }
        }
    }
    /// The gap between two arrivals of a cluster.
    void gap(std::size_t cluster, const z3::expr &from, const z3::expr &to) {
        const auto &of = setting.clusters[cluster];
        solver.add(to - from >= ns(of.interval_ns - of.jitter_ns) &&
                   to - from <= ns(of.interval_ns + of.jitter_ns));
    }

  private:
    z3::context &context;
    z3::solver &solver;
    const Setting &setting;
    std::vector<Entry> entries;
};

unsigned milliseconds_left(std::chrono::steady_clock::time_point until) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          until - std::chrono::steady_clock::now())
                          .count();
    return static_cast<unsigned>(std::clamp<std::int64_t>(left, 1, 1'000'000'000));
}

/// What the queue itself may take of the bound.
std::optional<std::uint64_t> bound_ns(const Setting &setting) {
    const auto delay = setting.hops.front().delay_ns;
    if (setting.objective.most_ns < delay)
        return {};
    return setting.objective.most_ns - delay;
}

/// Of one cluster, from any state of the queue. Time 0 is when the newest update of the last
/// message was generated; the next message, opened by the next update, is to depart above the
/// bound.
Proof prove_one(const Setting &setting, std::size_t target, std::uint64_t bound,
                std::chrono::steady_clock::time_point until) {
    z3::context context;
    z3::solver solver(context, "QF_LRA");
    solver.set("timeout", milliseconds_left(until));
    Queue queue(context, solver, setting);
    const auto zero = queue.ns(0);
    const auto &mine = setting.clusters[target];
    const auto busy = queue.real("busy");
    solver.add(busy >= zero && busy <= queue.ns(setting.longest_service_ns(0)));
    // What waits at time 0 is ordered by times up to it that mean nothing else.
    const auto before = [&](const std::string &name) {
        auto opened = queue.real("opened " + name);
        solver.add(opened <= zero);
        return opened;
    };
    const auto last = queue.add("last", target, context.bool_val(true), before("last"));
    for (std::size_t other = 0; other < setting.clusters.size(); ++other) {
        if (other == target)
            continue;
        const auto &of = setting.clusters[other];
        const auto count =
            (mine.interval_ns + mine.jitter_ns) / (of.interval_ns - of.jitter_ns) + 1;
        if (count > most_arrivals)
            return Proof::out_of_reach;
        const auto name = std::to_string(other);
        const auto waits = context.bool_const(("waits " + name).c_str());
        const auto first = queue.add("waiting " + name, other, waits, before("waiting " + name));
        // Until when a further update is folded into the cluster's last entry.
        auto folds_until = z3::ite(waits, queue[first].started(), zero);
        z3::expr arrived = queue.real("arrival " + name + " 0");
        solver.add(arrived >= zero && arrived <= queue.ns(of.interval_ns + of.jitter_ns));
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto number = name + " " + std::to_string(i);
            if (i > 0) {
                const auto next = queue.real("arrival " + number);
                queue.gap(other, arrived, next);
                arrived = next;
            }
            const auto opens = context.bool_const(("opens " + number).c_str());
            solver.add(opens == (arrived >= folds_until));
            const auto entry = queue.add(number, other, opens, arrived);
            folds_until = z3::ite(opens, queue[entry].started(), folds_until);
        }
    }
    const auto opened = queue.real("opened next");
    queue.gap(target, zero, opened);
    const auto next = queue.add("next", target, context.bool_val(true), opened);
    solver.add(opened >= queue[last].started());
    queue.bind(busy);
    solver.add(queue[next].departed > queue.ns(bound));
    switch (solver.check()) {
    case z3::unsat:
        return Proof::holds;
    case z3::sat:
        return Proof::may_break;
    default:
        return Proof::out_of_reach;
    }
}

/// In whole nanoseconds, rounded down: gaps between whole limits stay between them.
std::uint64_t rounded(const z3::model &model, const z3::expr &time) {
    return std::stoull(model.eval(time, true).get_decimal_string(0));
}

} // namespace

Proof prove(const Setting &setting, std::chrono::steady_clock::time_point until) {
    if (!within_reach(setting))
        return Proof::out_of_reach;
    const auto bound = bound_ns(setting);
    if (!bound)
        return Proof::may_break;
    auto found = Proof::holds;
    for (std::size_t target = 0; target < setting.clusters.size() && found == Proof::holds;
         ++target)
        found = prove_one(setting, target, *bound, until);
    return found;
}

std::optional<Counterexample> refute(const Setting &setting,
                                     std::chrono::steady_clock::time_point until) {
    const auto bound = bound_ns(setting);
    if (!within_reach(setting) || !bound)
        return {};
    for (std::size_t count = 2; count <= 8 && std::chrono::steady_clock::now() < until; ++count) {
        z3::context context;
        z3::solver solver(context, "QF_LRA");
        solver.set("timeout", milliseconds_left(until));
        Queue queue(context, solver, setting);
        const auto rounding = queue.ns(1);
        z3::expr breaks = context.bool_val(false);
        std::vector<std::pair<std::size_t, z3::expr>> arrivals;
        for (std::size_t cluster = 0; cluster < setting.clusters.size(); ++cluster) {
            const auto &of = setting.clusters[cluster];
            z3::expr folds_until = queue.ns(0), arrived = queue.ns(0);
            for (std::size_t i = 0; i < count; ++i) {
                const auto name = std::to_string(cluster) + " " + std::to_string(i);
                const auto next = queue.real("arrival " + name);
                if (i == 0)
                    solver.add(next >= arrived && next <= queue.ns(of.interval_ns + of.jitter_ns));
                else
                    queue.gap(cluster, arrived, next);
                const auto opens = context.bool_const(("opens " + name).c_str());
                solver.add((opens && next >= folds_until) ||
                           (!opens && next <= folds_until - rounding));
                const auto entry = queue.add(name, cluster, opens, next);
                // The age just before it is delivered: since its predecessor's newest update.
                if (i > 0)
                    breaks = breaks || (opens && queue[entry].departed - arrived >
                                                     queue.ns(*bound) + rounding);
                folds_until = z3::ite(opens, queue[entry].started(), folds_until);
                arrived = next;
                arrivals.emplace_back(cluster, next);
            }
        }
        queue.bind(queue.ns(0));
        solver.add(breaks);
        // Times are rounded, which mustn't change their order.
        for (std::size_t i = 0; i < arrivals.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                solver.add(arrivals[i].second - arrivals[j].second >= rounding ||
                           arrivals[j].second - arrivals[i].second >= rounding);
        if (solver.check() != z3::sat)
            continue;
        const auto model = solver.get_model();
        Counterexample found;
        for (const auto &[cluster, time] : arrivals)
            found.arrivals.push_back({cluster, rounded(model, time)});
        std::ranges::stable_sort(found.arrivals, {}, &Arrival::at_ns);
        const auto outcome = simulate(setting, found.arrivals, until);
        if (!outcome || !outcome->breaks(setting))
            continue;
        found.outcome = *outcome;
        return found;
    }
    return {};
}

} // namespace olaf::fleet
