// SPDX-License-Identifier: BSD-2-Clause
// Frames of jobs: how long they are where nobody says it, a way that is too narrow for them, streams of
// them as fast as they go, and what is owed when the queue goes.
#include <gtest/gtest.h>

#include <barrier>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "endpoints/rounds/sending.hpp"
#include "rounds.hpp"

namespace olaf::test::rounds_frames_test {
namespace {

constexpr unsigned jumbo = 9000, narrow = 1500;

/// So long that who is told of something was told at once, and not for want of time.
constexpr auto longer_than_a_test = std::chrono::hours(1);

/// Both members of a job are told at start() that it has no room for their frames, with these words.
void expect_no_room(const JobWorkers &job, const std::vector<std::string> &words) {
    const auto errors = failed_joins(job, [](CollectiveOptions &options) {
        options.lanes = 0; // as the node tells
        options.timeout = longer_than_a_test;
    });
    ASSERT_EQ(errors.size(), 2u);
    for (const auto &error : errors) {
        EXPECT_EQ(error.code, EMSGSIZE);
        for (const auto &each : words)
            EXPECT_TRUE(says(error.message(), each));
    }
}

// ---- nobody says how long: the node takes what its MTU has room for, and workers learn it ----

class RoundsShape : public testing::TestWithParam<unsigned> {
  protected:
    RoundsBed bed{{.workers = 2, .wiring = {.mtu = GetParam()}, .lanes = 0}};
};

TEST_P(RoundsShape, IsFoundFromTheMtu) {
    constexpr std::size_t elements = 20'000;
    const unsigned lanes = (GetParam() - 40 - 8 - 48) / 8;
    EXPECT_EQ(bed.job().at("lanes"), lanes);
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        EXPECT_EQ(sum_round(collective, rank, 2, 0, elements).chunks,
                  (elements + lanes - 2) / (lanes - 1));
    });
    expect_job_identities(bed.job());
}

TEST(RoundsOfJumboFrames, AreExactThoughSomeAreLost) {
    RoundsBed bed{{.wiring = {.mtu = jumbo}, .lanes = 0, .loss = 5}};
    bed.sum_exactly(4, 40'000);
    const auto job = bed.job();
    EXPECT_GT(job["lanes"], 1000u);
    EXPECT_GT(job["contributions"]["duplicate"], 0u);
}

TEST(RoundsInAVlan, AreExactThoughSomeFramesAreLost) {
    RoundsBed bed{{.loss = 5}};
    const InAVlan vlan(bed.worker, "eth0");
    bed.sum_exactly(4, elements_of(40));
    const auto job = bed.job();
    EXPECT_GT(job["contributions"]["duplicate"], 0u);
    EXPECT_GE(vlan.received(), job["results"]["riding"].get<std::uint64_t>() * 9 / 10) << "the others are lost";
}

TEST_P(RoundsShape, ThatTheWorkersDeviceHasNoRoomForIsToldAtOnce) {
    bed.worker.ip("link set eth0 mtu 1400\n");
    expect_no_room(bed, {"the way to the node has an MTU of 1400", "--lanes 165"});
}

INSTANTIATE_TEST_SUITE_P(OfFrames, RoundsShape, testing::Values(narrow, jumbo),
                         [](const auto &info) { return "Mtu" + std::to_string(info.param); });

// ---- a way whose ends are wider than its middle: short messages get through, contributions don't ----

const std::vector<std::string> too_narrow = {"don't get to the node and back; short ones do",
                                             "--lanes"};

/// Both members sum that many integers of 32 bits.
void sum_short(Collective &collective, unsigned rank, std::size_t elements) {
    std::vector<std::int32_t> vector(elements, static_cast<std::int32_t>(rank) + 1);
    const auto report = collective.allreduce(std::span(vector));
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(vector, std::vector<std::int32_t>(elements, 3));
}

/// A switch between the host of a node and its workers, with room for long frames.
class NarrowSwitch : public JobWorkers {
  public:
    explicit NarrowSwitch(int family) : family_(family) {
        switch_.ip("link add br0 type bridge mcast_snooping 0\nlink set br0 up\n");
        join("host0", host_, "in");
        join("worker0", worker_, "eth0");
        host_.ip("address add 10.9.0.1/24 dev in\naddress add fd09::1/64 dev in nodad\n");
        worker_.ip("address add 10.9.0.2/24 dev eth0\naddress add fd09::2/64 dev eth0 nodad\n");
        must(olaf_({"attach", "in", "--local", "--round-slots", "64"}));
        must(olaf_({"job", "set", "in", std::to_string(rounds_job), "--children", "2"}));
    }
    /// Of the switch's port to the workers, whose own device knows nothing of it.
    void set_mtu(unsigned mtu) const { switch_.ip("link set worker0 mtu " + std::to_string(mtu)); }
    [[nodiscard]] unsigned workers() const override { return 2; }
    [[nodiscard]] const Netns &netns_of_workers() const override { return worker_; }
    [[nodiscard]] CollectiveOptions options(unsigned rank) const override {
        return {.node = Address::resolve(family_ == 4 ? "10.9.0.1" : "fd09::1").value(),
                .job = rounds_job,
                .rank = rank,
                .workers = 2,
                .run = "test"};
    }
    void expect_books_to_add_up() const override { expect_jobs_add_up(olaf_); }

  private:
    void join(const std::string &port, const Netns &end, const std::string &device) const {
        switch_.ip("link add name " + port + " mtu 9000 master br0 type veth peer name " + device +
                   " mtu 9000 netns " + end.name() + "\nlink set " + port + " up\n");
        end.ip("link set " + device + " up\n");
        set_offloads(switch_, port, {}); // so that a program at the other end may send by it
    }

    int family_;
    Netns host_{"host"}, switch_{"switch"}, worker_{"worker"};
    OlafCommand olaf_{host_, "in"}; ///< last: it detaches before a device goes
};

class RoundsBehindANarrowSwitch : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsBehindANarrowSwitch, testing::Values(4, 6),
                         by_family);

