// SPDX-License-Identifier: BSD-2-Clause
#include "netns.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <cctype>
#include <cerrno>
#include <filesystem>

#include "fd.hpp"

namespace olaf {
namespace {

constexpr auto named_ones = "/run/netns";

void insert_inode(std::set<std::uint64_t> &inodes, const std::string &path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0)
        inodes.insert(status.st_ino);
}

} // namespace

Result<void> enter_netns(const std::string &name) {
    if (name.empty() || name.find('/') != name.npos || name == "." || name == "..")
        return fail("enter namespace", name, EINVAL, "ip netns list shows the names");
    const auto path = std::string(named_ones) + "/" + name;
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return fail("enter namespace", name, errno, "ip netns list shows the names");
    if (::setns(fd.get(), CLONE_NEWNET) != 0)
        return fail("enter namespace", name, errno, errno == EPERM ? "run as root" : "");
    return {};
}

Result<std::uint64_t> netns_inode() {
    struct stat status {};
    if (::stat("/proc/thread-self/ns/net", &status) != 0)
        return fail("identify", "this network namespace", errno, "mount /proc");
    return status.st_ino;
}

std::vector<KnownNetns> known_netns() {
    std::vector<KnownNetns> found;
    std::set<std::uint64_t> seen;
    const auto add = [&](const std::string &name, const std::string &path) {
        struct stat status {};
        if (::stat(path.c_str(), &status) == 0 && seen.insert(status.st_ino).second)
            found.push_back({status.st_ino, name, path});
    };
    std::error_code ignored; // processes come and go
    for (const auto &entry : std::filesystem::directory_iterator(named_ones, ignored))
        add(entry.path().filename().native(), entry.path().native());
    for (const auto &entry : std::filesystem::directory_iterator("/proc", ignored))
        if (const auto pid = entry.path().filename().native();
            std::isdigit(static_cast<unsigned char>(pid[0])))
            add("of process " + pid, entry.path().native() + "/ns/net");
    return found;
}

Result<NetnsVisit> NetnsVisit::enter(const KnownNetns &netns) {
    Fd home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!home)
        return fail("identify", "this network namespace", errno, "mount /proc");
    const Fd there(::open(netns.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!there || ::setns(there.get(), CLONE_NEWNET) != 0)
        return fail("enter namespace", netns.name, errno, errno == EPERM ? "run as root" : "");
    return NetnsVisit(std::move(home));
}

NetnsVisit::~NetnsVisit() {
    if (home_)
        ::setns(home_.get(), CLONE_NEWNET);
}

std::set<std::uint64_t> visible_netns() {
    std::set<std::uint64_t> inodes;
    std::error_code ignored; // processes come and go
    for (const auto &entry : std::filesystem::directory_iterator("/proc", ignored))
        if (std::isdigit(static_cast<unsigned char>(entry.path().filename().native()[0])))
            insert_inode(inodes, entry.path().native() + "/ns/net");
    for (const auto &entry : std::filesystem::directory_iterator(named_ones, ignored))
        insert_inode(inodes, entry.path().native());
    return inodes;
}

} // namespace olaf
