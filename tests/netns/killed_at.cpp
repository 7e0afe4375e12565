// SPDX-License-Identifier: BSD-2-Clause
#include "killed_at.hpp"

#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace olaf::test {
namespace {

bool changes_bpf(std::uint64_t command) {
    switch (command) {
    case BPF_MAP_UPDATE_ELEM:
    case BPF_MAP_DELETE_ELEM:
    case BPF_MAP_UPDATE_BATCH:
    case BPF_OBJ_PIN:
    case BPF_PROG_TEST_RUN:
    case BPF_RAW_TRACEPOINT_OPEN:
    case BPF_LINK_CREATE:
    case BPF_LINK_UPDATE:
    case BPF_LINK_DETACH:
        return true;
    default:
        return false;
    }
}

bool changes(const __ptrace_syscall_info &info) {
    switch (info.entry.nr) {
    case SYS_bpf:
        return changes_bpf(info.entry.args[0]);
    case SYS_sendmsg:
    case SYS_sendto:
    case SYS_mkdir:
    case SYS_rmdir:
    case SYS_unlink:
    case SYS_rename:
        return true;
    default:
        return false;
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

bool killed_at(const std::vector<std::string> &command, unsigned n) {
    const pid_t child = fork();
    if (child < 0)
        throw std::runtime_error("cannot fork");
    if (child == 0)
        be_traced(command);
    int status = 0;
    waitpid(child, &status, 0);
    ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (unsigned made = 0;;) {
        if (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0 ||
            waitpid(child, &status, 0) != child)
            throw std::runtime_error("cannot trace a command");
        if (WIFEXITED(status) || WIFSIGNALED(status))
            return false;
        __ptrace_syscall_info info{};
        if (WSTOPSIG(status) != (SIGTRAP | 0x80) ||
            ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0 ||
            info.op != PTRACE_SYSCALL_INFO_ENTRY || !changes(info) || ++made < n)
            continue;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            throw std::runtime_error("a command outlived its SIGKILL");
        return true;
    }
}

} // namespace olaf::test
