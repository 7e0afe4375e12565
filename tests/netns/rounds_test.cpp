// SPDX-License-Identifier: BSD-2-Clause
// Workers sum vectors through one node, with real sockets: every one gets the exact sum, whatever the
// network loses, whichever way the queue delivers, and whatever else the node does.
#include <gtest/gtest.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <csignal>
#include <sstream>
#include <utility>

#include "olaf/rounds.h"
#include "rounds.hpp"
#include "tests/datapath/float_reference.hpp"
#include "traffic.hpp"

namespace olaf::test::rounds_test {
namespace {

constexpr unsigned chunks = 41; // the last one isn't full
constexpr std::size_t elements = elements_of(40) + 17;

struct Case {
    const char *name;
    JobSetting setting = {};
    unsigned rounds = 4;
    const char *mode = "native";
};

class Rounds : public testing::TestWithParam<Case> {
  protected:
    static JobSetting setting() {
        auto setting = GetParam().setting;
        setting.attach = {"--mode", GetParam().mode};
        return setting;
    }
    RoundsBed bed{setting()};
};

TEST_P(Rounds, GiveEveryWorkerTheExactSum) {
    const auto &[name, setting, rounds, mode] = GetParam();
    bed.sum_exactly(rounds, elements);
    const auto job = bed.job();
    SCOPED_TRACE(job.dump(1));
    expect_job_identities(job);
    EXPECT_EQ(job["state"], "running");
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    EXPECT_EQ(job["contributions"]["added"], rounds * chunks * setting.workers);
    if (!setting.group.empty()) {
        EXPECT_EQ(job["multicast"]["group"], setting.group);
        EXPECT_EQ(job["results"]["multicast"], rounds * chunks);
        EXPECT_EQ(job["results"]["riding"], 0);
    }
    if (setting.loss != 0) {
        EXPECT_GT(setting.group.empty() ? job["contributions"]["duplicate"]
                                        : job["results"]["repeated"],
                  0);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Rounds,
    testing::Values(Case{"OneWorker", {.workers = 1}, 20}, Case{"TwoWorkers", {.workers = 2}, 20},
                    Case{"FourWorkers", {}, 20}, Case{"FourWorkersOverIpv6", {.family = 6}, 20},
                    Case{"EightWorkers", {.workers = 8}, 20},
                    Case{"SixteenWorkers", {.workers = 16}, 20},
                    Case{"SixteenWorkersOverIpv6", {.workers = 16, .family = 6}, 20},
                    Case{"FourWorkersInGenericMode", {}, 20, "skb"},
                    Case{"FourWorkersInGenericModeOverIpv6", {.family = 6}, 20, "skb"}),
    by_name);

INSTANTIATE_TEST_SUITE_P(WithLossOf, Rounds,
                         testing::Values(Case{"1Percent", {.loss = 1}, 10},
                                         Case{"5Percent", {.loss = 5}, 10},
                                         Case{"20Percent", {.loss = 20}, 10}),
                         by_name);

/// Frames have a flipped bit anywhere behind Ethernet, and its checksum is right.
class RoundsDamaged : public Rounds {};

TEST_P(RoundsDamaged, GiveEveryWorkerTheExactSum) {
    bed.sum_exactly(GetParam().rounds, elements);
    const auto status = bed.olaf.status();
    const auto &job = status.json.at("jobs").at(0);
    SCOPED_TRACE(job.dump(1));
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["completed"].get<unsigned>() - job["chunks"]["spoilt"].get<unsigned>(),
              GetParam().rounds * chunks);
    EXPECT_GT(job["chunks"]["spoilt"], 0);
    EXPECT_GT(status.counted("malformed_by_reason", "header"), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsDamaged,
    testing::Values(Case{"Ipv4", {.flips = 5}, 10}, Case{"Ipv6", {.family = 6, .flips = 5}, 10},
                    Case{"GenericMode", {.flips = 5}, 10, "skb"}),
    by_name);

// ---- members that give different vectors to a round ----

/// What a worker gives to the round that differs, and how the error names it.
struct Given {
    const char *name;
    Result<SumReport> (*sum)(Collective &);
    const char *said;
};

template <class Element, std::size_t size> Result<SumReport> integers_of(Collective &collective) {
    std::vector<Element> vector(size, 1);
    return collective.allreduce(std::span(vector));
}
template <std::size_t size, Combine combine> Result<SumReport> floats_of(Collective &collective) {
    std::vector<float> vector(size, 1);
    return collective.allreduce(std::span(vector), combine);
}
Result<SumReport> finishes(Collective &collective) {
    if (auto finished = collective.finish(); !finished)
        return std::unexpected(finished.error());
    return SumReport{};
}

struct Differing {
    Given one, other;
    const char *format = "i32x2";
};
std::string name_of(const testing::TestParamInfo<Differing> &info) {
    return std::string(info.param.one.name) + "And" + info.param.other.name;
}

/// All workers but the last one give `one`.
class RoundsDiffer : public testing::TestWithParam<Differing> {
  protected:
    RoundsBed bed{{.format = GetParam().format}};
};

TEST_P(RoundsDiffer, AllAreToldBothAndGoOnAfterAStart) {
    const auto &[one, other, format] = GetParam();
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        const bool is_odd = rank + 1 == bed.workers();
        for (int again = 0; again < 3; again++) {
            sum_round(collective, rank, bed.workers(), 0, elements_of(3));
            const auto told = (is_odd ? other : one).sum(collective);
            ASSERT_FALSE(told);
            const auto error = told.error().message();
            EXPECT_EQ(told.error().code, 0) << "not behind a timeout: " << error;
            EXPECT_TRUE(says(error, is_odd ? other.said : one.said));
            EXPECT_TRUE(says(error, is_odd ? one.said : other.said));
            const auto started = collective.start();
            ASSERT_TRUE(started) << started.error().message();
        }
        sum_round(collective, rank, bed.workers(), 0, elements_of(3));
    });
    const auto job = bed.job();
    EXPECT_GE(job["chunks"]["misfit"], 3);
}

constexpr Given hundred = {"100Floats", floats_of<100, Combine::sum>, "sum of 100 float32 among 4"},
                more = {"101Floats", floats_of<101, Combine::sum>, "sum of 101 float32 among 4"},
                mean = {"AMeanOf100", floats_of<100, Combine::mean>, "mean of 100 float32 among 4"},
                many = {"40000Floats", floats_of<40000, Combine::sum>, "sum of 40000 float32 among 4"},
                none = {"NoFloat", floats_of<0, Combine::sum>, "sum of 0 float32 among 4"},
                narrow = {"100Int32", integers_of<std::int32_t, 100>, "sum of 100 int32 among 4"},
                wide = {"100Int64", integers_of<std::int64_t, 100>, "sum of 100 int64 among 4"},
                wider = {"101Int64", integers_of<std::int64_t, 101>, "sum of 101 int64 among 4"},
                two_frames = {"126Int64", integers_of<std::int64_t, 126>, "sum of 126 int64 among 4"},
                farewell = {"AFarewell", finishes, "finishes"};
constexpr Given summed = {"100Int64", integers_of<std::int64_t, 100>, "sums a vector in round"};

INSTANTIATE_TEST_SUITE_P(Of, RoundsDiffer,
                         testing::Values(Differing{hundred, more}, Differing{hundred, mean},
                                         Differing{many, hundred}, Differing{none, hundred},
                                         Differing{narrow, wide}, Differing{wide, wider},
                                         Differing{two_frames, wide}, Differing{hundred, narrow},
                                         Differing{summed, farewell},
                                         Differing{wide, narrow, "i64x1"}),
                         name_of);

TEST(RoundsDifferInWorkers, AllAreTold) {
    RoundsBed bed;
    std::barrier<> all(bed.workers());
    bed.for_each_worker(
        [&](Collective &collective, unsigned rank) {
            Together together(all);
            together.wait(); // start() would be told as well
            const auto told = integers_of<std::int64_t, 100>(collective);
            ASSERT_FALSE(told);
            EXPECT_TRUE(says(told.error().message(), "the sum of 100 int64 among 4 workers"));
            EXPECT_TRUE(says(told.error().message(), "the sum of 100 int64 among 5 workers"));
            EXPECT_EQ(told.error().code, 0) << "rank " << rank;
        },
        [](CollectiveOptions &options) { options.workers = options.rank == 2 ? 5 : 4; });
}

const std::string group4 = "239.1.2.3", group6 = "ff02::1:2:3";

INSTANTIATE_TEST_SUITE_P(
    ByMulticast, Rounds,
    testing::Values(Case{"OverIpv4", {.group = group4}},
                    Case{"OverIpv6", {.family = 6, .group = group6}},
                    Case{"InGenericMode", {.group = group4}, 4, "skb"},
                    Case{"InGenericModeOverIpv6", {.family = 6, .group = group6}, 4, "skb"},
                    Case{"LosingFivePercent", {.group = group4, .loss = 5}},
                    Case{"LosingTwentyPercentOverIpv6",
                         {.family = 6, .group = group6, .loss = 20}}),
    by_name);

/// For jobs of a queue that forwards updates, or sends them upstream, that is no matter.
INSTANTIATE_TEST_SUITE_P(
    OfAnyDelivery, Rounds,
    testing::Values(Case{"Routed", {.wiring = {.way = Way::routed}}},
                    Case{"RoutedIpv6", {.wiring = {.way = Way::routed}, .family = 6}},
                    Case{"RoutedInGenericMode", {.wiring = {.way = Way::routed}}, 4, "skb"},
                    Case{"OneArmed", {.wiring = {.way = Way::one_armed}}},
                    Case{"Bridged", {.wiring = {.way = Way::bridged}}},
                    Case{"BridgedIpv6", {.wiring = {.way = Way::bridged}, .family = 6}},
                    Case{"Upstream", {.wiring = {.way = Way::upstream4}}},
                    Case{"UpstreamIpv6", {.wiring = {.way = Way::upstream6}, .family = 6}}),
    by_name);

TEST(RoundsOfAnyNumber, FromOneToSixteenWorkersAllGetTheExactSum) {
    RoundsBed bed;
    for (unsigned workers = 1; workers <= 16; workers++) {
        SCOPED_TRACE(std::to_string(workers) + " workers");
        bed.set_anew(workers);
        bed.sum_exactly(3, elements_of(5));
        const auto job = bed.job();
        expect_job_identities(job);
        EXPECT_EQ(job["chunks"]["completed"], 3 * 5);
        EXPECT_EQ(job["contributions"]["added"], 3 * 5 * workers);
    }
}

// Each worker's vector is cut in three, and each thread sums its part in a job of its own.
TEST(RoundsByThreads, GiveEveryWorkerTheExactSumThoughFramesAreLost) {
    constexpr unsigned threads = 3, rounds = 10;
    RoundsBed bed({.workers = 3, .slots = 192});
    for (unsigned thread = 1; thread < threads; thread++) {
        auto command = bed.set_command();
        command.at(3) = std::to_string(rounds_job + thread);
        must(bed.olaf(command));
    }
    bed.lose(5);
    bed.sum_exactly(rounds, elements,
                    [](CollectiveOptions &options) { options.threads = threads; });
    std::uint64_t completed = 0;
    const auto jobs = bed.olaf.status().json.at("jobs");
    ASSERT_EQ(jobs.size(), threads);
    for (const auto &job : jobs) {
        expect_job_identities(job);
        completed += job.at("chunks").at("completed").get<std::uint64_t>();
    }
    EXPECT_EQ(completed, rounds * chunks) << "as many as one thread needs";
}

// ---- contributions that leave in one piece ----

/// What a worker handed to its kernel in one piece with others, in so many rounds from `first` on.
std::uint64_t joined_in(Collective &collective, unsigned worker, unsigned workers, unsigned first,
                        unsigned rounds) {
    const auto before = collective.stats().joined;
    for (unsigned round = first; round < first + rounds; round++)
        sum_round(collective, worker, workers, round, elements_of(64));
    return collective.stats().joined - before;
}

class RoundsInPieces : public testing::TestWithParam<int> {};

TEST_P(RoundsInPieces, LeaveWhereTheNodeGetsTheFramesThatTheyAreCutInto) {
    for (const auto *mode : {"native", "skb"}) {
        const RoundsBed bed({.family = GetParam(), .attach = {"--mode", mode}});
        bed.for_each_worker([&](Collective &collective, unsigned worker) {
            EXPECT_EQ(joined_in(collective, worker, bed.workers(), 0, 1), 64u) << mode;
            EXPECT_GT(joined_in(collective, worker, bed.workers(), 1, 3), 64u) << mode;
        });
        EXPECT_EQ(bed.olaf.status()["malformed"], 0u) << mode;
    }
}

/// Where a veth's peer leaves checksums to others, pieces get to generic XDP whole. Each start()
/// tries it twice.
TEST_P(RoundsInPieces, DoNotLeaveWhereGenericXdpGetsThemWhole) {
    const RoundsBed bed({.wiring = {.worker = {.tx_checksum = true}},
                         .family = GetParam(),
                         .attach = {"--mode", "skb"}});
    std::atomic<std::uint64_t> tried = 0;
    bed.for_each_worker([&](Collective &collective, unsigned worker) {
        EXPECT_EQ(joined_in(collective, worker, bed.workers(), 0, 4), 0u);
        EXPECT_GE(collective.stats().joined, 4u);
        tried += collective.stats().joined / 2;
    });
    EXPECT_EQ(bed.olaf.status().counted("malformed_by_reason", "length"), tried);
}

TEST_P(RoundsInPieces, LeaveNoMoreOnceTheNodeGetsThemWhole) {
    const RoundsBed bed({.workers = 1, .family = GetParam(), .attach = {"--mode", "skb"}});
    bed.for_each_worker([&](Collective &collective, unsigned worker) {
        EXPECT_GT(joined_in(collective, worker, 1, 0, 2), 0u);
        set_offloads(bed.netns_of_workers(), "eth0", {.tx_checksum = true});
        joined_in(collective, worker, 1, 2, 2);
        EXPECT_EQ(joined_in(collective, worker, 1, 4, 2), 0u);
    });
    EXPECT_GT(bed.olaf.status().counted("malformed_by_reason", "length"), 0u);
}

TEST_P(RoundsInPieces, DoNotLeaveWhereTheWorkerIsToldNotTo) {
    const RoundsBed bed({.workers = 2, .family = GetParam()});
    const auto work = [&](Collective &collective, unsigned worker) {
        joined_in(collective, worker, bed.workers(), 0, 4);
        EXPECT_EQ(collective.stats().joined, 0u);
    };
    bed.for_each_worker(work, [](CollectiveOptions &options) { options.gso = false; });
}

INSTANTIATE_TEST_SUITE_P(Over, RoundsInPieces, testing::Values(4, 6),
                         [](const auto &info) { return "Ipv" + std::to_string(info.param); });

// ---- results by multicast ----

/// The queue of the worker's own host lets three frames pass, and no other one for seconds.
TEST(RoundsOnASlowLink, AWorkerRepeatsNothingThatItsHostStillHas) {
    const RoundsBed bed({.workers = 1});
    const auto work = [&](Collective &collective, unsigned worker) {
        sum_round(collective, worker, 1, 0, elements_of(8));
        bed.netns_of_workers().tc("qdisc add dev eth0 root tbf rate 1kbit burst 2000 limit 1mb\n");
        auto vector = part_of(worker, 1, elements_of(8));
        EXPECT_FALSE(collective.allreduce(std::span(vector)));
        EXPECT_EQ(collective.stats().results, 8u + 3);
        EXPECT_EQ(collective.stats().repeated, 0u);
    };
    bed.for_each_worker(work, [](CollectiveOptions &options) {
        options.timeout = std::chrono::milliseconds(600);
    });
}

TEST(RoundsByMulticastAlone, AWorkerThatIsNotInTheGroupAsksForEachResult) {
    const RoundsBed bed({.workers = 2, .group = group4});
    bed.sum_exactly(4, elements, [](CollectiveOptions &options) {
        if (options.rank != 0)
            options.group = {};
    });
    EXPECT_GE(bed.job()["results"]["repeated"], 4 * chunks);
}

// From the node's own address, but not from its port.
TEST(RoundsByMulticastAlone, AResultForAllFromSomebodyElseIsNobodys) {
    constexpr unsigned rounds = 4;
    const RoundsBed bed({.workers = 2, .group = group4});
    bed.host.ip("route add 239.0.0.0/8 dev in\n");
    const UdpSocket stranger(bed.host, {bed.target(4).address, 7777});
    std::atomic<unsigned> forged = 0;
    std::jthread forging([&](const std::stop_token &stop) {
        JobMessage message{.type = OLAF_RESULT,
                           .flags =
                               OLAF_FORMAT_I64X1 << OLAF_FLAG_FORMAT_SHIFT | OLAF_FLAG_CHECKSUM,
                           .rank = OLAF_EVERY_WORKER,
                           .count = 2,
                           .chunks = chunks,
                           .lanes = std::vector<std::uint64_t>(in_chunk, 666)};
        message.lanes.push_back(checksum_lane(message.lanes));
        while (!stop.stop_requested()) {
            if (forged < 4 * rounds * chunks) // later it stays what it is
                message.generation = bed.job()["generation"];
            for (message.round = 0; message.round < 4 * rounds; message.round++)
                for (message.chunk = 0; message.chunk < chunks; message.chunk++, forged++)
                    stranger.send(test::message(message), {group4, OLAF_DEFAULT_PORT});
            forged.notify_all();
        }
    });
    forged.wait(0);
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < 2 * rounds; round++) {
            if (round == rounds) // from here on the job's generation is known
                for (unsigned seen = forged, until = seen + 4 * rounds * chunks; seen < until;
                     seen = forged)
                    forged.wait(seen);
            sum_round(collective, rank, 2, round, elements);
        }
    });
    expect_job_identities(bed.job());
}

