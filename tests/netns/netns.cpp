// SPDX-License-Identifier: BSD-2-Clause
#include "netns.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "process.hpp"

namespace olaf::test {
namespace {

constexpr const char *directory = "/run/netns";
const std::string prefix = "olaf-test-";

std::string test_name() {
    const auto *info = testing::UnitTest::GetInstance()->current_test_info();
    if (info == nullptr)
        return "none";
    std::string name = std::string(info->test_suite_name()) + "-" + info->name();
    for (auto &c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0)
            c = '-';
    return name;
}

/// Its queues first: their pins would outlive the namespace.
void remove(const std::string &name) {
    const auto found = run({OLAF_BINARY, "--netns", name, "--json", "status"});
    const auto queues = nlohmann::json::parse(found.out, nullptr, false);
    if (queues.is_array())
        for (const auto &queue : queues)
            run({OLAF_BINARY, "--netns", name, "detach", queue.value("device", ""), "--force"});
    run({"ip", "netns", "delete", name});
}

void batch(const std::string &tool, const std::string &name, const std::string &lines) {
    const auto done = run({tool, "-n", name, "-batch", "-"}, lines);
    if (done.status != 0)
        throw std::runtime_error(tool + " in " + name + ": " + done.err);
}

} // namespace

Netns::Netns(const std::string &role)
    : name_(prefix + std::to_string(getpid()) + "-" + test_name() + "-" + role) {
    if (const auto made = run({"ip", "netns", "add", name_}); made.status != 0)
        throw std::runtime_error("cannot make namespace " + name_ + ": " + made.err);
    fd_ = open((std::string(directory) + "/" + name_).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0)
        throw std::runtime_error("cannot open namespace " + name_);
    // Quiet links: no duplicate address detection, no router solicitations.
    sysctl("ipv6/conf/default/accept_dad", "0");
    sysctl("ipv6/conf/default/router_solicitations", "0");
    sysctl("ipv6/conf/default/accept_ra", "0");
    ip("link set lo up");
}

Netns::~Netns() {
    close(fd_);
    run({"ip", "netns", "delete", name_});
}

void Netns::ip(const std::string &lines) const {
    batch("ip", name_, lines);
}
void Netns::tc(const std::string &lines) const {
    batch("tc", name_, lines);
}

void Netns::sysctl(const std::string &key, const std::string &value) const {
    const Inside inside(*this);
    std::ofstream file("/proc/sys/net/" + key);
    if (!(file << value << std::flush))
        throw std::runtime_error("cannot set " + key);
}

unsigned long Netns::snmp(const std::string &counter) const {
    const Inside inside(*this);
    // IPv6: a name and a number a line. IPv4: a line of names, then one of numbers.
    std::ifstream six("/proc/thread-self/net/snmp6");
    std::string name;
    for (unsigned long value = 0; six >> name >> value;)
        if (name == counter)
            return value;
    std::ifstream four("/proc/thread-self/net/snmp");
    for (std::string names, numbers; std::getline(four, names) && std::getline(four, numbers);) {
        std::istringstream keys(names), values(numbers);
        std::string protocol, key, value;
        keys >> protocol;
        values >> value;
        protocol.pop_back();
        while (keys >> key && values >> value)
            if (protocol + key == counter)
                return std::stoul(value);
    }
    throw std::runtime_error("no counter " + counter);
}

int Netns::ifindex(const std::string &device) const {
    const Inside inside(*this);
    return static_cast<int>(if_nametoindex(device.c_str()));
}

Inside::Inside(const Netns &netns) : home_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
    if (home_ < 0 || setns(netns.fd(), CLONE_NEWNET) != 0)
        throw std::runtime_error("cannot enter " + netns.name());
}

Inside::~Inside() {
    if (setns(home_, CLONE_NEWNET) != 0)
        std::abort(); // whatever ran next would run in the wrong namespace
    close(home_);
}

void remove_leftovers() {
    std::vector<std::string> dead;
    std::error_code none;
    for (const auto &entry : std::filesystem::directory_iterator(directory, none)) {
        const auto name = entry.path().filename().string();
        pid_t pid = 0;
        if (!name.starts_with(prefix))
            continue;
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), pid);
        if (pid > 0 && (pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH)))
            dead.push_back(name);
    }
    for (const auto &name : dead)
        remove(name);
}

} // namespace olaf::test
