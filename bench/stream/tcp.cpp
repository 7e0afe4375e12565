// SPDX-License-Identifier: BSD-2-Clause
// TCP-Agg with its workers and its parameter server. Those are in a namespace of their own, or
// their connections would never leave the host.
#include <chrono>
#include <latch>
#include <optional>
#include <thread>

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/frames.hpp"
#include "contender.hpp"
#include "napi.hpp"
#include "running.hpp"
#include "tcp_stream.hpp"

namespace olaf::bench {

namespace {

using Clock = std::chrono::steady_clock; // CLOCK_MONOTONIC, as bpf_ktime_get_ns()

std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
}

/// Both ends outside, and the aggregator's ends of their connections.
struct Connections {
    std::vector<TcpSocket> workers, taken; ///< a worker's end, the aggregator's
    TcpSocket parent, upstream;            ///< the parameter server's end, the aggregator's
};

/// Segments leave as the frames that a wire would carry; a receiver may merge them, as on a NIC. A
/// queueing discipline (below) lets a full veth hold its sender back, where it would drop.
constexpr const char *no_giants = "ethtool -K gen tso off gso off";

Connections connect(std::uint32_t workers, bool apart) {
    std::latch moved(1), unshared(1);
    std::atomic<pid_t> outside = 0;
    Connections made;
    const auto ours = must(TcpSocket::listen("10.0.0.2", OLAF_DEFAULT_PORT));
    std::optional<TcpSocket> parent;
    std::latch listening(1);
    std::thread thread([&] {
        require(unshare(CLONE_NEWNET) == 0, "tcp: a network namespace; run as root");
        outside = gettid();
        unshared.count_down();
        moved.wait();
        must(shell(std::string("set -e; sysctl -qw net.ipv6.conf.all.disable_ipv6=1; "
                               "ip link set lo up; ip link set gen up; ip link set sink up; "
                               "ip address add 10.0.0.1/24 dev gen; "
                               "ip address add 10.0.1.2/24 dev sink; ethtool -K gen gro on; "
                               "ethtool -K sink gro on; "
                               "tc qdisc replace dev gen root pfifo; ") +
                   no_giants));
        if (apart) {
            must(Napi::make("gen", Setting::traffic_cpu));
            must(Napi::make("sink", Setting::traffic_cpu));
        }
        parent.emplace(must(TcpSocket::listen("10.0.1.2", OLAF_DEFAULT_PORT)));
        listening.count_down();
        for (std::uint32_t i = 0; i < workers; ++i)
            made.workers.push_back(must(TcpSocket::connect("10.0.0.2", OLAF_DEFAULT_PORT)));
        made.parent = must(parent->accept());
    });
    unshared.wait();
    const auto target = std::to_string(outside.load());
    must(shell("ip link set gen netns " + target + " && ip link set sink netns " + target));
    must(shell(
        "set -e; ethtool -K out tso off gso off; ethtool -K dut gro on; ethtool -K out gro on; "
        "tc qdisc replace dev out root pfifo"));
    moved.count_down();
    listening.wait();
    made.upstream = must(TcpSocket::connect("10.0.1.2", OLAF_DEFAULT_PORT));
    for (std::uint32_t i = 0; i < workers; ++i)
        made.taken.push_back(must(ours.accept()));
    thread.join();
    return made;
}

class Tcp final : public Contender {
  public:
    Tcp(const Setting &setting, Connections made)
        : setting_(setting), workers_(std::move(made.workers)), parent_(std::move(made.parent)),
          aggregator_(std::move(made.taken), std::move(made.upstream),
                      Accumulators(setting.clusters, setting.whole_fold(), setting.lanes)),
          reader_(aggregator_.sums().bytes()), latency_(BENCH_BUCKETS) {
        for (std::uint32_t cluster = 0; cluster < setting.clusters; ++cluster) {
            const auto frame = olaf_frame(cluster, 0, setting.lanes);
            messages_.emplace_back(frame.begin() + BENCH_L4_END, frame.end());
        }
        receiving_.run([this] { receive(); }, other_cpu(), 3);
        aggregating_.run([this] { aggregator_.poll(); });
    }

