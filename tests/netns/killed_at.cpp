// SPDX-License-Identifier: BSD-2-Clause
#include "killed_at.hpp"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace olaf::test {
namespace {

std::optional<Change> bpf_change(std::uint64_t command) {
    switch (command) {
    case BPF_MAP_UPDATE_ELEM:
    case BPF_MAP_DELETE_ELEM:
    case BPF_MAP_UPDATE_BATCH:
        return Change::map;
    case BPF_OBJ_PIN:
        return Change::pin;
    case BPF_PROG_TEST_RUN:
        return Change::run;
    case BPF_RAW_TRACEPOINT_OPEN:
    case BPF_LINK_CREATE:
    case BPF_LINK_UPDATE:
    case BPF_LINK_DETACH:
        return Change::link;
    default:
        return {};
    }
}

/// Memory of a stopped child.
template <class T> T peek(pid_t child, const void *at) {
    T value{};
    iovec here{&value, sizeof value}, there{const_cast<void *>(at), sizeof value};
    if (process_vm_readv(child, &here, 1, &there, 1, 0) != sizeof value)
        throw std::runtime_error("cannot read a command's memory");
    return value;
}

int protocol_of(pid_t child, int socket) {
    const auto process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    const auto copy = static_cast<int>(syscall(SYS_pidfd_getfd, process, socket, 0));
    int protocol = -1;
    socklen_t length = sizeof protocol;
    getsockopt(copy, SOL_SOCKET, SO_PROTOCOL, &protocol, &length);
    close(copy);
    close(process);
    return protocol;
}

/// Whether a message to the kernel only asks: a kill before it finds what a kill before the next
/// change finds. The commands have no other use for generic netlink.
bool only_asks(pid_t child, const __ptrace_syscall_info &info) {
    const auto socket = static_cast<int>(info.entry.args[0]);
    const auto *at = reinterpret_cast<const void *>(info.entry.args[1]);
    const int protocol = protocol_of(child, socket);
    if (protocol == NETLINK_GENERIC)
        return true;
    if (protocol != NETLINK_ROUTE)
        return false;
    if (info.entry.nr == SYS_sendmsg)
        at = peek<iovec>(child, peek<msghdr>(child, at).msg_iov).iov_base;
    // Types come in fours: new, delete, get, set.
    return peek<nlmsghdr>(child, at).nlmsg_type % 4 == RTM_GETLINK % 4;
}

std::optional<Change> change_of(pid_t child, const __ptrace_syscall_info &info) {
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return {};
    switch (info.entry.nr) {
    case SYS_bpf:
        return bpf_change(info.entry.args[0]);
    case SYS_sendmsg:
    case SYS_sendto:
        return only_asks(child, info) ? std::optional<Change>{} : Change::netlink;
    case SYS_mkdir:
    case SYS_rmdir:
    case SYS_unlink:
    case SYS_rename:
        return Change::file;
    default:
        return {};
    }
}

[[noreturn]] void be_traced(const std::vector<std::string> &command) {
    std::vector<char *> arguments;
    for (const auto &argument : command)
        arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    execvp(arguments[0], arguments.data());
    _exit(127);
}

} // namespace

Stepped::Stepped(const std::vector<std::string> &command) : child_(fork()) {
    if (child_ < 0)
        throw std::runtime_error("cannot fork");
    if (child_ == 0)
        be_traced(command);
    waitpid(child_, &status_, 0);
    ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
}

bool Stepped::next_stop() {
    if (ended_)
        return false;
    if (ptrace(PTRACE_SYSCALL, child_, nullptr, nullptr) != 0 ||
        waitpid(child_, &status_, 0) != child_)
        throw std::runtime_error("cannot trace a command");
    ended_ = WIFEXITED(status_) || WIFSIGNALED(status_);
    return !ended_;
}

std::optional<Change> Stepped::step() {
    while (next_stop()) {
        __ptrace_syscall_info info{};
        if (WSTOPSIG(status_) != (SIGTRAP | 0x80) ||
            ptrace(PTRACE_GET_SYSCALL_INFO, child_, sizeof info, &info) <= 0)
            continue;
        if (const auto change = change_of(child_, info))
            return change;
    }
    return {};
}

int Stepped::finish() {
    while (next_stop()) {
    }
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

void Stepped::kill() {
    if (ended_)
        return;
    ended_ = true;
    ::kill(child_, SIGKILL);
    waitpid(child_, &status_, 0);
    if (!WIFSIGNALED(status_) || WTERMSIG(status_) != SIGKILL)
        throw std::runtime_error("a command outlived its SIGKILL");
}

bool killed_at(const std::vector<std::string> &command, unsigned n) {
    Stepped stepped(command);
    for (unsigned made = 0; made < n; made++)
        if (!stepped.step())
            return false;
    stepped.kill();
    return true;
}

} // namespace olaf::test
