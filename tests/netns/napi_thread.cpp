// SPDX-License-Identifier: BSD-2-Clause
#include "napi_thread.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "process.hpp"

namespace olaf::test {
namespace {

void pin(pid_t thread, int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    if (sched_setaffinity(thread, sizeof cpus, &cpus) != 0)
        throw std::runtime_error("cannot pin a thread to CPU " + std::to_string(cpu));
}

/// The kernel's number of the receive queue by which a datagram came to that port.
unsigned napi_of_one(const Netns &netns, std::uint16_t port,
                     const std::function<void()> &send_one) {
    const Inside inside(netns);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    unsigned id = 0;
    socklen_t size = sizeof id;
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const auto most_ms = std::chrono::milliseconds(patience).count();
    bool heard = bind(fd, reinterpret_cast<const sockaddr *>(&any), sizeof any) == 0;
    if (heard) {
        send_one();
        heard = poll(&waiting, 1, static_cast<int>(most_ms)) == 1 &&
                getsockopt(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &size) == 0;
    }
    close(fd);
    if (!heard)
        throw std::runtime_error("no datagram tells the number of its receive queue");
    return id;
}

/// The kernel thread of that name.
pid_t thread_called(const std::string &name) {
    for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
        std::string comm;
        std::ifstream file(entry.path() / "comm");
        if (std::getline(file, comm) && comm == name)
            return std::stoi(entry.path().filename());
    }
    throw std::runtime_error("no thread is called " + name);
}

} // namespace

std::vector<int> allowed_cpus() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        throw std::runtime_error("sched_getaffinity");
    std::vector<int> found;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            found.push_back(cpu);
    return found;
}

int first_cpu() {
    return allowed_cpus().front();
}

void stay_on(int cpu) {
    pin(0, cpu);
}

void receive_in_thread(const Netns &netns, const std::string &device, int cpu, std::uint16_t port,
                       const std::function<void()> &send_one) {
    const auto napi = napi_of_one(netns, port, send_one);
    const auto done = run({"ip", "netns", "exec", netns.name(), "sh", "-c",
                           "echo 1 > /sys/class/net/" + device + "/threaded"});
    if (done.status != 0)
        throw std::runtime_error(done.err);
    pin(thread_called("napi/" + device + "-" + std::to_string(napi)), cpu);
}

void go_first_on(int cpu) {
    pin(0, cpu);
    const sched_param first{.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        throw std::runtime_error("cannot take a real-time priority");
}

unsigned long overflowed(const Netns &netns, const std::string &device) {
    const auto told = run({"ip", "-n", netns.name(), "-s", "-j", "link", "show", device});
    return nlohmann::json::parse(told.out)
        .at(0)
        .at("stats64")
        .at("tx")
        .at("dropped")
        .get<unsigned long>();
}

} // namespace olaf::test
