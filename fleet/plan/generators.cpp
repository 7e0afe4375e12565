// SPDX-License-Identifier: BSD-2-Clause
// Topologies that papers measure on: a leaf-spine, and a fat-tree of k-port switches.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "loader/text/units.hpp"
#include "olaf/try.hpp"
#include "random.hpp"
#include "topology_file.hpp"

namespace olaf::fleet {
namespace {

/// A number without a unit, or what the parser of units makes of the text.
template <class Parser>
Result<std::uint64_t> plain_or(std::string_view text, const Parser &parser) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size())
        return value;
    return parser(text);
}

/// The words behind "leaf-spine:", and the network that grows from them.
struct Words {
    std::string given;
    std::map<std::string, std::string, std::less<>> of;

    [[nodiscard]] std::unexpected<Error> fault(const std::string &reason, std::string hint) const {
        return fail("read topology", given, 0, std::move(hint), reason);
    }
    Result<void> only(std::initializer_list<std::string_view> known) const {
        for (const auto &[word, value] : of)
            if (std::ranges::find(known, word) == known.end())
                return fault(fmt::format("it has no word '{}'", word),
                             fmt::format("there are {}", fmt::join(known, ", ")));
        return {};
    }
    template <class Parser>
    Result<std::uint64_t> number(std::string_view word, std::uint64_t otherwise,
                                 std::uint64_t least, std::uint64_t most,
                                 const Parser &parser) const {
        const auto found = of.find(word);
        if (found == of.end())
            return otherwise;
        const auto value = plain_or(found->second, parser);
        if (!value || *value < least || *value > most)
            return fault(fmt::format("{}={} is out of range, or no number", word, found->second),
                         fmt::format("give {} … {}", least, most));
        return *value;
    }
    Result<std::uint64_t> count(std::string_view word, std::uint64_t otherwise, std::uint64_t least,
                                std::uint64_t most) const {
        return number(word, otherwise, least, most, [](std::string_view) -> Result<std::uint64_t> {
            return fail("read", "", 0, "", "no number");
        });
    }
};

constexpr std::uint64_t most_machines = 1'000'000;

class Growing {
  public:
    Growing(const Words &words, std::uint64_t seed) : words(words), random(seed) {
        topology.given = words.given;
    }
    Result<void> read_common() {
        bandwidth = OLAF_TRY(words.number("bandwidth", 10'000'000'000, 1'000, 1'000'000'000'000'000,
                                          [](std::string_view text) -> Result<std::uint64_t> {
                                              return OLAF_TRY(parse_rate(text)).bps;
                                          }));
        latency_ns =
            OLAF_TRY(words.number("latency", 1000, 0, 1'000'000'000,
                                  [](std::string_view text) { return parse_duration(text); }));
        memory = OLAF_TRY(words.number("memory", 64'000'000, 1, 9'000'000'000'000'000,
                                       [](std::string_view text) { return parse_bytes(text); }));
        const auto found = words.of.find("aggregators");
        if (found == words.of.end())
            return {};
        if (found->second == "hosts") {
            spares = true;
            return {};
        }
        std::string_view text = found->second;
        double value = -1;
        if (text.ends_with('%')) {
            text.remove_suffix(1);
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size())
                value = -1;
        }
        if (!(value >= 0 && value <= 100)) // "nan%" is a number for from_chars
            return words.fault(
                "aggregators=" + found->second + " is no share",
                "give 0% … 100% of the switches, or hosts: a spare one in each rack");
        share = value / 100;
        return {};
    }
    std::uint32_t add_switch(std::string name) {
        Machine machine;
        machine.name = std::move(name);
        machine.memory = machine.memory_free = memory;
        topology.machines.push_back(std::move(machine));
        topology.switches = topology.machines.size();
        return static_cast<std::uint32_t>(topology.switches - 1);
    }
    void link(std::uint32_t a, std::uint32_t b) {
        topology.links.push_back({a, b, static_cast<double>(bandwidth), latency_ns});
    }
    void add_host(std::string name, std::uint32_t at, bool aggregates = false) {
        Machine machine;
        machine.name = std::move(name);
        machine.is_host = true;
        machine.at = at;
        machine.site = topology.machines[at].name;
        machine.aggregates = aggregates;
        machine.bandwidth_bps = static_cast<double>(bandwidth);
        machine.cores_idle = 16;
        topology.machines.push_back(std::move(machine));
    }
    /// Aggregators and workers are drawn, and the server and the spare hosts come last.
    Result<Topology> finish(std::uint64_t workers, std::uint32_t racks) {
        const auto hosts = topology.machines.size() - topology.switches;
        if (workers > hosts)
            return words.fault(
                fmt::format("it has {} hosts, and --workers asks for {}", hosts, workers),
                "ask for fewer, or give hosts=");
        std::vector<std::uint32_t> all(topology.switches);
        for (std::uint32_t i = 0; i < all.size(); ++i)
            all[i] = i;
        const auto aggregators =
            spares ? 0 : std::llround(share * static_cast<double>(topology.switches));
        for (const auto i : random.sample(all, static_cast<std::size_t>(aggregators)))
            topology.machines[i].aggregates = true;
        all.resize(hosts);
        for (std::uint32_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<std::uint32_t>(topology.switches + i);
        for (const auto i : workers == 0 ? all : random.sample(all, workers))
            topology.machines[i].workers = 1;
        add_host("ps", 0, true);
        if (spares)
            for (std::uint32_t rack = 0; rack < racks; ++rack)
                add_host(fmt::format("spare{}", rack), rack, true);
        return std::move(topology);
    }

  private:
    const Words &words;
    Random random;
    Topology topology;
    std::uint64_t bandwidth = 0, latency_ns = 0, memory = 0;
    double share = 1; ///< of the switches that aggregate
    bool spares = false;
};

