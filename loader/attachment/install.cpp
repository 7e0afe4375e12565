// SPDX-License-Identifier: BSD-2-Clause
#include "install.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <thread>

#include "addresses.hpp"
#include "emptying.hpp"
#include "hooks.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/datapath/snapshot.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/drain.hpp"
#include "loader/host/host.hpp"
#include "loader/host/merging.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/tc.hpp"
#include "loader/host/xdp.hpp"
#include "olaf/drain.h"
#include "olaf/try.hpp"
#include "output.hpp"
#include "teardown.hpp"
#include "tracepoints.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t again_ns = 50 * millisecond;

/// The frame that the program turns into the proof, from an address that nobody has to the device's
/// own.
Result<void> send_proof(const Datapath &queue, const Device &device) {
    std::array<std::uint8_t, OLAF_TOKEN_MIN_BYTES> frame{};
    std::ranges::copy(device.mac, frame.begin());
    std::ranges::copy(queue.config().drain_mac, frame.begin() + 6);
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_size_in = frame.size());
    if (bpf_prog_test_run_opts(queue.program_fd(program_named("olaf_drain_prove").name), &options) !=
        0)
        return fail("try the drain of", device.name, errno);
    if (const int result = static_cast<int>(options.retval); result != 0)
        return fail("try the drain of", device.name, result < 0 ? -result : 0, {},
                    "it takes no frame");
    return {};
}

/// How many have reached the drain's far end so far.
Result<std::uint64_t> proofs(const Datapath &queue) {
    return OLAF_TRY(read_counters(queue.map_fd("olaf_counters"))).drain_proofs;
}

std::unexpected<Error> lost(const Device &device, const olaf_config &config) {
    if (const auto obstacle = drain_obstacle(config); !obstacle.empty())
        return fail("try the drain of", device.name, 0, "set it up: ip link", obstacle);
    const auto others = foreign_tc(device.ifindex);
    return fail("try the drain of", device.name, 0,
                fmt::format("bpftool net show dev {0}; tc filter show dev {0} ingress; tc filter "
                            "show dev {0} egress list what is there: what comes before olaf's must "
                            "let frames on to the next program",
                            device.name),
                others.empty() ? "a token sent out of it doesn't come round"
                               : "before olaf's filter there is " + others);
}

/// Whether one more than `before` arrives until then. Looks once more when the time is over.
Result<bool> await_proof(const Datapath &queue, std::uint64_t before, std::uint64_t deadline_ns,
                         const Meanwhile &meanwhile) {
    for (bool last = false;;) {
        OLAF_TRY(meanwhile());
        if (OLAF_TRY(proofs(queue)) != before)
            return true;
        if (last)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        last = monotonic_ns() >= deadline_ns;
    }
}

} // namespace

Result<void> prove_drain(const Datapath &queue, const Device &device, const Meanwhile &meanwhile) {
    if (!device.up) {
        note(fmt::format("{}: it is down, so the drain wasn't tried", device.name));
        return {};
    }
    const auto before = OLAF_TRY(proofs(queue));
    // A live token may be ahead of the proof in the drain, and each proof delays the next one by a
    // turn.
    const auto turn = olaf_longest_turn_ns(queue.config().drain_interval_ns);
    for (int i = 0; i < (turn < again_ns ? 10 : 3); i++) { // a busy host may drop a frame
        OLAF_TRY(send_proof(queue, device));
        if (OLAF_TRY(await_proof(queue, before, monotonic_ns() + again_ns + 2 * turn, meanwhile)))
            return {};
    }
    return lost(device, queue.config());
}