    void start() override {
        next_ns_ = now_ns();
        sending_.emplace();
        sending_->run([this] { send(); }, other_cpu(), 1);
    }
    void stop() override { sending_.reset(); }

    Figures figures() const override {
        Figures figures{.offered = offered_,
                        .taken = aggregator_.sums().received(),
                        .waiting = aggregator_.sums().waiting(),
                        .frames = frames_,
                        .arrived = frames_ * setting_.whole_fold(),
                        .wrong = wrong_};
        figures.departed = figures.taken - figures.waiting;
        for (const auto &worker : workers_)
            figures.repeated += worker.repeated();
        if (setting_.stamped)
            figures.latency = latency_;
        return figures;
    }
    std::uint64_t thread_ns() const override { return aggregating_.ns(); }

  private:
    int other_cpu() const { return setting_.apart ? Setting::traffic_cpu : Setting::contender_cpu; }

    /// One write: the next updates of one worker, or what is due of them.
    void send() {
        std::uint32_t due = setting_.batch;
        if (const auto interval = setting_.interval_ns()) {
            const auto now = now_ns();
            if (now < next_ns_)
                return;
            due = 1;
            next_ns_ += interval;
            if (next_ns_ + 64 * interval < now)
                next_ns_ = now; // what a pause kept back is no burst
        }
        out_.clear();
        for (std::uint32_t i = 0; i < due; ++i) {
            auto &message = messages_[cluster_];
            if (setting_.stamped)
                reinterpret_cast<olaf_header *>(message.data())->generated_ns_be =
                    htobe64(now_ns());
            out_.insert(out_.end(), message.begin(), message.end());
            cluster_ = (cluster_ + 1) % setting_.clusters;
        }
        if (workers_[worker_].send(out_.data(), out_.size(), due == 1 ? MSG_EOR : 0))
            offered_ += due;
        worker_ = (worker_ + 1) % workers_.size();
    }

    void receive() {
        pollfd wait{.fd = parent_.fd(), .events = POLLIN, .revents = 0};
        if (poll(&wait, 1, 20) <= 0)
            return;
        reader_.read(parent_.fd(), 0, [this](const std::uint8_t *bytes) {
            olaf_header header;
            std::memcpy(&header, bytes, sizeof header);
            ++frames_;
            if (!exact(header, bytes + sizeof header))
                ++wrong_;
            if (setting_.stamped)
                ++latency_[bench_bucket(now_ns() - be64toh(header.generated_ns_be))];
        });
    }

    /// First and last lane, as the far end of the other contenders.
    bool exact(const olaf_header &header, const std::uint8_t *lanes) const {
        const auto cluster = ntohl(header.cluster_be);
        if (cluster >= messages_.size() || ntohl(header.count_be) != setting_.whole_fold())
            return false;
        for (const std::size_t lane : {std::size_t{0}, setting_.lanes - std::size_t{1}}) {
            std::uint64_t one = 0, sum = 0;
            std::memcpy(&one, &messages_[cluster][sizeof(olaf_header) + lane * 8], 8);
            std::memcpy(&sum, lanes + lane * 8, 8);
            if (sum != one * setting_.whole_fold())
                return false;
        }
        return true;
    }

    const Setting setting_;
    std::vector<TcpSocket> workers_;
    TcpSocket parent_;
    TcpAggregator aggregator_;
    TcpReader reader_;
    std::vector<std::vector<std::uint8_t>> messages_;
    std::vector<std::uint8_t> out_;
    std::uint32_t cluster_ = 0;
    std::size_t worker_ = 0;
    std::uint64_t next_ns_ = 0;
    std::atomic<std::uint64_t> offered_ = 0, frames_ = 0, wrong_ = 0;
    std::vector<std::uint64_t>
        latency_;                     ///< the receiving thread's; torn reads cost a frame at most
    Running receiving_, aggregating_; // behind what they use
    std::optional<Running> sending_;
};

} // namespace

std::unique_ptr<Contender> make_tcp(const Network &, const Setting &setting) {
    require(setting.cpus == 1, "tcp: one CPU");
    return std::make_unique<Tcp>(setting, connect(setting.whole_fold(), setting.apart));
}

} // namespace olaf::bench
