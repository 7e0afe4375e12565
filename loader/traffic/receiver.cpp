// SPDX-License-Identifier: BSD-2-Clause
#include "receiver.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <limits>
#include <map>

#include <olaf/clock.hpp>
#include <olaf/parameter_server.hpp>

#include "book.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/signals.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

/// What is kept of a cluster besides its model.
struct Account {
    std::uint64_t messages = 0, updates = 0, worst_lag = 0;
    AomMeter aom;
    std::int64_t last_ns = 0, youngest_ns = 0; ///< CLOCK_TAI
};

class Receiving {
  public:
    Receiving(const ReceiveOptions &options, const ReceiveWatcher &watcher)
        : options_(options), watcher_(watcher) {}

    Result<void> open();
    Result<void> run(const Signals &signals);
    [[nodiscard]] ReceiveSummary summary() const;

  private:
    Result<Address> address() const;
    std::optional<ClusterSettings> admit(const Update &first);
    bool enter(std::uint32_t cluster, const Contribution &contribution, std::span<float> weights);
    [[nodiscard]] std::uint64_t deadline(std::uint64_t opened) const;
    void tell(std::uint64_t now);

    const ReceiveOptions &options_;
    const ReceiveWatcher &watcher_;
    std::optional<ParameterServer> server_;
    std::string bound_;
    std::map<std::uint32_t, Account> accounts_;
    std::uint64_t messages_ = 0, updates_ = 0;
    std::uint64_t first_ns_ = 0, last_ns_ = 0; ///< updates' arrival, CLOCK_MONOTONIC; 0: none
    std::uint64_t told_ns_ = 0, told_messages_ = 0, told_updates_ = 0;
};

Result<Address> Receiving::address() const {
    const auto port = static_cast<std::uint16_t>(options_.port);
    if (!options_.bind.empty())
        return Address::resolve(options_.bind, port);
    return Address::resolve("::", port);
}

Result<void> Receiving::open() {
    auto bind = OLAF_TRY(address());
    const auto make = [&](const Address &at) {
        return ParameterServer::make(
            {.bind = at, .mtu = options_.mtu, .admit = [this](const Update &first) {
                 return admit(first);
             }});
    };
    auto server = make(bind);
    // A host may have no IPv6 at all.
    if (!server && options_.bind.empty() && server.error().code == EAFNOSUPPORT) {
        bind = OLAF_TRY(Address::resolve("0.0.0.0", bind.port()));
        server = make(bind);
    }
    if (!server) {
        auto error = server.error();
        error.operation = "receive on";
        error.object = bind.text();
        if (error.code == EADDRINUSE)
            error.hint =
                "end the other parameter server, or give another --port here and to `olaf send`";
        else if (error.code == EADDRNOTAVAIL)
            error.hint = "give --bind an address of this host";
        return std::unexpected(error);
    }
    server_ = std::move(*server);
    const auto local = OLAF_TRY(server_->local_address());
    bound_ = local.text();
    return {};
}

/// A cluster is as its first update is.
std::optional<ClusterSettings> Receiving::admit(const Update &first) {
    if (first.segments != 1 || first.lanes < 2 || !first.has_checksum ||
        accounts_.size() >= options_.max_clusters)
        return std::nullopt;
    accounts_.try_emplace(first.cluster);
    return ClusterSettings{.weights = empty_book(book_elements(first.format, first.lanes)),
                           .scale = book_scale,
                           .max_count = OLAF_LIMIT_MAX_COUNT,
                           .rule = [this, id = first.cluster](const Contribution &contribution,
                                                              std::span<float> weights) {
                               return enter(id, contribution, weights);
                           }};
}

