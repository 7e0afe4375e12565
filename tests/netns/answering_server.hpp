// SPDX-License-Identifier: BSD-2-Clause
// A parameter server as the window sees it: takes its time over each update, then answers.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "testbed.hpp"

namespace olaf::test {

/// The ACK of an update.
Ack answer_to(const Update &update);

class AnsweringServer {
  public:
    struct Manner {
        std::chrono::microseconds service{0}; ///< time it takes over an update
        bool answers = true;
        /// Called for each update it has served, on its thread.
        std::function<void(const Update &)> served = {};
    };

    AnsweringServer(const UdpSocket &socket, Manner manner);
    ~AnsweringServer();
    AnsweringServer(const AnsweringServer &) = delete;
    AnsweringServer &operator=(const AnsweringServer &) = delete;

    /// From now on it answers, or not.
    void set_answers(bool answers) { answers_ = answers; }
    [[nodiscard]] std::uint64_t messages() const { return messages_; }
    [[nodiscard]] std::uint64_t updates() const { return updates_; }
    /// Waits until it has served so many updates, folded ones counted; throws WaitRanOut when patience has
    /// passed.
    void await_updates(std::uint64_t updates);
    void await_messages(std::uint64_t messages);

  private:
    void serve(const std::stop_token &stop);
    void await(const std::atomic<std::uint64_t> &counter, std::uint64_t wanted);

    const UdpSocket &socket_;
    Manner manner_;
    std::atomic<bool> answers_;
    std::atomic<std::uint64_t> messages_ = 0, updates_ = 0;
    std::mutex mutex_;
    std::condition_variable served_;
    std::string error_;
    std::jthread thread_; // last: it uses the rest
};

} // namespace olaf::test
