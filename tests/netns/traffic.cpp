// SPDX-License-Identifier: BSD-2-Clause
#include "traffic.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace olaf::test {
namespace {

void pin_to(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

} // namespace

void Tally::add(const Update &update, std::uint64_t times) {
    auto &sum = clusters[update.cluster];
    sum.count += times * update.count;
    sum.reward += static_cast<std::int64_t>(times) * update.reward;
    if (sum.lanes.size() < update.lanes.size())
        sum.lanes.resize(update.lanes.size());
    for (std::size_t i = 0; i < update.lanes.size(); i++)
        sum.lanes[i] += times * update.lanes[i];
    messages += times;
    updates += times * update.count;
}

Collector::Collector(const UdpSocket &socket)
    : thread_([this, &socket](const std::stop_token &stop) { collect(stop, socket); }) {}

Collector::~Collector() = default;

void Collector::collect(const std::stop_token &stop, const UdpSocket &socket) {
    while (!stop.stop_requested()) {
        const auto datagram = socket.poll(std::chrono::milliseconds(20));
        if (!datagram || datagram->payload.empty())
            continue;
        const std::scoped_lock lock(mutex_);
        try {
            tally_.add(datagram->update());
        } catch (const std::exception &error) {
            error_ = error.what();
        }
        arrived_.notify_all();
    }
}

Tally Collector::await(std::uint64_t updates) {
    std::unique_lock lock(mutex_);
    const bool came = arrived_.wait_for(
        lock, patience, [&] { return !error_.empty() || tally_.updates >= updates; });
    if (!error_.empty())
        throw std::runtime_error(error_);
    if (!came)
        throw WaitRanOut("collected " + std::to_string(tally_.updates) + " updates of " +
                         std::to_string(updates));
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

void make_lossless(const Testbed &testbed) {
    testbed.worker.tc(testbed.wiring.queues > 1 ? "qdisc add dev eth0 root mq\n"
                                                : "qdisc add dev eth0 root pfifo limit 10000\n");
}

void flood(const Testbed &testbed, std::span<const Frame> frames, unsigned times) {
    std::vector<std::jthread> threads;
    for (unsigned cpu = 0; cpu < cpus(); cpu++)
        threads.emplace_back([&, cpu] {
            pin_to(cpu);
            const PacketSocket socket(testbed.worker, "eth0");
            for (unsigned i = 0; i < times; i++)
                socket.send(frames);
        });
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

unsigned cpus() {
    return std::max(1u, std::thread::hardware_concurrency());
}

} // namespace olaf::test
