// SPDX-License-Identifier: BSD-2-Clause
#include "process.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>
#include <utility>

#include "netns.hpp"

namespace olaf::test {
namespace {

// Files, not pipes: a child never blocks on a reader.
int file_of(const char *name, const std::string &content = {}) {
    const int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 || write(fd, content.data(), content.size()) < 0 || lseek(fd, 0, SEEK_SET) != 0)
        throw std::runtime_error("cannot make a memory file");
    return fd;
}

std::string content_of(int fd) {
    std::string text;
    char buffer[4096];
    off_t at = 0;
    for (ssize_t n; (n = pread(fd, buffer, sizeof buffer, at)) > 0; at += n)
        text.append(buffer, static_cast<std::size_t>(n));
    return text;
}

} // namespace

Process::Process(const std::vector<std::string> &command, const std::string &input,
                 const Netns *netns)
    : in_(file_of("stdin", input)), out_(file_of("stdout")), err_(file_of("stderr")) {
    std::vector<char *> arguments;
    for (const auto &argument : command)
        arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    start(true, [&] {
        if (netns != nullptr && setns(netns->fd(), CLONE_NEWNET) != 0)
            _exit(126);
        dup2(in_, STDIN_FILENO);
        dup2(out_, STDOUT_FILENO);
        dup2(err_, STDERR_FILENO);
        execvp(arguments[0], arguments.data());
        _exit(127);
    });
}

Process::Process(const std::function<void()> &work) {
    start(false, work);
}

void Process::start(bool executes, const std::function<void()> &work) {
    const pid_t parent = getpid();
    pid_ = executes ? vfork() : fork();
    if (pid_ < 0)
        throw std::runtime_error("cannot fork");
    if (pid_ > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(125);
    work();
    _exit(0);
}

Process::Process(Process &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)), err_(std::exchange(other.err_, -1)),
      status_(other.status_) {}

Process::~Process() {
    if (pid_ > 0 && !status_) {
        kill();
        waitpid(pid_, nullptr, 0);
    }
    for (const int fd : {in_, out_, err_})
        if (fd >= 0)
            close(fd);
}

void Process::reap(int wait_status) {
    status_ = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

bool Process::running() {
    int wait_status = 0;
    if (!status_ && waitpid(pid_, &wait_status, WNOHANG) == pid_)
        reap(wait_status);
    return !status_;
}

void Process::kill(int signal) {
    if (!status_)
        ::kill(pid_, signal);
}

std::string Process::output() const {
    return content_of(out_) + content_of(err_);
}

void Process::await_output(const std::string &text) {
    await(
        [&] {
            const bool runs = running();
            const bool said = output().find(text) != std::string::npos;
            if (!runs && !said)
                throw std::runtime_error("it ended without '" + text + "': " + output());
            return said;
        },
        [&] { return "'" + text + "' in what it prints: " + output(); });
}

Outcome Process::wait() {
    await([&] { return !running(); },
          [&] {
              kill();
              return "the end of a child: " + content_of(err_);
          },
          std::chrono::milliseconds(1));
    Outcome outcome{.status = *status_, .out = {}, .err = {}};
    if (out_ >= 0) {
        outcome.out = content_of(out_);
        outcome.err = content_of(err_);
    }
    return outcome;
}

Outcome run(const std::vector<std::string> &command, const std::string &input, const Netns *netns) {
    return Process(command, input, netns).wait();
}

void must(const Outcome &outcome) {
    if (outcome.status != 0)
        throw std::runtime_error(outcome.err);
}

testing::AssertionResult says(const std::string &text, const std::string &words) {
    const bool found = text.find(words) != std::string::npos;
    return (found ? testing::AssertionSuccess() : testing::AssertionFailure())
           << (found ? "'" : "no '") << words << "' in:\n"
           << text;
}

testing::AssertionResult refused(const Outcome &outcome, const std::string &words) {
    if (outcome.status == 1)
        return says(outcome.err, words);
    return testing::AssertionFailure() << "status " << outcome.status << "\n"
                                       << outcome.out << outcome.err;
}

std::vector<std::string> joined(std::vector<std::string> words,
                                const std::vector<std::string> &more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

} // namespace olaf::test
