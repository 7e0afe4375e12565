// SPDX-License-Identifier: BSD-2-Clause
#include "scenarios.hpp"

#include <algorithm>

#include "../datapath/packet.hpp"

namespace olaf::interleave {
namespace {

constexpr std::uint64_t busy_ns = 1'000'000;

/// An update of each of these clusters arrives while the link is taken.
Act busy(std::vector<std::uint32_t> clusters) {
    return [clusters = std::move(clusters)](Host &host) {
        host.take_link(busy_ns);
        unsigned update = 0;
        for (const auto cluster : clusters)
            host.arrive(update++, cluster);
    };
}

/// The same. Then the link becomes free.
Act waiting(std::vector<std::uint32_t> clusters) {
    return [fill = busy(std::move(clusters))](Host &host) {
        fill(host);
        host.wait(busy_ns);
    };
}

/// The same, and the link has stood idle since: it has credit for all of them.
Act waiting_idle(std::vector<std::uint32_t> clusters) {
    return [wait = waiting(std::move(clusters))](Host &host) {
        wait(host);
        host.wait(10 * busy_ns);
    };
}

Act arrival(unsigned update, std::uint32_t cluster) {
    return [=](Host &host) { host.arrive(update, cluster); };
}

Act damaged(unsigned update, std::uint32_t cluster) {
    return [=](Host &host) { host.arrive_damaged(update, cluster); };
}

Act arrivals(unsigned update, std::uint32_t cluster, std::uint32_t next_cluster) {
    return [=](Host &host) {
        host.arrive(update, cluster);
        host.arrive(update + 1, next_cluster);
    };
}

Act drain(unsigned ticks) {
    return [=](Host &host) { host.ticks(ticks); };
}

Act free_and_drain(unsigned ticks) {
    return [=](Host &host) {
        host.wait(busy_ns);
        host.ticks(ticks);
    };
}

/// The link has time for one frame only, of 114 ns: what arrives behind a departure must wait. The
/// token leaves nothing to arrivals, as half a frame's time is no longer than a tick.
olaf_config narrow() {
    olaf_config config = usual_config();
    config.drain_interval_ns = 100;
    return config;
}

/// The same, and the token leaves what is due to arrivals for half a frame's time.
olaf_config patient() {
    olaf_config config = usual_config();
    config.drain_interval_ns = 1;
    return config;
}

Act drain_twice(std::uint64_t apart_ns) {
    return [=](Host &host) {
        host.ticks(1);
        host.wait(apart_ns);
        host.ticks(2);
    };
}

/// Places for so many, and twice as many in the ring, as the loader makes it.
olaf_config places(std::uint32_t capacity) {
    olaf_config config = narrow();
    config.queue_capacity = capacity;
    config.ring_places = 2 * capacity;
    config.fifo_places = capacity;
    return config;
}

olaf_config windowed(std::uint32_t window) {
    olaf_config config = usual_config();
    config.ns_per_byte_q24 = 0;
    config.window = window;
    config.max_workers = 16; // an ACK is its server's if it comes from where workers send to
    return config;
}

Act rule_then(std::uint32_t policy, std::uint32_t max_count, Act then) {
    return [=](Host &host) {
        host.rule(0, policy, max_count);
        then(host);
    };
}

void add_queue(std::vector<Scenario> &to) {
    to.push_back({"AnAppendMeetsAPop", narrow(), waiting({0}), {drain(2), arrival(8, 1)}});
    to.push_back({"AFoldMeetsAPop", narrow(), waiting({0}), {drain(2), arrival(8, 0)}});
    to.push_back({"AnArrivalMeetsATokenThatWaitsForIt", patient(), waiting({0}),
                  {drain_twice(busy_ns), arrival(8, 1)}});
    // The link becomes free while the update is being folded: else it would carry the head away itself.
    to.push_back({"ADamagedFoldMeetsAPop", narrow(), busy({0}), {free_and_drain(1), damaged(8, 0)}});
    to.push_back({"ADamagedFoldMeetsAFold", narrow(), busy({0}),
                  {free_and_drain(1), damaged(8, 0), arrival(9, 0)}});
    to.push_back({"ADamagedRiderMeetsADeparture", usual_config(), waiting_idle({0}),
                  {drain(1), damaged(8, 0)}});
    to.push_back({"APassageMeetsADeparture", usual_config(), waiting_idle({0}),
                  {drain(1), arrival(8, 0)}});
    to.push_back({"TwoFoldsMeetAPop", narrow(), waiting({0}),
                  {drain(1), arrival(8, 0), arrival(9, 0)}});
    to.push_back({"TwoArrivalsAppendWhileOneDeparts", narrow(), waiting({0}),
                  {drain(1), arrival(8, 1), arrival(9, 2)}});
    to.push_back({"TwoArrivalsWantTheLastPlace", places(1),
                  [](Host &host) { host.take_link(busy_ns); }, {arrival(0, 0), arrival(1, 1)}});
    to.push_back({"ThePlaceOfASlowDepartureComesRound", places(1), waiting({0}),
                  {drain(1), [](Host &host) {
                       host.arrive(8, 1); // waits, as the departure has taken the link
                       host.wait(busy_ns);
                       host.arrive(9, 2); // carries it away, and would take the place behind it
                   }}});
    to.push_back({"TwoRidersWantOneHead", usual_config(), waiting_idle({0, 1}),
                  {arrival(8, 0), arrival(9, 1)}});
    to.push_back({"ARiderAndTheDrainWantOneHead", usual_config(), waiting_idle({0, 1}),
                  {arrival(8, 0), drain(2)}});
    to.push_back({"ASealedEntryMeetsAPop", places(4),
                  rule_then(OLAF_POLICY_AGGREGATE, 1, waiting({0})),
                  {drain(1), arrival(8, 0), arrival(9, 0)}});
    to.push_back({"TwoDeparturesOfOneSlot", usual_config(),
                  rule_then(OLAF_POLICY_AGGREGATE, 1, waiting_idle({0, 0})),
                  {drain(1), arrivals(8, 1, 0)}});
    to.push_back({"AReplacementMeetsAPop", narrow(),
                  rule_then(OLAF_POLICY_NEWEST, 256, waiting({0})),
                  {drain(1), arrival(8, 0), arrival(9, 0)}});
    to.push_back({"AnEntryOfAPlaceMeetsAPop", narrow(),
                  rule_then(OLAF_POLICY_FIFO, 1, waiting({0, 0})),
                  {drain(1), arrival(8, 0), arrival(9, 0)}});
    to.push_back({"FirstUpdatesOfAnEpoch", usual_config(), [](Host &) {},
                  {arrival(0, 0), arrival(1, 1), arrival(2, 0)}});
}

void add_token(std::vector<Scenario> &to) {
    to.push_back({"ThreeArrivalsLaunchOneToken", narrow(),
                  [](Host &host) { host.take_link(busy_ns); },
                  {arrival(0, 0), arrival(1, 1), arrival(2, 0)}});
    to.push_back({"TheLastDepartureMeetsALaunch", narrow(), waiting({0}),
                  {drain(3), arrivals(8, 1, 2)}});
    to.push_back({"ALostTokenIsReplacedOnce", narrow(),
                  [](Host &host) {
                      waiting({0})(host);
                      host.lose_token();
                      host.wait(10'000'000'000);
                  },
                  {arrival(8, 0), arrival(9, 1), drain(2)}});
    to.push_back({"AnOverdueTokenComesBack", narrow(),
                  [](Host &host) {
                      waiting({0})(host);
                      host.wait(10'000'000'000);
                  },
                  {arrival(8, 0), drain(3)}});
}

/// Routed: clusters 0 and 2 by one next hop, 1 by another.
olaf_config routed() {
    olaf_config config = places(4);
    config.deliver = OLAF_DELIVER_FORWARD;
    config.egress_mtu = 1500;
    std::ranges::copy(test::server_mac, config.mac);
    return config;
}

void add_hops(std::vector<Scenario> &to) {
    const auto blocked = [](std::vector<std::uint32_t> clusters) {
        return [wait = waiting_idle(std::move(clusters))](Host &host) {
            host.silence(0);
            wait(host);
        };
    };
    to.push_back({"ABlockedHeadTurnsWhileOneArrives", routed(), blocked({0, 1}),
                  {drain(2), arrival(8, 0)}});
    to.push_back({"AHopAnswersWhileItsUpdatesTurn", routed(), blocked({0, 2, 1}),
                  {drain(2), [](Host &h) {
                       h.answer(0);
                       h.arrive(8, 1);
                   }}});
    to.push_back({"ARiderThatAppendsMeetsTheTokensEnd", routed(), waiting({1}),
                  {drain(2), arrival(8, 1)}});
}

void add_commands(std::vector<Scenario> &to) {
    to.push_back({"ReplacedProgramsMeetTheOldOnes", narrow(), waiting({0, 1}),
                  {arrival(8, 0), [](Host &h) { h.arrive_at_new(9, 1); },
                   [](Host &h) { h.ticks_of_new(1); }}});
    to.push_back({"EmptyingBeginsUnderArrivals", narrow(), waiting({0}),
                  {arrivals(8, 0, 1), drain(1), [](Host &h) { h.order_to_empty(); }}});
}

void add_window(std::vector<Scenario> &to) {
    const Act one_flies = [](Host &host) {
        for (unsigned update = 0; update < 3; update++)
            host.arrive(update, update);
    };
    const Act ack = [](Host &h) { h.acknowledge(0, 0); };
    to.push_back({"AnAckMeetsATick", windowed(1), one_flies, {ack, drain(2)}});
    to.push_back({"AnAckMeetsAnArrival", windowed(1), one_flies, {ack, arrivals(8, 1, 0)}});
    to.push_back({"AnAckMeetsItsTimeout", windowed(1),
                  [=](Host &host) {
                      one_flies(host);
                      host.wait(2'000'000'000);
                  },
                  {ack, arrival(8, 2)}});
    to.push_back({"TwoAcksOfOneSlot", windowed(3),
                  [](Host &host) {
                      host.arrive(0, 1); // stays in flight, and the window with it
                      host.arrive(1, 0);
                      host.arrive(2, 0);
                      host.arrive(3, 2);
                  },
                  {[](Host &h) { h.acknowledge(1, 0); }, [](Host &h) { h.acknowledge(2, 0); }}});
}

std::vector<Scenario> all() {
    std::vector<Scenario> result;
    add_queue(result);
    add_token(result);
    add_hops(result);
    add_commands(result);
    add_window(result);
    return result;
}

} // namespace

const std::vector<Scenario> &scenarios() {
    static const std::vector<Scenario> result = all();
    return result;
}

} // namespace olaf::interleave
