// SPDX-License-Identifier: BSD-2-Clause
#include "traffic.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>

namespace olaf::test {

void Sum::add(const Sum &more, std::uint64_t times) {
    count += times * more.count;
    reward += static_cast<std::int64_t>(times) * more.reward;
    lanes.resize(std::max(lanes.size(), more.lanes.size()));
    for (std::size_t i = 0; i < more.lanes.size(); i++)
        lanes[i] += times * more.lanes[i];
}

void Tally::add(const Update &update, std::uint64_t times) {
    clusters[update.cluster].add({update.count, update.reward, update.lanes}, times);
    messages += times;
    updates += times * update.count;
}

void Tally::add(const Tally &more) {
    for (const auto &[cluster, sum] : more.clusters)
        clusters[cluster].add(sum);
    messages += more.messages;
    updates += more.updates;
}

SocketBed::SocketBed(const Wiring &wiring, int family_of_worker)
    : Testbed(wiring), family(family_of_worker),
      outer(wiring.way == Way::upstream4   ? 4
            : wiring.way == Way::upstream6 ? 6
                                           : family_of_worker) {}

Tally SocketBed::send(const std::vector<Update> &updates) const {
    Tally sent;
    for (const auto &update : updates) {
        send(update);
        sent.add(update);
    }
    return sent;
}

Tally SocketBed::receive(std::uint64_t updates,
                         const std::function<void(const Datagram &)> &check) const {
    Tally received;
    while (received.updates < updates) {
        const auto datagram = to.receive();
        received.add(datagram.update());
        if (check)
            check(datagram);
    }
    return received;
}

Tally SocketBed::expect_arrival(const Tally &sent,
                                const std::function<void(const Datagram &)> &check) const {
    auto received = receive(sent.updates, check);
    EXPECT_EQ(received.clusters, sent.clusters);
    return received;
}

void SocketBed::expect_checksums_right() const {
    for (const auto *counter :
         {"UdpInCsumErrors", "Udp6InCsumErrors", "UdpInErrors", "Udp6InErrors"})
        EXPECT_EQ(server().snmp(counter), 0u) << counter;
}

Bytes experimental_frame(const Mac &from, const Mac &to) {
    Bytes frame(60, 0x5a);
    std::copy(to.begin(), to.end(), frame.begin());
    std::copy(from.begin(), from.end(), frame.begin() + 6);
    frame[12] = 0x88; // an EtherType for experiments
    frame[13] = 0xb5;
    return frame;
}

Collector::Collector(const UdpSocket &socket, Taken taken)
    : taken_(std::move(taken)),
      thread_([this, &socket](const std::stop_token &stop) { collect(stop, socket); }) {}

Collector::~Collector() = default;

void Collector::collect(const std::stop_token &stop, const UdpSocket &socket) {
    while (!stop.stop_requested()) {
        const auto datagram = socket.poll(std::chrono::milliseconds(20));
        if (!datagram || datagram->payload.empty())
            continue;
        try {
            const auto update = datagram->update();
            if (taken_)
                taken_(*datagram, update);
            const std::scoped_lock lock(mutex_);
            tally_.add(update);
        } catch (const std::exception &error) {
            const std::scoped_lock lock(mutex_);
            error_ = error.what();
        }
        arrived_.notify_all();
    }
}

Tally Collector::await(std::uint64_t Tally::*what, std::uint64_t wanted) {
    std::unique_lock lock(mutex_);
    const bool came = arrived_.wait_for(lock, patience,
                                        [&] { return !error_.empty() || tally_.*what >= wanted; });
    if (!error_.empty())
        throw std::runtime_error(error_);
    if (!came)
        throw WaitRanOut("collected " + std::to_string(tally_.*what) + " of " +
                         std::to_string(wanted));
    return tally_;
}

std::uint64_t Collector::updates() {
    const std::scoped_lock lock(mutex_);
    return tally_.updates;
}

std::vector<Update> random_updates(std::size_t count, std::uint32_t clusters, std::size_t lanes,
                                   unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<Update> updates(count);
    for (std::size_t i = 0; i < count; i++) {
        auto &update = updates[i];
        update.cluster = static_cast<std::uint32_t>(i % clusters);
        update.worker = static_cast<std::uint32_t>(random() % 4);
        update.sequence = static_cast<std::uint32_t>(i);
        update.reward = static_cast<std::int64_t>(random() % 2000) - 1000;
        update.lanes.resize(lanes);
        for (auto &lane : update.lanes)
            lane = random();
    }
    return updates;
}

std::vector<Frame> frames_of(const Testbed &testbed, std::span<const Update> updates, int family) {
    std::vector<Frame> frames;
    frames.reserve(updates.size());
    for (const auto &update : updates) {
        const auto port = static_cast<std::uint16_t>(20000 + frames.size() % 251);
        frames.push_back(testbed.path(family).source_port(port).carrying(update));
    }
    return frames;
}

void flood(const Testbed &testbed, std::span<const Frame> frames, unsigned times) {
    // A ring that is full is told to its sender. Behind a switch that is the switch, which drops the frame. So
    // there no more frames are under way than the ring of `in` holds, which is 256.
    constexpr std::size_t at_once = 32, most = 128;
    const bool behind_switch = testbed.wiring.way == Way::one_armed;
    const auto before = behind_switch ? testbed.host.received("in") : 0;
    std::atomic<std::uint64_t> sent = 0;
    std::vector<std::jthread> threads;
    for (unsigned cpu = 0; cpu < cpus(); cpu++)
        threads.emplace_back([&, cpu] {
            pin_to(cpu);
            const PacketSocket socket(testbed.worker, "eth0");
            for (unsigned i = 0; i < times; i++) {
                if (!behind_switch) {
                    socket.send(frames);
                    continue;
                }
                for (auto left = frames; !left.empty();) {
                    const auto now = left.first(std::min(at_once, left.size()));
                    sent += now.size();
                    socket.send(now);
                    left = left.subspan(now.size());
                    await([&] { return testbed.host.received("in") + most >= before + sent; },
                          [] { return "the frames that a switch has"; }, std::chrono::milliseconds(0));
                }
            }
        });
}

Tally flood(const Testbed &testbed, const std::vector<Update> &updates, unsigned times) {
    flood(testbed, frames_of(testbed, updates), times);
    Tally sent;
    for (const auto &update : updates)
        sent.add(update, std::uint64_t{times} * cpus());
    return sent;
}

Flooding::Flooding(const Testbed &testbed, const std::vector<Update> &updates)
    : thread_([this, &testbed, updates](const std::stop_token &stop) {
          while (!stop.stop_requested())
              sent_.add(flood(testbed, updates, 8));
      }) {}

Tally Flooding::stop() {
    thread_.request_stop();
    thread_.join();
    return sent_;
}

Tally expect_all_arrive(const Testbed &testbed, const Tally &sent, Collector &collector) {
    const auto status = testbed.olaf.await_drained(sent.updates);
    EXPECT_EQ(status["received"], sent.updates);
    EXPECT_EQ(status.dropped(), 0u) << status.json.at("counters");
    EXPECT_EQ(status.failed(), 0u);
    EXPECT_EQ(status.lost_behind(), 0u) << status.json.at("lost_behind_updates");
    expect_identities(status);
    auto tally = collector.await(sent.updates);
    EXPECT_EQ(tally.clusters, sent.clusters);
    EXPECT_EQ(tally.messages, status["passed_through"] + status["departed"]); // nothing else
    return tally;
}

Process endless_flood(const Testbed &testbed, std::span<const Frame> frames) {
    return Process([&testbed, frames] {
        try {
            for (;;)
                flood(testbed, frames, 64);
        } catch (const std::exception &) {
            _exit(1);
        }
    });
}

void occupy(const Testbed &testbed, const UdpSocket &worker, const UdpSocket &server) {
    // No card is paced as slowly as the kernel's queue: there they are larger.
    const auto lanes = testbed.card ? 1000u : 128u;
    const Update large{.cluster = busy_cluster, .lanes = std::vector<std::uint64_t>(lanes, 1)};
    const auto target = testbed.target(worker.family());
    for (int i = 0; i < 2; i++) {
        worker.send(large, target);
        if (server.receive().update() != large)
            throw std::runtime_error("the link was busy before");
    }
}

} // namespace olaf::test