namespace {

/// A unicast address that nobody else has.
std::array<std::uint8_t, 6> random_mac() {
    std::array<std::uint8_t, 6> mac{};
    [[maybe_unused]] const auto got = ::getrandom(mac.data(), mac.size(), 0);
    mac[0] = static_cast<std::uint8_t>((mac[0] & 0xfc) | 0x02);
    return mac;
}

Result<void> install_drain(const RecordMap &map, Record &record, const Device &device,
                          std::uint64_t interval) {
    auto drain = drain_names(device.ifindex);
    for (const auto &name : {drain.a, drain.b})
        if (find_device(name))
            return fail("make the drain", name, EEXIST,
                        fmt::format("another device has that name: ip link delete {}", name));
    record.drain_ours = 1;
    OLAF_TRY(map.write(record));
    drain = OLAF_TRY(make_drain(device.ifindex, device.mtu, interval));
    record.drain_ifindex_a = drain.ifindex_a;
    record.drain_ifindex_b = drain.ifindex_b;
    return map.write(record);
}

/// Filters of the drain's ends and of the queue's device.
Result<void> install_filters(const PinPlace &place, const RecordMap &map, Record &record,
                             const Datapath &queue, const Device &device) {
    record.clsact_ours = !OLAF_TRY(has_clsact(device));
    OLAF_TRY(map.write(record));
    for (const auto &program : programs) {
        if (!runs_by_tc(program) || program.on == On::way_back || !stands(program, record.config))
            continue;
        const auto where = device_of(program, place, record);
        if (!where)
            return fail("find the device of", std::string(program.name), ENODEV);
        OLAF_TRY(ensure_clsact(*where));
        OLAF_TRY(add(program, *where, queue));
    }
    return {};
}

Result<void> install_xdp(const PinPlace &place, const Datapath &queue, const Record &record) {
    for (const auto &program : programs) {
        if (program.hook != Hook::xdp || !stands(program, record.config))
            continue;
        const auto device = device_of(program, place, record);
        if (!device)
            return fail("find the device of", std::string(program.name), ENODEV);
        const auto link =
            OLAF_TRY(attach_xdp(*device, queue.program_fd(program.name), record.skb_mode != 0));
        const auto path = place.path(program.link);
        if (bpf_obj_pin(link.get(), path.c_str()) != 0)
            return fail("pin", path, errno);
    }
    return {};
}

} // namespace

/// Drain, programs, pins, filters and, last of all, XDP. On failure, what is done stays for
/// tear_down().
Result<Record> install(const PinPlace &place, const Plan &plan, bool skb_mode) {
    const auto &device = plan.device;
    Record record;
    record.skb_mode = skb_mode;
    copy_text(record.device, device.name);
    copy_text(record.target, plan.target);
    copy_text(record.hw_reason, plan.no_card);
    record.hw_asked = static_cast<std::uint32_t>(plan.hardware);
    record.merging_on = merging_of(device.name).on;
    const auto map = OLAF_TRY(RecordMap::create(place, record));
    OLAF_TRY(install_drain(map, record, device, plan.config.drain_interval_ns));

    auto &config = record.config = plan.config;
    config.drain_ifindex = record.drain_ifindex_a;
    config.kick_ifindex = record.drain_ifindex_b;
    config.flags |= skb_mode ? OLAF_CONFIG_SKB_MODE : 0U;
    std::ranges::copy(random_mac(), config.drain_mac);
    const auto queue = OLAF_TRY(Datapath::load(
        config, {.pinned_maps = {}, .asks_driver = !skb_mode && plan.driver_tells_tags}));
    OLAF_TRY(allow(queue.map_fd("olaf_allow"), plan.allow));
    OLAF_TRY(refresh_addresses(queue, device.ifindex));
    OLAF_TRY(queue.pin_maps(place.path()));
    OLAF_TRY(pin_programs(queue, place, false));
    OLAF_TRY(queue.set_tail_calls());
    OLAF_TRY(install_filters(place, map, record, queue, device));
    OLAF_TRY(install_return(map, record, queue));
    OLAF_TRY(prove_drain(queue, device));
    const auto missing = attach_tracepoints(queue, place, device);
    OLAF_TRY(shut_xdp_gates(queue));
    OLAF_TRY(install_xdp(place, queue, record));
    if (const auto off = record.merging_on & ~merging_of(device.name).on; off != 0)
        note(device.name, {fmt::format("without {} until olaf detach: no card merges frames before an XDP "
                                       "program",
                                       merging_text(off))});
    note(device.name, missing);
    OLAF_TRY(open_output(queue, place, plan, map, record));
    record.received_before = find_device(device.ifindex).value_or(device).received;
    record.complete = 1;
    record.attached_ns = monotonic_ns();
    OLAF_TRY(map.write(record));
    return record;
}

