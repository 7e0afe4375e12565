// SPDX-License-Identifier: BSD-2-Clause
#include "napi.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>

#include <sched.h>

#include "bench/network.hpp"

namespace olaf::bench {

namespace {

// Before generators, which have 1, and behind the contender's own thread, which has 3.
constexpr int priority = 2;

/// Kernel threads whose name begins so.
std::vector<pid_t> threads_named(const std::string &prefix) {
    std::vector<pid_t> found;
    for (const auto &process : std::filesystem::directory_iterator("/proc")) {
        const std::string number = process.path().filename();
        pid_t pid = 0;
        std::from_chars(number.data(), number.data() + number.size(), pid);
        std::string name;
        if (pid > 0 && std::getline(std::ifstream(process.path() / "comm") >> std::ws, name) &&
            name.starts_with(prefix))
            found.push_back(pid);
    }
    return found;
}

} // namespace

Result<Napi> Napi::make(const char *device, int cpu) {
    // Names aren't unique among namespaces: those that come now are this device's.
    const std::string prefix = std::string("napi/") + device + "-";
    const auto before = threads_named(prefix);
    // sysfs shows the devices of the namespace that it was mounted in.
    if (auto set = shell(std::string("ethtool -K ") + device +
                         " gro on && unshare -m sh -c 'mount -t sysfs none /sys && echo 1 > "
                         "/sys/class/net/" +
                         device + "/threaded'");
        !set)
        return std::unexpected(set.error());
    Napi napi;
    for (const auto pid : threads_named(prefix))
        if (std::find(before.begin(), before.end(), pid) == before.end())
            napi.threads_.push_back(pid);
    if (napi.threads_.empty())
        return fail("find NAPI's thread of", device, 0, {}, "there is none");
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    const sched_param first{.sched_priority = priority};
    for (const auto pid : napi.threads_)
        if (sched_setaffinity(pid, sizeof set, &set) != 0 ||
            sched_setscheduler(pid, SCHED_FIFO, &first) != 0)
            return fail("place NAPI's thread of", device, errno, "run as root");
    return napi;
}

std::uint64_t Napi::ns() const {
    std::uint64_t sum = 0, ns = 0;
    for (const auto pid : threads_)
        if (std::ifstream("/proc/" + std::to_string(pid) + "/schedstat") >> ns)
            sum += ns;
    return sum;
}

} // namespace olaf::bench
