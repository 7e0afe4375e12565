// SPDX-License-Identifier: BSD-2-Clause
// olaf-card between two devices of a namespace of its own, and its registers as a loader maps them.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netns.hpp"
#include "olaf/registers.h"
#include "process.hpp"

namespace olaf::test {

class CardProcess {
  public:
    static constexpr const char *worker_side = "w", *server_side = "s";

    /// The devices have to be made in netns() before it is started.
    CardProcess();
    ~CardProcess();
    CardProcess(const CardProcess &) = delete;
    CardProcess &operator=(const CardProcess &) = delete;

    [[nodiscard]] const Netns &netns() const { return netns_; }
    [[nodiscard]] const std::string &bar() const { return bar_; }
    [[nodiscard]] std::vector<std::string> command() const;

    /// Returns once it is ready.
    void start();
    /// Ends it by a signal, and waits for its end.
    Outcome end(int signal);
    /// Waits until it has said this.
    void await_output(const std::string &text) { process_->await_output(text); }

    [[nodiscard]] std::uint32_t read(std::uint32_t offset) const;
    [[nodiscard]] std::uint64_t read64(std::uint32_t offset) const;
    void write(std::uint32_t offset, std::uint32_t value) const;
    void write64(std::uint32_t offset, std::uint64_t value) const;
    /// Whether FENCE was answered within the time.
    [[nodiscard]] bool fence(std::chrono::milliseconds time = patience) const;
    /// Makes it queue at this rate, and returns whether it took that.
    [[nodiscard]] bool turn_on(std::uint64_t rate_bps) const;
    /// Its time stands still until run_clock(): what is paced waits, however long a test takes.
    void stop_clock();
    void run_clock() { process_->kill(SIGUSR2); }
    /// A counter of now.
    [[nodiscard]] std::uint64_t counter(unsigned index) const;

  private:
    void map();

    Netns netns_{"card"};
    std::string bar_;
    volatile std::uint32_t *words_ = nullptr;
    std::optional<Process> process_;
};

} // namespace olaf::test
