// SPDX-License-Identifier: BSD-2-Clause
// Jobs as their maps have them. While frames are in flight, the parts may be from different moments.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "jobs.hpp"
#include "loader/host/patience.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint32_t batch = 1024; // slots

/// As for any member (datapath/members.cpp): nobody wrote between two equal copies.
Result<olaf_member> read_child(int fd, std::uint32_t index) {
    olaf_child first{}, second{};
    for (Patience patience; patience.lasts();) {
        if (bpf_map_lookup_elem(fd, &index, &first) != 0 ||
            bpf_map_lookup_elem(fd, &index, &second) != 0)
            return fail("read map", "olaf_children", errno);
        if (first.member.sequence % 2 == 0 &&
            std::memcmp(&first.member, &second.member, sizeof first.member) == 0)
            return first.member;
    }
    return fail("read map", "olaf_children", EBUSY, "try again", "a child is written all the time");
}

Result<void> read_members_of(JobReading &reading, int fd) {
    for (std::uint32_t rank = 0; rank < reading.job.setup.children && rank < OLAF_RANKS; rank++) {
        const auto member = OLAF_TRY(read_child(fd, olaf_child_index(reading.index, rank)));
        if (member.family != 0)
            reading.members.push_back({.worker = rank, .member = member});
    }
    return {};
}

Result<void> read_counters_of(JobReading &reading, int fd) {
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    std::vector<olaf_job_counters> copies(static_cast<std::size_t>(cpus));
    if (bpf_map_lookup_elem(fd, &reading.index, copies.data()) != 0)
        return fail("read map", "olaf_job_counters", errno);
    for (const auto &copy : copies) {
#define ADD(field, ...) reading.counters.field += copy.field;
        OLAF_JOB_COUNTER_LIST(ADD)
#undef ADD
    }
    return {};
}

/// Keeps what has waited for longest.
void note_waiting(std::optional<WaitingChunk> &oldest, std::uint64_t since_ns,
                  const JobReading &reading, const olaf_round_buffer &buffer) {
    if (oldest && oldest->since_ns <= since_ns)
        return;
    oldest = {.since_ns = since_ns, .round = buffer.round, .chunk = buffer.chunk, .lacks = {}};
    for (std::uint32_t rank = 0; rank < reading.job.setup.children && rank < OLAF_RANKS; rank++)
        if (reading.is_member_in(buffer.round, rank) &&
            (buffer.in.word[rank / 64] >> rank % 64 & 1) == 0)
            oldest->lacks.push_back(rank);
}

void add_buffer(JobReading &reading, const olaf_round_buffer &buffer) {
    if (buffer.generation != reading.job.generation)
        return; // void
    reading.open += buffer.state == OLAF_ROUND_OPEN;
    reading.up += buffer.state == OLAF_ROUND_UP;
    // `olaf job flush` writes over when a chunk was opened: the next repetition completes it.
    if (buffer.state == OLAF_ROUND_OPEN && buffer.opened_ns != OLAF_ROUND_OVERDUE)
        note_waiting(reading.oldest_open, buffer.opened_ns, reading, buffer);
    if (buffer.state == OLAF_ROUND_UP)
        note_waiting(reading.oldest_up, buffer.first_up_ns, reading, buffer);
    if (buffer.state == OLAF_ROUND_DONE)
        for (const auto word : buffer.owed.word)
            reading.owed += static_cast<std::uint64_t>(std::popcount(word));
}

Result<void> read_slots_of(JobReading &reading, int fd) {
    const auto &setup = reading.job.setup;
    std::vector<std::uint32_t> keys(std::min(setup.slots, batch));
    std::vector<olaf_round_slot> slots(keys.size());
    // A batch begins behind the key that the one before it ended with.
    std::uint32_t in = setup.first_slot - 1, out = 0;
    for (std::uint32_t left = setup.slots; left != 0;) {
        auto count = std::min(left, static_cast<std::uint32_t>(keys.size()));
        const bool first = left == setup.slots && setup.first_slot == 0;
        if (bpf_map_lookup_batch(fd, first ? nullptr : &in, &out, keys.data(), slots.data(),
                                 &count, nullptr) != 0 &&
            errno != ENOENT)
            return fail("read map", "olaf_round_slots", errno);
        if (count == 0)
            return {};
        for (std::uint32_t i = 0; i < count; i++)
            for (const auto &buffer : slots[i].buffer)
                add_buffer(reading, buffer);
        in = keys[count - 1];
        left -= count;
    }
    return {};
}

} // namespace

Result<std::vector<JobReading>> read_jobs(const olaf_config &config, const MapFinder &map_fd) {
    std::vector<JobReading> jobs;
    if (config.round_slots == 0)
        return jobs;
    const int jobs_fd = map_fd("olaf_jobs"), children_fd = map_fd("olaf_children");
    const int counters_fd = map_fd("olaf_job_counters"), slots_fd = map_fd("olaf_round_slots");
    for (std::uint32_t index = 0; index < OLAF_MAX_JOBS; index++) {
        JobReading reading{.index = index, .members = {}};
        if (bpf_map_lookup_elem(jobs_fd, &index, &reading.job) != 0)
            return fail("read map", "olaf_jobs", errno);
        if (reading.job.state == OLAF_JOB_NONE)
            continue;
        for (const auto &done :
             {read_members_of(reading, children_fd), read_counters_of(reading, counters_fd),
              read_slots_of(reading, slots_fd)})
            if (!done)
                return std::unexpected(done.error());
        jobs.push_back(std::move(reading));
    }
    std::ranges::sort(jobs, {}, &JobReading::id);
    return jobs;
}

} // namespace olaf
