// SPDX-License-Identifier: BSD-2-Clause
// The list of counters as metrics.
#include <algorithm>
#include <cctype>

#include "flow.hpp"
#include "metrics.hpp"

namespace olaf {
namespace {

/// "name{label=value}" taken apart.
struct Series {
    std::string name, label, value;

    explicit Series(const std::string &text) : name(text.substr(0, text.find('{'))) {
        if (name.size() == text.size())
            return;
        const auto equals = text.find('=');
        label = text.substr(name.size() + 1, equals - name.size() - 1);
        value = text.substr(equals + 1, text.size() - equals - 2);
    }
};

/// Metrics that are told by cluster: those of the counters that slots keep.
bool by_cluster(const std::string &name) {
    return std::ranges::any_of(counters(), [&](const Counter &counter) {
        return counter.source == Source::slots &&
               std::ranges::any_of(counter.metrics, [&](const std::string &metric) {
                   return Series(metric).name == name;
               });
    });
}

std::string sentence(std::string_view meaning) {
    std::string text(meaning);
    if (!text.empty())
        text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text + ".";
}

/// Counters with the same series are one number.
class Sums {
  public:
    Sums(Exposition &out, Labels labels) : out_(out), labels_(std::move(labels)) {}

    void add(const Counter &counter, std::uint64_t value) {
        for (const auto &metric : counter.metrics) {
            const auto found = std::ranges::find(sums_, metric, &Sum::metric);
            if (found != sums_.end())
                found->value += value;
            else
                sums_.push_back({metric, &counter, value});
        }
    }

    /// Writes them. Those that have a series for each cluster elsewhere get the label
    /// cluster="none" here.
    void tell(bool of_cluster) const {
        for (const auto &[metric, counter, value] : sums_) {
            const Series series(metric);
            const auto general = metric_help(series.name);
            const auto help = general.empty() ? sentence(counter->meaning) : std::string(general);
            auto labels = labels_;
            if (!of_cluster && by_cluster(series.name))
                labels = with(labels, "cluster", "none");
            if (!series.label.empty())
                labels = with(labels, series.label.c_str(), series.value);
            if (counter->source == Source::levels)
                out_.gauge(series.name, help, labels, static_cast<double>(value));
            else
                out_.counter(series.name, help, labels, static_cast<double>(value));
        }
    }

  private:
    struct Sum {
        std::string metric;
        const Counter *counter;
        std::uint64_t value;
    };
    Exposition &out_;
    Labels labels_;
    std::vector<Sum> sums_;
};

} // namespace

void add_listed(Exposition &out, const Labels &device, const Reading &queue,
                const ShownClusters &shown) {
    auto numbers = queue.numbers();
    numbers.slots = nullptr; // those are told by cluster
    Sums all(out, device);
    for (const auto &counter : counters())
        if (const auto value = counter.in(numbers);
            value && (queue.snapshot.window || counter.field != "in_flight"))
            all.add(counter, *value);
    all.tell(false);
    Sums others(out, with(device, "cluster", "other"));
    for (std::uint32_t id = 0; id < queue.snapshot.clusters.size(); id++) {
        const auto &slots = queue.snapshot.clusters[id];
        if (flow_of(slots).received == 0)
            continue; // never heard of
        Sums own(out, with(device, "cluster", std::to_string(id)));
        auto &cluster = shown.has(queue, id) ? own : others;
        for (const auto &counter : counters())
            if (const auto value = counter.in({.slots = &slots}))
                cluster.add(counter, *value);
        own.tell(true);
    }
    others.tell(true);
}

} // namespace olaf
