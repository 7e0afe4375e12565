// SPDX-License-Identifier: BSD-2-Clause
#include "topology_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>

#include "olaf/try.hpp"

namespace olaf::fleet {
namespace {

using Document = nlohmann::json;

// Limits keep every figure of a plan far from where a number overflows, and tell who writes 10 for
// 10 Gbit/s. A generator's are the same.
constexpr double least_bps = 1e3, most_bps = 1e15, most_latency_ns = 1e9, most_whole = 9e15;
constexpr double least_cores = 1e-3, most_cores = 1e6;
constexpr std::uint64_t most_workers = 1'000'000;
constexpr std::size_t longest_name = 255;

constexpr std::array<std::string_view, 3> parts{"switches", "hosts", "links"};

constexpr auto rate_hint = "bit/s: 1e10 is 10 Gbit/s";

/// No more than a line holds, cut between two characters.
std::string cut(const std::string &text, std::size_t most = 100) {
    if (text.size() <= most)
        return text;
    while ((static_cast<unsigned char>(text[most]) & 0xc0) == 0x80)
        --most;
    return text.substr(0, most) + "…";
}

/// A value as one short line of text.
std::string shown(const Document &value) {
    return value.is_object() ? "an object" : value.is_array() ? "a list" : cut(value.dump());
}

/// Reads the fields of one object, and says of each fault where in the document it is.
class Fields {
  public:
    Fields(const std::string &given, std::string place, const Document &object)
        : given(given), place(std::move(place)), object(object) {}

    [[nodiscard]] std::unexpected<Error> fault(const std::string &field, const std::string &reason,
                                               std::string hint) const {
        return fail("read topology", given, 0, std::move(hint),
                    place + (field.empty() ? "" : "." + field) + " " + reason);
    }
    /// That it is an object with these fields and no others.
    Result<void> only(std::initializer_list<std::string_view> known) const {
        if (!object.is_object())
            return fault("", "is no object", "write {\"name\": …}");
        for (const auto &[key, value] : object.items())
            if (std::ranges::find(known, key) == known.end())
                return fault("", fmt::format("has {}, which is no field", shown(key)),
                             fmt::format("there are {}", fmt::join(known, ", ")));
        return {};
    }
    Result<std::string> text(const char *field, std::optional<std::string> otherwise = {}) const {
        const auto found = object.find(field);
        if (found == object.end() && otherwise)
            return *otherwise;
        if (found == object.end())
            return fault(field, "is missing", "each has one");
        if (!found->is_string() || found->get_ref<const std::string &>().empty())
            return fault(field, "is no text", "write a name in quotes");
        const auto &text = found->get_ref<const std::string &>();
        // Names stand in messages of one line, and in lists of a plan.
        if (text.size() > longest_name ||
            std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 127; }))
            return fault(field, "is " + shown(*found) + ", no name",
                         fmt::format("write at most {} bytes on one line", longest_name));
        return text;
    }
    struct Range {
        double least, most;
        bool zero = false; ///< 0 too
    };
    Result<double> number(const char *field, double otherwise, Range range,
                          const char *unit) const {
        const auto found = object.find(field);
        if (found == object.end())
            return otherwise;
        if (!found->is_number())
            return fault(field, "is " + shown(*found) + ", no number",
                         fmt::format("write {} without quotes", unit));
        const auto value = found->get<double>();
        if (!(range.zero && value == 0) && (value < range.least || value > range.most))
            return fault(field, "is " + shown(*found) + ", out of range",
                         fmt::format("write {}{:g} to {:g} {}", range.zero ? "0, or " : "",
                                     range.least, range.most, unit));
        return value;
    }
    Result<std::uint64_t> whole(const char *field, std::uint64_t otherwise, const char *unit,
                                double most = most_whole) const {
        if (!object.contains(field))
            return otherwise;
        const auto value = OLAF_TRY(number(field, 0, {0, most}, unit));
        if (value != std::floor(value))
            return fault(field, "is " + shown(object.at(field)) + ", no whole number",
                         fmt::format("write {}", unit));
        return static_cast<std::uint64_t>(value);
    }
    Result<bool> yes(const char *field) const {
        const auto found = object.find(field);
        if (found == object.end())
            return false;
        if (!found->is_boolean())
            return fault(field, "is " + shown(*found), "write true or false");
        return found->get<bool>();
    }

