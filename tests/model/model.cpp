// SPDX-License-Identifier: BSD-2-Clause
#include "model.hpp"

namespace olaf::model {
namespace {

/// Does the entry use a buffer of the update's slot?
bool same_slot(const Entry &entry, const Update &update) {
    return entry.buffered && entry.update.cluster == update.cluster &&
           entry.update.segment == update.segment;
}

} // namespace

const char *name(Action action) {
    switch (action) {
    case Action::passed_through:
        return "passed_through";
    case Action::appended:
        return "appended";
    case Action::aggregated:
        return "aggregated";
    case Action::replaced:
        return "replaced";
    case Action::full:
        return "dropped_full";
    case Action::reward:
        return "dropped_reward";
    case Action::sealed:
        return "dropped_sealed";
    case Action::misfit:
        return "dropped_misfit";
    case Action::refused:
        return "refused";
    case Action::damaged:
        return "damaged";
    }
    return "?";
}

bool fits(const Update &waiting, const Update &arriving) {
    const auto &a = waiting.headers, &b = arriving.headers;
    if (waiting.shape != arriving.shape || a.family != b.family || a.l3 != b.l3)
        return false;
    // The destination's MAC address; the tags; the destination's IP address, which ends both
    // versions' fixed header.
    const std::size_t end = a.l3 + (a.family == 4 ? 20 : 40), address = a.family == 4 ? 4 : 16;
    const auto same = [&](std::size_t from, std::size_t to) {
        return std::equal(a.bytes.begin() + static_cast<long>(from),
                          a.bytes.begin() + static_cast<long>(to),
                          b.bytes.begin() + static_cast<long>(from));
    };
    return same(0, 6) && same(12, a.l3) && same(end - address, end);
}

void fold(Update &waiting, const Update &arriving) {
    Update sum = arriving; // of the newest: worker, sequence, headers
    sum.count += waiting.count;
    sum.first_arrived = waiting.first_arrived;
    sum.generated_ns = std::max(waiting.generated_ns, arriving.generated_ns);
    sum.reward = static_cast<std::int64_t>(static_cast<std::uint64_t>(waiting.reward) +
                                           static_cast<std::uint64_t>(arriving.reward));
    sum.model_version = std::min(waiting.model_version, arriving.model_version);
    for (std::size_t i = 0; i < sum.lanes.size(); i++)
        sum.lanes[i] += waiting.lanes[i];
    waiting = sum;
}

void replace(Update &waiting, const Update &arriving) {
    const auto first = waiting.first_arrived; // the entry has waited since then
    waiting = arriving;
    waiting.first_arrived = first;
}

Queue::Queue(const Config &config) : config_(config) {
    pacer.ns_per_byte_q24 = config.ns_per_byte_q24;
    pacer.drain_interval_ns = config.drain_interval_ns;
    activity_.window_ns = config.activity_window_ns;
}

Entry Queue::depart(std::uint64_t now) {
    Entry head = ring_.front();
    ring_.pop_front();
    pacer.depart(now, departing_frame(head.update).size() + config_.frame_overhead);
    counters_.updates_out += head.update.count;
    return head;
}

Outcome Queue::arrive(std::uint64_t now, const Update &update, std::size_t frame_bytes,
                      std::size_t room) {
    if (update.count > rules_[update.cluster].max_count)
        return {Action::refused, std::nullopt};
    if (!update.damaged) {
        activity_.arrive(now, update.cluster);
        counters_.received++;
        counters_.updates_in += update.count;
    }

    if (ring_.empty() && pacer.due(now) && !update.damaged) {
        pacer.depart(now, frame_bytes + config_.frame_overhead);
        count(Action::passed_through, update);
        return {Action::passed_through, std::nullopt};
    }
    std::optional<Entry> leaving;
    if (!ring_.empty() && pacer.due(now) &&
        departing_frame(ring_.front().update).size() <= room) {
        leaving = depart(now);
        counters_.departed_riding++;
    }
    const Action action = update.damaged ? Action::damaged : accept(update, leaving);
    count(action, update);
    if (leaving)
        return {action, leaving->update};
    return {action, std::nullopt};
}

std::optional<Update> Queue::drain(std::uint64_t now) {
    if (ring_.empty() || !pacer.due(now))
        return std::nullopt;
    counters_.departed_drain++;
    return depart(now).update;
}

std::optional<Update> Queue::begin_drain(std::uint64_t now) {
    if (ring_.empty() || !pacer.due(now))
        return std::nullopt;
    counters_.departed_drain++;
    copying_.push_back(depart(now));
    return copying_.back().update;
}

Action Queue::accept(const Update &update, const std::optional<Entry> &leaving) {
    const Rule &rule = rules_[update.cluster];
    if (rule.policy == Policy::fifo) // every update is its own entry
        return append(update, Action::full, false);

    auto open = [&](const Entry &entry) { return entry.open && same_slot(entry, update); };
    auto waiting = std::ranges::find_if(
        ring_, [&](const Entry &entry) { return open(entry) && fits(entry.update, update); });
    if (waiting == ring_.end()) {
        // Closed ones are to blame only if nothing is open that it might have fitted.
        const bool misfit = std::ranges::any_of(ring_, open);
        if (!buffer_free(update, leaving))
            return misfit ? Action::misfit : Action::sealed;
        return append(update, misfit ? Action::misfit : Action::full, true);
    }
    switch (judge(rule, waiting->update, update)) {
    case Verdict::aggregate:
        fold(waiting->update, update);
        return Action::aggregated;
    case Verdict::replace:
        counters_.updates_superseded += waiting->update.count;
        replace(waiting->update, update);
        return Action::replaced;
    case Verdict::drop:
        return Action::reward;
    case Verdict::seal:
        break;
    }
    if (!buffer_free(update, leaving) || ring_.size() >= config_.queue_capacity)
        return Action::sealed;
    waiting->open = false;
    return append(update, Action::sealed, true);
}

/// A slot has two buffers. What leaves in this very frame frees its place at once, but its buffer
/// only when the frame is written.
bool Queue::buffer_free(const Update &update, const std::optional<Entry> &leaving) const {
    const auto holds = [&](const Entry &entry) { return same_slot(entry, update); };
    const auto used =
        std::ranges::count_if(ring_, holds) + std::ranges::count_if(copying_, holds);
    return used + (leaving && same_slot(*leaving, update) ? 1 : 0) < 2;
}

Action Queue::append(const Update &update, Action if_no_room, bool buffered) {
    if (ring_.size() >= config_.queue_capacity)
        return if_no_room;
    ring_.push_back({update, buffered, buffered});
    return Action::appended;
}

void Queue::count(Action action, const Update &update) {
    switch (action) {
    case Action::passed_through:
        counters_.passed_through++;
        counters_.updates_out += update.count;
        return;
    case Action::appended:
        counters_.appended++;
        return;
    case Action::aggregated:
        counters_.aggregated++;
        return;
    case Action::replaced:
        counters_.replaced++;
        return;
    case Action::full:
        counters_.dropped_full++;
        break;
    case Action::reward:
        counters_.dropped_reward++;
        break;
    case Action::sealed:
        counters_.dropped_sealed++;
        break;
    case Action::misfit:
        counters_.dropped_misfit++;
        break;
    case Action::refused:
        return;
    case Action::damaged:
        counters_.damaged++;
        return;
    }
    counters_.updates_dropped += update.count;
}

std::uint64_t Queue::updates_waiting() const {
    std::uint64_t sum = 0;
    for (const auto &entry : ring_)
        sum += entry.update.count;
    return sum;
}

std::uint32_t Queue::active_clusters(std::uint64_t now) const { return activity_.active(now); }

bool Queue::conserves() const {
    const Counters &c = counters_;
    return c.received == c.passed_through + c.appended + c.aggregated + c.replaced +
                             c.dropped_full + c.dropped_reward + c.dropped_sealed +
                             c.dropped_misfit &&
           c.appended == c.departed_riding + c.departed_drain + ring_.size() &&
           c.updates_in ==
               c.updates_out + c.updates_superseded + c.updates_dropped + updates_waiting();
}

} // namespace olaf::model
