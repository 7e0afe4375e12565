// SPDX-License-Identifier: BSD-2-Clause
// Workers on two CPUs, whose frames the node takes on the CPU that sent them: both add to the same
// chunks at once, and every sum is exact.
#include <gtest/gtest.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <optional>
#include <sstream>
#include <utility>

#include "losing.hpp"
#include "napi_thread.hpp"
#include "olaf/rounds.h"
#include "rounds.hpp"

namespace olaf::test::rounds_cpus_test {
namespace {

constexpr unsigned workers = 4, lanes = 64, chunks = 40; // 63 lanes of data
constexpr std::size_t elements = std::size_t{63} * chunks;

/// As sysfs takes it: 32 CPUs a word, the highest first.
std::string mask_of(int cpu) {
    std::ostringstream mask;
    mask << std::hex << (1u << cpu % 32);
    for (int word = 0; word < cpu / 32; word++)
        mask << ",00000000";
    return mask.str();
}

/// What a CPU sends leaves by a queue of its own: the node's CPU is the worker's.
void send_by_queue(const Netns &netns, const std::string &device, unsigned queue, int cpu) {
    const auto done = run({"ip", "netns", "exec", netns.name(), "sh", "-c",
                           "echo " + mask_of(cpu) + " > /sys/class/net/" + device +
                               "/queues/tx-" + std::to_string(queue) + "/xps_cpus"});
    if (done.status != 0)
        throw std::runtime_error(done.err);
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

struct Setting {
    const char *name;
    const char *mode;
    unsigned loss; ///< of a hundred frames, each way
    unsigned rounds;
};

class RoundsOnTwoCpus : public testing::TestWithParam<Setting> {
  protected:
    Testbed bed{{.way = Way::local, .queues = 2, .place = Place::kernel}};
};

TEST_P(RoundsOnTwoCpus, EachAddsWhatItsWorkersContributeAndSumsAreExact) {
    const auto [name, mode, loss, rounds] = GetParam();
    const auto cpus = allowed_cpus();
    ASSERT_GE(cpus.size(), 2u) << "this test is of two CPUs";
    const auto cpu_of = [&](unsigned rank) { return cpus[rank % 2]; };
    for (const unsigned queue : {0u, 1u})
        send_by_queue(bed.worker, "eth0", queue, cpus[queue]);
    bed.attach({"--round-slots", "64", "--mode", mode});
    set_job(bed, workers, lanes, {"--format", "i64x1"});
    std::optional<Losing> there, back;
    if (loss != 0) {
        there.emplace(bed.worker, "eth0", Losing::sent, loss);
        back.emplace(bed.worker, "eth0", Losing::received, loss);
    }
    for_each_worker(
        bed, workers,
        [rounds = rounds](Collective &collective, unsigned rank) {
            for (unsigned round = 0; round < rounds; round++) {
                auto vector = part_of(rank, round, elements);
                const auto report = collective.allreduce(std::span(vector));
                ASSERT_TRUE(report) << report.error().message();
                ASSERT_EQ(vector, sum_of(workers, round, elements)) << "round " << round;
            }
        },
        [&](CollectiveOptions &options) {
            stay_on(cpu_of(options.rank)); // before there is a socket
            options.format = Format::i64x1;
            options.lanes = lanes;
        });
    const auto job = job_status(bed);
    SCOPED_TRACE(job.dump(1));
    expect_job_identities(job);
    EXPECT_EQ(job["chunks"]["completed"], rounds * chunks);
    const auto counters = counters_by_cpu(bed);
    for (std::size_t cpu = 0; cpu < counters.size(); cpu++) {
        std::uint64_t expected = 0;
        for (unsigned rank = 0; rank < workers; rank++)
            expected += std::cmp_equal(cpu_of(rank), cpu) ? rounds * chunks : 0;
        EXPECT_EQ(counters[cpu].added, expected) << "CPU " << cpu;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, RoundsOnTwoCpus,
                         testing::Values(Setting{"GoodLinks", "native", 0, 20},
                                         Setting{"LinksThatLose", "native", 5, 4},
                                         Setting{"GenericMode", "skb", 0, 20}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace olaf::test::rounds_cpus_test
