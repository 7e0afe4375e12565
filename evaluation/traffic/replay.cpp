// SPDX-License-Identifier: BSD-2-Clause
#include "replay.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <queue>
#include <random>

#include <olaf/clock.hpp>
#include <olaf/message.hpp>

#include "counted.hpp"

namespace olaf::evaluation {
namespace {

constexpr std::size_t batch = 32;

std::int64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

class Replay {
  public:
    Replay(const std::vector<Moment> &trace, const ReplayOptions &options)
        : trace_(trace), options_(options), frames_(batch), parts_(batch), headers_(batch) {}
    ~Replay() {
        if (socket_ >= 0)
            ::close(socket_);
    }
    Replay(const Replay &) = delete;
    Replay &operator=(const Replay &) = delete;

    Result<void> open();
    Result<ReplaySummary> run();

  private:
    struct Worker {
        std::uint32_t sequence = 0;
        std::uint64_t arrived = 0;              ///< as the server told last
        std::deque<std::uint32_t> pending = {}; ///< sequences not known to have arrived
    };
    struct Deadline {
        std::int64_t at_ns;
        std::uint64_t worker; ///< its key
        std::uint32_t sequence;
        bool operator>(const Deadline &other) const { return at_ns > other.at_ns; }
    };
    static std::uint64_t key(std::uint32_t cluster, std::uint32_t worker) {
        return std::uint64_t{cluster} << 32 | worker;
    }

    /// Give or take a quarter: what was lost together isn't to come again together.
    std::int64_t patience() {
        std::uniform_real_distribution<double> around(0.75, 1.25);
        return static_cast<std::int64_t>(static_cast<double>(options_.send_again_ns) *
                                         around(random_));
    }
    void add(std::uint32_t cluster, std::uint32_t worker, std::uint32_t sequence);
    Result<std::size_t> flush();
    Result<std::size_t> send_due(std::int64_t now);
    Result<void> send_again(std::int64_t now);
    Result<void> hear();
    void take(std::span<const std::byte> message, std::span<const std::uint64_t> lanes);
    void arrived(Worker &worker, std::uint64_t count);
    Result<void> wait(std::int64_t until);
    Result<void> flood();

