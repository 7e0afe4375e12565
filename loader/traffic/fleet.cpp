// SPDX-License-Identifier: BSD-2-Clause
#include "fleet.hpp"

#include <olaf/clock.hpp>
#include <olaf/message.hpp>
#include <olaf/segments.hpp>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>

#include "book.hpp"
#include "loader/host/clock.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint64_t interrupted = ~std::uint64_t{0};

/// Ethernet, IP and UDP.
std::size_t header_bytes(bool ipv6) {
    return 14 + (ipv6 ? 40 : 20) + 8;
}

Format format_by_name(const std::string &text) {
    for (const auto format : {Format::i16x4, Format::i64x1})
        if (text == name(format))
            return format;
    return Format::i32x2;
}

/// As many sockets as the system lets this process have.
void allow_sockets() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> watch(int epoll, int fd, std::uint64_t what) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = what}};
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return fail("wait for", "answers", errno);
    return {};
}

/// What a push failed with, in the words of the command line.
std::unexpected<Error> not_pushed(Error error) {
    if (error.code == EMSGSIZE)
        error.hint = "give fewer --lanes: they don't fit the device's MTU";
    error.operation = "send to";
    return std::unexpected(std::move(error));
}

/// The newer of two versions, which wrap.
bool newer(std::uint32_t version, std::uint32_t than) {
    return static_cast<std::int32_t>(version - than) > 0;
}

} // namespace

Result<Fleet> Fleet::make(const SendOptions &options, const Address &server, int interrupt) {
    const auto format = format_by_name(options.format);
    const auto elements = book_elements(format, options.lanes);
    const auto last = book_element(options.first_worker + options.workers - 1);
    if (last >= elements)
        return fail("send to", server.text(), 0, "give more --lanes, or fewer --workers",
                    "updates of " + std::to_string(options.lanes) +
                        " lanes have no room for worker " + std::to_string(last - book_element(0)));
    if (std::uint64_t{options.clusters} * (options.workers + 1) > most_sockets)
        return fail("send to", server.text(), 0, "give fewer --clusters or --workers",
                    "clusters x (workers + 1) may be " + std::to_string(most_sockets));
    Fleet fleet(options, server.is_ipv6());
    allow_sockets();
    fleet.epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!fleet.epoll_)
        return fail("wait for", "answers", errno);
    OLAF_TRY(watch(fleet.epoll_.get(), interrupt, interrupted));
    fleet.gradient_.resize(elements);
    fleet.frame_bytes_ = header_bytes(server.is_ipv6()) + message_size(options.lanes);
    OLAF_TRY(fleet.enlist(server, elements, format));
    return fleet;
}

Result<void> Fleet::enlist(const Address &server, std::size_t elements, Format format) {
    for (std::size_t c = 0; c < options_.clusters; c++) {
        clusters_.push_back({.id = options_.first_cluster + static_cast<std::uint32_t>(c),
                             .sent = std::vector<std::uint64_t>(options_.workers)});
        for (std::size_t w = 0; w <= options_.workers; w++) {
            auto worker = Worker::make(
                {.server = server,
                 .cluster = clusters_.back().id,
                 .worker = options_.first_worker + static_cast<std::uint32_t>(w),
                 .elements = elements,
                 .packing = {.format = format, .scale = book_scale},
                 .mtu = frame_bytes_}); // an update is one frame, whatever the device says to it
            if (!worker)
                return std::unexpected(worker.error());
            OLAF_TRY(watch(epoll_.get(), worker->fd(), members_.size()));
            members_.push_back({.worker = std::move(*worker), .cluster = c, .number = w});
        }
    }
    return {};
}

Result<void> Fleet::ask() {
    for (auto &member : members_) {
        if (member.number != options_.workers)
            continue;
        const auto sum = summed(clusters_[member.cluster]);
        if (sum.received >= sum.sent && !clusters_[member.cluster].book.empty())
            continue;
        const auto &cluster = clusters_[member.cluster];
        auto asked = member.worker.push(gradient_, 0, cluster.newest_version);
        if (!asked)
            return not_pushed(asked.error());
        // An update makes a cluster, and goes the way of updates, be it to an upstream server. But
        // where the cluster is there with another size, only this is answered.
        if (cluster.book.empty() && member.worker.stats().updates > 1)
            OLAF_TRY(member.worker.join());
    }
    return {};
}

Result<void> Fleet::push() {
    // Members stand by cluster; turns go across clusters.
    const auto c = turn_ % clusters_.size();
    const auto w = turn_ / clusters_.size() % options_.workers;
    turn_++;
    auto &cluster = clusters_[c];
    auto &worker = members_[c * (options_.workers + 1) + w].worker;
    const auto element = book_element(options_.first_worker + static_cast<std::uint32_t>(w));
    gradient_[element] = 1;
    const auto pushed = worker.push(gradient_, 0, cluster.newest_version - options_.lag);
    gradient_[element] = 0;
    if (!pushed)
        return not_pushed(pushed.error());
    if (pushed->unsent != 0) {
        cluster.unsent++;
        return {};
    }
    cluster.sent[w]++;
    sent_++;
    if (waiting_since_ == 0)
        waiting_since_ = monotonic_ns();
    return {};
}

