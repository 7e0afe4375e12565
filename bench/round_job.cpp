// SPDX-License-Identifier: BSD-2-Clause
#include "round_job.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <olaf/own.h>

namespace olaf::bench {

namespace {

constexpr std::uint32_t job_id = 7, generation = 100;
constexpr std::uint32_t group = 0xef010203; // 239.1.2.3

} // namespace

Result<RoundJob> RoundJob::make(const Options &options) {
    const auto config = make_config({.max_clusters = 8,
                                     .max_lanes = BENCH_LANES * (options.floats ? 2u : 1u),
                                     .round_slots = options.slots,
                                     .round_lines = std::thread::hardware_concurrency()});
    if (!config)
        return std::unexpected(config.error());
    auto queue = Datapath::load(*config);
    if (!queue)
        return std::unexpected(queue.error());
    RoundJob job(std::move(*queue), options);
    if (auto owned = job.own(); !owned)
        return std::unexpected(owned.error());
    if (auto begun = job.begin(); !begun)
        return std::unexpected(begun.error());
    return job;
}

/// The job runs: its children have agreed on where to begin.
Result<void> RoundJob::begin() const {
    olaf_job job{};
    job.setup.id = job_id;
    job.setup.children = options_.children;
    job.setup.threshold = options_.children;
    job.setup.max_count = options_.children;
    job.setup.slots = options_.slots;
    job.setup.pool = static_cast<std::uint32_t>(std::countr_zero(options_.slots));
    job.setup.lanes = BENCH_LANES;
    job.setup.shape = shape();
    if (options_.floats) {
        job.setup.float_bits = OLAF_DEFAULT_FLOAT_BITS;
        job.setup.float_headroom =
            static_cast<std::uint8_t>(std::bit_width(options_.children - 1));
    }
    if (options_.by_multicast) {
        job.setup.group_family = 4;
        job.setup.group_hops = 1;
        job.setup.group_addr_be[0] = htonl(group);
    }
    job.state = OLAF_JOB_RUNNING;
    job.generation = generation;
    job.pool = job.setup.pool;
    if (auto stored = store(queue_.map_fd("olaf_jobs"), 0, &job); !stored)
        return stored;
    const std::uint32_t index = 0;
    return store(queue_.map_fd("olaf_job_ids"), job_id, &index);
}

/// What the frames are addressed to is this host's.
Result<void> RoundJob::own() const {
    const auto address = Addresses{}.destination_ip;
    olaf_own_address own{};
    own.words_be[2] = htonl(0xffff);
    std::memcpy(&own.words_be[3], address.data(), address.size());
    const std::uint32_t unused = 0;
    if (bpf_map_update_elem(queue_.map_fd("olaf_own"), &own, &unused, BPF_ANY) != 0)
        return fail("write BPF map", "olaf_own", errno);
    return {};
}

std::uint16_t RoundJob::shape() const {
    return options_.floats ? OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT : OLAF_FLAG_CHECKSUM;
}

Frame RoundJob::first_contribution() const {
    Frame frame = contribution_frame(job_id, generation, options_.slots, shape());
    return frame;
}

olaf_job_counters RoundJob::counters() const {
    std::vector<olaf_job_counters> copies(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const std::uint32_t zero = 0;
    bpf_map_lookup_elem(queue_.map_fd("olaf_job_counters"), &zero, copies.data());
    olaf_job_counters sum{};
    for (const auto &copy : copies) {
        sum.received += copy.received;
        sum.added += copy.added;
        sum.completed += copy.completed;
        sum.riding += copy.riding;
        sum.multicast += copy.multicast;
        sum.undelivered += copy.undelivered;
    }
    return sum;
}

} // namespace olaf::bench
