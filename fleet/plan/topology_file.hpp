// SPDX-License-Identifier: BSD-2-Clause
// Topologies from a JSON FILE or from a generator's words, and back to a FILE.
#pragma once

#include <expected>
#include <nlohmann/json.hpp>
#include <string>

#include "topology.hpp"

namespace olaf::fleet {

/// What `olaf plan` was given: the name of a FILE, or "leaf-spine:…", "fat-tree:…".
/// workers: so many of a generator's hosts, drawn by seed; 0: all of them. Of a FILE it must be 0.
Result<Topology> read_topology(const std::string &given, std::uint64_t workers, std::uint64_t seed);

/// All of a file; its errno where it can't be read, as a folder can't.
std::expected<std::string, int> read_file(const std::string &path);

/// Of a document that was parsed. Each error names the place in it: "hosts[3].bandwidth".
Result<Topology> topology_of(const nlohmann::json &document, const std::string &given);

/// As a FILE has it; what has no limit is left out.
nlohmann::ordered_json topology_json(const Topology &topology);

/// "leaf-spine:leaves=10,spines=10,hosts=50" and "fat-tree:k=74", with the words of docs/fleet.md.
Result<Topology> generate(const std::string &words, std::uint64_t workers, std::uint64_t seed);
[[nodiscard]] bool is_generator(std::string_view given);

} // namespace olaf::fleet
