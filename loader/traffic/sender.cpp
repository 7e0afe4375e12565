// SPDX-License-Identifier: BSD-2-Clause
#include "sender.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <csignal>

#include "fleet.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/signals.hpp"
#include "loader/text/human.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t ask_again_ns = second / 10;
constexpr std::uint64_t settle_at_most_ns = 10 * second;
constexpr unsigned burst = 32; ///< updates between two looks at answers

/// When the next update is due at a rate. What couldn't be sent in time isn't made up for by more
/// than a burst.
class Pace {
  public:
    Pace(std::uint64_t bps, std::uint64_t frame_bytes, std::uint64_t start_ns)
        : each_ns_(bps == 0
                       ? 0.0
                       : static_cast<double>(frame_bytes * 8) * 1e9 / static_cast<double>(bps)),
          next_ns_(static_cast<double>(start_ns)) {}
    [[nodiscard]] std::uint64_t next_ns() const { return static_cast<std::uint64_t>(next_ns_); }
    void took(std::uint64_t now_ns) {
        next_ns_ = std::max(next_ns_, static_cast<double>(now_ns) - burst * each_ns_) + each_ns_;
    }

  private:
    double each_ns_, next_ns_; ///< a double has nanoseconds for 104 days of uptime
};

class Sending {
  public:
    Sending(const SendOptions &options, const SendWatcher &watcher, const Signals &signals,
            Fleet fleet)
        : options_(options), watcher_(watcher), signals_(signals), fleet_(std::move(fleet)) {}

    /// Until the server has answered for every cluster. True if interrupted.
    Result<bool> greet();
    /// Sends, and waits for what is under way. What fails is in the summary.
    SendSummary finish(const Address &server);

  private:
    Result<void> run();
    Result<void> settle();
    [[nodiscard]] SendSummary summary(const Address &server) const;
    static void add(SentCluster &total, const SentCluster &each);
    Result<bool> burst_until_due(Pace &pace);
    void tell(std::uint64_t now);
    [[nodiscard]] bool sent_enough() const {
        return options_.updates && fleet_.sent() >= *options_.updates;
    }
    [[nodiscard]] Error silent(const std::string &how, std::uint64_t time_ns) const {
        const auto lanes = fleet_.lanes_of_way();
        return fail("send to", options_.server, 0,
                    lanes ? "give at most --lanes " + std::to_string(*lanes) +
                                ": a router on the way says that it carries no longer ones"
                          : "is `olaf receive` running there, and does UDP pass in both directions?",
                    how + " for " + human_duration(static_cast<double>(time_ns)))
            .error();
    }

    const SendOptions &options_;
    const SendWatcher &watcher_;
    const Signals &signals_;
    Fleet fleet_;
    std::uint64_t started_ = 0, ended_ = 0, told_ns_ = 0, told_sent_ = 0;
    bool interrupted_ = false;
    std::optional<Error> failure_; ///< what ended it early
};

Result<bool> Sending::greet() {
    const auto until = monotonic_ns() + options_.patience_ns;
    for (auto now = monotonic_ns(); now < until; now = monotonic_ns()) {
        OLAF_TRY(fleet_.ask());
        for (const auto next = std::min(until, now + ask_again_ns); monotonic_ns() < next;) {
            const auto interrupted = fleet_.hear(next);
            if (!interrupted || *interrupted)
                return interrupted;
            if (OLAF_TRY(fleet_.greeted()))
                return false;
        }
    }
    return std::unexpected(silent(fleet_.answers() == 0 ? "nothing there has answered"
                                                        : "not every cluster was answered",
                                  options_.patience_ns));
}

/// Sends what is due; true when enough was.
Result<bool> Sending::burst_until_due(Pace &pace) {
    for (unsigned i = 0; i < burst; i++) {
        const auto now = monotonic_ns();
        if (now < pace.next_ns())
            return false;
        OLAF_TRY(fleet_.push());
        pace.took(now);
        if (sent_enough())
            return true;
    }
    return false;
}

void Sending::tell(std::uint64_t now) {
    watcher_({.at_ns = now - started_,
              .lasted_ns = now - told_ns_,
              .sent = fleet_.sent() - told_sent_,
              .frame_bytes = fleet_.frame_bytes(),
              .total_sent = fleet_.sent(),
              .total_received = fleet_.received(),
              .round_trip_ns = fleet_.round_trip_ns()});
    told_ns_ = now;
    told_sent_ = fleet_.sent();
}

