// SPDX-License-Identifier: BSD-2-Clause
// The contenders outside the kernel that take datagrams: a UDP socket and an AF_XDP socket.
#include <chrono>
#include <thread>

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>

#include "running.hpp"
#include "udp_aggregator.hpp"
#include "wire.hpp"
#include "xsk_port.hpp"

#include <bench_xsk.skel.h>

namespace olaf::bench {

namespace {

/// A UDP socket. Generator and aggregator share the CPU; the aggregator goes first, so it takes each
/// batch as soon as it is in, and no time is spent on what would be lost.
class Udp final : public Wire {
  public:
    Udp(const Network &network, const Setting &setting)
        : Wire(network, setting, false),
          aggregator_(
              must(UdpAggregator::make(address("10.0.0.2"), address("10.0.1.2"), setting.clusters,
                                       setting.whole_fold(), setting.lanes))) {
        // A veth takes redirected frames only with NAPI on, which GRO brings.
        must(shell(std::string("ethtool -K ") + network.dut.name + " gro on"));
        thread_.run([this] { aggregator_.poll(); });
    }
    std::uint64_t thread_ns() const override { return thread_.ns(); }

  private:
    static sockaddr_in address(const char *text) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(OLAF_DEFAULT_PORT);
        inet_pton(AF_INET, text, &address.sin_addr);
        return address;
    }
    void ledger(Figures &figures) const override {
        figures.taken = aggregator_.received();
        figures.waiting = aggregator_.waiting();
        figures.departed = figures.taken - figures.waiting;
    }

    UdpAggregator aggregator_;
    Running thread_; // last: it ends first
};

class AfXdp final : public Wire {
  public:
    AfXdp(const Network &network, const Setting &setting)
        : Wire(network, setting, false), skeleton_(must(open<bench_xsk>("xsk"))),
          sums_(setting.clusters, setting.whole_fold(), setting.lanes),
          in_(must(XskPort::make(network.dut.name, XskPort::Direction::receive))),
          out_(must(XskPort::make(network.out.name, XskPort::Direction::send))),
          frame_(olaf_frame(0, 0, setting.lanes,
                            {.source = {2, 0, 0, 0, 1, 1},
                             .destination = {2, 0, 0, 0, 1, 2},
                             .source_ip = {10, 0, 1, 1},
                             .destination_ip = {10, 0, 1, 2}})) {
        must(load(skeleton_, "xsk"));
        const int fd = in_->fd();
        must(store(bpf_map__fd(skeleton_->maps.sockets), 0, &fd));
        attached_.emplace(
            must(Attached::make(network.dut, bpf_program__fd(skeleton_->progs.to_socket))));
        thread_.run([this] { poll_once(); });
    }
    std::uint64_t thread_ns() const override { return thread_.ns(); }
    const char *mode() const override { return in_->zero_copy() ? "zero-copy" : "copy"; }

  private:
    void poll_once() {
        pollfd wait{.fd = in_->fd(), .events = POLLIN, .revents = 0};
        poll(&wait, 1, 20);
        in_->receive([this](std::span<const std::uint8_t> frame) {
            if (frame.size() != frame_.size())
                return;
            if (const auto *sum = sums_.add(frame.data() + BENCH_L4_END))
                send_on(*sum);
        });
        out_->flush();
    }

    void send_on(const Message &sum) {
        auto *frame = out_->next_frame(static_cast<std::uint32_t>(frame_.size()));
        require(frame != nullptr, "af_xdp: a batch fits the ring");
        std::memcpy(frame, frame_.data(), BENCH_L4_END);
        std::memcpy(frame + BENCH_L4_END, &sum, sums_.bytes());
    }

    void ledger(Figures &figures) const override {
        figures.taken = sums_.received();
        figures.waiting = sums_.waiting();
        figures.departed = figures.taken - figures.waiting;
    }

    Skeleton<bench_xsk> skeleton_;
    Accumulators sums_;
    std::unique_ptr<XskPort> in_, out_;
    Frame frame_;
    std::optional<Attached> attached_;
    Running thread_; // last: it ends first
};

} // namespace

std::unique_ptr<Contender> make_udp(const Network &network, const Setting &setting) {
    return std::make_unique<Udp>(network, setting);
}
std::unique_ptr<Contender> make_af_xdp(const Network &network, const Setting &setting) {
    return std::make_unique<AfXdp>(network, setting);
}

} // namespace olaf::bench
