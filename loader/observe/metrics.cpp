// SPDX-License-Identifier: BSD-2-Clause
// Jobs as metrics.
#include "metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "loader/datapath/config.hpp"
#include "loader/text/job_counters.hpp"
#include "loader/text/json.hpp"
#include "loader/text/names.hpp"
#include "rows.hpp"

namespace olaf {
namespace {

std::string escaped(const std::string &value) {
    std::string out;
    for (const char c : utf8(value)) {
        if (c == '\\' || c == '"')
            out += '\\';
        out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out;
}

std::string sample(const std::string &name, const Labels &labels, double value) {
    std::string text = name;
    for (const auto &[label, content] : labels)
        text += fmt::format("{}{}=\"{}\"", text.size() == name.size() ? "{" : ",", label,
                            escaped(content));
    // The shortest text that reads back as the same number.
    return text + fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
}

} // namespace

Exposition::Family &Exposition::family(const std::string &name, const char *type,
                                       const std::string &help) {
    const auto found = std::ranges::find(families_, name, &Family::name);
    return found != families_.end() ? *found : families_.emplace_back(name, type, help);
}

void Exposition::counter(const std::string &name, const std::string &help, const Labels &labels,
                         double value) {
    family(name, "counter", help).samples += sample(name, labels, value);
}

void Exposition::gauge(const std::string &name, const std::string &help, const Labels &labels,
                       double value) {
    family(name, "gauge", help).samples += sample(name, labels, value);
}

void Exposition::histogram(const std::string &name, const std::string &help, const Labels &labels,
                           const std::vector<std::pair<double, std::uint64_t>> &buckets,
                           std::uint64_t count, double sum) {
    auto &samples = family(name, "histogram", help).samples;
    for (const auto &[bound, below] : buckets)
        samples += sample(name + "_bucket", with(labels, "le", fmt::format("{}", bound)),
                          static_cast<double>(below));
    samples += sample(name + "_bucket", with(labels, "le", "+Inf"), static_cast<double>(count));
    samples += sample(name + "_sum", labels, sum);
    samples += sample(name + "_count", labels, static_cast<double>(count));
}

void Exposition::summary(const std::string &name, const std::string &help, const Labels &labels,
                         double sum, std::uint64_t count) {
    family(name, "summary", help).samples +=
        sample(name + "_sum", labels, sum) +
        sample(name + "_count", labels, static_cast<double>(count));
}

std::string Exposition::text() const {
    std::string text;
    for (const auto &family : families_)
        text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", family.name, family.help,
                            family.type, family.samples);
    return text;
}

namespace {

/// Clusters that were heard of and aren't chosen yet, the busiest first.
std::vector<std::uint32_t> candidates(const Reading &queue, const std::set<std::uint32_t> &chosen) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> heard;
    const auto &clusters = queue.snapshot.clusters;
    for (std::uint32_t id = 0; id < clusters.size(); id++)
        if (const auto received = flow_of(clusters[id]).received;
            received > 0 && !chosen.contains(id))
            heard.emplace_back(received, id);
    std::ranges::sort(heard, [](const auto &a, const auto &b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<std::uint32_t> ids;
    ids.reserve(heard.size());
    for (const auto &[received, id] : heard)
        ids.push_back(id);
    return ids;
}

} // namespace

void ShownClusters::choose(const std::vector<Reading> &queues) {
    if (!most_)
        return;
    std::map<std::string, std::set<std::uint32_t>> kept;
    for (const auto &queue : queues) {
        auto &chosen = kept[queue.identity] = std::move(chosen_[queue.identity]);
        if (chosen.size() >= *most_)
            continue;
        for (const auto id : candidates(queue, chosen))
            if (chosen.size() < *most_)
                chosen.insert(id);
    }
    chosen_ = std::move(kept);
}

bool ShownClusters::has(const Reading &queue, std::uint32_t cluster) const {
    if (!most_)
        return true;
    const auto found = chosen_.find(queue.identity);
    return found != chosen_.end() && found->second.contains(cluster);
}

namespace {

void add_queue(Exposition &out, const Labels &device, const Reading &queue) {
    const auto &record = queue.attachment.record;
    const auto &config = record.config;
    out.gauge("olaf_queue_info", "How a queue is attached; always 1.",
              with(with(with(with(device, "mode", mode_name(record)), "policy",
                             std::string(policy_name(config.default_policy))),
                        "deliver", std::string(deliver_names[config.deliver % 3])),
                   "target", record.target),
              1);
    out.gauge("olaf_queue_capacity", "Messages that may wait: Qmax.", device, config.queue_capacity);
    if (queue.card)
        out.gauge("olaf_card_lost", "Whether the card of the queue is lost: 1 or 0. Absent in the kernel.",
                  device, queue.lost() ? 1 : 0);
    if (queue.lost())
        return;
    out.gauge("olaf_active_clusters", "Clusters that sent an update in the activity window.",
              device, queue.snapshot.active_clusters);
    if (config.rate_bps != 0)
        out.gauge("olaf_rate_bytes_per_second", "Pace of departures; absent if unlimited.", device,
                  static_cast<double>(config.rate_bps) / 8);
}

void add_gate(Exposition &out, const Labels &device, const Reading &queue) {
    const auto &snapshot = queue.snapshot;
    out.gauge("olaf_gate_open", "Whether the way out takes departures: 1 or 0.", device,
              snapshot.gate.lost_ns == 0 ? 1 : 0);
    out.gauge("olaf_gate_blocked_seconds", "How long the way out has taken nothing.", device,
              static_cast<double>(blocked_ns(snapshot.gate, queue.aom.now_ns)) / 1e9);
    out.gauge("olaf_next_hops_unready", "Next hops that don't answer while updates wait for them.",
              device, static_cast<double>(snapshot.unready_hops.size()));
}

void add_window(Exposition &out, const Labels &device, const olaf_config &config,
                const olaf_window &window) {
    out.gauge("olaf_window_departures", "Departures that may be unacknowledged.", device,
              window_size(config, window));
    out.gauge("olaf_window_round_trip_seconds", "Smoothed time from a departure to its ACK.",
              device, static_cast<double>(window.rtt.smoothed_ns) * 1e-9);
}

constexpr double nanosecond = 1e-9;

void add_age(Exposition &out, const Labels &cluster, const Age &age) {
    out.gauge("olaf_aom_seconds", "Age-of-Model now.", cluster,
              static_cast<double>(age.age_ns) * nanosecond);
    out.gauge("olaf_aom_average_seconds", "Age-of-Model, average since the first departure.",
              cluster, age.average_ns() * nanosecond);
    out.gauge("olaf_aom_mean_peak_seconds", "Age-of-Model, mean of its peaks.", cluster,
              age.mean_peak_ns() * nanosecond);
    out.gauge("olaf_aom_highest_peak_seconds", "Age-of-Model, highest peak.", cluster,
              static_cast<double>(age.highest_peak_ns) * nanosecond);
}

/// Their rates' quotient is the average over any range.
void add_area(Exposition &out, const Labels &cluster, const Age &age) {
    out.counter("olaf_aom_area_square_seconds_total", "Area under the sawtooth of Age-of-Model.",
                cluster, static_cast<double>(age.twice_area) / 2 * nanosecond * nanosecond);
    out.counter("olaf_aom_measured_seconds_total", "Time that the area is over.", cluster,
                static_cast<double>(age.time_ns) * nanosecond);
}

/// Buckets of powers of two: bucket i counts 2^i ... 2^(i+1) - 1, the last one all beyond.
template <std::size_t N>
std::vector<std::pair<double, std::uint64_t>> cumulative(const std::array<std::uint64_t, N> &log2,
                                                         double unit) {
    std::vector<std::pair<double, std::uint64_t>> buckets;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i + 1 < N; i++) {
        below += log2[i];
        buckets.emplace_back((std::exp2(static_cast<double>(i + 1)) - 1) * unit, below);
    }
    return buckets;
}

template <std::size_t N>
void add_up(std::array<std::uint64_t, N> &sum, const std::array<std::uint64_t, N> &more) {
    for (std::size_t i = 0; i < N; i++)
        sum[i] += more[i];
}

/// What counts up, of a cluster or of several together.
void tell_sums(Exposition &out, const Labels &cluster, const ClusterAom &one) {
    add_area(out, with(cluster, "clock", "generated"), one.generated);
    add_area(out, with(cluster, "clock", "arrival"), one.arrival);
    out.summary("olaf_wait_seconds", "Time that departed updates have waited.", cluster,
                static_cast<double>(one.wait_sum) * nanosecond, one.departures);
}
void add_sums(ClusterAom &sum, const ClusterAom &one) {
    for (const auto clock : {&ClusterAom::generated, &ClusterAom::arrival}) {
        (sum.*clock).twice_area += (one.*clock).twice_area;
        (sum.*clock).time_ns += (one.*clock).time_ns;
    }
    sum.wait_sum += one.wait_sum;
    sum.departures += one.departures;
}

/// Ages, waits and folds of a queue's clusters. Counters of those that aren't shown stand together
/// under cluster="other".
void add_aom(Exposition &out, const Labels &device, const Reading &queue,
             const ShownClusters &shown) {
    const auto &aom = queue.aom;
    ClusterAom all, others;
    for (const auto &one : aom.clusters) {
        all.departures += one.departures;
        all.updates += one.updates;
        add_up(all.folds, one.folds);
        add_up(all.generated.histogram, one.generated.histogram);
        add_up(all.arrival.histogram, one.arrival.histogram);
        all.generated.age_sum += one.generated.age_sum;
        all.arrival.age_sum += one.arrival.age_sum;
        if (!shown.has(queue, one.cluster)) {
            add_sums(others, one);
            continue;
        }
        const auto cluster = with(device, "cluster", std::to_string(one.cluster));
        add_age(out, with(cluster, "clock", "generated"), one.generated);
        add_age(out, with(cluster, "clock", "arrival"), one.arrival);
        out.gauge("olaf_model_version_lag", "Model versions that the last departure was behind.",
                  cluster, one.version_lag);
        tell_sums(out, cluster, one);
    }
    if (others.departures > 0)
        tell_sums(out, with(device, "cluster", "other"), others);
    const auto updates = static_cast<double>(all.updates);
    out.histogram("olaf_departure_updates", "Updates folded into a departing message.", device,
                  cumulative(all.folds, 1), all.departures, updates);
    for (const auto &[clock, age] : {std::pair{"generated", &ClusterAom::generated},
                                     std::pair{"arrival", &ClusterAom::arrival}}) {
        const auto sum = static_cast<double>((all.*age).age_sum) * nanosecond;
        out.histogram("olaf_departure_age_seconds", "Age of an update as it departs.",
                      with(device, "clock", clock), cumulative((all.*age).histogram, nanosecond),
                      all.departures, sum);
        out.gauge("olaf_aom_fairness_ratio", "Jain's index over the clusters' average ages.",
                  with(device, "clock", clock), aom_fairness(aom, age));
    }
}

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

/// Every counter and level of the list (olaf/counters.h), and "other" as above.
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

/// "name{label=value}" or "name".
void add_counter(Exposition &out, Labels labels, const JobCounter &counter, std::uint64_t value) {
    const std::string metric(counter.metric);
    const auto name = metric.substr(0, metric.find('{'));
    if (const auto equals = metric.find('='); equals != metric.npos)
        labels = with(labels, metric.substr(name.size() + 1, equals - name.size() - 1).c_str(),
                      metric.substr(equals + 1, metric.size() - equals - 2));
    std::string help(metric_help(name));
    if (help.empty()) {
        help = std::string(counter.unit) + ": " + std::string(counter.meaning) + ".";
        help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(help[0])));
    }
    out.counter(name, help, labels, static_cast<double>(value));
}

