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
#include "olaf/lane.h"

namespace olaf {
namespace {

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t patience_ns = 500 * millisecond;
constexpr std::uint64_t again_ns = 50 * millisecond; // a busy host may drop a frame

/// A frame that the program makes the proof; from an address of nobody's, to the device's own.
Result<void> send_proof(const Datapath &queue, const Device &device) {
    std::array<std::uint8_t, OLAF_TOKEN_MIN_BYTES> frame{};
    std::ranges::copy(device.mac, frame.begin());
    std::ranges::copy(queue.config().lane_mac, frame.begin() + 6);
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_size_in = frame.size());
    if (bpf_prog_test_run_opts(queue.program_fd(program_named("olaf_lane_prove").name), &options) !=
        0)
        return fail("try the drain lane of", device.name, errno);
    if (const int result = static_cast<int>(options.retval); result != 0)
        return fail("try the drain lane of", device.name, result < 0 ? -result : 0, {},
                    "it takes no frame");
    return {};
}

Result<bool> arrived(const Datapath &queue) {
    const auto counters = read_counters(queue.map_fd("olaf_counters"));
    if (!counters)
        return std::unexpected(counters.error());
    return counters->lane_proofs != 0;
}

std::unexpected<Error> lost(const Device &device) {
    const auto others = foreign_tc(device.ifindex);
    return fail("try the drain lane of", device.name, 0,
                fmt::format("bpftool net show dev {} lists them: what comes before olaf's must let "
                            "frames on to the next program",
                            device.name),
                others.empty() ? "a token sent out of it doesn't come round"
                               : "before olaf's filter there is " + others);
}

} // namespace

Result<void> prove_lane(const Datapath &queue, const Device &device) {
    if (!device.up) {
        note(fmt::format("{}: it is down, so the drain lane wasn't tried", device.name));
        return {};
    }
    const auto start = monotonic_ns();
    auto next = start;
    for (auto now = start; now < start + patience_ns; now = monotonic_ns()) {
        if (now >= next) {
            if (auto sent = send_proof(queue, device); !sent)
                return sent;
            next = now + again_ns;
        }
        const auto there = arrived(queue);
        if (!there)
            return std::unexpected(there.error());
        if (*there)
            return {};
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return lost(device);
}

} // namespace olaf
