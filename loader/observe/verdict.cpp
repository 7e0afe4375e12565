// SPDX-License-Identifier: BSD-2-Clause
#include "verdict.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "loader/attachment/tracepoints.hpp"
#include "loader/datapath/config.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/device.hpp"
#include "loader/text/address.hpp"
#include "loader/text/human.hpp"
#include "rows.hpp"
#include "status_text.hpp"

namespace olaf {
namespace {

/// What a verdict is made of.
struct Evidence {
    const Attachment &attachment;
    const QueueReading &reading;
    const HostState &host;

    [[nodiscard]] const olaf_config &config() const { return attachment.record.config; }
    [[nodiscard]] std::uint64_t now_ns() const { return reading.aom.now_ns; }
    [[nodiscard]] std::uint64_t waiting() const { return reading.snapshot.levels.queue_length; }
    [[nodiscard]] std::optional<std::uint64_t> oldest_wait_ns() const {
        return ago(reading.snapshot.oldest_arrival_ns);
    }
    /// How long ago a moment of CLOCK_MONOTONIC was; nothing for 0: it never was.
    [[nodiscard]] std::optional<std::uint64_t> ago(std::uint64_t moment_ns) const {
        if (moment_ns == 0)
            return {};
        return now_ns() > moment_ns ? now_ns() - moment_ns : 0;
    }
};

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
             taken ? fmt::format("{}; olaf detach {}; then attach again", host.other_removal, device)
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
    const auto takes = static_cast<OutputTakes>(attachment.record.output_takes);
    if (takes == OutputTakes::unknown)
        found.push_back({Health::working,
                         fmt::format("whether {} takes redirected frames wasn't tried: the drain sends "
                                     "what departs",
                                     host.output),
                         {},
                         fmt::format("olaf attach {} --replace tries", attachment.device)});
    if (evidence.waiting() == 0)
        return; // a shut gate opens with the next update
    if (gate.lost_ns != 0)
        found.push_back(
            {Health::blocked,
             fmt::format("{} refuses what the queue sends{}", host.output, waiting_text(evidence)),
             since, fmt::format("ip -s link show {0}; tc -s qdisc show dev {0}", host.output)});
    else if (const auto &xdp = reading.snapshot.xdp_gate;
             xdp.shut > attachment.record.output_refused_cpus && takes == OutputTakes::frames)
        found.push_back(
            {Health::impaired,
             fmt::format("{} refuses redirected frames of {} CPU{} ({}): the drain sends what departs",
                         host.output, xdp.shut, xdp.shut == 1 ? "" : "s", std::strerror(xdp.error)),
             {},
             fmt::format("olaf attach {} --replace tries it anew", attachment.device)});
}

/// A line whose speed wasn't known, at boot say, paces nothing.
void find_rate(const Evidence &evidence, std::vector<Finding> &found) {
    const auto &[attachment, reading, host] = evidence;
    if (const auto &config = attachment.record.config; config.rate_bps == 0 && paced_by_line(config))
        found.push_back({Health::working,
                         fmt::format("the rate is unlimited: the link speed{} wasn't known at attach",
                                     host.output.empty() ? "" : " of " + host.output),
                         {},
                         fmt::format("olaf attach {} --replace takes it once it is known, --rate RATE another",
                                     attachment.device)});
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

/// A driver may take the program and never run it.
void find_deafness(const Evidence &evidence, std::vector<Finding> &found) {
    const auto frames = evidence.host.frames_unseen;
    const bool jobs_hear = std::ranges::any_of(evidence.reading.jobs, [](const JobReading &job) {
        return job.counters.received != 0 || job.counters.syncs != 0;
    });
    if (frames <= 100 || jobs_hear) // fewer may have come before the program was on its hook
        return;
    const auto &device = evidence.attachment.device;
    found.push_back({Health::blocked,
                     fmt::format("{}'s driver runs the queue's program for none of the {} frames that it "
                                 "has received",
                                 device, frames),
                     {},
                     fmt::format("olaf detach {}, then attach it with --mode skb", device)});
}

void find_obstacles(const Evidence &evidence, std::vector<Finding> &found) {
    find_deafness(evidence, found);
    find_card(evidence, found);
    find_way_in(evidence, found);
    find_output(evidence, found);
    find_rate(evidence, found);
    find_next_hops(evidence, found);
    find_silence(evidence, found);
    find_hooks(evidence, found);
    find_drain(evidence, found);
}

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

/// The command that shows the packets of which that became, with their senders.
std::string packets_of(const std::string &device, const char *action) {
    return fmt::format("olaf trace {} --action {} --pcap - | tcpdump -lnr -", device, action);
}

std::string refused_remedy(std::string_view reason, const Evidence &evidence) {
    const auto &device = evidence.attachment.device;
    const auto &jobs = evidence.reading.jobs;
    if (reason == "source")
        return fmt::format("olaf attach {} --replace with an --allow for each source", device);
    if (reason == "cluster" || reason == "segment")
        return fmt::format("olaf detach {0}, then attach with a larger --max-{1}s; or lower {2}",
                           device, reason, reason == "cluster" ? "ids" : "numbers of segments");
    if (reason == "size")
        return fmt::format("send models in smaller segments; or raise the MTU, olaf detach {}, then attach "
                           "again: a queue keeps the size that it was attached with",
                           device);
    if (reason == "count")
        return fmt::format("olaf cluster set {} ID --max-count N", device);
    if (reason == "job_source")
        return fmt::format("of a worker that began anew elsewhere: olaf job leave {0} {1} RANK, "
                           "and it may join(); olaf job release {0} {1}, and all may start(); "
                           "or wait for --member-timeout",
                           device, jobs.size() == 1 ? std::to_string(jobs[0].id()) : "JOB");
    if (reason == "job_result")
        return fmt::format("somebody who isn't a job's parent sends results: {} shows who",
                           packets_of(device, "not_allowed"));
    return fmt::format("olaf cluster set {} ID --worker ID=ADDR[:PORT]", device);
}

std::string bypassed_remedy(std::string_view reason, const Evidence &evidence) {
    const auto &device = evidence.attachment.device;
    const auto &unknown = evidence.host.own.unknown;
    if (reason == "foreign" && !unknown.empty())
        return fmt::format("olaf attach {} --replace takes {} in, which this host has got since", device,
                           unknown.front());
    if (const auto found = find_device(device); reason == "tagged" && found)
        return untagging_remedy(*found);
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
            refused_remedy(main_reason(OLAF_GROUP_not_allowed, numbers), evidence)));
    if (const auto malformed = total(counters.malformed); malformed != 0)
        found.push_back(trouble(
            evidence, OLAF_TROUBLE_MALFORMED, malformed, all,
            fmt::format("{} of {} messages malformed: {}", malformed, all,
                        reasons_text(OLAF_GROUP_malformed, numbers, evidence.config())),
            packets_of(evidence.attachment.device, "malformed") + " shows who sends them"));
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
        bypassed_remedy(main_reason(OLAF_GROUP_bypassed, numbers), evidence)));
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
                    : fmt::format("olaf status {} --clusters shows whose", evidence.attachment.device)));
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
                fmt::format("was the output's MTU lowered, or has nobody ever answered at their "
                            "address? olaf attach {} --replace takes a new MTU in",
                            evidence.attachment.device)));
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

