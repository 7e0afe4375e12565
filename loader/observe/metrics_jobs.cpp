// SPDX-License-Identifier: BSD-2-Clause
// Jobs as metrics.
#include <cctype>

#include "loader/text/job_counters.hpp"
#include "metrics.hpp"

namespace olaf {
namespace {

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
    out.gauge("olaf_job_generation", "Number that changes whenever the members must agree anew.",
              labels, job.job.generation);
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

} // namespace olaf