Result<void> pin_programs(const Datapath &queue, const PinPlace &place, bool replace) {
    for (const auto &program : programs) {
        if (program.pin.empty() || program.when == When::driver_tells)
            continue; // the other line of that name pins whichever of the two is loaded
        if (!is_of_use(program, queue.config()))
            continue;
        const int fd = queue.program_fd(program.name);
        const auto path = place.path(program.pin);
        // The new one is pinned under another name, then renamed over the old one.
        const auto first = replace ? path + "_new" : path;
        if (replace)
            ::unlink(first.c_str());
        if (bpf_obj_pin(fd, first.c_str()) != 0)
            return fail("pin program", first, errno);
        if (replace && std::rename(first.c_str(), path.c_str()) != 0)
            return fail("pin program", path, errno);
    }
    return {};
}

Result<void> check_no_queue(const Attachment &before, const Device &device) {
    if (before.alive && before.record.complete)
        return fail("attach to", device.name, EEXIST,
                    fmt::format("olaf detach {0} first, or olaf attach {0} --replace", device.name),
                    "a queue of olaf's is there");
    return {};
}

Result<void> check_no_program(const Device &device) {
    const auto other = foreign_xdp(device.ifindex);
    if (!other.empty() && !has_output_program(device))
        return fail("attach to", device.name, EBUSY,
                    xdp_removal(device) + " removes it",
                    fmt::format("it has an XDP program already, {}", other));
    return {};
}

Result<std::string> check_mode(const Plan &plan) {
    if (plan.mode == XdpMode::skb)
        return {};
    if (plan.mode == XdpMode::native && !plan.native_obstacle.empty())
        return fail("attach natively to", plan.device.name, 0, "use --mode skb or auto",
                    plan.native_obstacle);
    return plan.native_obstacle;
}

namespace {

/// Installs in one mode, or leaves nothing but the empty directory.
Result<Record> install_or_undo(PinLock &lock, const Plan &plan, bool skb_mode) {
    auto record = install(lock.place(), plan, skb_mode);
    if (!record)
        if (auto undone = tear_down(lock); !undone)
            note(fmt::format("olaf: {}", undone.error().message()));
    return record;
}

/// Where an offload that merges frames can't be switched off, the kernel warns of it as the device gets a program
/// in skb mode; and it may panic at warnings.
Result<void> check_warning(const Plan &plan) {
    const auto merging = merging_of(plan.device.name);
    const auto stays = merging.on & merging.fixed;
    if (stays == 0)
        return {};
    if (plan.mode != XdpMode::skb && kernel_panics_at_warnings())
        return fail("attach to", plan.device.name, 0,
                    "sysctl kernel.panic_on_warn=0 first; --mode skb attaches all the same",
                    fmt::format("in skb mode the kernel warns that it can't switch off {}, and "
                                "kernel.panic_on_warn is set",
                                merging_text(stays)));
    note(plan.device.name, {fmt::format("the kernel warns in its log that it can't switch off {}: what the "
                                        "card merges passes the queue by",
                                        merging_text(stays))});
    return {};
}

/// Whether the device refused native mode for good, so that skb mode is worth a try.
bool native_refused(const Error &error) {
    return error.operation == attaching_xdp && error.code != EBUSY && error.code != EEXIST &&
           error.code != EPERM;
}

} // namespace

Result<Record> install_fitting_mode(PinLock &lock, const Plan &plan) {
    auto obstacle = OLAF_TRY(check_mode(plan));
    if (plan.mode != XdpMode::skb && obstacle.empty()) {
        if (restarts_for_xdp(driver_of(plan.device.name)))
            note(plan.device.name, {"its driver restarts its rings for an XDP program: frames are lost meanwhile, "
                                    "now and at olaf detach"});
        auto record = install_or_undo(lock, plan, false);
        if (record || plan.mode == XdpMode::native || !native_refused(record.error()))
            return record;
        obstacle = record.error().message();
    }
    if (!obstacle.empty())
        note(fmt::format("{}: skb mode, because {}", plan.device.name, obstacle));
    OLAF_TRY(check_warning(plan));
    return install_or_undo(lock, plan, true);
}

} // namespace olaf
