// SPDX-License-Identifier: BSD-2-Clause
// What a queue's verdict says of its jobs.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <set>

#include "verdict_scene.hpp"

namespace olaf::test::verdict_jobs_test {
namespace {

using namespace olaf;
using namespace olaf::test;

/// A job of four children that have yet to agree; so many of them have asked.
JobReading job_of_four(std::uint64_t asked) {
    JobReading job;
    job.job.setup.id = 7;
    job.job.setup.children = 4;
    job.job.state = OLAF_JOB_SYNCING;
    job.job.asked.word[0] = asked;
    return job;
}

TEST(Verdict, AJobThatWaitsForSomeOfItsMembersNamesThem) {
    Scene scene;
    scene.reading.jobs.push_back(job_of_four(0));
    scene.expect(Health::idle, "no update has come", "UDP to port 6523");
    EXPECT_NE(scene.verdict().besides.at(0).text.find("none has asked"), std::string::npos);
    scene.reading.jobs[0] = job_of_four(0b0101);
    scene.expect(Health::impaired, "job 7 waits for ranks 1, 3 to ask", "start them");
    scene.reading.jobs[0] = job_of_four(0b1111);
    scene.reading.jobs[0].job.setup.parent_family = 4;
    scene.expect(Health::impaired, "job 7 waits for its parent, 0.0.0.0:0", "olaf job list");
    scene.reading.jobs[0].job.halted = 1;
    EXPECT_EQ(scene.verdict().besides.at(0).remedy, "olaf job resume in 7");
}

TEST(Verdict, AQueueWhoseJobsAreAtWorkWorks) {
    Scene scene;
    auto &job = scene.reading.jobs.emplace_back(job_of_four(0b1111));
    job.job.state = OLAF_JOB_RUNNING;
    job.counters.received = 9;
    job.counters.completed = 2;
    job.members.resize(1);
    job.members[0].member.last_seen_ns = 100 * second;
    scene.reading.attachment.record.config.activity_window_ns = second;
    scene.expect(Health::working, "1 job, 2 chunks completed", "");
    job.members[0].member.last_seen_ns = 90 * second;
    scene.expect(Health::idle, "no contribution comes", "");
    scene.expect_since(10);
}

/// A job that runs, of ranks 0 to 3, at second 100: those of `heard` were heard just now, the others last at second 70.
JobReading running_job(std::set<std::uint32_t> heard) {
    auto job = job_of_four(0b1111);
    job.job.state = OLAF_JOB_RUNNING;
    job.counters.received = 9;
    for (std::uint32_t rank = 0; rank < 4; rank++) {
        auto &known = job.members.emplace_back();
        known.worker = rank;
        known.member.last_seen_ns = (heard.contains(rank) ? 100 : 70) * second;
    }
    return job;
}

/// With a member timeout of a minute.
Scene scene_of(JobReading job) {
    Scene scene;
    auto &config = scene.reading.attachment.record.config;
    config.activity_window_ns = second;
    config.member_timeout_ns = 60 * second;
    scene.reading.jobs.push_back(std::move(job));
    return scene;
}

TEST(Verdict, AJobThatHangsOnASilentMemberNamesItAndSaysSinceWhen) {
    auto job = running_job({0, 1, 3});
    job.open = 5;
    job.oldest_open = {.since_ns = 80 * second, .round = 12, .chunk = 3, .lacks = {2, 3}};
    const auto scene = scene_of(job);
    scene.expect(Health::impaired, "job 7 waits for rank 2, silent: 5 of its chunks are open, the oldest is chunk 3 of round 12",
                 "olaf job leave in 7 2");
    scene.expect_since(30);
}

TEST(Verdict, AJobThatHangsOnMembersThatWereNeverHeardSaysSinceWhenItsChunkIsOpen) {
    auto job = running_job({0, 1});
    job.members.resize(2);
    job.oldest_open = {.since_ns = 80 * second, .round = 0, .chunk = 0, .lacks = {2, 3}};
    const auto scene = scene_of(job);
    scene.expect(Health::impaired, "job 7 waits for ranks 2, 3, silent", "olaf job leave in 7 RANK");
    scene.expect_since(20);
}

TEST(Verdict, AJobWhoseChunkIsOpenForNoLongTimeHangsOnNobody) {
    auto job = running_job({0, 1, 3});
    job.oldest_open = {.since_ns = 99 * second, .round = 12, .chunk = 3, .lacks = {2}};
    scene_of(job).expect(Health::working, "1 job", "");
}

TEST(Verdict, AJobWhoseMembersAllStoppedIsIdle) {
    auto job = running_job({});
    job.oldest_open = {.since_ns = 75 * second, .round = 12, .chunk = 3, .lacks = {2}};
    scene_of(job).expect(Health::idle, "no contribution comes", "");
}

TEST(Verdict, AMemberThatIsSlowButSendsIsNotNamed) {
    auto job = running_job({0, 1, 2, 3});
    job.oldest_open = {.since_ns = 75 * second, .round = 12, .chunk = 3, .lacks = {2}};
    scene_of(job).expect(Health::working, "1 job", "");
}

TEST(Verdict, AJobWhoseParentDoesNotAnswerSaysSo) {
    auto job = running_job({0, 1, 2, 3});
    job.job.setup.parent_family = 4;
    job.up = 4;
    job.oldest_up = {.since_ns = 60 * second, .round = 12, .chunk = 3, .lacks = {}};
    const auto scene = scene_of(job);
    scene.expect(Health::impaired, "job 7 waits for its parent, 0.0.0.0:0: it hasn't answered 4 of the sums", "olaf status there");
    scene.expect_since(40);
}

TEST(Verdict, FloatsThatMadeNaNAreToldBesides) {
    auto job = running_job({0, 1, 2, 3});
    job.job.setup.float_bits = 40;
    job.counters.float_overflow = 12;
    job.counters.float_not_finite = 3;
    const auto scene = scene_of(job);
    scene.expect(Health::working, "1 job", "");
    const auto besides = scene.verdict().besides;
    ASSERT_EQ(besides.size(), 2U);
    EXPECT_NE(besides[0].text.find("12 floats were too large"), std::string::npos) << besides[0].text;
    EXPECT_NE(besides[0].remedy.find("--float-bits below 40"), std::string::npos) << besides[0].remedy;
    EXPECT_NE(besides[1].text.find("3 floats were NaN or infinite"), std::string::npos) << besides[1].text;
}

TEST(Verdict, SumsTooLongForTheWayUpImpairAJobAsLongAsTheyWait) {
    auto job = running_job({0, 1, 2, 3});
    job.counters.up_unfit = 5;
    job.up = 1;
    auto scene = scene_of(job);
    scene.expect(Health::impaired, "5 times a sum was too long for the MTU", "mtu N");
    scene.reading.jobs[0].up = 0;
    scene.expect(Health::working, "1 job", "");
}

TEST(Verdict, RefusedSourcesOfAJobAreNoCaseForClusters) {
    Scene scene;
    scene.reading.snapshot.counters.not_allowed[OLAF_NOT_ALLOWED_JOB_SOURCE] = 9;
    scene.expect(Health::impaired, "9 of 9 messages refused", "olaf job leave in JOB RANK");
    scene.reading.snapshot.counters.not_allowed[OLAF_NOT_ALLOWED_JOB_RESULT] = 90;
    scene.expect(Health::impaired, "99 of 99 messages refused", "isn't a job's parent");
}

} // namespace
} // namespace olaf::test::verdict_jobs_test