TEST_P(RoundsBehindANarrowSwitch, AreToldAtStartAndSumOnceItIsWide) {
    const NarrowSwitch job(GetParam());
    job.set_mtu(narrow);
    expect_no_room(job, too_narrow);
    job.set_mtu(jumbo);
    job.for_each_worker(
        [](Collective &collective, unsigned rank) { sum_short(collective, rank, 50'000); });
}

/// Long frames are lost in one direction of the workers' device.
class RoundsLosingLongFrames : public testing::TestWithParam<TcFilter::Direction> {
  protected:
    static JobSetting setting(unsigned lanes) {
        return {.workers = 2, .wiring = {.mtu = jumbo}, .lanes = lanes, .format = ""};
    }
    static LosingLong lose_long_frames(const Testbed &bed) {
        return {bed.worker, "eth0", GetParam(), narrow + 14};
    }
};

INSTANTIATE_TEST_SUITE_P(Of, RoundsLosingLongFrames,
                         testing::Values(Losing::sent, Losing::received), [](const auto &info) {
                             return info.param == Losing::sent ? "Contributions" : "Results";
                         });

TEST_P(RoundsLosingLongFrames, AreToldAtStart) {
    const RoundsBed bed(setting(1000));
    const auto losing = lose_long_frames(bed);
    expect_no_room(bed, too_narrow);
}

TEST_P(RoundsLosingLongFrames, SumWhereContributionsAreShortEnough) {
    const RoundsBed bed(setting(175));
    const auto losing = lose_long_frames(bed);
    bed.for_each_worker(
        [](Collective &collective, unsigned rank) { sum_short(collective, rank, 10'000); },
        [](CollectiveOptions &options) { options.lanes = 0; }); // as the node tells
}

// ---- streams as fast as they go: what XAgg's negotiated rates are for ----
// The node is a thread that runs only when no worker does, and the ring before it has 256 frames.
// bench/overrun/run tells more.

constexpr unsigned ring = 256;

struct Books {
    std::uint64_t sent = 0, repeated = 0; // by the workers
    std::uint64_t received = 0;           // by the node
    std::uint64_t overflowed = 0;         // frames for which its ring had no room
    std::uint64_t others = 0; // frames of the workers that were no contributions, as questions

    [[nodiscard]] std::uint64_t lost() const { return sent + repeated - received; }
    /// Contributions are lost where the ring has no room, and nowhere else.
    void expect_all_lost_overflowed() const {
        EXPECT_LE(lost(), overflowed);
        EXPECT_LE(overflowed, lost() + others);
    }
};

class RoundsOverrun : public testing::Test {
  protected:
    /// Each worker sums so many chunks with the others, through a window of `pool` chunks.
    Books stream(unsigned workers, unsigned pool, unsigned chunks, bool node_is_late = true,
                 unsigned percent_lost = 0) {
        RoundsBed bed({.workers = workers,
                       .set = {"--pool", std::to_string(pool)},
                       .slots = pool,
                       .starts = false});
        std::optional<Losing> losing;
        if (percent_lost != 0)
            losing.emplace(bed.worker, "eth0", Losing::sent, percent_lost);
        bed.attach_queue();
        if (node_is_late)
            make_node_late(bed);
        bed.set();
        const auto before = transmitted(bed.worker, "eth0");
        Books books;
        std::mutex mutex;
        std::barrier joined(workers);
        bed.for_each_worker([&](Collective &collective, unsigned rank) {
            auto vector = part_of(rank, 0, elements_of(chunks));
            go_first_on(cpu);
            // So that no question is lost, which isn't in these books, and all begin before the node runs.
            joined.arrive_and_wait();
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            EXPECT_EQ(vector, sum_of(workers, 0, vector.size()));
            const std::lock_guard lock(mutex);
            books.sent += collective.stats().sent;
            books.repeated += collective.stats().repeated;
        });
        const auto job = bed.job();
        books.received = job.at("contributions").at("received").get<std::uint64_t>() +
                         job.at("probes").get<std::uint64_t>();
        const auto after = transmitted(bed.worker, "eth0");
        books.overflowed = after.overflowed - before.overflowed;
        books.others = after.all - before.all - books.sent - books.repeated;
        EXPECT_EQ(books.sent, std::uint64_t{workers} * chunks);
        RecordProperty("lost", std::to_string(books.lost()));
        RecordProperty("others", std::to_string(books.others));
        RecordProperty("repeated", std::to_string(books.repeated));
        return books;
    }

    void make_node_late(const Testbed &bed) const {
        constexpr std::uint16_t port = 7000;
        const UdpSocket worker(bed.worker, Testbed::worker_peer(4));
        receive_in_thread(bed.host, "in", cpu, port, [&] {
            worker.send(Bytes{1}, {Testbed::server_peer(4).address, port});
        });
    }

    const int cpu = first_cpu();
};

TEST_F(RoundsOverrun, OneStreamWhoseWindowTheRingHoldsLosesNothing) {
    constexpr unsigned pool = 128, chunks = 20'000;
    static_assert(pool < ring);
    const Books books = stream(1, pool, chunks);
    EXPECT_EQ(books.overflowed, 0u);
    EXPECT_EQ(books.lost(), 0u);
    EXPECT_LE(books.repeated, chunks / 20);
}

// XAgg's receiver asks for what it lacks by a list of up to 360 numbers, and each is sent again. Without lists it
// takes no more frames here, but for a few contributions that weren't lost, where the worker had to wait for its CPU.
TEST_F(RoundsOverrun, WhatOnePercentOfLossTakesIsMendedByOneFrameEach) {
    constexpr unsigned pool = 128, chunks = 40'000, a_list = 360;
    const Books books = stream(1, pool, chunks, false, 1);
    EXPECT_EQ(books.overflowed, 0u);
    EXPECT_GT(books.lost(), chunks / 200);
    EXPECT_GE(books.repeated, books.lost());
    EXPECT_LE(books.repeated, books.lost() + (books.lost() + a_list - 1) / a_list + chunks / 500);
}

TEST_F(RoundsOverrun, WindowsThatTogetherFitTheRingLoseNothing) {
    constexpr unsigned workers = 4, pool = 32;
    static_assert(workers * pool < ring);
    const Books books = stream(workers, pool, 3'000);
    EXPECT_EQ(books.overflowed, 0u);
    EXPECT_EQ(books.lost(), 0u);
}

// Whatever the window, a worker sees the ring fill by how long results take. Without that each contribution was lost
// several times. Each loss costs a frame, as it would with a list that names it. XAgg lost 0.261 % of one stream at its
// fastest (its figure 11). Here the ring overflows once at most, while the window grows: the stream must be long enough
// for a share of it to mean something.
TEST_F(RoundsOverrun, AWindowThatNoRingHoldsLosesNoMoreThanXAggs) {
    constexpr unsigned chunks = 160'000;
    const Books books = stream(1, 4'096, chunks);
    books.expect_all_lost_overflowed();
    EXPECT_LE(books.lost(), chunks * 261 / 100'000);
    EXPECT_GE(books.repeated, books.lost());
    EXPECT_LE(books.repeated, books.lost() + books.sent / 20);
}

// A lost contribution is asked for by each worker that lacks its sum: where a list would name one,
// all of them send theirs again.
TEST_F(RoundsOverrun, WhatSeveralStreamsOverflowIsMendedByOneFrameOfEach) {
    constexpr unsigned workers = 8, pool = 256;
    static_assert(workers * CongestionWindow::kFirst > ring);
    const Books books = stream(workers, pool, 3'000);
    EXPECT_GT(books.overflowed, 0u);
    books.expect_all_lost_overflowed();
    EXPECT_GE(books.repeated, books.lost());
    EXPECT_LE(books.repeated, workers * books.lost() + books.sent / 20);
}

// ---- what members get when the queue goes ----

constexpr unsigned chunks = 10, open_chunks = 2;

std::uint32_t word_at(const Bytes &bytes, std::size_t offset) {
    return static_cast<std::uint32_t>(bytes.at(offset)) << 24 | bytes.at(offset + 1) << 16 |
           bytes.at(offset + 2) << 8 | bytes.at(offset + 3);
}

/// Two members of a job that have contributed all of some chunks, and one of them the next ones. The
/// frames of the second one carried a result each; as many are owed.
class RoundsAtDetach : public testing::TestWithParam<std::tuple<int, const char *>> {
  protected:
    RoundsAtDetach() {
        for (const std::uint32_t rank : {0u, 1u})
            contribute({.type = OLAF_CONTROL, .flags = 0, .rank = rank,
                        .count = OLAF_CONTROL_SYNC, .chunks = 0, .generation = 0, .pool = 6,
                        .lanes = {1 + rank, 0, 1, 0}});
        for (const auto *member : members)
            (void)member->receive();
        const std::uint32_t generation = bed.job().at("generation");
        for (const std::uint32_t rank : {0u, 1u})
            for (std::uint32_t chunk = 0; chunk < chunks + (rank == 0 ? open_chunks : 0); chunk++) {
                JobMessage message{.rank = rank, .chunk = chunk, .generation = generation,
                                   .lanes = {1, 2, 3, 4}};
                message.lanes.push_back(checksum_lane(message.lanes));
                contribute(message);
            }
        bed.olaf.await([](const Status &status) {
            return status.json.at("jobs").at(0).at("contributions").at("added") ==
                   2 * chunks + open_chunks;
        });
        bed.expect_books_to_add_up();
    }
    void contribute(const JobMessage &message) const {
        members[message.rank]->send(test::message(message), bed.target(std::get<0>(GetParam())));
    }
    /// Results that are there, by rank and chunk, and how often.
    std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned> results() const {
        std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned> found;
        for (std::uint32_t rank = 0; rank < 2; rank++)
            while (const auto got = members[rank]->poll(std::chrono::milliseconds(0)))
                if (got->payload.at(3) == OLAF_RESULT) {
                    EXPECT_EQ(word_at(got->payload, 12), rank);
                    found[{rank, word_at(got->payload, 32)}]++;
                }
        return found;
    }
    nlohmann::json detach() {
        const auto outcome = bed.olaf({"detach", "in", "--json"});
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        said = outcome.err;
        return nlohmann::json::parse(outcome.out);
    }

    RoundsBed bed{
        {.workers = 2, .attach = {"--mode", std::get<1>(GetParam())}, .lanes = 5, .format = ""}};
    UdpSocket first{bed.worker, Testbed::worker_peer(std::get<0>(GetParam()), 40000)};
    UdpSocket second{bed.worker, Testbed::worker_peer(std::get<0>(GetParam()), 40001)};
    const UdpSocket *const members[2] = {&first, &second};
    std::string said;
};

INSTANTIATE_TEST_SUITE_P(Of, RoundsAtDetach,
                         testing::Combine(testing::Values(4, 6), testing::Values("native", "skb")),
                         [](const auto &info) {
                             return "Ipv" + std::to_string(std::get<0>(info.param)) +
                                    (std::get<1>(info.param) == std::string("skb") ? "Generic"
                                                                                   : "Native");
                         });

TEST_P(RoundsAtDetach, EveryMemberGetsWhatItIsOwedOnce) {
    ASSERT_EQ(bed.job().at("results").at("undelivered"), chunks) << "are owed";
    const auto detached = detach();
    EXPECT_EQ(detached.at("results_dropped"), 0);
    EXPECT_EQ(detached.at("chunks_dropped"), open_chunks);
    EXPECT_TRUE(says(said, "2 chunks of jobs weren't complete"));
    const auto got = results();
    EXPECT_EQ(got.size(), 2 * chunks);
    for (const auto &[which, times] : got)
        EXPECT_EQ(times, 1u) << "rank " << which.first << ", chunk " << which.second;
}

TEST_P(RoundsAtDetach, WhatCannotLeaveIsSaid) {
    bed.host.ip("link set in down\n");
    const auto detached = detach();
    EXPECT_EQ(detached.at("results_dropped"), chunks);
    EXPECT_TRUE(says(said, "10 results of jobs couldn't be sent"));
}

} // namespace
} // namespace olaf::test::rounds_frames_test