Result<bool> Fleet::hear(std::uint64_t deadline_ns) {
    std::array<epoll_event, 64> events{};
    for (;;) {
        const auto now = monotonic_ns();
        const auto left = deadline_ns > now ? deadline_ns - now : 0;
        const timespec time{.tv_sec = static_cast<time_t>(left / 1'000'000'000),
                            .tv_nsec = static_cast<long>(left % 1'000'000'000)};
        const int ready =
            ::epoll_pwait2(epoll_.get(), events.data(), events.size(), &time, nullptr);
        if (ready < 0 && errno != EINTR)
            return fail("wait for", "answers", errno);
        for (int i = 0; i < ready; i++) {
            if (events[static_cast<std::size_t>(i)].data.u64 == interrupted)
                return true;
            OLAF_TRY(take(members_[events[static_cast<std::size_t>(i)].data.u64]));
        }
        if (left == 0 || ready > 0)
            return false;
    }
}

Result<void> Fleet::take(Member &member) {
    OLAF_TRY(member.worker.poll());
    if (member.worker.stats().acks != member.acks)
        OLAF_TRY(note(member, clusters_[member.cluster]));
    member.version = member.worker.model_version();
    member.acks = member.worker.stats().acks;
    member.answered = member.worker.report().answered;
    return {};
}

Result<void> Fleet::note(const Member &member, Cluster &cluster) {
    const auto &worker = member.worker;
    if (member.acks != 0 && newer(member.version, worker.model_version()))
        return fail("send to", options_.server, 0, "start again", "the server was started anew");
    answers_++;
    waiting_since_ = 0;
    if (worker.has_weights() &&
        (cluster.book.empty() || newer(worker.model_version(), cluster.newest_version))) {
        cluster.newest_version = worker.model_version();
        cluster.book.assign(worker.weights().begin(), worker.weights().end());
    }
    if (!measuring_)
        return {};
    cluster.aom.deliver(worker.feedback().received_ns, worker.feedback().generated_ns);
    const auto report = worker.report();
    if (report.answered == member.answered || member.number == options_.workers)
        return {};
    cluster.round_trip.add(report.round_trip_ns);
    cluster.version_lag.add(report.version_lag);
    round_trip_.add(report.round_trip_ns);
    return {};
}

Result<bool> Fleet::greeted() {
    bool all = true;
    for (const auto &member : members_) {
        if (member.number != options_.workers)
            continue;
        const auto &cluster = clusters_[member.cluster];
        const auto object = options_.server + " cluster " + std::to_string(cluster.id);
        if (member.worker.stats().rejected.total() != 0)
            return fail("send to", object, 0,
                        "give another --first-cluster, or start the receiver anew",
                        "its model there has another size");
        if (!cluster.book.empty() && !is_book(cluster.book))
            return fail("send to", object, 0, "run `olaf receive` there",
                        "a parameter server answers whose model isn't ours to train");
        all &= !cluster.book.empty();
    }
    return all;
}

void Fleet::start() {
    for (auto &cluster : clusters_) {
        cluster.first_book = cluster.book;
        cluster.first_version = cluster.newest_version;
    }
    measuring_ = true;
}

void Fleet::stop() {
    measuring_ = false;
    stopped_ns_ = tai_now_ns();
}

std::uint32_t Fleet::arrived(const Cluster &cluster, std::size_t element) const {
    if (cluster.first_book.empty())
        return 0;
    return book_entry(cluster.book, element) - book_entry(cluster.first_book, element);
}

SentCluster Fleet::summed(const Cluster &cluster) const {
    SentCluster sum{.cluster = cluster.id, .unsent = cluster.unsent};
    const auto first = book_element(options_.first_worker);
    for (std::size_t e = book_element(0); e < cluster.book.size(); e++) {
        const auto count = arrived(cluster, e);
        if (e < first || e - first >= cluster.sent.size()) {
            sum.others += count;
            continue;
        }
        const auto sent = cluster.sent[e - first];
        sum.sent += sent;
        // A worker of another sender has our number, or the server began anew.
        sum.received += std::min<std::uint64_t>(count, sent);
        sum.others += count > sent ? count - sent : 0;
    }
    if (sum.others == 0)
        sum.messages = cluster.newest_version - cluster.first_version;
    sum.round_trip_ns = cluster.round_trip;
    sum.version_lag = cluster.version_lag;
    return sum;
}

std::optional<std::size_t> Fleet::lanes_of_way() const {
    for (const auto &member : members_)
        if (const auto mtu = member.worker.report().way_mtu; mtu != 0)
            return lanes_in_mtu(mtu, ipv6_);
    return std::nullopt;
}

std::uint64_t Fleet::received() const {
    std::uint64_t count = 0;
    for (const auto &cluster : clusters_)
        count += summed(cluster).received;
    return count;
}

std::vector<SentCluster> Fleet::clusters() const {
    std::vector<SentCluster> found;
    for (const auto &cluster : clusters_) {
        found.push_back(summed(cluster));
        found.back().aom = age_of_model(cluster.aom, stopped_ns_);
    }
    return found;
}

} // namespace olaf
