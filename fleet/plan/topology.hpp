// SPDX-License-Identifier: BSD-2-Clause
// A network of switches and hosts, as a planner sees it: what each can carry, and how far apart
// they are. docs/fleet.md has the form of a FILE and what a field means where it isn't given.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loader/text/address.hpp"
#include "olaf/result.hpp"

namespace olaf::fleet {

inline constexpr double unlimited = std::numeric_limits<double>::infinity();
inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// A switch or a host.
struct Machine {
    std::string name;
    bool is_host = false;
    bool aggregates = false; ///< may be a node of a plan: it has a queue with --round-slots
    double bandwidth_bps = unlimited;     ///< idle, each way
    std::uint64_t latency_ns = 0;         ///< that a sum spends in it, as a node
    std::uint64_t memory = no_limit;      ///< bytes
    std::uint64_t memory_free = no_limit; ///< bytes; `memory` if not given
    std::uint64_t max_lanes = no_limit;   ///< of a contribution that its queue takes
    std::uint64_t slots = no_limit;       ///< of --round-slots that are free
    std::uint64_t jobs = no_limit;        ///< places for jobs that are free; a device has 64

    // Of hosts alone.
    std::uint32_t at = 0;      ///< the switch that it hangs on, an index of Topology::machines
    std::uint32_t workers = 0; ///< processes of the training
    double cores_idle = unlimited;
    double core_rate_bps = 1e10; ///< that one core adds
    std::uint64_t round_ns = 0;  ///< a round of its workers, measured; the slowest are placed first
    std::string site;            ///< the rack; the switch's name if not given
    IpAddress address;           ///< for the strategy smallest-ip

    /// What it can add at once: XAgg's min(idle bandwidth, idle cores × what a core adds).
    [[nodiscard]] double usable_bps() const {
        const double cores = cores_idle == unlimited ? unlimited : cores_idle * core_rate_bps;
        return bandwidth_bps < cores ? bandwidth_bps : cores;
    }
};

struct Link {
    std::uint32_t a = 0, b = 0; ///< indices of Topology::machines
    double bandwidth_bps = unlimited;
    std::uint64_t latency_ns = 0;
};

struct Topology {
    std::string given;             ///< the FILE's name, or the words of a generator
    std::vector<Machine> machines; ///< switches, then hosts, each in the order of the FILE
    std::vector<Link> links;       ///< besides that of each host to its switch
    std::size_t switches = 0;      ///< how many of the machines are

    /// The host of each worker, in the order of the FILE.
    [[nodiscard]] std::vector<std::uint32_t> workers() const;
};

/// Of the ways with the fewest links that with the least latency.
struct Way {
    std::uint32_t links = std::numeric_limits<std::uint32_t>::max(); ///< the largest: there is none
    std::uint64_t latency_ns = 0; ///< of its links, not of machines on it
    [[nodiscard]] bool exists() const { return links != std::numeric_limits<std::uint32_t>::max(); }
};

/// Ways between machines. Hosts don't forward. A host that hangs on its switch alone is no vertex:
/// a hundred thousand of them cost nothing. Refers to the topology, which must outlive it.
class Ways {
  public:
    explicit Ways(const Topology &topology);

    /// From one machine to each of those.
    [[nodiscard]] std::vector<Way> to(std::uint32_t from, std::span<const std::uint32_t> targets);
    [[nodiscard]] Way between(std::uint32_t from, std::uint32_t to) {
        return this->to(from, std::span(&to, 1)).front();
    }

    /// The nearest machines of those at each vertex: so many, and all others as near as the last of
    /// them. Nearest first, then by index.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, Way>>
    nearest(std::uint32_t from, const std::vector<std::vector<std::uint32_t>> &at,
            std::size_t count);

    /// What a search begins at for that machine: itself, or the one switch of a host.
    [[nodiscard]] std::uint32_t vertex_of(std::uint32_t machine) const {
        return ends[machine].vertex;
    }
    /// Links from the machine to there: 0 or 1.
    [[nodiscard]] std::uint32_t links_to_vertex(std::uint32_t machine) const {
        return ends[machine].links;
    }
    struct Edge {
        std::uint32_t to;
        std::uint64_t latency_ns;
    };
    [[nodiscard]] std::span<const Edge> edges(std::uint32_t vertex) const;

  private:
    struct End {
        std::uint32_t vertex, links;
    };
    /// Fills `found`, a distance at a time, until enough(vertices at the next one) says so. Hosts
    /// don't forward.
    template <class Enough> void search(std::uint32_t from, const Enough &enough);

    const Topology &topology;
    std::vector<End> ends;             ///< of each machine
    std::vector<std::uint32_t> starts; ///< of each vertex's edges in `joined`; one more at the end
    std::vector<Edge> joined;
    std::vector<Way> found; ///< by vertex; valid where `turn_of` is the present turn
    std::vector<std::uint32_t> turn_of, wanted_in;
    std::uint32_t turn = 0;
};

/// How far a switch is from hosts: 0 for those that hosts hang on, one more for each step up.
std::vector<std::uint32_t> levels_of(const Topology &topology, const Ways &ways);

/// "no way leads from A to B", if there are such; nothing else makes a network unfit for plans.
Result<void> require_connected(const Topology &topology);

} // namespace olaf::fleet