bool Receiving::enter(std::uint32_t cluster, const Contribution &contribution,
                      std::span<float> weights) {
    auto &account = accounts_[cluster];
    const auto updates = enter_into_book(contribution, weights);
    if (updates == 0)
        return false;
    const auto now = tai_now_ns();
    const auto age = now - contribution.generated_ns;
    account.youngest_ns = account.messages == 0 ? age : std::min(account.youngest_ns, age);
    const auto lag = static_cast<std::int32_t>(server_->cluster(cluster)->version() -
                                               contribution.model_version);
    account.worst_lag = std::max(account.worst_lag, static_cast<std::uint64_t>(std::max(lag, 0)));
    account.aom.deliver(now, contribution.generated_ns);
    account.last_ns = now;
    account.messages++;
    account.updates += updates;
    messages_++;
    updates_ += updates;
    last_ns_ = monotonic_ns();
    if (first_ns_ == 0)
        first_ns_ = told_ns_ = last_ns_;
    return true;
}

std::uint64_t Receiving::deadline(std::uint64_t opened) const {
    auto until = options_.for_ns ? opened + *options_.for_ns : never;
    if (options_.idle_ns && last_ns_ != 0)
        until = std::min(until, last_ns_ + *options_.idle_ns);
    return until;
}

void Receiving::tell(std::uint64_t now) {
    if (messages_ != told_messages_)
        watcher_.progress({.at_ns = now - first_ns_,
                           .lasted_ns = now - told_ns_,
                           .messages = messages_ - told_messages_,
                           .updates = updates_ - told_updates_,
                           .clusters = accounts_.size()});
    told_ns_ = now;
    told_messages_ = messages_;
    told_updates_ = updates_;
}

Result<void> Receiving::run(const Signals &signals) {
    watcher_.listening(bound_);
    const auto opened = monotonic_ns();
    for (;;) {
        const auto now = monotonic_ns();
        const auto until = deadline(opened);
        if (now >= until)
            return {};
        if (first_ns_ != 0 && now >= told_ns_ + second)
            tell(now);
        const auto left = std::min(until, first_ns_ == 0 ? never : told_ns_ + second) - now;
        const timespec time{.tv_sec = static_cast<time_t>(std::min(left / second, 86'400ul)),
                            .tv_nsec = static_cast<long>(left % second)};
        pollfd wanted[] = {{.fd = server_->fd(), .events = POLLIN, .revents = 0},
                           {.fd = signals.fd(), .events = POLLIN, .revents = 0}};
        if (::ppoll(wanted, 2, &time, nullptr) < 0 && errno != EINTR)
            return fail("wait for", "updates", errno);
        if (wanted[1].revents != 0)
            return {};
        OLAF_TRY(server_->receive(std::chrono::nanoseconds(0)));
    }
}

ReceiveSummary Receiving::summary() const {
    const auto stats = server_->stats();
    ReceiveSummary found{.bound = bound_,
                         .measured_ns = last_ns_ - first_ns_,
                         .messages = messages_,
                         .updates = updates_,
                         .answers = stats.acks_sent,
                         .answers_unsent = stats.acks_unsent,
                         .refused = stats.rejected};
    for (const auto &[id, account] : accounts_) {
        const auto *cluster = server_->cluster(id);
        if (cluster == nullptr || account.messages == 0)
            continue;
        const auto weights = cluster->weights();
        std::uint32_t workers = 0;
        for (std::size_t e = book_element(0); e < weights.size(); e++)
            workers += book_entry(weights, e) != 0 ? 1 : 0;
        found.clusters.push_back({.cluster = id,
                                  .elements = weights.size(),
                                  .messages = account.messages,
                                  .updates = account.updates,
                                  .workers = workers,
                                  .worst_lag = account.worst_lag,
                                  .aom = age_of_model(account.aom, account.last_ns),
                                  .youngest_ns = account.youngest_ns});
    }
    return found;
}

} // namespace

Result<ReceiveSummary> receive_updates(const ReceiveOptions &options,
                                       const ReceiveWatcher &watcher) {
    const auto signals = OLAF_TRY(Signals::hold({SIGINT, SIGTERM}));
    Receiving receiving(options, watcher);
    OLAF_TRY(receiving.open());
    OLAF_TRY(receiving.run(signals));
    return receiving.summary();
}

} // namespace olaf