void find_losses(const Evidence &evidence, std::vector<Finding> &found) {
    find_refused(evidence, found);
    find_behind(evidence, found);
    find_bypassed(evidence, found);
    find_dropped(evidence, found);
    find_unfit(evidence, found);
}

/// Members that haven't agreed where to begin. Nobody's having asked is no fault yet.
void find_waiting(const Evidence &evidence, const JobReading &job, std::vector<Finding> &found) {
    const auto waiting = job.waiting_for();
    const auto &setup = job.job.setup;
    if (waiting.size() == setup.children)
        found.push_back({Health::idle,
                         fmt::format("job {} waits for its members: none has asked where to begin",
                                     job.id()),
                         {},
                         fmt::format("let them send UDP to port {} by way of {}",
                                     ntohs(evidence.config().port_be), evidence.attachment.device)});
    else if (!waiting.empty())
        found.push_back({Health::impaired,
                         fmt::format("job {} waits for rank{} {} to ask where to begin", job.id(),
                                     waiting.size() == 1 ? "" : "s", ranks_text(waiting)),
                         {},
                         fmt::format("start them, or look at what is between them and {}",
                                     evidence.attachment.device)});
    else if (setup.parent_family != 0)
        found.push_back({Health::impaired,
                         fmt::format("job {} waits for its parent, {}, to say where to begin",
                                     job.id(), parent_text(setup)),
                         {},
                         "olaf status there says whom it waits for"});
}

/// A member is looked at anew so rarely: whoever was heard within this time isn't silent.
std::uint64_t patience_ns(const Evidence &evidence) {
    return evidence.config().activity_window_ns +
           olaf_member_refresh_ns(evidence.config().member_timeout_ns);
}

/// Who computes for so long keeps the others waiting, as any slow worker does for a while.
std::uint64_t long_ns(const Evidence &evidence) {
    return std::max<std::uint64_t>(patience_ns(evidence), evidence.config().member_timeout_ns / 8);
}

