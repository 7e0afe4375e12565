// SPDX-License-Identifier: BSD-2-Clause
#include "jobs.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "loader/host/retry.hpp"
#include "loader/text/units.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// 2^16 slots: the largest window that libolaf's members take.
constexpr std::uint32_t largest_pool = 65536;

/// As users say them, in the order of enum olaf_format.
constexpr std::array<std::string_view, 4> formats{"i32x2", "i16x4", "i64x1", "f32"};

/// One frame, live: only so are softirqs off (bpf/jobs.bpf.c). It ends in the program.
Result<int> run_order(const JobDesk &desk, const olaf_job_order &order) {
    const std::uint32_t key = 0;
    olaf_job_desk paper{};
    paper.order = order;
    paper.answer = -ENOSYS; // until the program has run
    if (bpf_map_update_elem(desk.desk_fd, &key, &paper, BPF_ANY) != 0)
        return fail("write map", "olaf_job_desk", errno);
    const std::array<std::uint8_t, 64> frame{};
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                .data_size_in = static_cast<__u32>(frame.size()), .repeat = 1,
                .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
    if (bpf_prog_test_run_opts(desk.program_fd, &options) != 0)
        return fail("run", "olaf_job_order", errno, "run as root");
    if (bpf_map_lookup_elem(desk.desk_fd, &key, &paper) != 0)
        return fail("read map", "olaf_job_desk", errno);
    return paper.answer;
}

} // namespace

Result<WorkerAddress> parse_member(std::string_view text) {
    const auto member = parse_worker(text);
    if (member && member->worker < OLAF_RANKS)
        return member;
    return fail("read member", fmt::format("'{}'", text), 0,
                "write RANK=ADDR or RANK=ADDR:PORT, as in 3=192.0.2.1 or "
                "3=[2001:db8::1]:40000; ranks are 0 ... 255");
}

Result<std::uint32_t> parse_pool(std::string_view text) {
    const auto slots = parse_count(text, 1, largest_pool);
    if (slots && std::has_single_bit(*slots))
        return slots;
    return fail("take", fmt::format("'{}'", text), 0,
                fmt::format("give a power of two, 1 ... {}", largest_pool));
}

Result<IpAddress> parse_group(std::string_view text) {
    const auto group = OLAF_TRY(parse_address(text));
    const auto first = reinterpret_cast<const unsigned char *>(group.words_be.data())[0];
    if (group.family == 4 ? (first & 0xf0) == 0xe0 : first == 0xff)
        return group;
    return fail("send to all of", fmt::format("'{}'", text), 0,
                "give one in 224.0.0.0/4, such as 239.1.2.3, or in ff00::/8",
                "it isn't a multicast address");
}

Result<std::optional<IpAddress>> parse_fanout(std::string_view text) {
    constexpr std::string_view multicast = "multicast=";
    if (text == "ride")
        return std::nullopt;
    if (!text.starts_with(multicast))
        return fail("send results by", fmt::format("'{}'", text), 0,
                    "give ride or multicast=GROUP");
    return OLAF_TRY(parse_group(text.substr(multicast.size())));
}

Result<olaf_format> parse_job_format(std::string_view text) {
    const auto found = std::ranges::find(formats, text);
    if (found == formats.end())
        return fail("find format", fmt::format("'{}'", text), 0,
                    "it is one of i32x2, i16x4, i64x1, f32");
    return static_cast<olaf_format>(found - formats.begin());
}

std::string_view job_format_name(std::uint32_t shape) {
    const auto format = (shape & OLAF_FLAG_FORMAT_MASK) >> OLAF_FLAG_FORMAT_SHIFT;
    return format < formats.size() ? formats[format] : "?";
}

Result<std::uint64_t> parse_training(std::string_view text) {
    constexpr std::string_view prefix = "id:";
    if (text.empty())
        return fail("find training", "''", 0, "give its name");
    if (!text.starts_with(prefix))
        return olaf_training_alias(
            olaf_training_id(text.data(), static_cast<std::uint32_t>(text.size())));
    const auto digits = text.substr(prefix.size());
    std::uint64_t training = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), training, 16);
    if (error != std::errc{} || end != digits.data() + digits.size() || training == 0)
        return fail("find training", fmt::format("'{}'", text), 0,
                    "behind id: there are 16 hexadecimal digits, as olaf job list shows them");
    return training;
}