// The others go on without it, PARTIAL until it is no member any more, and then by multicast again.
TEST(RoundsByMulticastAlone, WhenAWorkerIsKilledTheOthersHaveOneFrameForAllAgain) {
    const RoundsBed bed({.workers = 3,
                         .attach = {"--member-timeout", "1s"},
                         .set = {"--deadline", "20ms"},
                         .group = group4});
    Process third([&] {
        const Inside inside(bed.worker);
        auto collective = Collective::make(bed.options(2)).value();
        auto vector = part_of(2, 0, elements);
        for (bool goes_on = collective.start().has_value(); goes_on;)
            goes_on = collective.allreduce(std::span(vector)).has_value();
    });
    bed.for_each_of(2, [&](Collective &collective, unsigned rank) {
        const auto next_is_whole = [&](unsigned round) {
            auto vector = part_of(rank, round, elements);
            const auto report = collective.allreduce(std::span(vector));
            if (!report)
                throw std::runtime_error(report.error().message());
            const bool whole = report->least_count == 2 && report->partial == 0;
            if (whole) {
                EXPECT_EQ(vector, sum_of(2, round, elements));
            }
            return whole;
        };
        unsigned round = 0;
        while (round < 10)
            next_is_whole(round++);
        if (rank == 0)
            third.kill(SIGKILL);
        while (!next_is_whole(round++)) {
        }
        const auto before = bed.job()["results"]["multicast"].get<unsigned>();
        for (unsigned more = 0; more < 10; more++)
            next_is_whole(round++);
        EXPECT_GE(bed.job()["results"]["multicast"].get<unsigned>(), before + 9 * chunks);
    });
    EXPECT_EQ(bed.job().at("silent"), 1);
    EXPECT_EQ(bed.job().at("absent"), nlohmann::json::array({2}));
}

