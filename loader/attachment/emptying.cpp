// SPDX-License-Identifier: BSD-2-Clause
#include "emptying.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <net/ethernet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "loader/datapath/config.hpp"
#include "loader/datapath/jobs.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/datapath/snapshot.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/device.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/route.hpp"
#include "loader/text/address.hpp"
#include "olaf/drain.h"
#include "olaf/try.hpp"
#include "teardown.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t poll_ns = 5 * millisecond;
constexpr std::uint64_t lease_ns = 1000 * millisecond;
constexpr std::uint64_t hold_ns = 5000 * millisecond;
constexpr std::uint64_t slack_ns = 1000 * millisecond;

/// The longest that one departure may take: the largest frame at the rate, its turns of the
/// drain, and time for a busy machine.
std::uint64_t departure_bound(const olaf_config &config) {
    return largest_frame_ns(config) + 2 * config.drain_interval_ns +
           olaf_longest_turn_ns(config.drain_interval_ns) + slack_ns;
}

std::unexpected<Error> stuck(const Attachment &attachment) {
    const auto waiting = updates_waiting(attachment);
    const auto why = obstacle(attachment);
    return fail("drain the queue of", attachment.device, 0,
                fmt::format("it works on; bring the way out up again, or drop them: olaf detach {} --force",
                            attachment.device),
                fmt::format("{} updates wait and none leaves: {}", waiting.value_or(0),
                            why.empty() ? "nothing tells why" : why));
}

/// Whether less waits than ever since the emptying began. That the head moves is no progress: an
/// update whose next hop is silent goes to the back, and more updates for that hop may arrive.
struct Progress {
    std::uint64_t bound_ns, fewest = UINT64_MAX, waited_ns = 0;
    std::uint64_t looked_ns = monotonic_ns(), told_ns = looked_ns;

    /// What leaves into a device that is down is no progress. Time in which this process was kept from
    /// the CPU doesn't count: the drain may have been, too.
    bool too_slow(const Attachment &attachment, const olaf_ring &ring, std::uint64_t now) {
        const auto waiting = ring.tail - ring.head;
        waited_ns += std::min(now - looked_ns, 2 * poll_ns);
        looked_ns = now;
        if (waiting < fewest && (fewest == UINT64_MAX || output_obstacle(attachment).empty())) {
            waited_ns = 0;
            fewest = waiting;
        }
        return waited_ns > bound_ns;
    }

    void tell(const Attachment &attachment, const olaf_ring &ring, std::uint64_t now) {
        if (now - told_ns < 500 * millisecond)
            return;
        note(fmt::format("{}: {} of them wait", attachment.device, ring.tail - ring.head));
        told_ns = now;
    }
};

} // namespace

Result<EmptyingLease> EmptyingLease::take(const Attachment &attachment) {
    EmptyingLease lease(OLAF_TRY(open_map(attachment, "olaf_control")));
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(lease.control_.get(), &key, &lease.orders_) != 0)
        return fail("read", "olaf_control", errno);
    OLAF_TRY(lease.renew());
    return lease;
}

EmptyingLease::~EmptyingLease() {
    orders_.emptying_until_ns = orders_.held_until_ns = 0;
    if (control_)
        (void)write();
}

Result<void> EmptyingLease::renew() {
    const auto now = monotonic_ns();
    if (orders_.emptying_until_ns > now + lease_ns * 3 / 4)
        return {};
    broken_ |= now >= orders_.emptying_until_ns;
    orders_.emptying_until_ns = now + lease_ns;
    return write();
}

Result<void> EmptyingLease::hold() {
    const auto now = monotonic_ns();
    orders_.emptying_until_ns = now + lease_ns;
    orders_.held_until_ns = now + hold_ns;
    broken_ = false;
    return write();
}

Result<void> EmptyingLease::let_go() {
    orders_.held_until_ns = 0;
    return write();
}

bool EmptyingLease::unbroken() {
    broken_ |= monotonic_ns() >= orders_.emptying_until_ns;
    return !broken_;
}

