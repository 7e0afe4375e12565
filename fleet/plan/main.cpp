// SPDX-License-Identifier: BSD-2-Clause
// olaf-plan OPTIONS: what `olaf plan` runs, with its options as JSON. Exit status 0 done, 1 no
// valid plan exists, 2 the topology or an option can't be read.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "choose.hpp"
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

/// A number of equal parts, or a file with a size in each line. The vector is as long as its parts.
Result<void> read_sub_models(const std::string &given, Wish &wish) {
    if (given.empty())
        return {};
    if (given.find_first_not_of("0123456789") == std::string::npos) {
        const auto parts = given.size() < 8 ? std::stoul(given) : 0;
        if (parts < 1 || parts > 100'000 || parts > wish.bytes)
            return fail("read sub-models", given, 0, "give 1 … 100000, and no more than --bytes");
        wish.sub_models = equal_parts(wish.bytes, parts);
        return {};
    }
    std::ifstream file(given);
    if (!file)
        return fail("read sub-models", given, errno,
                    "give a number, or a file with a size in each line");
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        if (line.empty() || line.front() == '#')
            continue;
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

int run(const PlanOptions &options) {
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

int main(int argc, char **argv) {
    if (argc != 2) {
        fmt::print(stderr, "olaf-plan is a part of `olaf plan`; run that\n");
        return unreadable;
    }
    return run(nlohmann::json::parse(argv[1]).get<PlanOptions>());
}
