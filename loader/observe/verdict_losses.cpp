// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "verdict_parts.hpp"
#include "words.hpp"

namespace olaf {
namespace {

/// Less than this part of all is told of, and no more.
constexpr std::uint64_t part_that_matters = 100;

Health health_of(std::uint64_t lost, std::uint64_t all) {
    return lost >= (all + part_that_matters - 1) / part_that_matters ? Health::impaired
                                                                     : Health::working;
}

/// What befell `lost` of `all`, and when. What hasn't happened for a minute matters no more.
Finding trouble(const Evidence &evidence, olaf_trouble kind, std::uint64_t lost, std::uint64_t all,
                std::string text, std::string remedy) {
    Finding finding{health_of(lost, all), std::move(text), {}, std::move(remedy)};
    const auto &spell = evidence.reading.spells[kind];
    if (!spell)
        return finding;
    finding.since_ns = evidence.ago(spell->began_ns);
    if (spell->goes_on(evidence.now_ns()))
        return finding;
    finding.last_ns = evidence.ago(spell->last_ns);
    if (finding.last_ns >= minute_ns)
        finding.health = std::min(finding.health, Health::working);
    return finding;
}

template <std::size_t N> std::uint64_t total(const __u64 (&counts)[N]) {
    return std::accumulate(std::begin(counts), std::end(counts), std::uint64_t{0});
}

/// Messages for the queue: those that it took, and those that it didn't.
std::uint64_t messages_in(const olaf_counters &counters) {
    return counters.received + total(counters.malformed) + total(counters.not_allowed);
}

std::string refused_remedy(std::string_view reason, const std::string &device) {
    if (reason == "source")
        return fmt::format("olaf attach {} --replace with an --allow for each source", device);
    if (reason == "cluster" || reason == "segment")
        return fmt::format("olaf detach {0}, then attach with a larger --max-{1}s; or lower {2}",
                           device, reason, reason == "cluster" ? "ids" : "numbers of segments");
    if (reason == "size")
        return "send models in smaller segments, or raise the MTU and attach again";
    if (reason == "count")
        return fmt::format("olaf cluster set {} ID --max-count N", device);
    if (reason == "job_source")
        return fmt::format("a worker that began anew has another port: olaf job leave {} JOB RANK, "
                           "or wait for --member-timeout",
                           device);
    if (reason == "job_result")
        return fmt::format("somebody who isn't a job's parent sends results: olaf trace {} shows who", device);
    return fmt::format("olaf cluster set {} ID --worker ID=ADDR[:PORT]", device);
}

std::string bypassed_remedy(std::string_view reason, const std::string &device) {
    if (reason == "tagged")
        return fmt::format("ethtool -K {} rxvlan off", device);
    if (reason == "unbridged")
        return fmt::format("olaf attach {} --replace --bridge", device);
    return "let workers send to the address that the server or this host has";
}

std::string behind_remedy(std::string_view reason, const Evidence &evidence) {
    if (reason == "socket")
        return fmt::format("is the server listening on port {}, and with a large enough receive "
                           "buffer?",
                           ntohs(evidence.config().port_be));
    if (reason == "stack")
        return "look at this host's firewall: nft list ruleset";
    if (reason == "drain_send" && evidence.host.output.empty())
        return fmt::format("ip -s link show dev {}", evidence.attachment.device);
    return fmt::format("ip -s link show dev {0}; olaf doctor {0}", evidence.host.output.empty()
                                                                       ? evidence.attachment.device
                                                                       : evidence.host.output);
}

void find_refused(const Evidence &evidence, std::vector<Finding> &found) {
    const auto &counters = evidence.reading.snapshot.counters;
    const auto numbers = evidence.reading.numbers();
    const auto all = messages_in(counters);
    if (const auto refused = total(counters.not_allowed); refused != 0)
        found.push_back(trouble(
            evidence, OLAF_TROUBLE_NOT_ALLOWED, refused, all,
            fmt::format("{} of {} messages refused: {}", refused, all,
                        reasons_text(OLAF_GROUP_not_allowed, numbers, evidence.config())),
            refused_remedy(main_reason(OLAF_GROUP_not_allowed, numbers),
                           evidence.attachment.device)));
    if (const auto malformed = total(counters.malformed); malformed != 0)
        found.push_back(trouble(
            evidence, OLAF_TROUBLE_MALFORMED, malformed, all,
            fmt::format("{} of {} messages malformed: {}", malformed, all,
                        reasons_text(OLAF_GROUP_malformed, numbers, evidence.config())),
            fmt::format("olaf trace {} --action malformed shows them",
                        evidence.attachment.device)));
}

/// Updates that the queue left alone; other traffic is none of its business.
void find_bypassed(const Evidence &evidence, std::vector<Finding> &found) {
    auto counters = evidence.reading.snapshot.counters;
    counters.bypassed[OLAF_BYPASS_OTHER] = 0;
    const Numbers numbers{.cpus = &counters};
    const auto bypassed = total(counters.bypassed);
    const auto all = bypassed + messages_in(counters);
    if (bypassed == 0)
        return;
    found.push_back(trouble(
        evidence, OLAF_TROUBLE_BYPASSED, bypassed, all,
        fmt::format("{} of {} frames with updates passed the queue by: {}", bypassed, all,
                    reasons_text(OLAF_GROUP_bypassed, numbers, evidence.config())),
        bypassed_remedy(main_reason(OLAF_GROUP_bypassed, numbers), evidence.attachment.device)));
}

/// Not those that a cluster's rule asks for, `dropped_reward`.
void find_dropped(const Evidence &evidence, std::vector<Finding> &found) {
    auto slots = evidence.reading.snapshot.slots;
    slots.dropped_reward = 0;
    auto numbers = evidence.reading.numbers();
    numbers.slots = &slots;
    const auto dropped = group_total(OLAF_GROUP_dropped, numbers);
    const auto received = evidence.reading.snapshot.counters.received;
    if (dropped == 0)
        return;
    found.push_back(
        trouble(evidence, OLAF_TROUBLE_DROPPED, dropped, received,
                fmt::format("{} of {} messages dropped by the queue: {}", dropped, received,
                            reasons_text(OLAF_GROUP_dropped, numbers, evidence.config())),
                main_reason(OLAF_GROUP_dropped, numbers) == "dropped_full"
                    ? "more arrives than may wait: a larger --queue, or fewer clusters"
                    : "olaf status --clusters shows whose"));
}

void find_unfit(const Evidence &evidence, std::vector<Finding> &found) {
    const auto unfit = evidence.reading.snapshot.counters.departures_unfit;
    const auto &slots = evidence.reading.snapshot.slots;
    const auto departed = slots.departed_riding + slots.departed_drain;
    if (unfit == 0)
        return;
    found.push_back(
        trouble(evidence, OLAF_TROUBLE_UNFIT, unfit, unfit + departed,
                fmt::format("{} of {} departures failed: unfit, no frame could carry them", unfit,
                            unfit + departed),
                "was the output's MTU lowered, or has nobody ever answered at their address? "
                "olaf attach --replace takes a new MTU in"));
}

void find_behind(const Evidence &evidence, std::vector<Finding> &found) {
    const auto numbers = evidence.reading.numbers();
    const auto &slots = evidence.reading.snapshot.slots;
    const auto lost = group_total(OLAF_GROUP_lost_behind_updates, numbers);
    const auto out = slots.updates_departed + slots.updates_passed;
    if (lost != 0)
        found.push_back(trouble(
            evidence, OLAF_TROUBLE_LOST, lost, out,
            fmt::format("{} of {} updates lost behind the queue: {}", lost, out,
                        reasons_text(OLAF_GROUP_lost_behind_updates, numbers, evidence.config())),
            behind_remedy(main_reason(OLAF_GROUP_lost_behind_updates, numbers), evidence)));
    if (!evidence.reading.losses && !evidence.reading.card)
        found.push_back(
            {Health::working,
             "losses behind the queue aren't watched",
             {},
             fmt::format("olaf attach {} --replace says why", evidence.attachment.device)});
}

} // namespace

void find_losses(const Evidence &evidence, std::vector<Finding> &found) {
    find_refused(evidence, found);
    find_behind(evidence, found);
    find_bypassed(evidence, found);
    find_dropped(evidence, found);
    find_unfit(evidence, found);
}

} // namespace olaf
