// SPDX-License-Identifier: BSD-2-Clause
// olaf: the command. Exit status 0 done, 1 failed, 2 wrong usage.
#include <fmt/format.h>

#include <cerrno>

#include "cli.hpp"
#include "loader/attachment/teardown.hpp"
#include "loader/host/bpf_log.hpp"
#include "loader/host/netns.hpp"

namespace {

using namespace olaf;

struct Run {
    const GlobalOptions &global;
    Result<bool> operator()(const AttachOptions &options) const {
        return done(attach(options, global));
    }
    Result<bool> operator()(const DetachOptions &options) const {
        return swept(done(detach(options, global)));
    }
    Result<bool> operator()(const StatusOptions &options) const {
        return done(status(options, global));
    }
    Result<bool> operator()(const ClusterOptions &options) const {
        auto result = done(cluster(options, global));
        return options.action == ClusterOptions::Action::list ? result : swept(std::move(result));
    }
    Result<bool> operator()(const TraceOptions &options) const {
        return done(trace(options, global));
    }
    Result<bool> operator()(const TopOptions &options) const { return done(top(options, global)); }
    Result<bool> operator()(const ReportOptions &options) const {
        return done(report(options, global));
    }
    Result<bool> operator()(const ServeOptions &options) const {
        return done(serve(options, global));
    }
    Result<bool> operator()(const DoctorOptions &options) const { return doctor(options, global); }
    Result<bool> operator()(const MeterOptions &options) const {
        return done(meter(options, global));
    }

  private:
    /// Whatever command changes something also clears what a vanished namespace left.
    static Result<bool> swept(Result<bool> result) {
        if (result)
            sweep_stale();
        return result;
    }
    static Result<bool> done(const Result<void> &result) {
        if (!result)
            return std::unexpected(result.error());
        return true;
    }
};

Result<bool> run(const CommandLine &line) {
    capture_bpf_log(line.global.verbose);
    if (!line.global.netns.empty())
        if (auto entered = enter_netns(line.global.netns); !entered)
            return std::unexpected(entered.error());
    return std::visit(Run{line.global}, line.command);
}

} // namespace

int main(int argc, char **argv) {
    const auto parsed = parse_command_line(argc, argv);
    if (const auto *farewell = std::get_if<Farewell>(&parsed)) {
        fmt::print(farewell->status == 0 ? stdout : stderr, "{}", farewell->text);
        return farewell->status;
    }
    const auto result = run(std::get<CommandLine>(parsed));
    if (!result) {
        // A refused program: the verifier's words, before the line that sums up.
        const auto &error = result.error();
        if (error.operation == "load" && (error.code == EINVAL || error.code == EACCES))
            fmt::print(stderr, "{}", take_bpf_log());
        fmt::print(stderr, "olaf: {}\n", error.message());
        return 1;
    }
    return *result ? 0 : 1;
}
