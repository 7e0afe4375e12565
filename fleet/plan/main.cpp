// SPDX-License-Identifier: BSD-2-Clause
// olaf-plan: what `olaf plan` becomes. Exit status 0 done, 1 no valid plan exists, 2 the topology or
// an option can't be read.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "choose.hpp"
#include "fleet/program.hpp"
#include "loader/text/json.hpp"
#include "loader/text/units.hpp"
#include "olaf/try.hpp"
#include "options.hpp"
#include "show.hpp"
#include "topology_file.hpp"

namespace {

using namespace olaf;
using namespace olaf::fleet;

enum Status { done = 0, no_valid_plan = 1, unreadable = 2 };

constexpr std::size_t most_parts = 100'000;
/// Seats of workers, one in each sub-model's tree: what 2 GiB hold, the JSON included.
constexpr std::size_t most_seats = 5'000'000;

/// A number of equal parts, or a file with a size in each line. The vector is as long as its parts.
Result<void> read_sub_models(const std::string &given, Wish &wish) {
    if (given.empty())
        return {};
    if (given.find_first_not_of("0123456789") == std::string::npos) {
        const auto parts = given.size() < 8 ? std::stoul(given) : 0;
        if (parts < 1 || parts > most_parts || parts > wish.bytes)
            return fail("read sub-models", given, 0,
                        fmt::format("give 1 … {}, and no more than --bytes", most_parts));
        wish.sub_models = equal_parts(wish.bytes, parts);
        return {};
    }
    const auto text = read_file(given);
    if (!text)
        return fail("read sub-models", given, text.error(),
                    "give a number, or a file with a size in each line");
    std::istringstream lines(*text);
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        if (line.empty() || line.front() == '#')
            continue;
        if (wish.sub_models.size() == most_parts)
            return fail("read sub-models", given, 0, fmt::format("give at most {}", most_parts),
                        fmt::format("line {} is one more", number));
        const auto bytes = parse_bytes(line);
        if (!bytes)
            return fail("read sub-models", given, 0, "write bytes, or 40kb, 2.5mb",
                        fmt::format("line {} is '{}', no size", number, line));
        wish.sub_models.push_back(*bytes);
    }
    if (wish.sub_models.empty())
        return fail("read sub-models", given, 0, "write a size in each line", "it has none");
    wish.bytes = 0;
    constexpr std::uint64_t most = 1'000'000'000'000; // as of --bytes
    for (const auto bytes : wish.sub_models)
        if ((wish.bytes += std::min(bytes, most)) > most)
            return fail("read sub-models", given, 0, "give at most 1tb in all", "they are longer");
    return {};
}

int failed(const Error &error, Status status) {
    fmt::print(stderr, "olaf: {}\n", error.message());
    return status;
}

/// What can be told before the work of planning.
Result<void> require_size(const Topology &topology, const Wish &wish) {
    const auto workers = topology.workers().size();
    if (workers * wish.sub_models.size() > most_seats)
        return fail("plan", topology.given, 0,
                    fmt::format("give at most {} --sub-models", most_seats / workers),
                    fmt::format("{} workers in {} sub-models are more than {} seats", workers,
                                wish.sub_models.size(), most_seats));
    return {};
}

int run(const PlanOptions &options) {
    if (const auto form = picture_form(options.picture); !form)
        return failed(form.error(), unreadable);
    const auto topology = read_topology(options.topology, options.workers, options.seed);
    if (!topology)
        return failed(topology.error(), unreadable);
    if (options.print_topology) {
        fmt::print("{}\n", json_text(topology_json(*topology), 1));
        return done;
    }
    Wish wish{.strategy = options.strategy,
              .root = options.root,
              .bytes = options.bytes,
              .sub_models = {},
              .lanes = static_cast<std::uint32_t>(options.lanes),
              .format = options.format,
              .pool = static_cast<std::uint32_t>(options.pool),
              .seed = options.seed,
              .time_limit_ns = options.time_limit_ns,
              .compare = options.compare};
    if (const auto read = read_sub_models(options.sub_models, wish); !read)
        return failed(read.error(), unreadable);
    if (const auto size = require_size(*topology, wish); !size)
        return failed(size.error(), unreadable);
    const auto planning = make_plan(*topology, wish);
    if (!planning)
        return failed(planning.error(), no_valid_plan);
    if (!options.picture.empty())
        if (const auto drawn = write_picture(options.picture, plan_dot(*topology, *planning));
            !drawn)
            return failed(drawn.error(), no_valid_plan);
    fmt::print("{}", options.json ? json_text(plan_json(*topology, wish, *planning)) + "\n"
                                  : plan_text(*topology, *planning));
    return done;
}

} // namespace

int main() {
    return run_program("olaf plan", run);
}