// ---- two CPUs, and several devices ----

/// What a CPU sends leaves by a queue of its own: the node's CPU is the worker's.
void send_by_queue(const Netns &netns, const std::string &device, unsigned queue, int cpu) {
    std::ostringstream mask; // as sysfs takes it: 32 CPUs a word, the highest first
    mask << std::hex << (1u << cpu % 32);
    for (int word = 0; word < cpu / 32; word++)
        mask << ",00000000";
    must(run({"ip", "netns", "exec", netns.name(), "sh", "-c",
              "echo " + mask.str() + " > /sys/class/net/" + device + "/queues/tx-" +
                  std::to_string(queue) + "/xps_cpus"}));
}

/// The counters of the queue's first job, of each CPU that there may be.
std::vector<olaf_job_counters> counters_by_cpu(const Testbed &bed) {
    std::vector<olaf_job_counters> counters(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const int map = bpf_obj_get((pin_directory(bed.host, "in") + "/olaf_job_counters").c_str());
    const std::uint32_t first = 0;
    const bool read = map >= 0 && bpf_map_lookup_elem(map, &first, counters.data()) == 0;
    if (map >= 0)
        close(map);
    if (!read)
        throw std::runtime_error("cannot read a job's counters");
    return counters;
}

class RoundsOnTwoCpus : public testing::TestWithParam<Case> {};

// Both add to the same chunks at once.
TEST_P(RoundsOnTwoCpus, EachAddsWhatItsWorkersContributeAndSumsAreExact) {
    const auto &[name, setting, rounds, mode] = GetParam();
    const auto cpus = allowed_cpus();
    ASSERT_GE(cpus.size(), 2u) << "this test is of two CPUs";
    const auto cpu_of = [&](unsigned rank) { return cpus[rank % 2]; };
    RoundsBed bed({.wiring = {.queues = 2}, .attach = {"--mode", mode}, .starts = false});
    for (const unsigned queue : {0u, 1u})
        send_by_queue(bed.worker, "eth0", queue, cpus[queue]);
    bed.start();
    bed.lose(setting.loss);
    bed.sum_exactly(rounds, elements, [&](CollectiveOptions &options) {
        stay_on(cpu_of(options.rank)); // before there is a socket
    });
    const auto job = bed.job();
    SCOPED_TRACE(job.dump(1));
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    const auto counters = counters_by_cpu(bed);
    for (std::size_t cpu = 0; cpu < counters.size(); cpu++) {
        std::uint64_t expected = 0;
        for (unsigned rank = 0; rank < bed.workers(); rank++)
            expected += std::cmp_equal(cpu_of(rank), cpu) ? rounds * chunks : 0;
        EXPECT_EQ(counters[cpu].added, expected) << "CPU " << cpu;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsOnTwoCpus,
                         testing::Values(Case{"GoodLinks", {}, 20},
                                         Case{"LinksThatLose", {.loss = 5}, 4},
                                         Case{"GenericMode", {}, 20, "skb"}),
                         by_name);

// Members behind several devices: these are ports of a bridge, and the queue is on the bridge.
class RoundsOnABridge : public testing::TestWithParam<int> {
  protected:
    static constexpr unsigned hosts = 2, rounds = 10;

    RoundsOnABridge() {
        host_.ip("link add br0 type bridge mcast_snooping 0\n"
                 "address add 10.9.0.1/24 dev br0\n"
                 "address add fd09::1/64 dev br0 nodad\n"
                 "link set br0 up\n");
        for (unsigned i = 0; i < hosts; i++) {
            const auto number = std::to_string(i), last = std::to_string(10 + i);
            const auto &worker =
                *workers_.emplace_back(std::make_unique<Netns>("worker" + number));
            host_.ip("link add name port" + number + " master br0 type veth peer name eth0 netns " +
                     worker.name() + "\nlink set port" + number + " up\n");
            worker.ip("link set eth0 up\n"
                      "address add 10.9.0." + last + "/24 dev eth0\n" +
                      "address add fd09::" + last + "/64 dev eth0 nodad\n");
        }
    }
    static CollectiveOptions options(unsigned rank) {
        return {.node = Address::resolve(GetParam() == 4 ? "10.9.0.1" : "fd09::1").value(),
                .job = rounds_job,
                .rank = rank,
                .workers = hosts,
                .run = "test",
                .format = Format::i64x1,
                .lanes = job_lanes};
    }

    Netns host_{"host"};
    std::vector<std::unique_ptr<Netns>> workers_;
    OlafCommand olaf_{host_, "br0"}; ///< last: it detaches before a device goes
};

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsOnABridge, testing::Values(4, 6),
                         by_family);

TEST_P(RoundsOnABridge, EachGetsTheExactSumBehindItsOwnPort) {
    must(olaf_({"attach", "br0", "--local", "--round-slots", "64"}));
    must(olaf_({"job", "set", "br0", std::to_string(rounds_job), "--children",
                std::to_string(hosts), "--lanes", std::to_string(job_lanes), "--format", "i64x1"}));
    {
        std::vector<std::jthread> threads;
        for (unsigned host = 0; host < hosts; host++)
            threads.emplace_back([&, host] {
                run_workers(*workers_[host], {host}, options,
                            [](Collective &collective, unsigned rank) {
                                for (unsigned round = 0; round < rounds; round++)
                                    sum_round(collective, rank, hosts, round, elements_of(30) + 5);
                            });
            });
    }
    const auto job = olaf_.status().json.at("jobs").at(0);
    EXPECT_EQ(job["chunks"]["completed"], rounds * 31);
    expect_job_identities(job);
}

// ---- beside asynchronous clusters, both at full load, while programs are replaced ----

struct Beside {
    const char *name;
    std::string group;
    bool replaces;
};

class RoundsBesideClusters : public testing::TestWithParam<Beside> {};

TEST_P(RoundsBesideClusters, BothAreExactAtFullLoad) {
    constexpr unsigned rounds = 40;
    RoundsBed bed({.wiring = {.queues = 2},
                   .attach = {"--policy", "aggregate", "--rate", "10mbit"},
                   .group = GetParam().group,
                   .starts = false});
    bed.start();
    bed.olaf.cluster({"set", "0-4", "--max-count", "65535"});
    const UdpSocket server(bed.server(), Testbed::server_peer(4));
    Collector collector(server);
    Flooding flooding(bed, random_updates(256, 5, 8, 31));
    bed.for_each_worker([&](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < rounds; round++) {
            if (rank == 0 && GetParam().replaces && (round == rounds / 4 || round == rounds / 2))
                bed.olaf.replace({"--rate", round == rounds / 4 ? "20mbit" : "10mbit"});
            sum_round(collective, rank, bed.workers(), round, elements);
        }
    });
    const auto sent = flooding.stop();
    expect_all_arrive(bed, sent, collector);
    const auto job = bed.job();
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    EXPECT_EQ(job["results"]["multicast"], GetParam().group.empty() ? 0 : rounds * chunks);
}