/// How its members stand.
void add_members(Exposition &out, const Labels &labels, const JobReading &job) {
    out.gauge("olaf_job_running", "Whether a job takes contributions: 1 or 0.", labels,
              job.job.state == OLAF_JOB_RUNNING && job.job.halted == 0 ? 1 : 0);
    out.gauge("olaf_job_syncing", "Whether the members of a job must agree where to begin: 1 or 0.",
              labels, job.job.state == OLAF_JOB_SYNCING ? 1 : 0);
    out.gauge("olaf_job_children", "Workers or nodes that may contribute to a job.", labels,
              job.job.setup.children);
    out.gauge("olaf_job_members", "Members of a job that are known.", labels,
              static_cast<double>(job.members.size()));
    out.gauge("olaf_job_absent_children", "Children of a job that are no members now.", labels,
              static_cast<double>(job.absent().size()));
    out.gauge("olaf_job_waiting_for_members",
              "While members must agree where to begin: those that haven't asked.", labels,
              static_cast<double>(job.waiting_for().size()));
    // All of it is what orders go by, and who reads metrics needn't be a member.
    out.gauge("olaf_job_generation",
              "Low byte of the number that changes whenever the members must agree anew.", labels,
              job.job.generation & 0xff);
}

} // namespace

void add_jobs(Exposition &out, const Labels &device, const Reading &queue) {
    for (const auto &job : queue.jobs) {
        const auto labels = with(device, "job", std::to_string(job.id()));
        for (const auto &counter : job_counters())
            add_counter(out, labels, counter, counter.in(job.counters));
        add_members(out, labels, job);
        out.gauge("olaf_job_open_chunks", "Chunks that gather contributions.", labels,
                  static_cast<double>(job.open));
        out.gauge("olaf_job_up_chunks", "Chunks whose sum is on its way to the parent or back.",
                  labels, static_cast<double>(job.up));
        out.gauge("olaf_job_owed_results", "Results that members haven't got yet.", labels,
                  static_cast<double>(job.owed));
    }
}

std::string metrics(const std::vector<Reading> &queues, const ShownClusters &shown) {
    Exposition out;
    out.gauge("olaf_build_info", "The olaf that tells this; always 1.",
              {{"version", OLAF_PROJECT_VERSION}}, 1);
    out.gauge("olaf_queues", "Queues that are attached and were read.", {},
              static_cast<double>(queues.size()));
    for (const auto &queue : queues) {
        const Labels device{{"device", queue.attachment.device}};
        add_queue(out, device, queue);
        add_listed(out, device, queue, shown);
        add_jobs(out, device, queue);
        if (!queue.card)
            add_gate(out, device, queue);
        if (queue.snapshot.window)
            add_window(out, device, queue.attachment.record.config, *queue.snapshot.window);
        if (!queue.card) // which meters no ages
            add_aom(out, device, queue, shown);
    }
    return out.text();
}

} // namespace olaf
