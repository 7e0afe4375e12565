// SPDX-License-Identifier: BSD-2-Clause
#include "proof.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "loader/datapath/programs.hpp"
#include "loader/datapath/snapshot.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/foreign_tc.hpp"
#include "loader/host/notes.hpp"
#include "olaf/drain.h"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t millisecond = 1'000'000;
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

/// An end of the drain that can't take the frame, in words.
std::string drain_obstacle(const olaf_config &config) {
    for (const auto ifindex : {config.drain_ifindex, config.kick_ifindex}) {
        const auto end = find_device(ifindex);
        if (!end)
            return "an end of the drain has gone";
        if (!end->up)
            return end->name + " is down";
    }
    return {};
}

std::unexpected<Error> lost(const Device &device, const olaf_config &config) {
    if (const auto obstacle = drain_obstacle(config); !obstacle.empty())
        return fail("try the drain of", device.name, 0, "set it up: ip link", obstacle);
    const auto others = foreign_tc(device.ifindex);
    return fail("try the drain of", device.name, 0,
                fmt::format("bpftool net show dev {} lists them: what comes before olaf's must let "
                            "frames on to the next program",
                            device.name),
                others.empty() ? "a token sent out of it doesn't come round"
                               : "before olaf's filter there is " + others);
}

/// Whether one more than `before` arrives until then. Looks once more when the time is over.
Result<bool> await_proof(const Datapath &queue, std::uint64_t before, std::uint64_t deadline_ns,
                         const Meanwhile &meanwhile) {
    for (bool last = false;;) {
        OLAF_TRY(meanwhile());
        const auto after = OLAF_TRY(proofs(queue));
        if (after != before || last)
            return after != before;
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
    const int tries = turn < again_ns ? 10 : 3; // a busy host may drop a frame
    for (int i = 0; i < tries; i++) {
        OLAF_TRY(send_proof(queue, device));
        if (OLAF_TRY(await_proof(queue, before, monotonic_ns() + again_ns + 2 * turn, meanwhile)))
            return {};
    }
    return lost(device, queue.config());
}

} // namespace olaf
