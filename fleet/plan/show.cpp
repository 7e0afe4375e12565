// SPDX-License-Identifier: BSD-2-Clause
#include "show.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "loader/host/fd.hpp"
#include "loader/text/human.hpp"
#include "olaf/try.hpp"

namespace olaf::fleet {
namespace {

using Json = nlohmann::ordered_json;

Json predicted_json(const Predicted &of) {
    return {{"vector_ns", of.vector_ns},
            {"traffic_bytes", of.traffic_bytes},
            {"root_bytes", of.root_bytes},
            {"in_network_bytes", of.in_network_bytes},
            {"fan_in", of.fan_in},
            {"depth", of.depth},
            {"nodes", of.nodes}};
}

/// "240 MB", in powers of 1,000 as --bytes has them.
std::string bytes_text(std::uint64_t bytes) {
    double value = static_cast<double>(bytes);
    const char *unit = "B";
    for (const auto *larger : {"kB", "MB", "GB", "TB", "PB"}) {
        if (value < 1000)
            break;
        value /= 1000;
        unit = larger;
    }
    return fmt::format("{:.3g} {}", value, unit);
}

/// Children of each node of a shard: nodes, then workers.
struct Children {
    std::vector<std::uint32_t> nodes, workers;
};
std::vector<Children> children_of(const Shard &shard) {
    std::vector<Children> found(shard.nodes.size());
    for (std::uint32_t i = 1; i < shard.nodes.size(); ++i)
        found[shard.nodes[i].parent].nodes.push_back(i);
    for (std::uint32_t i = 0; i < shard.workers.size(); ++i)
        found[shard.workers[i].node].workers.push_back(i);
    return found;
}

/// "host0, host1 and 35 more".
std::string some_of(const std::vector<std::uint32_t> &workers,
                    const std::vector<std::string> &names, std::size_t most) {
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < workers.size() && i < most; ++i)
        shown.push_back(names[workers[i]]);
    if (workers.size() > most)
        return fmt::format("{} and {} more", fmt::join(shown, ", "), workers.size() - most);
    return fmt::format("{}", fmt::join(shown, ", "));
}

constexpr std::size_t most_lines = 40;

} // namespace

nlohmann::ordered_json plan_json(const Topology &topology, const Wish &wish,
                                 const Planning &planning) {
    const auto &demand = planning.demand;
    const auto names = worker_names(topology, demand.workers);
    Json shards = Json::array(), workers = Json::array(), compared = Json::array();
    for (const auto &shard : planning.plan.shards) {
        Json nodes = Json::array();
        for (std::size_t i = 0; i < shard.nodes.size(); ++i) {
            const auto &node = shard.nodes[i];
            Json parent;
            if (i != 0)
                parent = topology.machines[shard.nodes[node.parent].machine].name;
            nodes.push_back({{"name", topology.machines[node.machine].name},
                             {"parent", std::move(parent)},
                             {"rank", node.rank},
                             {"children", node.children}});
        }
        shards.push_back({{"share", shard.bytes},
                          {"root", topology.machines[shard.nodes[0].machine].name},
                          {"nodes", std::move(nodes)}});
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        Json of = Json::array();
        for (const auto &shard : planning.plan.shards)
            of.push_back(
                {{"node", topology.machines[shard.nodes[shard.workers[i].node].machine].name},
                 {"rank", shard.workers[i].rank}});
        workers.push_back({{"name", names[i]}, {"shards", std::move(of)}});
    }
    for (const auto &row : planning.compared) {
        Json one{{"strategy", row.strategy}};
        if (row.reason.empty()) {
            one["chosen"] = row.chosen;
            one["predicted"] = predicted_json(row.predicted);
        } else {
            one["reason"] = row.reason;
        }
        compared.push_back(std::move(one));
    }
    return {{"topology", topology.given},
            {"strategy", planning.strategy},
            {"chosen", planning.chosen},
            {"seed", wish.seed},
            {"planning_ms", planning.planning_ms},
            {"bytes", demand.bytes},
            {"shape",
             {{"lanes", demand.shape.lanes},
              {"format", demand.shape.format},
              {"max_count", demand.shape.max_count},
              {"pool", demand.shape.pool}}},
            {"shards", std::move(shards)},
            {"workers", std::move(workers)},
            {"predicted", predicted_json(planning.plan.predicted)},
            {"compared", std::move(compared)},
            {"notes", planning.notes}};
}

