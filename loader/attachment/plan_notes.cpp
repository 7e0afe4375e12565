// SPDX-License-Identifier: BSD-2-Clause
#include "plan_notes.hpp"

#include <fmt/format.h>

namespace olaf {
namespace {

/// IPv4, UDP and Olaf's headers.
constexpr std::uint32_t header_bytes = 20 + 8 + sizeof(olaf_header);

/// "in is down: nothing comes in until ip link set in up"; "" if it is up.
std::string down_note(const Device &device, const char *means) {
    if (!device.up)
        return fmt::format("{0} is down: {1} until ip link set {0} up", device.name, means);
    if (!device.carrier)
        return fmt::format("{} has no carrier: {} until its other end is up", device.name, means);
    return "";
}

void add(std::vector<std::string> &notes, std::string note) {
    if (!note.empty())
        notes.push_back(std::move(note));
}

std::string size_note(const Plan &plan, const AttachOptions &options, const Device &device) {
    const auto fit = lanes_within(device.mtu);
    const auto asked = options.max_lanes ? options.max_lanes->value_or(0) : 0;
    if (asked > fit)
        return fmt::format("updates of {} lanes take an MTU of {} (with IPv6 of {}); {} has {}, "
                           "which carries {} lanes",
                           asked, header_bytes + 8 * asked, header_bytes + 20 + 8 * asked,
                           device.name, device.mtu, fit);
    if (asked == 0 && (!plan.egress || plan.egress->mtu >= device.mtu))
        return fmt::format("updates of at most {} lanes come in ({} has MTU {}); larger models "
                           "take a larger MTU, or segments",
                           fit, device.name, device.mtu);
    return "";
}

} // namespace

void note_consequences(Plan &plan, const AttachOptions &options, const Device &device) {
    auto &notes = plan.consequences;
    const auto &config = plan.config;
    add(notes, size_note(plan, options, device));
    if (config.rate_bps == 0 && config.window.most == 0)
        notes.emplace_back("nothing will ever wait, so nothing will fold: updates leave as they "
                           "come without --rate and --window");
    if (config.strict)
        notes.push_back(fmt::format("every update is refused until a worker is registered "
                                    "(--strict): olaf cluster set {} ID --worker ID=ADDR",
                                    device.name));
    if (config.round_slots != 0)
        notes.push_back(fmt::format("room for {} chunks of jobs: olaf job set {} ID sets one",
                                    config.round_slots, device.name));
    add(notes, down_note(device, "nothing comes in"));
    if (plan.egress && plan.egress->ifindex != device.ifindex)
        add(notes, down_note(*plan.egress, "nothing leaves"));
}

} // namespace olaf