INSTANTIATE_TEST_SUITE_P(
    Of, RoundsBesideClusters,
    testing::Values(Beside{"Riding", "", false}, Beside{"RidingWhileProgramsAreReplaced", "", true},
                    Beside{"ByMulticastWhileProgramsAreReplaced", group4, true}),
    by_name);

// ---- floats whose exponent others have agreed on without a worker ----

/// A sum waits for two of three workers. The third has larger elements than they, and comes when their exponent is
/// known: what it gave could only be cut down to that, and nobody else would know.
TEST(RoundsOfFloats, HaveNoPartThatDoesNotFitTheExponentOfTheOthers) {
    const RoundsBed bed({.workers = 3, .set = {"--threshold", "2"}, .format = "i32x2"});
    constexpr std::size_t elements = 50;
    std::barrier<> all(3);
    const auto poll_until_results = [](Collective &collective, std::uint64_t results) {
        while (collective.stats().results < results)
            ASSERT_TRUE(collective.poll());
        ASSERT_TRUE(collective.poll()); // sends what follows from them
    };
    bed.for_each_worker(
        [&](Collective &collective, unsigned worker) {
            Together together(all);
            std::vector<float> vector(elements, worker == 2 ? 1000 : 1);
            std::optional<Collective::Operation> sum;
            const auto begin = [&] { sum = collective.allreduce_async(std::span(vector)).value(); };
            if (worker == 1) {
                begin();
                ASSERT_TRUE(collective.poll());
            }
            together.wait();
            if (worker == 0) {
                begin();
                poll_until_results(collective, 1);
            }
            together.wait();
            if (worker == 2) {
                begin();
                poll_until_results(collective, 1);
            }
            together.wait();
            const auto report = sum->wait().value();
            EXPECT_EQ(vector, std::vector<float>(elements, 2)) << "worker " << worker;
            EXPECT_EQ(report.least_count, 2U);
            EXPECT_EQ(report.left_out, worker == 2 ? elements : 0);
        },
        [](CollectiveOptions &options) { options.guess_bits = 0; });
}