  private:
    const std::string &given;
    std::string place;
    const Document &object;
};

struct Reading {
    Topology topology;
    std::unordered_map<std::string, std::uint32_t> index;

    Result<void> add(const Fields &fields, Machine machine) {
        const auto at = static_cast<std::uint32_t>(topology.machines.size());
        if (!index.emplace(machine.name, at).second)
            return fields.fault("name", "is '" + machine.name + "', as another's",
                                "give each switch and host a name of its own");
        topology.machines.push_back(std::move(machine));
        return {};
    }
    Result<std::uint32_t> machine(const Fields &fields, const char *field) const {
        const auto name = OLAF_TRY(fields.text(field));
        const auto found = index.find(name);
        if (found == index.end())
            return fields.fault(field, "is '" + name + "', and there is none of that name",
                                "name a switch or a host of this file");
        return found->second;
    }

    /// What switches and hosts have both.
    static Result<Machine> common(const Fields &fields) {
        Machine machine;
        machine.name = OLAF_TRY(fields.text("name"));
        machine.aggregates = OLAF_TRY(fields.yes("aggregates"));
        machine.bandwidth_bps =
            OLAF_TRY(fields.number("bandwidth", unlimited, {least_bps, most_bps}, rate_hint));
        machine.latency_ns = OLAF_TRY(fields.whole("latency", 0, "nanoseconds", most_latency_ns));
        machine.memory = OLAF_TRY(fields.whole("memory", no_limit, "bytes"));
        machine.memory_free = OLAF_TRY(fields.whole("memory_free", machine.memory, "bytes"));
        if (machine.memory_free > machine.memory)
            return fields.fault("memory_free", "is above memory", "write what of it is free");
        machine.max_lanes = OLAF_TRY(fields.whole("max_lanes", no_limit, "lanes of 8 bytes"));
        machine.slots = OLAF_TRY(fields.whole("slots", no_limit, "round slots"));
        machine.jobs = OLAF_TRY(fields.whole("jobs", no_limit, "places for jobs"));
        const auto address = OLAF_TRY(fields.text("address", std::string()));
        if (address.empty())
            return machine;
        const auto parsed = parse_address(address);
        if (!parsed)
            return fields.fault("address", "is '" + address + "', no IP address",
                                "write 192.0.2.1 or 2001:db8::1");
        machine.address = *parsed;
        return machine;
    }
    Result<void> add_switch(const Fields &fields) {
        OLAF_TRY(fields.only({"name", "aggregates", "memory", "memory_free", "bandwidth", "latency",
                              "max_lanes", "slots", "jobs", "address"}));
        return add(fields, OLAF_TRY(common(fields)));
    }
    Result<void> add_host(const Fields &fields) {
        OLAF_TRY(fields.only({"name", "at", "workers", "aggregates", "cores_idle", "core_rate",
                              "bandwidth", "latency", "memory", "memory_free", "round_ns", "site",
                              "address", "max_lanes", "slots", "jobs"}));
        auto machine = OLAF_TRY(common(fields));
        machine.is_host = true;
        machine.at = OLAF_TRY(this->machine(fields, "at"));
        if (topology.machines[machine.at].is_host)
            return fields.fault("at", "is a host", "name the switch that it hangs on");
        const auto own =
            OLAF_TRY(fields.whole("workers", 0, "processes", static_cast<double>(most_workers)));
        if ((workers += own) > most_workers)
            return fields.fault("workers", fmt::format("makes them {} in all", workers),
                                fmt::format("plan at most {}", most_workers));
        machine.workers = static_cast<std::uint32_t>(own);
        machine.cores_idle = OLAF_TRY(
            fields.number("cores_idle", unlimited, {least_cores, most_cores, true}, "cores"));
        machine.core_rate_bps =
            OLAF_TRY(fields.number("core_rate", 1e10, {least_bps, most_bps}, rate_hint));
        machine.round_ns = OLAF_TRY(fields.whole("round_ns", 0, "nanoseconds"));
        machine.site = OLAF_TRY(fields.text("site", topology.machines[machine.at].name));
        return add(fields, std::move(machine));
    }
    Result<void> add_link(const Fields &fields) {
        OLAF_TRY(fields.only({"a", "b", "bandwidth", "latency"}));
        Link link;
        link.a = OLAF_TRY(machine(fields, "a"));
        link.b = OLAF_TRY(machine(fields, "b"));
        link.bandwidth_bps =
            OLAF_TRY(fields.number("bandwidth", unlimited, {least_bps, most_bps}, rate_hint));
        link.latency_ns = OLAF_TRY(fields.whole("latency", 0, "nanoseconds", most_latency_ns));
        const auto &a = topology.machines[link.a], &b = topology.machines[link.b];
        if (link.a == link.b)
            return fields.fault("b", "is '" + b.name + "', as a", "a link joins two machines");
        if ((a.is_host && a.at == link.b) || (b.is_host && b.at == link.a))
            return fields.fault("", fmt::format("joins {} and {}, as \"at\" does", a.name, b.name),
                                "leave it out");
        if (!joined.emplace(std::min(link.a, link.b), std::max(link.a, link.b)).second)
            return fields.fault("", fmt::format("joins {} and {}, as another does", a.name, b.name),
                                "write one link with the sum of their bandwidths");
        topology.links.push_back(link);
        return {};
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> joined;
    std::uint64_t workers = 0; ///< of all hosts so far
};

/// The document. nlohmann keeps the last of two keys that are the same; here they are a fault.
Result<Document> parsed(const std::string &text, const std::string &given) {
    std::vector<std::set<std::string>> open; // keys of each object that hasn't ended
    std::string part, twice;                 // the one of `parts` at hand, and the first fault
    std::size_t rows = 0;                    // objects of that part so far
    const auto look = [&](int depth, Document::parse_event_t event, Document &value) {
        if (event == Document::parse_event_t::object_start) {
            open.emplace_back();
            rows += depth == 2 ? 1 : 0;
        } else if (event == Document::parse_event_t::object_end) {
            open.pop_back();
        } else if (event == Document::parse_event_t::key) {
            const auto key = value.get<std::string>();
            if (depth == 1) {
                part = std::ranges::find(parts, key) != parts.end() ? key : "the document";
                rows = 0;
            }
            if (!open.back().insert(key).second && twice.empty())
                twice = fmt::format("{} has {} twice",
                                    depth == 1  ? "the document"
                                    : rows == 0 ? part
                                                : fmt::format("{}[{}]", part, rows - 1),
                                    shown(value));
        }
        return true;
    };
    try {
        auto document = Document::parse(text, look);
        if (twice.empty())
            return document;
        return fail("read topology", given, 0, "leave one of them out", twice);
    } catch (const Document::exception &error) {
        // "[json.exception.parse_error.101] parse error at line 3, column 7: …"
        std::string reason = error.what();
        if (const auto behind = reason.find("] "); behind != std::string::npos)
            reason.erase(0, behind + 2);
        // "number overflow parsing '1e400'" says of what, but not where.
        if (const auto quote = reason.find('\''); error.id == 406 && quote != std::string::npos) {
            const auto number = reason.substr(quote + 1, reason.size() - quote - 2);
            reason = fmt::format(
                "line {}: {}",
                1 + std::ranges::count(std::string_view(text).substr(0, text.find(number)), '\n'),
                reason);
        }
        return fail("read topology", given, 0, "mend the JSON there", cut(reason, 200));
    }
}

} // namespace