Result<Topology> leaf_spine(const Words &words, std::uint64_t workers, std::uint64_t seed) {
    OLAF_TRY(
        words.only({"leaves", "spines", "hosts", "aggregators", "bandwidth", "latency", "memory"}));
    const auto leaves = OLAF_TRY(words.count("leaves", 10, 1, 100'000));
    const auto spines = OLAF_TRY(words.count("spines", 10, 1, 100'000));
    const auto hosts = OLAF_TRY(words.count("hosts", 50, 1, most_machines));
    if (leaves * spines > 10'000'000)
        return words.fault("it has more than 10,000,000 links", "give fewer leaves or spines");
    Growing network(words, seed);
    OLAF_TRY(network.read_common());
    for (std::uint64_t leaf = 0; leaf < leaves; ++leaf)
        network.add_switch(fmt::format("leaf{}", leaf));
    for (std::uint64_t spine = 0; spine < spines; ++spine) {
        const auto above = network.add_switch(fmt::format("spine{}", spine));
        for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
            network.link(leaf, above);
    }
    for (std::uint64_t host = 0; host < hosts; ++host)
        network.add_host(fmt::format("host{}", host), static_cast<std::uint32_t>(host % leaves));
    return network.finish(workers, static_cast<std::uint32_t>(leaves));
}

/// k pods of k/2 edge and k/2 aggregation switches, (k/2)² core switches, k/2 hosts an edge.
Result<Topology> fat_tree(const Words &words, std::uint64_t workers, std::uint64_t seed) {
    OLAF_TRY(words.only({"k", "hosts", "aggregators", "bandwidth", "latency", "memory"}));
    const auto k = OLAF_TRY(words.count("k", 4, 2, 128));
    if (k % 2 != 0)
        return words.fault(fmt::format("k={} is odd", k), "give an even number of ports");
    const auto half = static_cast<std::uint32_t>(k / 2);
    const auto full = k * half * half;
    const auto hosts = OLAF_TRY(words.count("hosts", full, 1, most_machines));
    Growing network(words, seed);
    OLAF_TRY(network.read_common());
    const auto edges = static_cast<std::uint32_t>(k * half);
    for (std::uint32_t edge = 0; edge < edges; ++edge)
        network.add_switch(fmt::format("edge{}", edge));
    for (std::uint32_t i = 0; i < edges; ++i) {
        const auto above = network.add_switch(fmt::format("agg{}", i));
        for (std::uint32_t edge = i / half * half; edge < i / half * half + half; ++edge)
            network.link(edge, above);
    }
    for (std::uint32_t i = 0; i < half * half; ++i) {
        const auto core = network.add_switch(fmt::format("core{}", i));
        for (std::uint32_t pod = 0; pod < k; ++pod)
            network.link(edges + pod * half + i / half, core);
    }
    for (std::uint64_t host = 0; host < hosts; ++host)
        network.add_host(
            fmt::format("host{}", host),
            static_cast<std::uint32_t>(words.of.contains("hosts") ? host % edges : host / half));
    return network.finish(workers, edges);
}

} // namespace

bool is_generator(std::string_view given) {
    return given == "leaf-spine" || given.starts_with("leaf-spine:") || given == "fat-tree" ||
           given.starts_with("fat-tree:");
}

Result<Topology> generate(const std::string &given, std::uint64_t workers, std::uint64_t seed) {
    Words words{.given = given, .of = {}};
    const auto colon = given.find(':');
    std::string_view rest =
        colon == std::string::npos ? "" : std::string_view(given).substr(colon + 1);
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        const auto word = rest.substr(0, comma);
        const auto equals = word.find('=');
        if (equals == std::string_view::npos || equals == 0)
            return words.fault(fmt::format("'{}' is no WORD=VALUE", word),
                               "separate them by commas");
        if (!words.of.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
            return words.fault(fmt::format("it has '{}' twice", word.substr(0, equals)),
                               "give it once");
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    }
    return given.starts_with("fat-tree") ? fat_tree(words, workers, seed)
                                         : leaf_spine(words, workers, seed);
}

} // namespace olaf::fleet