Result<void> EmptyingLease::write() const {
    const std::uint32_t key = 0;
    if (bpf_map_update_elem(control_.get(), &key, &orders_, BPF_ANY) != 0)
        return fail("write", "olaf_control", errno);
    return {};
}

Result<void> empty_queue(const Attachment &attachment, EmptyingLease *lease, const Signals &stop,
                   bool verbose) {
    const auto &config = attachment.record.config;
    Progress progress{.bound_ns = departure_bound(config)};
    // A closed window may hold a departure up besides, until the timeout after which a silent
    // server is no longer waited for.
    if (config.window != 0) {
        const auto map = OLAF_TRY(open_map(attachment, "olaf_window"));
        const auto window = OLAF_TRY(read_window(map.get()));
        progress.bound_ns += window_timeout_ns(window);
    }
    const auto map = OLAF_TRY(open_map(attachment, "olaf_ring"));
    for (;;) {
        if (lease != nullptr)
            OLAF_TRY(lease->renew());
        const auto ring = OLAF_TRY(read_ring(map.get()));
        if (ring.head == ring.tail)
            return {};
        const auto now = monotonic_ns();
        if (progress.too_slow(attachment, ring, now))
            return stuck(attachment);
        if (verbose)
            progress.tell(attachment, ring, now);
        if (OLAF_TRY(stop.until(now + poll_ns)))
            return fail("drain the queue of", attachment.device, EINTR, "it works on");
    }
}

Result<std::uint64_t> updates_waiting(const Attachment &attachment) {
    std::vector<Fd> open; // for as long as they are read
    const auto snapshot = OLAF_TRY(read_snapshot(attachment.record.config, [&](const char *name) {
        auto fd = open_map_to_read(attachment, name);
        return fd ? open.emplace_back(std::move(*fd)).get() : -1;
    }));
    return snapshot.levels.updates_waiting;
}

namespace {

/// How many updates go with the queue because they couldn't leave.
std::uint64_t dropped(const Attachment &attachment, const Error &error) {
    const auto updates = updates_waiting(attachment).value_or(0);
    note(fmt::format("{}: dropped {} updates: {}", attachment.device, updates, error.reason));
    return updates;
}

/// The same without its XDP program on the device. What waits for another device may still leave by
/// the drain; without the device, nothing that waits for this host does.
Result<std::uint64_t> empty_dead(const Attachment &attachment, const Signals &stop,
                                 const EmptyOptions &options) {
    const auto waiting = OLAF_TRY(updates_waiting(attachment));
    const bool local = attachment.record.config.deliver == OLAF_DELIVER_LOCAL;
    auto drained = local && waiting != 0
                       ? Result<void>(fail("drain the queue of", attachment.device, 0,
                                           fmt::format("drop them: olaf detach {} --force",
                                                       attachment.device),
                                           fmt::format("{} updates wait and can't leave: {}",
                                                       waiting, why_dead(attachment))))
                       : empty_queue(attachment, nullptr, stop, options.verbose);
    if (drained)
        return 0;
    if (!options.force || drained.error().code == EINTR)
        return std::unexpected(drained.error());
    return dropped(attachment, drained.error());
}

} // namespace

Result<std::uint64_t> empty_kernel(const Attachment &attachment, const Signals &stop,
                                   const EmptyOptions &options) {
    if (!attachment.alive)
        return empty_dead(attachment, stop, options);
    auto lease = OLAF_TRY(EmptyingLease::take(attachment));
    const auto drained = empty_queue(attachment, &lease, stop, options.verbose);
    if (!drained && (!options.force || drained.error().code == EINTR))
        return std::unexpected(drained.error());
    OLAF_TRY(take_off_xdp(attachment.place));
    if (!drained)
        return dropped(attachment, drained.error());
    // This process may have been stopped for longer than its lease: something slipped in.
    const auto rest = empty_queue(attachment, nullptr, stop, options.verbose);
    return rest ? 0 : dropped(attachment, rest.error());
}

