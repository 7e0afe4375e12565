// SPDX-License-Identifier: BSD-2-Clause
// A plan as JSON (docs/schema/plan.json), as text, and as a picture.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "choose.hpp"

namespace olaf::fleet {

nlohmann::ordered_json plan_json(const Topology &topology, const Wish &wish,
                                 const Planning &planning);

/// The first shard's tree, what is predicted, the rows of --compare, and the notes.
std::string plan_text(const Topology &topology, const Planning &planning);

/// Graphviz's language, a tree for each shard. Workers of a node that has many are one box.
std::string plan_dot(const Topology &topology, const Planning &planning);

/// What a picture's name ends in: "dot", "svg", "png" or "pdf"; "" of no picture, "".
Result<std::string> picture_form(const std::string &path);

/// Writes a picture in the form that the file's name ends in: .dot as it is; the others by
/// Graphviz's `dot`. A picture that was there before stays if that fails.
Result<void> write_picture(const std::string &path, const std::string &dot);

} // namespace olaf::fleet
