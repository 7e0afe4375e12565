// SPDX-License-Identifier: BSD-2-Clause
#include "card_process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace olaf::test {

CardProcess::CardProcess() : bar_(std::filesystem::temp_directory_path() / (netns_.name() + ".bar")) {
    // Nothing but the card is to speak there.
    netns_.sysctl("ipv6/conf/all/disable_ipv6", "1");
    netns_.sysctl("ipv6/conf/default/disable_ipv6", "1");
}

CardProcess::~CardProcess() {
    if (words_ != nullptr)
        munmap(const_cast<std::uint32_t *>(words_), OLAF_CARD_WINDOW);
    std::filesystem::remove(bar_);
}

std::vector<std::string> CardProcess::command() const {
    return {OLAF_CARD_BINARY, "--bar",         bar_,       "--worker-side",
            worker_side,      "--server-side", server_side};
}

void CardProcess::start() {
    process_.emplace(command(), "", &netns_);
    process_->await_output("ready");
    if (words_ == nullptr)
        map();
}

void CardProcess::map() {
    const int fd = open(bar_.c_str(), O_RDWR | O_CLOEXEC);
    void *at = mmap(nullptr, OLAF_CARD_WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        throw std::runtime_error("cannot map " + bar_);
    words_ = static_cast<volatile std::uint32_t *>(at);
}

Outcome CardProcess::end(int signal) {
    process_->kill(signal);
    return process_->wait();
}

std::uint32_t CardProcess::read(std::uint32_t offset) const { return words_[offset / 4]; }

std::uint64_t CardProcess::read64(std::uint32_t offset) const {
    return read(offset) | static_cast<std::uint64_t>(read(offset + 4)) << 32;
}

void CardProcess::write(std::uint32_t offset, std::uint32_t value) const { words_[offset / 4] = value; }

void CardProcess::write64(std::uint32_t offset, std::uint64_t value) const {
    write(offset, static_cast<std::uint32_t>(value));
    write(offset + 4, static_cast<std::uint32_t>(value >> 32));
}

bool CardProcess::fence(std::chrono::milliseconds time) const {
    const auto number = read(OLAF_REGISTER_FENCE) + 1;
    std::atomic_thread_fence(std::memory_order_release);
    write(OLAF_REGISTER_FENCE, number);
    const auto deadline = std::chrono::steady_clock::now() + time;
    while (read(OLAF_REGISTER_FENCED) != number) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::yield();
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
}

void CardProcess::stop_clock() {
    process_->kill(SIGUSR1);
    if (!fence()) // served behind the signal
        throw std::runtime_error("the card doesn't answer");
}

bool CardProcess::turn_on(std::uint64_t rate_bps) const {
    write(OLAF_REGISTER_CONTROL, 1);
    write64(OLAF_REGISTER_NS_PER_BYTE_Q24, (8'000'000'000 << 24) / rate_bps);
    write(OLAF_REGISTER_COMMIT, 1);
    return fence() && (read(OLAF_REGISTER_STATUS) & 4) == 0;
}

std::uint64_t CardProcess::counter(unsigned index) const {
    write(OLAF_REGISTER_SNAPSHOT, 1);
    if (!fence())
        throw std::runtime_error("the card doesn't answer");
    return read64(OLAF_REGISTER_COUNTER + OLAF_REGISTER_STRIDE_COUNTER * index);
}

} // namespace olaf::test
