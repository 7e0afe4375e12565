// SPDX-License-Identifier: BSD-2-Clause
// The node of a job, or of several alike, on a loopback socket: the model of the kernel's, in a
// thread.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <endian.h>

#include <tests/model/round_node.hpp>
#include <tests/model/round_wire.hpp>

#include <olaf/clock.hpp>
#include <olaf/collective.hpp>

#include "loopback.hpp"

namespace olaf::test {

class LoopbackNode {
  public:
    /// Jobs shape.job, shape.job + 1, ...
    LoopbackNode(const model::RoundSetup &setup, const model::RoundShape &shape, double loss = 0,
                 std::size_t jobs = 1, const Address &at = Address::resolve("127.0.0.1", 0).value())
        : setup_(setup), shape_(shape), loss_(loss),
          jobs_(jobs, Job{model::RoundNode(setup, 17), {}}), socket_(at),
          address_(socket_.address()), thread_([this] { serve(); }) {}
    LoopbackNode(const LoopbackNode &) = delete;
    LoopbackNode &operator=(const LoopbackNode &) = delete;
    ~LoopbackNode() {
        stop_ = true;
        RawSocket(Address::resolve("127.0.0.1", 0).value()).send({}, address_);
        thread_.join();
    }

    [[nodiscard]] Address address() const { return address_; }
    /// So many contributions complete a chunk. Before anybody joins.
    void set_threshold(std::uint32_t threshold) {
        setup_.threshold = threshold;
        restart();
    }
    /// Forgets everything, as a host does that boots.
    void restart() {
        const std::scoped_lock lock(mutex_);
        for (Job &job : jobs_)
            job.node = model::RoundNode(setup_, static_cast<std::uint32_t>(generations_()) | 1U);
    }
    /// Loses the sums that are sent to that rank; none: no more.
    void lose_results_of(std::optional<std::uint32_t> rank) { loses_ = rank.value_or(UINT32_MAX); }
    /// After so many messages from now on.
    void restart_after(unsigned messages) { restart_in_ = messages; }
    [[nodiscard]] model::RoundCounters counters(std::size_t job = 0) {
        const std::scoped_lock lock(mutex_);
        return jobs_[job].node.counters();
    }

  private:
    struct Job {
        model::RoundNode node;
        std::map<std::uint32_t, Address> children;
    };

    /// Null: it is of none.
    Job *job_of(std::span<const std::byte> message) {
        olaf_header header;
        if (message.size() < sizeof header)
            return nullptr;
        std::memcpy(&header, message.data(), sizeof header);
        const std::size_t index = be32toh(header.cluster_be) - shape_.job;
        return index < jobs_.size() ? &jobs_[index] : nullptr;
    }
    static std::uint64_t now() {
        return static_cast<std::uint64_t>(
            std::chrono::steady_clock::now().time_since_epoch().count());
    }
    bool lost() { return std::uniform_real_distribution<>()(random_) < loss_; }

    void serve() {
        auto frame = std::make_unique<Frame>();
        while (!stop_) {
            const auto [size, source] = socket_.receive(*frame);
            const auto message = model::from_bytes(frame->bytes(size));
            Job *const job = job_of(frame->bytes(size));
            if (!message || job == nullptr || lost() || message->rank >= setup_.children)
                continue;
            if (restart_in_ > 0 && --restart_in_ == 0)
                restart();
            job->children[message->rank] = source;
            std::vector<model::RoundSent> out;
            {
                const std::scoped_lock lock(mutex_);
                job->node.arrive(now(), tai_now_ns(), *message, out);
            }
            auto shape = shape_;
            shape.job += static_cast<std::uint32_t>(job - jobs_.data());
            for (const model::RoundSent &sent : out)
                if (!lost() && !(sent.to == loses_ && !sent.message.lanes.empty()))
                    socket_.send(model::to_bytes(shape, sent.message), job->children[sent.to]);
        }
    }

    model::RoundSetup setup_;
    model::RoundShape shape_;
    double loss_;
    std::mt19937_64 random_{1}; // of the thread
    std::mutex mutex_;
    std::mt19937_64 generations_{2};
    std::vector<Job> jobs_;
    RawSocket socket_;
    Address address_;
    std::atomic<unsigned> restart_in_ = 0;
    std::atomic<std::uint32_t> loses_ = UINT32_MAX;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

// Workers in threads of their own, with such a node.
struct Job {
    static constexpr std::uint32_t kJob = 5;

    std::uint32_t workers;
    CollectiveOptions options;
    LoopbackNode server;

    explicit Job(std::uint32_t number, double loss = 0, CollectiveOptions common = {},
                 std::uint8_t pool = 3)
        : workers(number), options(common),
          server({.children = number, .max_count = number, .pool = pool},
                 {.job = kJob, .format = common.format, .has_checksum = common.checksum}, loss,
                 common.threads) {
        options.node = server.address();
        options.job = kJob;
        options.workers = number;
        options.run = "test";
        if (options.lanes == 0)
            options.lanes = 9;
    }

    Collective worker(std::uint32_t rank) const {
        CollectiveOptions own = options;
        own.rank = rank;
        auto made = Collective::make(own);
        EXPECT_TRUE(made) << made.error().message();
        return std::move(*made);
    }

    /// Each worker does this in its own thread.
    void all(const std::function<void(Collective &, std::uint32_t rank)> &work) const {
        std::vector<std::thread> threads;
        for (std::uint32_t rank = 0; rank < workers; rank++)
            threads.emplace_back([&, rank] {
                Collective collective = worker(rank);
                work(collective, rank);
            });
        for (std::thread &thread : threads)
            thread.join();
    }
};

/// Sums a vector with the others', which must succeed.
template <class Element, class... Combine>
SumReport sum_of(Collective &collective, std::vector<Element> &vector, Combine... combine) {
    const auto report = collective.allreduce(std::span(vector), combine...);
    EXPECT_TRUE(report) << report.error().message();
    return report.value_or(SumReport{});
}

} // namespace olaf::test
