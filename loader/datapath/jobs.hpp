// SPDX-License-Identifier: BSD-2-Clause
// Jobs of rounds: their setup in words, orders to the kernel, and reading them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "members.hpp"
#include "olaf/result.hpp"
#include "olaf/rounds.h"
#include "snapshot.hpp"

namespace olaf {

/// "3=192.0.2.1", "3=[2001:db8::1]:40000": a rank and the address that it is bound to.
Result<WorkerAddress> parse_member(std::string_view text);

/// "64": slots of a job, a power of two.
Result<std::uint32_t> parse_pool(std::string_view text);

/// "i32x2", "i16x4", "i64x1".
Result<olaf_format> parse_job_format(std::string_view text);
std::string_view job_format_name(std::uint32_t shape);

/// "resnet50", a training's name, or "id:00000000000012ab", its alias: olaf_training_alias() of it.
Result<std::uint64_t> parse_training(std::string_view text);
/// "id:00000000000012ab".
std::string training_text(std::uint64_t alias);
/// "1764230400": 1 or more, 64 bits.
Result<std::uint64_t> parse_run_number(std::string_view text);

/// "239.1.2.3", "ff02::6523": a multicast address.
Result<IpAddress> parse_group(std::string_view text);
/// "ride", or "multicast=GROUP".
Result<std::optional<IpAddress>> parse_fanout(std::string_view text);

/// Slots that a job has.
struct SlotRun {
    std::uint32_t first = 0, count = 0;
};
/// The first place for so many slots in a row among those taken; nothing: there is none.
std::optional<std::uint32_t> first_fit(std::vector<SlotRun> taken, std::uint32_t wanted,
                                       std::uint32_t round_slots);

/// Where orders are given. Only one olaf at a time may do so: hold the queue's lock.
struct JobDesk {
    int program_fd = -1; ///< olaf_job_order
    int desk_fd = -1;    ///< olaf_job_desk
};
/// Gives an order and sees that it is done. An error says that "WHAT JOB" failed.
Result<void> give_order(const JobDesk &desk, const olaf_job_order &order, const std::string &what,
                        const std::string &job);
/// OLAF_JOB_BIND to an address and, unless 0, a port.
olaf_job_order binding_of(std::uint32_t index, const WorkerAddress &member);

/// The counters of a job begin at 0. While it isn't set, nobody counts there.
Result<void> zero_counters(int counters_fd, std::uint32_t index);

/// A chunk that has no result yet.
struct WaitingChunk {
    std::uint64_t since_ns = 0;         ///< CLOCK_MONOTONIC: it was opened, or first sent up
    std::uint32_t round = 0, chunk = 0;
    std::vector<std::uint32_t> lacks = {}; ///< members of its round whose contribution isn't in it
};

struct JobReading {
    std::uint32_t index = 0;
    olaf_job job{};
    olaf_job_counters counters{};     ///< of every CPU
    std::vector<KnownMember> members; ///< by rank; those that were heard or are bound
    std::uint64_t open = 0, up = 0;   ///< chunks that gather, and that are with the parent
    std::uint64_t owed = 0;           ///< results that members haven't got yet
    std::optional<WaitingChunk> oldest_open = {}, oldest_up = {};

    [[nodiscard]] std::uint32_t id() const { return job.setup.id; }
    /// Children that are no members.
    [[nodiscard]] std::vector<std::uint32_t> absent() const;
    /// Those that have asked in the run that has the job.
    [[nodiscard]] std::vector<std::uint32_t> in_run() const;
    /// Whether the rank is a member in that round.
    [[nodiscard]] bool is_member_in(std::uint32_t round, std::uint32_t rank) const;
    /// While members agree where to begin: those that haven't asked.
    [[nodiscard]] std::vector<std::uint32_t> waiting_for() const;
};

/// Every job there is, by id. None where the queue has no slots for them.
Result<std::vector<JobReading>> read_jobs(const olaf_config &config, const MapFinder &map_fd);

} // namespace olaf