std::expected<std::string, int> read_file(const std::string &path) {
    // Not a stream: those throw where the path is a folder.
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"),
                                                                std::fclose);
    if (!file)
        return std::unexpected(errno);
    std::string text, part(1 << 16, '\0');
    while (const auto count = std::fread(part.data(), 1, part.size(), file.get()))
        text.append(part, 0, count);
    if (std::ferror(file.get()) != 0)
        return std::unexpected(errno);
    return text;
}

Result<Topology> topology_of(const Document &document, const std::string &given) {
    Reading reading;
    reading.topology.given = given;
    const Fields whole(given, "the document", document);
    OLAF_TRY(whole.only({"switches", "hosts", "links"}));
    for (const auto part : parts) {
        const auto found = document.find(part);
        if (found == document.end())
            continue;
        if (!found->is_array())
            return fail("read topology", given, 0, "write [{…}, …]",
                        std::string(part) + " is no list");
        for (std::size_t i = 0; i < found->size(); ++i) {
            const Fields fields(given, fmt::format("{}[{}]", part, i), (*found)[i]);
            if (part == "switches")
                OLAF_TRY(reading.add_switch(fields));
            else if (part == "hosts")
                OLAF_TRY(reading.add_host(fields));
            else
                OLAF_TRY(reading.add_link(fields));
        }
        if (part == "switches")
            reading.topology.switches = reading.topology.machines.size();
    }
    OLAF_TRY(require_connected(reading.topology));
    return std::move(reading.topology);
}