Result<std::uint64_t> parse_run_number(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number == 0)
        return fail("find run", fmt::format("'{}'", text), 0, "give a whole number, 1 or more");
    return number;
}

std::string training_text(std::uint64_t alias) {
    return fmt::format("id:{:016x}", alias);
}

std::optional<std::uint32_t> first_fit(std::vector<SlotRun> taken, std::uint32_t wanted,
                                       std::uint32_t round_slots) {
    std::ranges::sort(taken, {}, &SlotRun::first);
    std::uint32_t from = 0;
    for (const auto &[first, count] : taken) {
        if (first >= from && first - from >= wanted)
            break;
        from = std::max(from, first + count);
    }
    if (from > round_slots || round_slots - from < wanted)
        return {};
    return from;
}

Result<void> give_order(const JobDesk &desk, const olaf_job_order &order, const std::string &what,
                        const std::string &job) {
    int answer = -EAGAIN;
    for (Retry retry; answer == -EAGAIN && retry.again();) {
        answer = OLAF_TRY(run_order(desk, order));
    }
    if (answer == -EAGAIN)
        return fail(what, job, 0, "try again", "what it has to change was in use all the time");
    if (answer != 0)
        return fail(what, job, -answer);
    return {};
}

olaf_job_order binding_of(std::uint32_t index, const WorkerAddress &member) {
    olaf_job_order order{};
    order.action = OLAF_JOB_BIND;
    order.index = index;
    order.rank = member.worker;
    order.family = member.address.family;
    std::ranges::copy(member.address.words_be, order.addr_be);
    order.port_be = htons(member.port);
    return order;
}

Result<void> zero_counters(int counters_fd, std::uint32_t index) {
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    const std::vector<olaf_job_counters> zeros(static_cast<std::size_t>(cpus));
    if (bpf_map_update_elem(counters_fd, &index, zeros.data(), BPF_ANY) != 0)
        return fail("write map", "olaf_job_counters", errno);
    return {};
}

namespace {

bool has_rank(const olaf_ranks &ranks, std::uint32_t rank) {
    return (ranks.word[rank / 64] >> (rank % 64) & 1) != 0;
}

/// The job's children among those ranks.
std::vector<std::uint32_t> children_of(const olaf_job &job, const olaf_ranks &in) {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < job.setup.children && rank < OLAF_RANKS; rank++)
        if (has_rank(in, rank))
            ranks.push_back(rank);
    return ranks;
}

const olaf_ranks &absent_now(const olaf_job &job) {
    return job.membership.absent[job.membership.joining >> 32 & 1];
}

} // namespace

std::vector<std::uint32_t> JobReading::absent() const {
    return children_of(job, absent_now(job));
}

std::vector<std::uint32_t> JobReading::in_run() const {
    return children_of(job, job.tenancy.in);
}

bool JobReading::is_member_in(std::uint32_t round, std::uint32_t rank) const {
    const auto joinings = job.membership.joining >> 32, first = job.membership.joining & UINT32_MAX;
    const bool is_before = static_cast<std::int32_t>(round - static_cast<std::uint32_t>(first)) < 0;
    return rank < job.setup.children && !has_rank(job.membership.absent[(joinings - (is_before ? 1 : 0)) & 1], rank);
}

std::vector<std::uint32_t> JobReading::waiting_for() const {
    std::vector<std::uint32_t> ranks;
    if (job.state != OLAF_JOB_SYNCING)
        return ranks;
    for (std::uint32_t rank = 0; rank < job.setup.children && rank < OLAF_RANKS; rank++)
        if (!has_rank(job.asked, rank) && !has_rank(absent_now(job), rank))
            ranks.push_back(rank);
    return ranks;
}

namespace {

constexpr std::uint32_t slots_at_once = 1024;

/// As for any member (datapath/members.cpp): nobody wrote between two equal copies.
Result<olaf_member> read_child(int fd, std::uint32_t index) {
    olaf_child first{}, second{};
    for (Retry retry; retry.again();) {
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
    std::vector<std::uint32_t> keys(std::min(setup.slots, slots_at_once));
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