/// For how long nothing was heard of the rank; nothing: not for long enough to say so. Of one that was
/// never heard: since `otherwise_ns`, a moment of CLOCK_MONOTONIC.
std::optional<std::uint64_t> silence_ns(const Evidence &evidence, const JobReading &job,
                                        std::uint32_t rank, std::uint64_t otherwise_ns) {
    const auto known = std::ranges::find(job.members, rank, &KnownMember::worker);
    const bool was_heard = known != job.members.end() && known->member.last_seen_ns != 0;
    const auto silent = evidence.ago(was_heard ? known->member.last_seen_ns : otherwise_ns);
    return silent && *silent >= long_ns(evidence) ? silent : std::nullopt;
}

/// Who waits sends its contributions again: where nobody does, nobody waits.
bool somebody_is_heard(const Evidence &evidence, const JobReading &job) {
    return std::ranges::any_of(job.members, [&](const KnownMember &known) {
        const auto silent = evidence.ago(known.member.last_seen_ns);
        return silent && *silent < patience_ns(evidence);
    });
}

bool has_waited_long(const Evidence &evidence, const std::optional<WaitingChunk> &chunk) {
    const auto since = chunk ? evidence.ago(chunk->since_ns) : std::nullopt;
    return since && *since >= long_ns(evidence);
}

/// The command that takes those ranks out of a job.
std::string leaving(const std::string &device, std::uint32_t job,
                    const std::vector<std::uint32_t> &ranks) {
    if (ranks.size() == 1)
        return fmt::format("olaf job leave {} {} {}", device, job, ranks[0]);
    return fmt::format("for rank in {}; do olaf job leave {} {} $rank; done",
                       fmt::join(ranks, " "), device, job);
}

/// Chunks that lack the part of a member that has gone silent.
void find_silent(const Evidence &evidence, const JobReading &job, std::vector<Finding> &found) {
    if (!has_waited_long(evidence, job.oldest_open) || !somebody_is_heard(evidence, job))
        return;
    std::vector<std::uint32_t> silent;
    std::uint64_t longest_ns = 0;
    for (const auto rank : job.oldest_open->lacks)
        if (const auto silence = silence_ns(evidence, job, rank, job.oldest_open->since_ns)) {
            silent.push_back(rank);
            longest_ns = std::max(longest_ns, *silence);
        }
    if (silent.empty())
        return;
    const auto &device = evidence.attachment.device;
    const bool is_one = silent.size() == 1;
    found.push_back({Health::impaired,
                     fmt::format("job {} waits for rank{} {}, silent: {} of its chunks are open, the oldest is chunk "
                                 "{} of round {}",
                                 job.id(), is_one ? "" : "s", ranks_text(silent), job.open,
                                 job.oldest_open->chunk, job.oldest_open->round),
                     longest_ns,
                     fmt::format("look at {}; or let the others go on: {}",
                                 is_one ? "that worker" : "those workers",
                                 leaving(device, job.id(), silent))});
}

/// Sums that went up and weren't answered.
void find_unanswered(const Evidence &evidence, const JobReading &job, std::vector<Finding> &found) {
    if (!has_waited_long(evidence, job.oldest_up) || !somebody_is_heard(evidence, job))
        return;
    found.push_back({Health::impaired,
                     fmt::format("job {} waits for its parent, {}: it hasn't answered {} of the sums that went up",
                                 job.id(), parent_text(job.job.setup), job.up),
                     evidence.ago(job.oldest_up->since_ns),
                     "olaf status there says whom it waits for"});
}

/// Elements that are NaN now, and sums that are too long for the way up. They are counted since the job was set.
void find_faults(const Evidence &evidence, const JobReading &job, std::vector<Finding> &found) {
    const auto &counters = job.counters;
    if (counters.float_overflow != 0)
        found.push_back({Health::working,
                         fmt::format("job {}: {} floats were too large for its fixed point: their sums are NaN",
                                     job.id(), counters.float_overflow),
                         {},
                         fmt::format("olaf job remove {} {}, then set it anew with a --float-bits "
                                     "below {}",
                                     evidence.attachment.device, job.id(), job.job.setup.float_bits)});
    if (counters.float_not_finite != 0)
        found.push_back({Health::working,
                         fmt::format("job {}: {} floats were NaN or infinite as they came: their sums are NaN",
                                     job.id(), counters.float_not_finite),
                         {},
                         "look at what the workers compute"});
    if (counters.up_unfit == 0)
        return;
    const auto &setup = job.job.setup;
    const auto device = parent_device_name(setup);
    found.push_back({job.up != 0 ? Health::impaired : Health::working,
                     fmt::format("job {}: {} times a sum was too long for the MTU of {}, and stayed here", job.id(),
                                 counters.up_unfit, device.empty() ? "the parent's device" : device),
                     {},
                     fmt::format("ip link set {} mtu {}",
                                 device.empty() ? evidence.attachment.device : device,
                                 packet_bytes(setup.lanes, setup.parent_family))});
}

