// SPDX-License-Identifier: BSD-2-Clause
// olaf: the command. Exit status 0 done, 1 failed, 2 wrong usage.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "cli.hpp"
#include "fleet.hpp"
#include "loader/attachment/teardown.hpp"
#include "loader/host/bpf_log.hpp"
#include "loader/host/netns.hpp"
#include "loader/host/notes.hpp"
#include "olaf/try.hpp"
#include "print.hpp"
#include "restore.hpp"
#include "traffic.hpp"

namespace {

using namespace olaf;

struct Run {
    const GlobalOptions &global;
    Result<bool> operator()(const AttachOptions &options) const {
        // libbpf reads the kernel's BTF, 5 to 10 MB, for each object that asks it: into the same memory again.
        ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
        ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
        return options.dry_run ? printed(plan_attach(options)) : printed(attach(options));
    }
    Result<bool> operator()(DetachOptions options) const {
        options.verbose = global.verbose;
        return swept(printed(detach(options)));
    }
    Result<bool> operator()(const ResetOptions &options) const {
        return swept(printed(reset(options)));
    }
    Result<bool> operator()(const StatusOptions &options) const {
        if (options.interval_ns)
            return rates(options);
        if (options.all)
            return printed(status_everywhere(), options.clusters);
        if (options.device.empty())
            return printed(status_of_all(), options.clusters);
        const auto one = status(options.device);
        const auto shown = printed(one, options.clusters);
        if (shown && !one->attachment.alive)
            return std::unexpected(live_attachment(options.device).error());
        return shown;
    }
    Result<bool> operator()(const ClusterOptions &options) const {
        if (options.action == ClusterOptions::Action::list)
            return printed(list_clusters(options));
        return swept(done(change_clusters(options)));
    }
    Result<bool> operator()(const RestoreOptions &options) const {
        return swept(done(restore_clusters(options.device)));
    }
    Result<bool> operator()(const JobOptions &options) const {
        if (options.action == JobOptions::Action::list)
            return printed(list_jobs(options));
        if (options.action == JobOptions::Action::restore)
            return swept(done(restore_jobs(options.device)));
        return swept(done(change_job(options)));
    }
    Result<bool> operator()(const TraceOptions &options) const {
        ignore_broken_pipes();
        const auto output =
            options.pcap.empty() ? trace_lines(stdout, global.json) : trace_packets(options.pcap);
        return done(trace(options, *output));
    }
    Result<bool> operator()(const TopOptions &options) const {
        ignore_broken_pipes();
        return done(global.json ? watch(options, STDOUT_FILENO, print_line) : top(options));
    }
    Result<bool> operator()(ReportOptions options) const {
        ignore_broken_pipes();
        options.verbose = !global.json;
        return printed(report(options), options);
    }
    Result<bool> operator()(const ServeOptions &options) const {
        ignore_broken_pipes();
        return done(serve(options, [&](const std::string &url) { print_url(url, global.json); }));
    }
    Result<bool> operator()(const DoctorOptions &options) const {
        const auto checks = doctor(options);
        const auto shown = printed(checks);
        return shown ? Result<bool>(fit_to_attach(*checks)) : shown;
    }
    Result<bool> operator()(MeterOptions options) const {
        options.verbose = global.verbose;
        return done(meter(options, [&](const Meter::Reading &reading, std::uint64_t started_ns) {
            print(options, reading, started_ns, global.json);
        }));
    }
    Result<bool> operator()(const SendOptions &options) const {
        const auto summary = send_updates(options, send_watcher(global));
        const auto shown = printed(summary);
        return shown && summary->failure ? std::unexpected(*summary->failure) : shown;
    }
    Result<bool> operator()(const ReceiveOptions &options) const {
        return printed(receive_updates(options, receive_watcher(global)));
    }
    Result<bool> operator()(PlanOptions options) const {
        options.json = global.json;
        return std::unexpected(become_fleet_program("olaf-plan", options));
    }
    Result<bool> operator()(AdmitOptions options) const {
        options.json = global.json;
        return std::unexpected(become_fleet_program("olaf-admit", options));
    }

  private:
    [[nodiscard]] Result<bool> rates(const StatusOptions &options) const {
        ignore_broken_pipes();
        std::uint32_t number = 0;
        return done(watch({.device = options.device,
                           .interval_ns = *options.interval_ns,
                           .sort = "",
                           .first_ns = *options.interval_ns},
                          STDOUT_FILENO, [&](const Reading &reading, const Rows &rows) {
                              const bool read = global.json ? print_line(reading, rows)
                                                            : print_rates(reading, rows, number);
                              ++number;
                              return read && (!options.count || number < *options.count);
                          }));
    }
    /// Commands that write for as long as they run see that nobody reads any more, and end in
    /// order.
    static void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }
    /// Whatever command changes something also clears what a vanished namespace left.
    static Result<bool> swept(Result<bool> result) {
        if (result)
            sweep_stale();
        return result;
    }
    template <class T, class... How>
    Result<bool> printed(const Result<T> &result, const How &...how) const {
        if (!result)
            return std::unexpected(result.error());
        print(*result, how..., global.json);
        return true;
    }
    static Result<bool> done(const Result<void> &result) {
        if (!result)
            return std::unexpected(result.error());
        return true;
    }
};

Result<bool> run(const CommandLine &line) {
    capture_bpf_log(line.global.verbose);
    set_note_handler([](const std::string &text) { fmt::print(stderr, "{}\n", text); });
    if (!line.global.netns.empty())
        OLAF_TRY(enter_netns(line.global.netns));
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
