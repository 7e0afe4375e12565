// SPDX-License-Identifier: BSD-2-Clause
#include "restore.hpp"

#include <iterator>
#include <sstream>

#include "cli.hpp"
#include "loader/attachment/saved_rules.hpp"

namespace olaf {
namespace {

/// A rule of the file, read as the command line that it is a part of.
Result<ClusterOptions> read_rule(const std::string &device, const std::string &rule) {
    std::vector<std::string> words{"olaf", "cluster", "set", device};
    std::istringstream text(rule);
    words.insert(words.end(), std::istream_iterator<std::string>(text), {});
    std::vector<const char *> argv;
    for (const auto &word : words)
        argv.push_back(word.c_str());
    auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
    if (auto *line = std::get_if<CommandLine>(&parsed))
        if (auto *options = std::get_if<ClusterOptions>(&line->command))
            return std::move(*options);
    const auto *farewell = std::get_if<Farewell>(&parsed);
    auto why = farewell != nullptr && farewell->status != 0 ? farewell->text : "it is no rule";
    why = why.substr(why.starts_with("olaf: ") ? 6 : 0);
    return fail("read the rule", "'" + rule + "' of " + saved_path(device), 0, "",
                why.substr(0, why.find('\n')));
}

} // namespace

Result<void> restore_clusters(const std::string &device) {
    const auto rules = saved_rules(device);
    if (!rules)
        return std::unexpected(rules.error());
    std::vector<ClusterOptions> all; // read before the first is set
    for (const auto &rule : *rules) {
        auto options = read_rule(device, rule);
        if (!options)
            return std::unexpected(options.error());
        all.push_back(std::move(*options));
    }
    for (const auto &options : all)
        if (auto set = change_clusters(options); !set)
            return set;
    return {};
}

} // namespace olaf
