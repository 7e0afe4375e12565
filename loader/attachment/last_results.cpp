// SPDX-License-Identifier: BSD-2-Clause
#include "last_results.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <net/ethernet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "loader/datapath/jobs.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/clock.hpp"
#include "olaf/drain.h"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t patience_ns = 1'000'000'000;
/// Between two bursts, so that whoever gets them can take them from its ring.
constexpr auto pause = std::chrono::milliseconds(1);

using Maps = std::map<std::string, Fd>;

Result<std::vector<JobReading>> read(const Attachment &attachment, const Maps &maps) {
    return read_jobs(attachment.record.config,
                     [&](const char *name) { return maps.at(name).get(); });
}

/// An order as XDP gives it, in a frame that nobody has sent. One burst leaves.
Result<void> send_burst(int program_fd, std::uint32_t job_index, const Attachment &attachment) {
    olaf_round_order order{};
    order.eth_proto_be = htons(ETHERTYPE_IP);
    order.secret = OLAF_ROUND_SECRET(attachment.record.config.token_secret);
    order.job = job_index;
    order.work = OLAF_ROUND_LAST;
    std::array<std::uint8_t, OLAF_TOKEN_MIN_BYTES> frame{};
    static_assert(OLAF_TOKEN_OFFSET + sizeof order <= frame.size());
    std::memcpy(frame.data() + OLAF_TOKEN_OFFSET, &order, sizeof order);
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                .data_size_in = static_cast<__u32>(frame.size()));
    if (bpf_prog_test_run_opts(program_fd, &options) != 0)
        return fail("send the last results of", attachment.device, errno);
    return {};
}

/// Whether results of the job's stand in a line.
bool owes(int jobs_fd, std::uint32_t index) {
    olaf_job job{};
    return bpf_map_lookup_elem(jobs_fd, &index, &job) == 0 &&
           std::ranges::any_of(job.line, [](const auto &line) { return line.head != line.tail; });
}

std::uint64_t undelivered(const std::vector<JobReading> &jobs) {
    std::uint64_t sum = 0;
    for (const auto &job : jobs)
        sum += job.counters.undelivered;
    return sum;
}

} // namespace

Result<JobsLeft> send_last_results(const Attachment &attachment) {
    if (attachment.record.config.round_slots == 0)
        return JobsLeft{};
    Maps maps;
    for (const auto *name : {"olaf_jobs", "olaf_children", "olaf_job_counters", "olaf_round_slots"}) {
        maps[name] = OLAF_TRY(open_map(attachment, name));
    }
    const auto path = attachment.place.path(program_named("olaf_copies").pin);
    const Fd program(bpf_obj_get(path.c_str()));
    if (!program)
        return fail("open", path, errno);
    const auto before = OLAF_TRY(read(attachment, maps));
    const auto deadline_ns = monotonic_ns() + patience_ns;
    for (const auto &job : before)
        while (owes(maps.at("olaf_jobs").get(), job.index) && monotonic_ns() < deadline_ns) {
            OLAF_TRY(send_burst(program.get(), job.index, attachment));
            std::this_thread::sleep_for(pause);
        }
    const auto after = OLAF_TRY(read(attachment, maps));
    JobsLeft left{.results = undelivered(after) - undelivered(before)};
    for (const auto &job : after) {
        left.results += job.owed;
        left.chunks += job.open + job.up;
    }
    return left;
}

} // namespace olaf
