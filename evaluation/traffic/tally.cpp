// SPDX-License-Identifier: BSD-2-Clause
#include "tally.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <olaf/clock.hpp>

#include "counted.hpp"

namespace olaf::evaluation {
namespace {

constexpr std::size_t batch = 64;

/// A descriptor that closes itself.
struct Descriptor {
    int fd = -1;
    ~Descriptor() {
        if (fd >= 0)
            ::close(fd);
    }
};

Result<void> open(Descriptor &socket, Descriptor &signals, const Address &bind) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    signals.fd = ::signalfd(-1, &set, SFD_CLOEXEC);
    socket.fd = ::socket(bind.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (signals.fd < 0 || socket.fd < 0)
        return fail("open", "a UDP socket", errno);
    // Nothing is to be lost here: what the queue lets out is what is counted.
    const int room = 64 << 20;
    if (::setsockopt(socket.fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0)
        return fail("enlarge the buffer of", "a UDP socket", errno, "run as root");
    if (::bind(socket.fd, bind.data(), bind.size()) != 0)
        return fail("listen on", bind.text(), errno);
    return {};
}

/// The ACK of an update: what has arrived of its cluster, worker by worker.
std::size_t write_answer(Frame &frame, const Update &update, const TallyCluster &cluster) {
    const auto lanes = (cluster.arrived.size() + 1) / 2;
    frame.header = encode(Ack{.cluster = update.cluster,
                              .worker = update.worker,
                              .sequence = update.sequence,
                              .generated_ns = update.generated_ns,
                              .lanes = static_cast<std::uint16_t>(lanes)});
    std::memset(frame.lanes, 0, lanes * sizeof(frame.lanes[0]));
    for (std::uint32_t w = 0; w < cluster.arrived.size(); w++)
        write_sum({frame.lanes, lanes}, w, cluster.arrived[w]);
    return message_size(lanes);
}

struct Batch {
    std::vector<Frame> frames = std::vector<Frame>(batch);
    std::array<iovec, batch> parts{};
    std::array<mmsghdr, batch> headers{};
    std::array<sockaddr_storage, batch> senders{};

    int receive(int socket) {
        for (std::size_t i = 0; i < batch; i++) {
            parts[i] = {.iov_base = &frames[i], .iov_len = sizeof(Frame)};
            headers[i] = {};
            headers[i].msg_hdr.msg_iov = &parts[i];
            headers[i].msg_hdr.msg_iovlen = 1;
            headers[i].msg_hdr.msg_name = &senders[i];
            headers[i].msg_hdr.msg_namelen = sizeof(senders[i]);
        }
        return ::recvmmsg(socket, headers.data(), batch, MSG_DONTWAIT, nullptr);
    }
};

void take_all(int socket, bool answer, Batch &in, Tally &found) {
    Frame out;
    for (int got = in.receive(socket); got > 0; got = in.receive(socket)) {
        const auto now = tai_now_ns();
        for (std::size_t i = 0; i < static_cast<std::size_t>(got); i++) {
            const auto &header = in.headers[i];
            const auto *cluster = found.take(in.frames[i], header.msg_len, now);
            if (cluster == nullptr || !answer)
                continue;
            const auto update = decode_update(in.frames[i].bytes(header.msg_len));
            const auto size = write_answer(out, *update, *cluster);
            found.answered += ::sendto(socket, &out, size, MSG_DONTWAIT,
                                       reinterpret_cast<sockaddr *>(&in.senders[i]),
                                       header.msg_hdr.msg_namelen) > 0;
        }
    }
}

} // namespace

TallyCluster *Tally::take(const Frame &frame, std::size_t size, std::int64_t now_ns) {
    const auto update = decode_update(frame.bytes(size));
    if (!update || update->format != Format::i32x2 || !update->has_checksum ||
        !checksum_matches({frame.lanes, update->lanes})) {
        refused++;
        return nullptr;
    }
    std::uint64_t counted = 0;
    const auto workers = most_workers(update->lanes);
    if (first_ns == 0)
        for (std::uint32_t c = 0; c < expected; c++)
            clusters[c].aom.deliver(now_ns, now_ns);
    auto &cluster = clusters[update->cluster];
    for (std::uint32_t w = 0; w < workers; w++) {
        const auto count = read_count({frame.lanes, update->lanes}, w);
        counted += count;
        if (count != 0) {
            if (cluster.arrived.size() <= w)
                cluster.arrived.resize(w + 1);
            cluster.arrived[w] += count;
        }
    }
    refused += counted != update->count;
    cluster.messages++;
    cluster.updates += update->count;
    cluster.folds[update->count]++;
    cluster.aom.deliver(now_ns, update->generated_ns);
    first_ns = first_ns == 0 ? now_ns : first_ns;
    last_ns = now_ns;
    return &cluster;
}

Result<Tally> tally(const Address &bind, std::uint32_t expected, bool answer,
                    const std::function<void()> &listening) {
    Descriptor socket, signals;
    if (auto opened = open(socket, signals, bind); !opened)
        return std::unexpected(opened.error());
    listening();
    Tally found{.expected = expected};
    Batch in;
    for (;;) {
        pollfd wanted[] = {{.fd = socket.fd, .events = POLLIN, .revents = 0},
                           {.fd = signals.fd, .events = POLLIN, .revents = 0}};
        if (::poll(wanted, 2, -1) < 0 && errno != EINTR)
            return fail("wait for", "updates", errno);
        take_all(socket.fd, answer, in, found);
        if (wanted[1].revents != 0)
            return found;
    }
}

} // namespace olaf::evaluation
