// SPDX-License-Identifier: BSD-2-Clause
// A command that is stopped, or killed, at a chosen step.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace olaf::test {

/// What a system call is about to change outside the process.
enum class Change { map, pin, run, link, netlink, file };

/// A command under ptrace. A step is a system call of those that change something outside the
/// process: BPF maps, programs and links, pins, netlink. It is killed with the object.
class Stepped {
  public:
    explicit Stepped(const std::vector<std::string> &command);
    ~Stepped() { kill(); }
    Stepped(const Stepped &) = delete;
    Stepped &operator=(const Stepped &) = delete;

    /// Goes on until it is about to take its next step, and stands there. Nothing: it ended.
    std::optional<Change> step();
    /// Goes on to its end. Returns its exit status.
    int finish();
    /// SIGKILL where it stands. Throws if it outlives that.
    void kill();

  private:
    bool next_stop();
    pid_t child_;
    int status_ = 0; ///< as of the last waitpid()
    bool ended_ = false;
};

/// Runs the command and kills it where it is about to take its n-th step, from 1. False: it took
/// fewer, and ended by itself.
bool killed_at(const std::vector<std::string> &command, unsigned n);

} // namespace olaf::test