std::string plan_text(const Topology &topology, const Planning &planning) {
    const auto &demand = planning.demand;
    const auto &predicted = planning.plan.predicted;
    const auto names = worker_names(topology, demand.workers);
    const auto strategy = planning.strategy == planning.chosen
                              ? planning.strategy
                              : planning.strategy + ": " + planning.chosen;
    std::string text =
        fmt::format("{} workers of {}, vectors of {}, strategy {}\n\n", demand.workers.size(),
                    topology.given, bytes_text(demand.bytes), strategy);
    const auto &shard = planning.plan.shards.front();
    if (planning.plan.shards.size() > 1)
        text += fmt::format("{} shards; the first, of {}:\n", planning.plan.shards.size(),
                            bytes_text(shard.bytes));
    const auto children = children_of(shard);
    std::size_t lines = 0;
    const std::function<void(std::uint32_t, std::size_t)> show = [&](std::uint32_t node,
                                                                     std::size_t depth) {
        if (lines++ >= most_lines)
            return;
        const auto &name = topology.machines[shard.nodes[node].machine].name;
        text += fmt::format("{:{}}{} ← {} {}", "", 2 * depth, name, shard.nodes[node].children,
                            shard.nodes[node].children == 1 ? "child" : "children");
        if (!children[node].workers.empty())
            text += ": " + some_of(children[node].workers, names, 4);
        text += "\n";
        for (const auto child : children[node].nodes)
            show(child, depth + 1);
    };
    show(0, 0);
    if (lines > most_lines)
        text += fmt::format("… and {} more nodes\n", shard.nodes.size() - most_lines);
    text += fmt::format(
        "\npredicted: a vector takes {} at least; {} over all links; {} reach the root\n"
        "           {} nodes, {} levels, at most {} children\n",
        human_duration(static_cast<double>(predicted.vector_ns)),
        bytes_text(predicted.traffic_bytes), bytes_text(predicted.root_bytes), predicted.nodes,
        predicted.depth, predicted.fan_in);
    if (!planning.compared.empty()) {
        text += fmt::format("\n{:<16} {:>10} {:>10} {:>10} {:>6} {:>6}\n", "strategy", "vector",
                            "traffic", "at root", "nodes", "levels");
        for (const auto &row : planning.compared)
            text += row.reason.empty()
                        ? fmt::format("{:<16} {:>10} {:>10} {:>10} {:>6} {:>6}\n",
                                      row.chosen == row.strategy ? row.strategy
                                                                 : row.strategy + ": " + row.chosen,
                                      human_duration(static_cast<double>(row.predicted.vector_ns)),
                                      bytes_text(row.predicted.traffic_bytes),
                                      bytes_text(row.predicted.root_bytes), row.predicted.nodes,
                                      row.predicted.depth)
                        : fmt::format("{:<16} no plan: {}\n", row.strategy, row.reason);
    }
    for (const auto &note : planning.notes)
        text += "\nnote: " + note;
    return planning.notes.empty() ? text : text + "\n";
}

std::string plan_dot(const Topology &topology, const Planning &planning) {
    const auto names = worker_names(topology, planning.demand.workers);
    const auto quoted = [](const std::string &text) {
        std::string safe = "\"";
        for (const char c : text)
            safe += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
        return safe + "\"";
    };
    std::string text =
        "digraph plan {\n  rankdir=BT;\n  node [fontname=\"DejaVu Sans\", fontsize=10];\n"
        "  edge [arrowsize=0.5];\n";
    for (std::size_t s = 0; s < planning.plan.shards.size(); ++s) {
        const auto &shard = planning.plan.shards[s];
        const auto children = children_of(shard);
        for (std::uint32_t i = 0; i < shard.nodes.size(); ++i) {
            const auto &machine = topology.machines[shard.nodes[i].machine];
            text += fmt::format("  s{}n{} [shape=box, style=filled, fillcolor=\"{}\", label={}];\n",
                                s, i, i == 0 ? "#f2c14e" : "#b8d8ba", quoted(machine.name));
            if (i != 0)
                text += fmt::format("  s{0}n{1} -> s{0}n{2};\n", s, i, shard.nodes[i].parent);
            const auto &workers = children[i].workers;
            if (workers.size() > 8) {
                text += fmt::format("  s{0}w{1} [shape=plaintext, label=\"{2} workers\"];\n  "
                                    "s{0}w{1} -> s{0}n{1};\n",
                                    s, i, workers.size());
                continue;
            }
            for (const auto worker : workers)
                text += fmt::format(
                    "  s{0}w{1}_{2} [shape=ellipse, label={3}];\n  s{0}w{1}_{2} -> s{0}n{1};\n", s,
                    i, worker, quoted(names[worker]));
        }
    }
    return text + "}\n";
}

Result<std::string> picture_form(const std::string &path) {
    if (path.empty())
        return "";
    const auto point = path.rfind('.');
    for (const auto *form : {"svg", "png", "pdf", "dot"})
        if (point != std::string::npos && path.substr(point + 1) == form)
            return form;
    return fail("draw", path, 0, "end it in .svg, .png, .pdf or .dot", "its form isn't known");
}

namespace {

bool written(int file, std::string_view text) {
    while (!text.empty()) {
        const auto count = ::write(file, text.data(), text.size());
        if (count < 0 && errno != EINTR)
            return false;
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    return true;
}

/// `dot`'s picture of that text, into an open file; its errors in words are left out.
Result<void> draw(const std::string &path, const std::string &form, const std::string &dot,
                  int into) {
    // A file in memory and no pipe: `dot` may end before it has read all.
    const Fd text(::memfd_create("plan.dot", MFD_CLOEXEC));
    if (!text || !written(text.get(), dot) || ::lseek(text.get(), 0, SEEK_SET) != 0)
        return fail("draw", path, errno);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, text.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, into, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string program = "dot", option = "-T" + form;
    char *const words[] = {program.data(), option.data(), nullptr};
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, program.c_str(), &files, nullptr, words, environ);
    ::posix_spawn_file_actions_destroy(&files);
    if (error != 0)
        return fail("draw", path, error, "apt install graphviz, or give a file that ends in .dot",
                    "`dot` can't be run");
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0)
        return fail("draw", path, 0, "give a file that ends in .dot, and try `dot` with it",
                    "`dot` failed");
    return {};
}

} // namespace

Result<void> write_picture(const std::string &path, const std::string &dot) {
    const auto form = OLAF_TRY(picture_form(path));
    const auto fresh = fmt::format("{}.{}.tmp", path, ::getpid());
    Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    const auto unwritable = [&] {
        return fail("write", path, errno, "give a file in a folder that you may write");
    };
    if (!file)
        return unwritable();
    Result<void> done;
    if (form != "dot")
        done = draw(path, form, dot, file.get());
    else if (!written(file.get(), dot))
        done = unwritable();
    if (done && ::rename(fresh.c_str(), path.c_str()) != 0)
        done = unwritable();
    if (!done)
        ::unlink(fresh.c_str());
    return done;
}

} // namespace olaf::fleet