Result<Topology> read_topology(const std::string &given, std::uint64_t workers,
                               std::uint64_t seed) {
    if (is_generator(given))
        return generate(given, workers, seed);
    const auto text = read_file(given);
    if (!text)
        return fail("read topology", given, text.error(),
                    "give a file, leaf-spine:… or fat-tree:…; an example of a file is what `olaf "
                    "plan leaf-spine:leaves=2,spines=1,hosts=4 --topology` prints");
    if (workers != 0)
        return fail("read topology", given, 0, "leave --workers out",
                    "a file says itself where workers are");
    return topology_of(OLAF_TRY(parsed(*text, given)), given);
}

nlohmann::ordered_json topology_json(const Topology &topology) {
    nlohmann::ordered_json document{{"switches", nlohmann::ordered_json::array()},
                                    {"hosts", nlohmann::ordered_json::array()},
                                    {"links", nlohmann::ordered_json::array()}};
    const auto number = [](double value) -> nlohmann::ordered_json {
        if (value == std::floor(value) && value < 9e15)
            return static_cast<std::uint64_t>(value);
        return value;
    };
    for (const auto &machine : topology.machines) {
        nlohmann::ordered_json one{{"name", machine.name}};
        if (machine.is_host) {
            one["at"] = topology.machines[machine.at].name;
            one["workers"] = machine.workers;
        }
        one["aggregates"] = machine.aggregates;
        if (machine.bandwidth_bps != unlimited)
            one["bandwidth"] = number(machine.bandwidth_bps);
        if (machine.latency_ns != 0)
            one["latency"] = machine.latency_ns;
        if (machine.memory != no_limit)
            one["memory"] = machine.memory;
        if (machine.memory_free != machine.memory)
            one["memory_free"] = machine.memory_free;
        for (const auto &[field, value] : {std::pair{"max_lanes", machine.max_lanes},
                                           {"slots", machine.slots},
                                           {"jobs", machine.jobs}})
            if (value != no_limit)
                one[field] = value;
        if (machine.address.family != 0)
            one["address"] = address_text(machine.address);
        if (machine.is_host) {
            if (machine.cores_idle != unlimited)
                one["cores_idle"] = number(machine.cores_idle);
            if (machine.core_rate_bps != 1e10)
                one["core_rate"] = number(machine.core_rate_bps);
            if (machine.round_ns != 0)
                one["round_ns"] = machine.round_ns;
            if (machine.site != topology.machines[machine.at].name)
                one["site"] = machine.site;
        }
        document[machine.is_host ? "hosts" : "switches"].push_back(std::move(one));
    }
    for (const auto &link : topology.links) {
        nlohmann::ordered_json one{{"a", topology.machines[link.a].name},
                                   {"b", topology.machines[link.b].name}};
        if (link.bandwidth_bps != unlimited)
            one["bandwidth"] = number(link.bandwidth_bps);
        if (link.latency_ns != 0)
            one["latency"] = link.latency_ns;
        document["links"].push_back(std::move(one));
    }
    return document;
}

} // namespace olaf::fleet