void find_jobs(const Evidence &evidence, std::vector<Finding> &found) {
    for (const auto &job : evidence.reading.jobs) {
        if (job.job.halted != 0)
            found.push_back({Health::idle,
                             fmt::format("job {} is halted", job.id()),
                             {},
                             fmt::format("olaf job resume {} {}", evidence.attachment.device,
                                         job.id())});
        else if (job.job.state == OLAF_JOB_SYNCING)
            find_waiting(evidence, job, found);
        else {
            find_silent(evidence, job, found);
            find_unanswered(evidence, job, found);
        }
        find_faults(evidence, job, found);
    }
}

/// Where nothing is wrong and jobs have been at work; nothing: they haven't.
std::optional<Finding> usual_of_jobs(const Evidence &evidence) {
    std::uint64_t received = 0, completed = 0, newest = 0;
    for (const auto &job : evidence.reading.jobs) {
        received += job.counters.received;
        completed += job.counters.completed;
        for (const auto &known : job.members)
            newest = std::max<std::uint64_t>(newest, known.member.last_seen_ns);
    }
    if (received == 0)
        return {};
    const auto jobs = evidence.reading.jobs.size();
    const auto silent = evidence.ago(newest);
    if (silent && *silent < patience_ns(evidence))
        return Finding{Health::working,
                       fmt::format("{} job{}, {} chunk{} completed", jobs, jobs == 1 ? "" : "s",
                                   completed, completed == 1 ? "" : "s"),
                       {},
                       ""};
    return Finding{Health::idle, "no update and no contribution comes", silent, ""};
}

constexpr std::array<std::string_view, 4> names{"idle", "working", "impaired", "blocked"};

/// How long ago anything last left; nothing: not known.
std::optional<std::uint64_t> last_departure(const Evidence &evidence) {
    std::uint64_t last = 0;
    for (const auto &cluster : evidence.reading.aom.clusters)
        last = std::max(last, cluster.last_ns);
    return evidence.ago(last);
}

std::string duration(std::uint64_t ns) {
    return human_duration(static_cast<double>(ns));
}

/// "; the last one 25.0s ago", of what has ended.
std::string ended_text(const Finding &finding) {
    return finding.last_ns ? fmt::format("; the last one {} ago", duration(*finding.last_ns)) : "";
}

/// Where nothing is wrong.
Finding usual(const Evidence &evidence) {
    const auto &snapshot = evidence.reading.snapshot;
    const auto &config = evidence.config();
    if (snapshot.active_clusters != 0 || evidence.waiting() != 0)
        return {Health::working,
                fmt::format("{} {} active, {} of {} places taken", snapshot.active_clusters,
                            snapshot.active_clusters == 1 ? "cluster" : "clusters",
                            evidence.waiting(), config.queue_capacity),
                {},
                ""};
    if (auto jobs = usual_of_jobs(evidence))
        return *jobs;
    if (snapshot.counters.received != 0)
        return {Health::idle, "no update comes", last_departure(evidence), ""};
    return {Health::idle,
            "no update has come since it was attached",
            {},
            fmt::format("let workers send UDP to port {} by way of {}", ntohs(config.port_be),
                        evidence.attachment.device)};
}

} // namespace

std::string_view health_name(Health health) {
    return names[static_cast<std::size_t>(health)];
}

QueueVerdict judge(const Attachment &attachment, const QueueReading &reading,
                   const HostState &host) {
    const Evidence evidence{attachment, reading, host};
    QueueVerdict verdict;
    auto &found = verdict.besides;
    find_obstacles(evidence, found);
    find_jobs(evidence, found);
    if (host.dead.empty())
        find_losses(evidence, found);
    std::ranges::stable_sort(found, std::ranges::greater{}, &Finding::health);
    if (found.empty() || found[0].health <= Health::working) {
        verdict.first = usual(evidence);
        return verdict;
    }
    verdict.first = found[0];
    found.erase(found.begin());
    return verdict;
}

std::string verdict_line(const Finding &finding) {
    const auto since = finding.since_ns && !finding.last_ns
                           ? fmt::format(" for {}", duration(*finding.since_ns))
                           : "";
    return fmt::format("{}{}: {}{}", health_name(finding.health), since, finding.text,
                       ended_text(finding));
}

std::string also_line(const Finding &finding) {
    if (finding.health > Health::working)
        return verdict_line(finding);
    if (finding.since_ns && !finding.last_ns)
        return fmt::format("{}; going on for {}", finding.text, duration(*finding.since_ns));
    return finding.text + ended_text(finding);
}

} // namespace olaf
