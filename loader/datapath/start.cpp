// SPDX-License-Identifier: BSD-2-Clause
#include "start.hpp"

#include <algorithm>
#include <cstring>

namespace olaf {
namespace {

/// Counters and nothing else: each struct is as many words as it has counters.
template <class T> constexpr std::size_t words_in = sizeof(T) / sizeof(std::uint64_t);

struct WindowCounters {
    OLAF_WINDOW_COUNTER_LIST(OLAF_COUNTER_FIELD)
};

template <class T> void append(std::vector<std::uint64_t> &words, const T &counters) {
    static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
    words.resize(words.size() + words_in<T>);
    std::memcpy(&words[words.size() - words_in<T>], &counters, sizeof counters);
}

template <class T> void take(const std::uint64_t *&at, T &counters) {
    std::memcpy(&counters, at, sizeof counters);
    at += words_in<T>;
}

/// Word by word. A counter that was read a moment before another may seem to be behind it.
template <class T> void subtract_words(T &from, const T &start) {
    std::uint64_t left[words_in<T>], right[words_in<T>];
    std::memcpy(left, &from, sizeof from);
    std::memcpy(right, &start, sizeof start);
    for (std::size_t i = 0; i < words_in<T>; i++)
        left[i] -= std::min(left[i], right[i]);
    std::memcpy(&from, left, sizeof from);
}

WindowCounters counters_of(const olaf_window &window) {
    WindowCounters counters;
#define COPY(field, ...) counters.field = window.field;
    OLAF_WINDOW_COUNTER_LIST(COPY)
#undef COPY
    return counters;
}

void set_counters(olaf_window &window, const WindowCounters &counters) {
#define COPY(field, ...) window.field = counters.field;
    OLAF_WINDOW_COUNTER_LIST(COPY)
#undef COPY
}

} // namespace

Start start_of(const Snapshot &snapshot, const std::optional<olaf_losses> &losses,
               std::uint64_t now_ns) {
    Start start{.at_ns = now_ns,
                .counters = snapshot.counters,
                .acks = snapshot.acks,
                .window = snapshot.window.value_or(olaf_window{}),
                .losses = losses.value_or(olaf_losses{}),
                .clusters = snapshot.clusters};
    olaf_slot_counters all{};
    for (auto &cluster : start.clusters) {
        cluster.appended = cluster.departed_riding + cluster.departed_drain;
        all += cluster;
    }
    // Both are the sums of what became of what came, but for what waits.
    auto &counters = start.counters;
    counters.received = counters.dropped_contended;
#define ADD(field, group, key, unit, identity, ...)                                                \
    counters.received += ((identity) & OLAF_RIGHT(ARRIVALS)) != 0 ? all.field : 0;
    OLAF_SLOT_COUNTER_LIST(ADD)
#undef ADD
    counters.updates_in = all.updates_departed + all.updates_passed + all.updates_superseded +
                          all.updates_dropped + counters.updates_contended;
    return start;
}

void subtract(Snapshot &from, const Start &start) {
    subtract_words(from.counters, start.counters);
    subtract_words(from.acks, start.acks);
    from.slots = {};
    for (std::size_t id = 0; id < from.clusters.size(); id++) {
        if (id < start.clusters.size())
            subtract_words(from.clusters[id], start.clusters[id]);
        from.slots += from.clusters[id];
    }
    if (from.window) {
        auto counters = counters_of(*from.window);
        subtract_words(counters, counters_of(start.window));
        set_counters(*from.window, counters);
    }
}

void subtract(olaf_losses &from, const Start &start) {
    subtract_words(from, start.losses);
}

std::vector<std::uint64_t> words_of(const Start &start) {
    std::vector<std::uint64_t> words{start.at_ns};
    append(words, start.counters);
    append(words, start.acks);
    append(words, counters_of(start.window));
    append(words, start.losses);
    for (const auto &cluster : start.clusters)
        append(words, cluster);
    return words;
}

std::optional<Start> start_from(const std::vector<std::uint64_t> &words, std::uint32_t clusters) {
    if (words.size() != start_words(clusters))
        return {};
    Start start;
    start.at_ns = words[0];
    const auto *at = &words[1];
    WindowCounters window;
    take(at, start.counters);
    take(at, start.acks);
    take(at, window);
    set_counters(start.window, window);
    take(at, start.losses);
    start.clusters.resize(clusters);
    for (auto &cluster : start.clusters)
        take(at, cluster);
    return start;
}

std::size_t start_words(std::uint32_t clusters) {
    return 1 + words_in<olaf_counters> + words_in<olaf_ack_counters> + words_in<WindowCounters> +
           words_in<olaf_losses> + clusters * words_in<olaf_slot_counters>;
}

} // namespace olaf
