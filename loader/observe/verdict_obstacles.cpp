// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>

#include "loader/datapath/programs.hpp"
#include "loader/text/address.hpp"
#include "loader/text/human.hpp"
#include "verdict_parts.hpp"

namespace olaf {
namespace {

/// A busy machine may hold a token up for so long.
constexpr std::uint64_t overdue_ns = 100'000'000;

/// "; 9 messages wait and fold, the oldest for 6.1s".
std::string waiting_text(const Evidence &evidence) {
    const auto waiting = evidence.waiting();
    if (waiting == 0)
        return "";
    const auto oldest = evidence.oldest_wait_ns();
    return fmt::format("; {} {} and fold{}{}", waiting,
                       waiting == 1 ? "message waits" : "messages wait", waiting == 1 ? "s" : "",
                       oldest ? fmt::format(", {}for {}", waiting == 1 ? "" : "the oldest ",
                                            human_duration(static_cast<double>(*oldest)))
                              : "");
}

/// How long a next hop has been silent, as far as is known: it was well when it was last asked for,
/// and what waits for it had to.
std::optional<std::uint64_t> silent_for(const Evidence &evidence, const olaf_hop &hop) {
    const auto answered = evidence.ago(hop.resolved_ns), waits = evidence.oldest_wait_ns();
    return answered && waits ? std::min(*answered, *waits) : answered ? answered : waits;
}

/// What brings a device back, by what is said of it.
std::string device_remedy(const std::string &device, const std::string &obstacle) {
    if (obstacle.ends_with("is down"))
        return fmt::format("ip link set {} up", device);
    return fmt::format("look at the cable of {}, and at the device at its other end", device);
}

/// The way in: the queue's device, and the program on it.
void find_way_in(const Evidence &evidence, std::vector<Finding> &found) {
    const auto &[attachment, reading, host] = evidence;
    const auto &device = attachment.device;
    if (!host.dead.empty()) {
        const bool taken = !host.other_program.empty();
        found.push_back(
            {Health::blocked,
             host.dead +
                 (taken ? fmt::format(" and {} stands there now", host.other_program) : "") +
                 ": nothing comes in",
             taken ? host.other_age_ns : std::nullopt,
             taken ? fmt::format("ip link set {0} xdp off; olaf detach {0}; then attach again",
                                 device)
                   : fmt::format("olaf detach {}, then attach again", device)});
    } else if (!host.device_obstacle.empty()) {
        found.push_back({Health::blocked,
                         host.device_obstacle + ": nothing comes in",
                         {},
                         device_remedy(device, host.device_obstacle)});
    }
}

/// What a program's absence means.
const char *loss_of(const std::string &name) {
    const auto program = std::ranges::find(programs, name, &Program::name);
    if (program == std::end(programs))
        return "updates or ACKs suffer";
    if (program->hook == Hook::tc_egress)
        return "ACKs are neither stamped nor copied";
    if (program->on == On::way_back)
        return "ACKs from upstream don't reach the workers";
    return "what waits may leave only in arriving frames";
}

void find_hooks(const Evidence &evidence, std::vector<Finding> &found) {
    for (const auto &name : evidence.host.missing_programs)
        found.push_back(
            {Health::impaired,
             fmt::format("somebody took the program {} off its hook: {}", name, loss_of(name)),
             {},
             fmt::format("olaf attach {} --replace", evidence.attachment.device)});
}

/// The output device: gone, down, or refusing.
void find_output(const Evidence &evidence, std::vector<Finding> &found) {
    const auto &[attachment, reading, host] = evidence;
    const auto &gate = reading.snapshot.gate;
    const auto since = gate.lost_ns != 0 ? evidence.ago(gate.shut_ns) : std::nullopt;
    if (!host.output_obstacle.empty()) {
        found.push_back(
            {Health::blocked, host.output_obstacle + ": nothing leaves" + waiting_text(evidence),
             since,
             host.output.empty()
                 ? fmt::format("bring it back, or olaf detach {} --force", attachment.device)
                 : device_remedy(host.output, host.output_obstacle)});
        return;
    }
    if (evidence.waiting() == 0)
        return; // a shut gate opens with the next update
    if (gate.lost_ns != 0)
        found.push_back(
            {Health::blocked,
             fmt::format("{} refuses what the queue sends{}", host.output, waiting_text(evidence)),
             since, fmt::format("olaf doctor {} says what it can take", host.output)});
    else if (gate.refused_ns != 0)
        found.push_back(
            {Health::impaired,
             fmt::format("{} refuses frames of XDP's: the drain sends everything", host.output),
             {},
             fmt::format("olaf doctor {} says what it can take", host.output)});
}

IpAddress destination_of(const olaf_hop &hop) {
    IpAddress address{.family = hop.family, .words_be = {}};
    std::ranges::copy(hop.daddr_be, address.words_be.begin());
    return address;
}

void find_next_hops(const Evidence &evidence, std::vector<Finding> &found) {
    const auto &[attachment, reading, host] = evidence;
    const auto &hops = reading.snapshot.unready_hops;
    if (hops.empty() || !host.output_obstacle.empty())
        return;
    // The one that answered longest ago.
    const auto &hop = *std::ranges::min_element(hops, {}, &olaf_hop::resolved_ns);
    const auto to = address_text(destination_of(hop));
    const auto more = hops.size() == 1 ? "" : fmt::format(", nor do {} others", hops.size() - 1);
    if (hop.state == OLAF_HOP_NO_ROUTE)
        found.push_back({Health::blocked,
                         fmt::format("there is no route to {} by {}{}", to, host.output,
                                     waiting_text(evidence)),
                         silent_for(evidence, hop),
                         fmt::format("ip route get {} shows the way that the kernel takes", to)});
    else
        found.push_back(
            {Health::blocked,
             fmt::format("the next hop to {} doesn't answer on {}{}{}", to, host.output, more,
                         waiting_text(evidence)),
             silent_for(evidence, hop),
             fmt::format("is it up, and on this link? ip neighbour show dev {}", host.output)});
}

void find_silence(const Evidence &evidence, std::vector<Finding> &found) {
    const auto &window = evidence.reading.snapshot.window;
    if (!window || window->silent == 0)
        return;
    found.push_back(
        {Health::blocked,
         "the server acknowledges nothing: one update at a time leaves" + waiting_text(evidence),
         evidence.ago(window->answered_ns),
         fmt::format("start the server, or let its ACKs come back through {}",
                     evidence.attachment.device)});
}

/// The drain: without it only arriving frames carry what waits, and where none arrives nothing
/// does.
void find_drain(const Evidence &evidence, std::vector<Finding> &found) {
    const auto &[attachment, reading, host] = evidence;
    const auto deadline = reading.snapshot.ring.drain_deadline_ns;
    const bool stuck = evidence.waiting() != 0 && reading.snapshot.active_clusters == 0;
    const auto health = stuck ? Health::blocked : Health::impaired;
    const auto means = "what waits leaves only in arriving frames" + waiting_text(evidence);
    if (!host.drain_obstacle.empty()) {
        const auto device = host.drain_obstacle.substr(0, host.drain_obstacle.find(' '));
        const bool gone = host.drain_obstacle.ends_with("gone");
        found.push_back(
            {health,
             host.drain_obstacle + ": it is the drain's, so " + means,
             {},
             gone ? fmt::format("olaf detach {} --force, then attach again", attachment.device)
                  : fmt::format("ip link set {} up", device)});
    } else if (evidence.waiting() != 0 && deadline != 0 &&
               evidence.now_ns() > deadline + overdue_ns) {
        found.push_back({health, "the drain's token is missing, so " + means,
                         evidence.ago(deadline),
                         fmt::format("any frame through {0} replaces it; if that doesn't help: "
                                     "olaf attach {0} --replace",
                                     attachment.device)});
    }
}

/// The card: gone, or reset by somebody.
void find_card(const Evidence &evidence, std::vector<Finding> &found) {
    const auto &[attachment, reading, host] = evidence;
    if (!reading.card)
        return;
    if (reading.lost())
        found.push_back({Health::blocked,
                         fmt::format("the card {}: {}", attachment.card.value_or("is unknown"),
                                     reading.card->lost),
                         {},
                         fmt::format("look at the card; olaf attach {0} --replace --hw off goes on "
                                     "in the kernel, olaf detach {0} cleans up",
                                     attachment.device)});
    else if (!reading.card->queues)
        found.push_back({Health::impaired,
                         "the card was reset: every update passes it by",
                         {},
                         fmt::format("olaf attach {} --replace", attachment.device)});
}

} // namespace

void find_obstacles(const Evidence &evidence, std::vector<Finding> &found) {
    find_card(evidence, found);
    find_way_in(evidence, found);
    find_output(evidence, found);
    find_next_hops(evidence, found);
    find_silence(evidence, found);
    find_hooks(evidence, found);
    find_drain(evidence, found);
}

} // namespace olaf
