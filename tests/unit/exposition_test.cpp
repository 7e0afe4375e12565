// SPDX-License-Identifier: BSD-2-Clause
// The text format of Prometheus, and metrics of jobs in it.
#include <gtest/gtest.h>

#include "loader/observe/metrics.hpp"

namespace olaf::test::exposition_test {
namespace {

// The text format of Prometheus.

TEST(Exposition, KeepsAFamilyInOnePiece) {
    Exposition out;
    out.counter("a_total", "As.", {{"device", "eth0"}}, 1);
    out.gauge("b", "Bs.", {}, 0.5);
    out.counter("a_total", "As.", {{"device", "eth1"}}, 18446744073709551615.0);
    EXPECT_EQ(out.text(), "# HELP a_total As.\n"
                          "# TYPE a_total counter\n"
                          "a_total{device=\"eth0\"} 1\n"
                          "a_total{device=\"eth1\"} 1.8446744073709552e+19\n"
                          "# HELP b Bs.\n"
                          "# TYPE b gauge\n"
                          "b 0.5\n");
}

TEST(Exposition, EscapesLabels) {
    Exposition out;
    out.gauge("a", "As.", {{"x", "a\\b\"c\nd"}}, 1);
    EXPECT_NE(out.text().find("a{x=\"a\\\\b\\\"c\\nd\"} 1\n"), std::string::npos) << out.text();
}

TEST(Exposition, HasNoBytesThatAreNotUtf8) {
    Exposition out;
    out.gauge("a", "As.", {{"x", "caf\xe9"}}, 1);
    EXPECT_NE(out.text().find("a{x=\"caf\xef\xbf\xbd\"} 1\n"), std::string::npos) << out.text();
}

TEST(Exposition, HistogramsEndWithAllThatThereIs) {
    Exposition out;
    const double sum = 7;
    out.histogram("h", "H.", {}, {{1, 2}, {3, 4}}, 5, sum);
    EXPECT_EQ(out.text(), "# HELP h H.\n# TYPE h histogram\n"
                          "h_bucket{le=\"1\"} 2\nh_bucket{le=\"3\"} 4\nh_bucket{le=\"+Inf\"} 5\n"
                          "h_sum 7\nh_count 5\n");
}

// How the members of a job stand, as metrics.

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
    expect_gauge(text, "generation", "240"); // its low byte
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
} // namespace olaf::test::exposition_test