namespace {

/// What the head of the queue holds, headers included; nothing if that can't be read.
std::optional<std::vector<std::uint64_t>> head_of(const Attachment &attachment) {
    const auto &config = attachment.record.config;
    constexpr std::uint32_t first_key = 0;
    std::map<std::string_view, Fd> maps;
    for (const auto *name : {"olaf_ring", "olaf_places", "olaf_entries"}) {
        auto map = open_map(attachment, name);
        if (!map)
            return {};
        maps[name] = std::move(*map);
    }
    const auto ring = read_ring(maps["olaf_ring"].get());
    std::vector<olaf_place> places(config.ring_places);
    if (!ring || ring->head == ring->tail ||
        bpf_map_lookup_elem(maps["olaf_places"].get(), &first_key, places.data()) != 0)
        return {};
    std::vector<std::uint64_t> entry((entry_bytes(config.max_lanes) + 7) / 8);
    const auto &place = places[ring->head % places.size()];
    if (bpf_map_lookup_elem(maps["olaf_entries"].get(), &place.entry, entry.data()) != 0)
        return {};
    return entry;
}

/// Destination address in the headers that wait.
IpAddress destination_of(const olaf_entry &entry) {
    const auto &pending = entry.pending;
    const std::size_t ip =
        OLAF_MAX_HEADERS - pending.header_bytes % OLAF_MAX_HEADERS + pending.l3_offset;
    IpAddress address{.family = pending.family, .words_be = {}};
    const std::size_t offset = ip + (pending.family == 4 ? 16 : 24);
    const std::size_t bytes = pending.family == 4 ? 4 : 16;
    if (offset + bytes <= OLAF_MAX_HEADERS)
        std::memcpy(address.words_be.data(), entry.headers + offset, bytes);
    return address;
}

/// Where the head goes on the network layer; nothing if it is bridged or stays here.
std::optional<IpAddress> routed_to(const Attachment &attachment) {
    const auto &config = attachment.record.config;
    if (config.deliver == OLAF_DELIVER_UPSTREAM)
        return address_of(config.upstream_family, config.upstream_addr_be);
    const auto head = head_of(attachment);
    if (config.deliver != OLAF_DELIVER_FORWARD || !head)
        return {};
    const auto &entry = *reinterpret_cast<const olaf_entry *>(head->data());
    return entry.pending.routed ? std::optional(destination_of(entry)) : std::nullopt;
}

} // namespace

std::string output_obstacle(const Attachment &attachment) {
    const auto ifindex = attachment.record.config.egress_ifindex;
    if (attachment.record.config.deliver == OLAF_DELIVER_LOCAL)
        return {};
    return device_obstacle("the output device", ifindex);
}

std::string device_obstacle(const std::string &name, std::uint32_t ifindex) {
    const auto device = find_device(ifindex);
    if (!device)
        return name + " has gone";
    if (!device->up)
        return device->name + " is down";
    return device->carrier ? "" : device->name + " has no carrier";
}

std::string drain_obstacle(const olaf_config &config) {
    const auto drain = drain_names(config.ifindex);
    for (const auto &[name, ifindex] :
         {std::pair{drain.a, config.drain_ifindex}, std::pair{drain.b, config.kick_ifindex}})
        if (const auto device = find_device(ifindex); !device || !device->up)
            return device_obstacle(name, ifindex);
    return "";
}

std::string obstacle(const Attachment &attachment) {
    if (const auto output = output_obstacle(attachment); !output.empty())
        return output;
    const auto address = routed_to(attachment);
    const auto device = find_device(attachment.record.config.egress_ifindex);
    if (address && device) {
        const auto gateway = gateway_to(*address, device->ifindex);
        if (!gateway)
            return fmt::format("there is no route to {} by {}", address_text(*address),
                               device->name);
        if (!neighbour_known(*gateway, device->ifindex))
            return fmt::format("the next hop {} doesn't answer on {}", address_text(*gateway),
                               device->name);
    }
    return attachment.alive ? drain_obstacle(attachment.record.config) : why_dead(attachment);
}

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
