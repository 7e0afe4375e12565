// SPDX-License-Identifier: BSD-2-Clause
// What `olaf doctor` says of hardware.
#include <fmt/format.h>

#include <cerrno>

#include "checks.hpp"
#include "loader/attachment/card_plan.hpp"
#include "loader/card/card.hpp"
#include "loader/card/find.hpp"
#include "loader/host/ethtool.hpp"

namespace olaf {
namespace {

/// The features that it has, in words of docs/registers.md.
std::string features_of(const CardCapabilities &can) {
    std::string text;
#define FEATURE(NAME, ...)                                                                         \
    if (can.has(OLAF_CARD_FEATURE_##NAME))                                                         \
        text += (text.empty() ? "" : ", ") + std::string(#NAME);
    OLAF_CARD_FEATURE_LIST(FEATURE)
#undef FEATURE
    return text.empty() ? "none" : text;
}

Check obstacle_of(const Error &error) {
    const auto reason = reason_of(error);
    return {"card", Verdict::hint,
            fmt::format("{}: {}", error.object, reason.empty() ? error.message() : reason),
            error.hint};
}

Check check_registers(const std::string &path) {
    const auto card = Card::open(path);
    if (!card)
        return obstacle_of(card.error());
    const auto &can = card->capabilities();
    return {"card", Verdict::good,
            fmt::format("{}: {} places, {} clusters, {} slots, {} lanes; {}", path, can.places,
                        can.clusters, can.slots, can.lanes, features_of(can)),
            ""};
}

/// XDP programs that the device itself would run (XDP_FLAGS_HW_MODE). The kernel lets such a program have
/// only maps of that device, which are arrays and hashes, and no tail calls; the queue's has
/// per-CPU maps, a table of programs, and helpers that only the host has.
Check check_offload(const std::string &driver) {
    constexpr auto why = "an offloaded program has only arrays and hashes of its device, and no tail "
                         "calls, bpf_loop, bpf_redirect or bpf_fib_lookup, and the queue needs them";
    if (driver == "nfp" || driver == "netdevsim")
        return {"XDP offload", Verdict::good,
                fmt::format("{} has it, and the queue can't go there: {}", driver, why), ""};
    return {"XDP offload", Verdict::good,
            "the driver has none (nfp and netdevsim do), nor could the queue use it", ""};
}

} // namespace

std::vector<Check> check_card(const Device &device, const std::string &file) {
    std::vector<Check> checks;
    const auto path = find_card(device, file);
    if (path)
        checks.push_back(check_registers(*path));
    else if (path.error().code == ENXIO)
        checks.push_back({"card", Verdict::good,
                          fmt::format("none: {}; the kernel's queue needs none",
                                      path.error().reason),
                          ""});
    else
        checks.push_back(obstacle_of(path.error()));
    if (path && path->starts_with("/sys/") && is_locked_down())
        checks.push_back({"lockdown", Verdict::hint,
                          "the kernel is locked down: nobody may map a card's registers",
                          mapping_remedy(EPERM)});
    checks.push_back(check_offload(driver_of(device.name).name));
    return checks;
}

} // namespace olaf