// ---- floats, which the node adds: bit by bit what the reference says ----

namespace floats {

constexpr unsigned workers = 4, chunks = 20, rounds = 10;
constexpr std::size_t elements = std::size_t{2} * job_lanes * (chunks - 1) + 17;

/// Of such a size that the order of additions would matter; the elements that end in 99 aren't fit to be added.
float element(unsigned rank, unsigned round, std::size_t i) {
    if (i % 100 == 99 && rank == i / 100 % workers)
        return i % 200 == 99 ? std::numeric_limits<float>::quiet_NaN() : 1e20F;
    const auto mixed =
        static_cast<std::uint32_t>((i + 1) * 0x9e3779b97f4a7c15ull >> 40) + 977 * rank + round;
    return std::ldexp(static_cast<float>(mixed % 20011) - 10005, -8 * static_cast<int>(rank % 3));
}

/// Bits, for a NaN equals none.
std::vector<std::uint32_t> sum(unsigned round, FloatFaults &faults) {
    std::vector<std::uint32_t> bits(elements);
    for (std::size_t i = 0; i < elements; i++) {
        FloatSum sum({.bits = OLAF_DEFAULT_FLOAT_BITS, .headroom = 2});
        for (unsigned rank = 0; rank < workers; rank++)
            sum.add(element(rank, round, i), faults);
        bits[i] = sum.bits();
    }
    return bits;
}

std::vector<std::uint32_t> bits_of(const std::vector<float> &values) {
    std::vector<std::uint32_t> bits(values.size());
    std::ranges::transform(values, bits.begin(),
                           [](float each) { return std::bit_cast<std::uint32_t>(each); });
    return bits;
}

/// Each worker sums so many vectors, as the reference does, and the job's books tell of just these.
void sum_exactly(const RoundsBed &bed, unsigned times = rounds) {
    bed.for_each_worker([=](Collective &collective, unsigned rank) {
        for (unsigned round = 0; round < times; round++) {
            std::vector<float> vector(elements);
            for (std::size_t i = 0; i < elements; i++)
                vector[i] = element(rank, round, i);
            FloatFaults faults;
            const auto want = sum(round, faults);
            const auto report = collective.allreduce(std::span(vector));
            ASSERT_TRUE(report) << report.error().message();
            ASSERT_EQ(bits_of(vector), want) << "round " << round;
            EXPECT_EQ(report->not_finite, faults.overflow + faults.not_finite);
            EXPECT_EQ(report->chunks, chunks) << "no exponent travels ahead";
        }
    });
    const auto job = bed.job();
    SCOPED_TRACE(job.dump(1));
    expect_job_identities(job);
    FloatFaults faults;
    for (unsigned round = 0; round < times; round++)
        sum(round, faults);
    EXPECT_EQ(job["format"], "f32");
    EXPECT_EQ(job["float_bits"], OLAF_DEFAULT_FLOAT_BITS);
    EXPECT_EQ(job["chunks"]["completed"], times * chunks);
    EXPECT_EQ(job["float"]["overflow"], faults.overflow);
    EXPECT_EQ(job["float"]["not_finite"], faults.not_finite);
    EXPECT_GT(faults.overflow, 0u);
    EXPECT_GT(faults.not_finite, 0u);
}

} // namespace floats

