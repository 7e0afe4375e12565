// SPDX-License-Identifier: BSD-2-Clause
#include "answering_server.hpp"

#include <stdexcept>

namespace olaf::test {

Ack answer_to(const Update &update) {
    return {.cluster = update.cluster,
            .worker = update.worker,
            .sequence = update.sequence,
            .generated_ns = update.generated_ns,
            .segment = update.segment,
            .segments = update.segments};
}

AnsweringServer::AnsweringServer(const UdpSocket &socket, Manner manner)
    : socket_(socket), manner_(std::move(manner)), answers_(manner_.answers),
      thread_([this](const std::stop_token &stop) { serve(stop); }) {}

AnsweringServer::~AnsweringServer() = default;

void AnsweringServer::serve(const std::stop_token &stop) {
    auto free = std::chrono::steady_clock::now();
    while (!stop.stop_requested()) {
        const auto datagram = socket_.poll(std::chrono::milliseconds(20));
        if (!datagram || datagram->payload.empty())
            continue;
        try {
            const auto update = datagram->update();
            // The service itself, one update after another: a thread that computes would take
            // the test's CPUs from it.
            free = std::max(free, std::chrono::steady_clock::now()) + manner_.service;
            if (manner_.service.count() != 0)
                std::this_thread::sleep_until(free);
            if (answers_)
                socket_.send(message(answer_to(update)), datagram->source);
            if (manner_.served)
                manner_.served(update);
            messages_++;
            updates_ += update.count;
        } catch (const std::exception &error) {
            const std::scoped_lock lock(mutex_);
            error_ = error.what();
        }
        const std::scoped_lock lock(mutex_);
        served_.notify_all();
    }
}

void AnsweringServer::await(const std::atomic<std::uint64_t> &counter, std::uint64_t wanted) {
    std::unique_lock lock(mutex_);
    const bool came = served_.wait_for(
        lock, patience, [&] { return !error_.empty() || counter >= wanted; });
    if (!error_.empty())
        throw std::runtime_error(error_);
    if (!came)
        throw WaitRanOut("served " + std::to_string(counter) + " of " + std::to_string(wanted));
}

void AnsweringServer::await_updates(std::uint64_t updates) { await(updates_, updates); }
void AnsweringServer::await_messages(std::uint64_t messages) { await(messages_, messages); }

} // namespace olaf::test
