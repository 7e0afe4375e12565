// SPDX-License-Identifier: BSD-2-Clause
#include "card_plan.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "bridging.hpp"
#include "loader/card/find.hpp"
#include "loader/card/fit.hpp"
#include "loader/card/record.hpp"
#include "loader/host/addresses.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Departures of a card leave towards this host, which must carry them on; "" if it does.
std::string carriage_obstacle(const Device &device, const Plan &plan) {
    if (plan.config.deliver != OLAF_DELIVER_FORWARD)
        return "";
    const auto &out = *plan.egress;
    if ((device.master != 0 && device.master == out.master) || routes_by(device.name, 4))
        return "";
    return fmt::format("what leaves it comes in by {}, and this host carries nothing on to {} (make "
                       "them ports of one bridge, or let the host route)",
                       device.name, out.name);
}

std::vector<std::string> notes_on(const olaf_config &config, const CardCapabilities &can,
                                  const std::string &path) {
    std::vector<std::string> notes{
        fmt::format("its queue is in the card {}: {} of {} places, {} clusters, updates of at most "
                    "{} lanes",
                    path, config.queue_capacity, can.places, config.max_clusters,
                    config.max_lanes)};
    if (config.queue_capacity < 2 * config.max_clusters * config.max_segments)
        notes.push_back("a full queue drops updates: the card has no place for every cluster's two");
    if (!can.has(OLAF_CARD_FEATURE_IPV6))
        notes.push_back("updates over IPv6 pass it by");
    return notes;
}

/// Of a queue that runs, what isn't attach's own choice. In a card all of it stands: its slots are
/// in use.
Asked what_was_asked(const AttachOptions &options, const Record *running) {
    const bool stands = running != nullptr && running->on_card != 0;
    Asked asked{.queue = stands || (options.queue && *options.queue),
                .clusters = stands || options.max_clusters,
                .lanes = stands || (options.max_lanes && *options.max_lanes),
                .workers = options.max_workers.has_value()};
    if (running != nullptr) {
        const auto &config = running->config;
        const auto usual = 2 * config.max_clusters * config.max_segments;
        asked.clusters |= config.max_clusters != DatapathConfig{}.max_clusters;
        asked.queue |= config.queue_capacity != usual && !options.queue;
    }
    return asked;
}

} // namespace

std::string reason_of(const Error &error) {
    auto text = (error.code == ENXIO ? no_card : "") + error.reason;
    if (error.code != 0 && error.code != ENXIO && error.code != ENODEV)
        text += (text.empty() ? "" : ": ") + std::string(std::strerror(error.code));
    return text;
}

Result<CardOwn> own_for_card(std::uint32_t ifindex) {
    const auto host = OLAF_TRY(host_addresses(ifindex));
    CardOwn own{};
    std::size_t found = 0;
    for (const auto &address : host.addresses) {
        const auto *words = address.words_be;
        const bool ipv4 = words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
        if (!ipv4 || ntohl(words[3]) >> 24 == 127)
            continue;
        if (found < own.size())
            own[found] = words[3];
        found++;
    }
    if (found == 0 || found > own.size())
        return fail("tell the card", "this host's addresses", 0, "use the kernel's queue: --hw off",
                    fmt::format("this host has {} IPv4 addresses, and it compares 1 to {}", found,
                                own.size()));
    return own;
}

Result<CardPlan> plan_card(const AttachOptions &options, const Device &device, const Plan &plan,
                           const PinPlace &place, const Record *running) {
    const auto path = OLAF_TRY(find_card(device, options.card));
    const auto card = OLAF_TRY(Card::open(path));
    OLAF_TRY(check_card_free(place, path));
    auto human = plan.config;
    const auto can = card.capabilities();
    const auto asked = what_was_asked(options, running);
    auto obstacle = fit_to_card(human, asked, can);
    if (obstacle.empty())
        obstacle = carriage_obstacle(device, plan);
    const auto usual = default_rule(human.policy);
    if (obstacle.empty())
        obstacle = rule_obstacle(usual, can);
    if (!obstacle.empty())
        return fail("use the card", path, 0, "leave that out, or use the kernel's queue: --hw off",
                    obstacle);
    CardPlan found{.path = path, .config = {}, .own = {}, .notes = {}};
    found.config = OLAF_TRY(make_config(human));
    if (human.deliver == OLAF_DELIVER_LOCAL)
        found.own = OLAF_TRY(own_for_card(device.ifindex));
    found.notes = notes_on(found.config, can, path);
    return found;
}

} // namespace olaf
