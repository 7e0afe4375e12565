// SPDX-License-Identifier: BSD-2-Clause
#include "saved_rules.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

#include "card_queue.hpp"
#include "loader/datapath/config.hpp"
#include "loader/datapath/members.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Sixteen binary places are sixteen decimal ones: exact.
std::string exact_reward(std::int64_t threshold) {
    if (threshold < 0)
        return "off";
    constexpr double one = 1 << OLAF_REWARD_FRACTION_BITS;
    auto text = fmt::format("{:.16f}", static_cast<double>(threshold) / one);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.'))
        text.pop_back();
    return text;
}

/// The options of a rule, those that are as usual left out.
std::string rule_options(const olaf_rule &rule, const olaf_rule &usual) {
    std::string text;
    if (rule.policy != usual.policy)
        text += fmt::format(" --policy {}", policy_name(rule.policy));
    if (rule.reward_threshold != usual.reward_threshold)
        text += " --reward-threshold " + exact_reward(rule.reward_threshold);
    if (rule.max_count != usual.max_count)
        text += fmt::format(" --max-count {}", rule.max_count);
    return text;
}

/// The options that register its workers again; those that are learnt aren't saved.
std::string worker_options(const std::vector<KnownMember> &members) {
    std::string text;
    for (const auto &[worker, member] : members) {
        if ((member.flags & OLAF_MEMBER_REGISTERED) == 0)
            continue;
        auto bound = member;
        if ((member.flags & OLAF_MEMBER_PORT_BOUND) == 0)
            bound.port_be = 0; // learnt, and to be learnt again
        text += fmt::format(" --worker {}={}", worker, member_address_text(bound));
    }
    return text;
}

/// Of each cluster by id, the options that make it what it is; "" for one as usual.
Result<std::vector<std::string>> kernel_options(const Attachment &attached) {
    const auto &config = attached.record.config;
    const auto rules = open_map_to_read(attached, "olaf_rules");
    const auto members = open_map_to_read(attached, "olaf_members");
    const auto rosters = open_map_to_read(attached, "olaf_rosters");
    for (const auto *map : {&rules, &members, &rosters})
        if (!*map)
            return std::unexpected(map->error());
    const auto usual = default_rule(static_cast<olaf_policy>(config.default_policy));
    std::vector<std::string> options(config.max_clusters);
    for (std::uint32_t id = 0; id < config.max_clusters; id++) {
        olaf_rule rule{};
        if (bpf_map_lookup_elem(rules->get(), &id, &rule) != 0)
            return fail("read the rule of cluster", std::to_string(id), errno);
        const auto known = OLAF_TRY(read_members(members->get(), rosters->get(), config, id));
        options[id] = rule_options(rule, usual) + worker_options(known);
    }
    return options;
}

/// The same of a card's clusters, which have no workers.
Result<std::vector<std::string>> card_options(const Attachment &attached) {
    const auto &config = attached.record.config;
    const auto card = OLAF_TRY(open_card(attached));
    const auto rules = OLAF_TRY(rules_in(card, config));
    const auto usual = default_rule(static_cast<olaf_policy>(config.default_policy));
    std::vector<std::string> options;
    for (const auto &rule : rules)
        options.push_back(rule_options(rule, usual));
    return options;
}

} // namespace

Result<std::vector<std::string>> rules_of(const Attachment &attached) {
    const auto all =
        OLAF_TRY(attached.on_card() ? card_options(attached) : kernel_options(attached));
    std::vector<std::string> found;
    std::string before;      // the options of the run of clusters that ends here
    std::uint32_t first = 0; // cluster of that run
    for (std::uint32_t id = 0; id <= all.size(); id++) {
        const auto options = id < all.size() ? all[id] : "";
        if (options == before)
            continue;
        if (!before.empty())
            found.push_back(
                (first + 1 == id ? std::to_string(first) : fmt::format("{}-{}", first, id - 1)) +
                before);
        before = options;
        first = id;
    }
    return found;
}

std::string list_line(std::string_view key, const std::vector<std::string> &list) {
    std::string line;
    for (const auto &words : list)
        line += (line.empty() ? "" : "; ") + words;
    return std::string(key) + "\"" + line + "\"\n";
}

std::vector<std::string> list_in(std::string_view file, std::string_view key) {
    std::istringstream lines{std::string(file)};
    std::string value;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(key))
            value = line.substr(key.size()); // the last one counts, as for systemd
    std::erase(value, '"');
    std::vector<std::string> list;
    std::istringstream parts(value);
    for (std::string part; std::getline(parts, part, ';');)
        if (const auto start = part.find_first_not_of(' '); start != part.npos)
            list.push_back(part.substr(start, part.find_last_not_of(" \t\r") + 1 - start));
    return list;
}

std::string saved_path(const std::string &device) {
    return fmt::format("/etc/olaf/{}.conf", device);
}

Result<std::vector<std::string>> saved_list(const std::string &device, std::string_view key) {
    const auto path = saved_path(device);
    errno = 0;
    std::ifstream file(path);
    if (!file)
        return fail("read", path, errno, "olaf attach " + device + " --save writes it");
    return list_in(std::string{std::istreambuf_iterator<char>(file), {}}, key);
}

} // namespace olaf
