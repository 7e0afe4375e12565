// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "loader/datapath/config.hpp"
#include "loader/host/clock.hpp"
#include "loader/text/units.hpp"
#include "print.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

/// How long it wasn't heard; only of one that was.
std::uint64_t silent_ns(const olaf_member &member, std::uint64_t now) {
    return now > member.last_seen_ns ? now - member.last_seen_ns : 0;
}

Json member_json(const KnownMember &known, std::uint64_t now) {
    const auto &member = known.member;
    Json object{{"worker", known.worker},
                {"address", member_address_text(member)},
                {"registered", (member.flags & OLAF_MEMBER_REGISTERED) != 0},
                {"mac", nullptr},
                {"vlans", Json::array()},
                {"silent_ns", nullptr}};
    if (member.last_seen_ns == 0)
        return object;
    const auto &m = member.mac;
    object["mac"] = fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", m[0], m[1], m[2], m[3],
                                m[4], m[5]);
    for (int i = 0; i < member.tags && i < 2; i++)
        object["vlans"].push_back(ntohs(member.tag[i].tci_be) & 0xfff);
    object["silent_ns"] = silent_ns(member, now);
    return object;
}

Json listing_json(const ClusterListing &listing, std::uint64_t now) {
    Json list = Json::array();
    for (const auto &[cluster, rule, known] : listing.rows) {
        Json members = Json::array();
        for (const auto &member : known)
            members.push_back(member_json(member, now));
        Json threshold = nullptr;
        if (rule.reward_threshold >= 0)
            threshold =
                static_cast<double>(rule.reward_threshold) / (1 << OLAF_REWARD_FRACTION_BITS);
        list.push_back({{"cluster", cluster},
                        {"policy", policy_name(rule.policy)},
                        {"max_count", rule.max_count},
                        {"reward_threshold", threshold},
                        {"members", members}});
    }
    return list;
}

void print_row(const std::string &who, const olaf_rule &rule) {
    fmt::print("{:>9} {:<10} {:>9} {:>16}\n", who, policy_name(rule.policy), rule.max_count,
               reward_text(rule.reward_threshold));
}

void print_member(const KnownMember &known, std::uint64_t now) {
    const auto &member = known.member;
    const auto heard =
        member.last_seen_ns == 0
            ? std::string("never heard")
            : fmt::format("heard {:.1f} s ago", static_cast<double>(silent_ns(member, now)) / 1e9);
    fmt::print("{:>9} worker {:<5} {:<28} {}{}\n", "", known.worker, member_address_text(member),
               heard, (member.flags & OLAF_MEMBER_REGISTERED) != 0 ? ", registered" : "");
}

} // namespace

void print(const ClusterListing &listing, bool json) {
    const auto now = monotonic_ns();
    if (json) {
        fmt::print("{}\n", listing_json(listing, now).dump(2));
        return;
    }
    fmt::print("{:>9} {:<10} {:>9} {:>16}\n", "cluster", "policy", "max-count", "reward-threshold");
    for (const auto &row : listing.rows) {
        print_row(std::to_string(row.cluster), row.rule);
        for (const auto &member : row.members)
            print_member(member, now);
    }
    if (listing.others != 0)
        print_row(listing.rows.empty() ? "all" : "others", listing.usual);
}

} // namespace olaf
