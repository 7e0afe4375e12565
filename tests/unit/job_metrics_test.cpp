// SPDX-License-Identifier: BSD-2-Clause
// How the members of a job stand, as metrics.
#include <gtest/gtest.h>

#include "loader/observe/metrics.hpp"

namespace olaf::test::job_metrics_test {
namespace {

using namespace olaf;

/// Of four children one is absent, and of the others one has asked where to begin.
JobReading waiting_job() {
    JobReading job;
    job.job.setup.id = 7;
    job.job.setup.children = 4;
    job.job.state = OLAF_JOB_SYNCING;
    job.job.generation = 0xfffffff0;
    job.job.asked.word[0] = 1;
    for (auto &set : job.job.membership.absent)
        set.word[0] = 1 << 3;
    job.members.resize(1);
    return job;
}

std::string metrics_of(const JobReading &job) {
    Reading queue;
    queue.jobs = {job};
    Exposition out;
    add_jobs(out, {{"device", "eth0"}}, queue);
    return out.text();
}

void expect_gauge(const std::string &text, const std::string &name, const std::string &value) {
    const auto line = "\nolaf_job_" + name + "{device=\"eth0\",job=\"7\"} " + value + "\n";
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(JobMetrics, SayWhoIsMissing) {
    const auto text = metrics_of(waiting_job());
    expect_gauge(text, "syncing", "1");
    expect_gauge(text, "running", "0");
    expect_gauge(text, "children", "4");
    expect_gauge(text, "absent_children", "1");
    expect_gauge(text, "waiting_for_members", "2");
    expect_gauge(text, "members", "1");
    expect_gauge(text, "generation", "4294967280");
}

TEST(JobMetrics, WhoRunsWaitsForNobody) {
    auto job = waiting_job();
    job.job.state = OLAF_JOB_RUNNING;
    auto text = metrics_of(job);
    expect_gauge(text, "syncing", "0");
    expect_gauge(text, "running", "1");
    expect_gauge(text, "waiting_for_members", "0");
    job.job.halted = 1;
    text = metrics_of(job);
    expect_gauge(text, "running", "0");
    expect_gauge(text, "syncing", "0");
}

} // namespace
} // namespace olaf::test::job_metrics_test