Result<void> Sending::run() {
    fleet_.start();
    started_ = told_ns_ = monotonic_ns();
    const auto until = started_ + options_.for_ns;
    Pace pace(options_.rate.bps, fleet_.frame_bytes(), started_);
    for (;;) {
        const auto enough = burst_until_due(pace);
        const auto now = ended_ = monotonic_ns();
        if (!enough)
            return std::unexpected(enough.error());
        if (*enough || now >= until)
            return {};
        if (now >= told_ns_ + second)
            tell(now);
        const auto since = fleet_.waiting_since_ns();
        if (since != 0 && now > since + options_.patience_ns)
            return std::unexpected(silent("no update was answered", options_.patience_ns));
        if (OLAF_TRY(fleet_.hear(std::min({pace.next_ns(), until, told_ns_ + second})))) {
            (void)signals_.take();
            interrupted_ = true;
            ended_ = monotonic_ns();
            return {};
        }
    }
}

/// What waits in a queue still arrives: asks until the server has all, or no more comes, or
/// somebody won't wait for it.
Result<void> Sending::settle() {
    const auto start = monotonic_ns();
    const auto answers = fleet_.answers();
    const auto quiet =
        std::clamp(2 * static_cast<std::uint64_t>(fleet_.round_trip_ns().most), second, 5 * second);
    auto changed = start;
    for (auto received = fleet_.received(); received < fleet_.sent();) {
        const auto now = monotonic_ns();
        if (now > changed + quiet || now > start + settle_at_most_ns)
            break;
        OLAF_TRY(fleet_.ask());
        for (const auto next = now + ask_again_ns;
             monotonic_ns() < next && received < fleet_.sent();) {
            const auto interrupted = fleet_.hear(next);
            if (!interrupted || *interrupted)
                return interrupted ? Result<void>() : std::unexpected(interrupted.error());
            if (fleet_.received() != received) {
                received = fleet_.received();
                changed = monotonic_ns();
            }
        }
    }
    if (fleet_.received() < fleet_.sent() && fleet_.answers() == answers)
        return std::unexpected(silent("since the last update nothing has answered", quiet));
    return {};
}

SendSummary Sending::finish(const Address &server) {
    auto ran = run();
    fleet_.stop();
    if (ran)
        ran = settle();
    if (!ran)
        failure_ = ran.error();
    return summary(server);
}

void Sending::add(SentCluster &total, const SentCluster &each) {
    total.sent += each.sent;
    total.unsent += each.unsent;
    total.received += each.received;
    total.others += each.others;
    total.messages = total.messages && each.messages
                         ? std::optional(*total.messages + *each.messages)
                         : std::nullopt;
    total.round_trip_ns.add(each.round_trip_ns);
    total.version_lag.add(each.version_lag);
    total.aom.average_ns += each.aom.average_ns;
    total.aom.peak_mean_ns += each.aom.peak_mean_ns;
    total.aom.peak_highest_ns = std::max(total.aom.peak_highest_ns, each.aom.peak_highest_ns);
    total.aom.peaks += each.aom.peaks;
}

SendSummary Sending::summary(const Address &server) const {
    SendSummary found{.options = options_,
                      .server = server.text(),
                      .ipv6 = server.is_ipv6(),
                      .frame_bytes = fleet_.frame_bytes(),
                      .measured_ns = ended_ - started_,
                      .interrupted = interrupted_,
                      .clusters = fleet_.clusters(),
                      .total = {.messages = 0},
                      .failure = failure_};
    double aged = 0;
    for (const auto &each : found.clusters) {
        add(found.total, each);
        aged += each.aom.peaks > 0 ? 1 : 0;
    }
    if (aged > 0) {
        found.total.aom.average_ns /= aged;
        found.total.aom.peak_mean_ns /= aged;
    }
    return found;
}

} // namespace

Result<SendSummary> send_updates(const SendOptions &options, const SendWatcher &watcher) {
    const auto server = OLAF_TRY(Address::parse(options.server, options.family == 0   ? AF_UNSPEC
                                                                : options.family == 6 ? AF_INET6
                                                                                      : AF_INET));
    const auto signals = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    auto fleet = OLAF_TRY(Fleet::make(options, server, signals.fd()));
    Sending sending(options, watcher, signals, std::move(fleet));
    const auto interrupted = OLAF_TRY(sending.greet());
    if (interrupted)
        return fail("send to", options.server, 0, "", "interrupted before an answer came");
    return sending.finish(server);
}

} // namespace olaf
