// SPDX-License-Identifier: BSD-2-Clause
// Child processes: they end with the object, and with the test program however that ends.
#pragma once

#include <sys/types.h>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/patience.hpp"

namespace olaf::test {

class Netns;

struct Outcome {
    int status = -1; ///< exit status, or 128 + signal
    std::string out, err;
};

class Process {
  public:
    /// Starts a program, in a namespace if one is given; `input` is its standard input.
    explicit Process(const std::vector<std::string> &command, const std::string &input = {},
                     const Netns *netns = nullptr);
    /// Runs a function in a forked child; it must not return to the test.
    explicit Process(const std::function<void()> &work);
    ~Process();
    Process(Process &&other) noexcept;
    Process &operator=(Process &&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool running();
    void kill(int signal = 9);
    /// What it has written to standard output and error by now.
    [[nodiscard]] std::string output() const;
    /// Waits until that has the text. Throws WaitRanOut, and std::runtime_error if the process ends before.
    void await_output(const std::string &text);
    /// Waits for its end. Throws WaitRanOut, after killing it.
    Outcome wait();

  private:
    /// `executes`: the work ends with another program, so the child needs no copy of this one's memory.
    void start(bool executes, const std::function<void()> &work);
    void reap(int wait_status);

    pid_t pid_ = -1;
    int in_ = -1, out_ = -1, err_ = -1;
    std::optional<int> status_;
};

Outcome run(const std::vector<std::string> &command, const std::string &input = {},
            const Netns *netns = nullptr);

/// Throws the command's own words unless it ended with status 0.
void must(const Outcome &outcome);

/// Whether the text has these words in it; if not, an expectation prints the text.
testing::AssertionResult says(const std::string &text, const std::string &words);
/// Whether a command ended with status 1, and its errors have these words.
testing::AssertionResult refused(const Outcome &outcome, const std::string &words);

/// The words of both.
std::vector<std::string> joined(std::vector<std::string> words,
                                const std::vector<std::string> &more);

} // namespace olaf::test