class FloatRounds : public testing::TestWithParam<Case> {};

TEST_P(FloatRounds, GiveEveryWorkerTheSumOfTheReference) {
    const auto &[name, setting, rounds, mode] = GetParam();
    const RoundsBed bed({.family = setting.family,
                         .attach = {"--mode", mode},
                         .format = "f32",
                         .loss = setting.loss,
                         .flips = setting.flips});
    floats::sum_exactly(bed, rounds);
    if (setting.loss != 0) {
        EXPECT_GT(bed.job()["contributions"]["duplicate"], 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, FloatRounds,
                         testing::Values(Case{"Ipv4", {}, 10}, Case{"Ipv6", {.family = 6}, 10},
                                         Case{"GenericMode", {}, 10, "skb"},
                                         Case{"GenericModeOverIpv6", {.family = 6}, 10, "skb"}),
                         by_name);
INSTANTIATE_TEST_SUITE_P(WithFlippedBits, FloatRounds,
                         testing::Values(Case{"Ipv4", {.flips = 5}, 10},
                                         Case{"Ipv6", {.family = 6, .flips = 5}, 10}),
                         by_name);
INSTANTIATE_TEST_SUITE_P(WithLossOf, FloatRounds,
                         testing::Values(Case{"1Percent", {.loss = 1}, 10},
                                         Case{"5Percent", {.loss = 5}, 10},
                                         Case{"20Percent", {.loss = 20}, 5}), // each takes long
                         by_name);

TEST(FloatRoundsAtOneHost, GoOnWhileProgramsAreReplaced) {
    const RoundsBed bed({.format = "f32"});
    std::jthread swapping([&] {
        for (int i = 0; i < 3; i++)
            EXPECT_NO_THROW(bed.olaf.replace({"--local"}));
    });
    floats::sum_exactly(bed);
}

TEST(FloatRoundsAtOneHost, AnIntegerIsNoFloat) {
    const RoundsBed bed({.workers = 1, .format = "f32"});
    bed.for_each_worker([](Collective &collective, unsigned) {
        std::vector<std::int64_t> integers(3);
        const auto refused = collective.allreduce_async(std::span(integers));
        ASSERT_FALSE(refused);
        EXPECT_TRUE(says(refused.error().message(), "the job's format is f32x2"));
        EXPECT_TRUE(collective.finish());
    });
}

/// Sums of nodes are rounded each by itself: these need no rounding anywhere.
TEST(FloatRoundsInATree, TravelAsFloatsAndSoDoesNaN) {
    RoundTree tree({{0, 1}, {0, 2}, {0, 2}}, TreeFanout::ride, "f32");
    tree.lose(5);
    tree.for_each_worker([&](Collective &collective, unsigned worker) {
        std::vector<float> vector(floats::elements);
        for (std::size_t i = 0; i < vector.size(); i++)
            vector[i] = std::ldexp(static_cast<float>(i * (worker + 1)), -12);
        if (worker == 3)
            vector[7] = std::numeric_limits<float>::infinity();
        ASSERT_TRUE(collective.allreduce(std::span(vector)));
        for (std::size_t i = 0; i < vector.size(); i++)
            if (i == 7)
                EXPECT_TRUE(std::isnan(vector[i]));
            else
                ASSERT_EQ(vector[i], std::ldexp(static_cast<float>(15 * i), -12)) << i;
    });
    EXPECT_EQ(tree.job(2)["float"]["not_finite"], 1) << "where the worker's node took it";
    EXPECT_EQ(tree.job(0)["float"]["not_finite"], 1) << "and where that one's parent did";
    EXPECT_EQ(tree.job(1)["float"]["not_finite"], 0);
}

} // namespace
} // namespace olaf::test::rounds_test
