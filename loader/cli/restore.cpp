// SPDX-License-Identifier: BSD-2-Clause
#include "restore.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "cli.hpp"
#include "loader/attachment/saved.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Words of the file, read as the command line that they are a part of.
template <class Options>
Result<Options> read_one(const std::string &device, const char *command, const std::string &line) {
    std::vector<std::string> words{"olaf", command, "set", device};
    std::istringstream text(line);
    words.insert(words.end(), std::istream_iterator<std::string>(text), {});
    std::vector<const char *> argv;
    for (const auto &word : words)
        argv.push_back(word.c_str());
    auto parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
    if (auto *good = std::get_if<CommandLine>(&parsed))
        if (auto *options = std::get_if<Options>(&good->command))
            return std::move(*options);
    const auto *farewell = std::get_if<Farewell>(&parsed);
    auto why = farewell != nullptr && farewell->status != 0 ? farewell->text : "it is none";
    why = why.substr(why.starts_with("olaf: ") ? 6 : 0);
    return fail(std::string("read the ") + command, "'" + line + "' of " + saved_path(device), 0,
                "", why.substr(0, why.find('\n')));
}

/// All of them, before the first is set.
template <class Options>
Result<std::vector<Options>> read_all(const std::string &device, const char *command,
                                      std::string_view key) {
    const auto lines = OLAF_TRY(saved_list(device, key));
    std::vector<Options> all;
    for (const auto &line : lines) {
        auto options = OLAF_TRY(read_one<Options>(device, command, line));
        all.push_back(std::move(options));
    }
    return all;
}

} // namespace

Result<void> restore_clusters(const std::string &device) {
    const auto all = OLAF_TRY(read_all<ClusterOptions>(device, "cluster", clusters_key));
    for (const auto &options : all)
        OLAF_TRY(change_clusters(options));
    return {};
}

Result<void> restore_jobs(const std::string &device) {
    const auto all = OLAF_TRY(read_all<JobOptions>(device, "job", jobs_key));
    if (all.empty())
        return {};
    JobOptions every;
    every.device = device;
    const auto there = OLAF_TRY(list_jobs(every));
    Result<void> first; // one that can't be set yet keeps no other back
    for (const auto &options : all) {
        if (std::ranges::find(there.jobs, options.job.value_or(0), &JobReading::id) !=
            there.jobs.end())
            continue;
        if (const auto set = change_job(options); !set && first)
            first = std::unexpected(set.error());
    }
    return first;
}

} // namespace olaf
