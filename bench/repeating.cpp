// SPDX-License-Identifier: BSD-2-Clause
#include "repeating.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "support.hpp"

namespace olaf::bench {

struct Repeating::Thread {
    std::thread thread;
    std::atomic<bool> done = false;
};

Repeating::Repeating() = default;
Repeating::Repeating(Repeating &&) noexcept = default;
Repeating::~Repeating() {
    stop();
}

void Repeating::start(int cpu, std::function<Result<void>()> run) {
    // Only there to interrupt the system call.
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, nullptr);
    thread_ = std::make_unique<Thread>();
    thread_->thread = std::thread([cpu, run = std::move(run), &done = thread_->done] {
        must(own_cpu(cpu));
        must(run());
        done = true;
    });
}

void Repeating::stop() {
    if (!thread_)
        return;
    // Again and again: the first may come before the system call has begun.
    while (!thread_->done) {
        pthread_kill(thread_->thread.native_handle(), SIGUSR1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    thread_->thread.join();
    thread_.reset();
}

} // namespace olaf::bench