    const std::vector<Moment> &trace_;
    const ReplayOptions &options_;
    int socket_ = -1;
    std::vector<Frame> frames_;
    std::vector<iovec> parts_;
    std::vector<mmsghdr> headers_;
    std::size_t filled_ = 0, next_ = 0;
    std::map<std::uint64_t, Worker> workers_;
    std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_;
    std::uint64_t pending_ = 0;
    std::int64_t start_ = 0;
    double late_sum_ = 0;
    std::minstd_rand random_; ///< the same in every run
    ReplaySummary summary_;
};

Result<void> Replay::open() {
    socket_ = ::socket(options_.server.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0)
        return fail("open", "a UDP socket", errno);
    const int room = 16 << 20;
    if (::setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0 ||
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) != 0)
        return fail("enlarge the buffers of", "a UDP socket", errno, "run as root");
    if (::connect(socket_, options_.server.data(), options_.server.size()) != 0)
        return fail("send to", options_.server.text(), errno);
    for (std::size_t i = 0; i < batch; i++) {
        parts_[i] = {.iov_base = &frames_[i], .iov_len = message_size(options_.lanes)};
        headers_[i] = {};
        headers_[i].msg_hdr.msg_iov = &parts_[i];
        headers_[i].msg_hdr.msg_iovlen = 1;
    }
    // An update is to leave when it is due, not 50 us later.
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    return {};
}

void Replay::add(std::uint32_t cluster, std::uint32_t worker, std::uint32_t sequence) {
    auto &frame = frames_[filled_++];
    frame.header = encode(Update{.cluster = cluster,
                                 .worker = worker,
                                 .sequence = sequence,
                                 .generated_ns = tai_now_ns(),
                                 .lanes = static_cast<std::uint16_t>(options_.lanes)});
    write_one({frame.lanes, options_.lanes}, worker);
}

/// Hands the batch to the kernel. Returns how many it took.
Result<std::size_t> Replay::flush() {
    std::size_t taken = 0;
    while (taken < filled_) {
        const int sent =
            ::sendmmsg(socket_, &headers_[taken], static_cast<unsigned>(filled_ - taken), 0);
        if (sent > 0) {
            taken += static_cast<std::size_t>(sent);
            continue;
        }
        // Nobody listening there yet is told by ICMP, and is no failure of this update.
        if (errno == ECONNREFUSED || errno == EINTR)
            continue;
        if (errno != ENOBUFS && errno != EAGAIN)
            return fail("send to", options_.server.text(), errno);
        summary_.unsent += filled_ - taken;
        break;
    }
    filled_ = 0;
    return taken;
}

Result<std::size_t> Replay::send_due(std::int64_t now) {
    while (next_ < trace_.size() && filled_ < batch && start_ + trace_[next_].at_ns <= now) {
        const auto &moment = trace_[next_++];
        const auto id = key(moment.cluster, moment.worker);
        auto &worker = workers_[id];
        const auto late = now - start_ - moment.at_ns;
        summary_.latest_ns = std::max(summary_.latest_ns, late);
        late_sum_ += static_cast<double>(late);
        if (options_.send_again_ns != 0) {
            worker.pending.push_back(worker.sequence);
            deadlines_.push({now + patience(), id, worker.sequence});
            pending_++;
        }
        add(moment.cluster, moment.worker, worker.sequence++);
    }
    const auto taken = flush();
    summary_.sent += taken.value_or(0);
    return taken;
}

Result<void> Replay::send_again(std::int64_t now) {
    while (!deadlines_.empty() && deadlines_.top().at_ns <= now && filled_ < batch) {
        const auto [at, id, sequence] = deadlines_.top();
        deadlines_.pop();
        const auto &pending = workers_[id].pending;
        if (std::ranges::find(pending, sequence) == pending.end())
            continue;
        deadlines_.push({now + patience(), id, sequence});
        add(static_cast<std::uint32_t>(id >> 32), static_cast<std::uint32_t>(id), sequence);
    }
    const auto taken = flush();
    if (!taken)
        return std::unexpected(taken.error());
    summary_.again += *taken;
    return {};
}

/// So many more of a worker's have arrived. Which ones an aggregate doesn't tell: the oldest.
void Replay::arrived(Worker &worker, std::uint64_t count) {
    for (; count > 0 && !worker.pending.empty(); count--, pending_--)
        worker.pending.pop_front();
}

void Replay::take(std::span<const std::byte> message, std::span<const std::uint64_t> lanes) {
    const auto ack = decode_ack(message);
    if (!ack || ack->lanes == 0)
        return;
    for (std::uint32_t w = 0; w < 2 * ack->data_lanes(); w++) {
        const auto found = workers_.find(key(ack->cluster, w));
        if (found == workers_.end())
            continue;
        auto &worker = found->second;
        const auto sum = read_sum(lanes, w);
        if (sum <= worker.arrived)
            continue;
        auto more = sum - worker.arrived;
        worker.arrived = sum;
        // The one that the answer names is known to be there.
        if (const auto named = std::ranges::find(worker.pending, ack->sequence);
            w == ack->worker && named != worker.pending.end()) {
            worker.pending.erase(named);
            pending_--;
            more--;
        }
        arrived(worker, more);
    }
}

Result<void> Replay::hear() {
    Frame frame;
    for (;;) {
        const auto size = ::recv(socket_, &frame, sizeof(frame), MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return {};
        if (size < 0 && errno != ECONNREFUSED)
            return fail("receive from", options_.server.text(), errno);
        if (size >= static_cast<ssize_t>(sizeof(olaf_header)))
            take(frame.bytes(static_cast<std::size_t>(size)), frame.lanes);
    }
}

Result<void> Replay::wait(std::int64_t until) {
    const auto left = std::max<std::int64_t>(0, until - now_ns());
    const timespec time{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    pollfd wanted{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::ppoll(&wanted, 1, &time, nullptr) < 0 && errno != EINTR)
        return fail("wait for", "answers", errno);
    return wanted.revents == 0 ? Result<void>() : hear();
}

Result<void> Replay::flood() {
    std::vector<std::uint32_t> sequences(trace_.size());
    while (summary_.sent + summary_.unsent < options_.flood) {
        for (; filled_ < batch; next_ = (next_ + 1) % trace_.size())
            add(trace_[next_].cluster, trace_[next_].worker, sequences[next_]++);
        const auto taken = flush();
        if (!taken)
            return std::unexpected(taken.error());
        summary_.sent += *taken;
    }
    return {};
}

Result<ReplaySummary> Replay::run() {
    start_ = now_ns();
    if (options_.flood != 0) {
        if (auto flooded = flood(); !flooded)
            return std::unexpected(flooded.error());
        summary_.lasted_ns = now_ns() - start_;
        return summary_;
    }
    const auto limit = options_.limit_ns == 0 ? INT64_MAX : start_ + options_.limit_ns;
    const auto done = [&] { return next_ == trace_.size() && pending_ == 0; };
    for (auto now = start_; !done() && now < limit; now = now_ns()) {
        if (auto sent = send_due(now); !sent)
            return std::unexpected(sent.error());
        if (auto sent = send_again(now); !sent)
            return std::unexpected(sent.error());
        if (done())
            break; // nothing would end the wait
        auto until = next_ < trace_.size() ? start_ + trace_[next_].at_ns : limit;
        if (!deadlines_.empty())
            until = std::min(until, deadlines_.top().at_ns);
        if (auto waited = wait(std::min(until, limit)); !waited)
            return std::unexpected(waited.error());
    }
    summary_.lasted_ns = now_ns() - start_;
    summary_.missing = pending_;
    summary_.late_mean_ns = late_sum_ / static_cast<double>(std::max<std::size_t>(1, next_));
    return summary_;
}

} // namespace

Result<ReplaySummary> replay(const std::vector<Moment> &trace, const ReplayOptions &options) {
    for (const auto &moment : trace)
        if (moment.worker >= most_workers(options.lanes))
            return fail("replay", "worker " + std::to_string(moment.worker), 0,
                        "give more --lanes");
    Replay playing(trace, options);
    if (auto opened = playing.open(); !opened)
        return std::unexpected(opened.error());
    return playing.run();
}

} // namespace olaf::evaluation
