// SPDX-License-Identifier: BSD-2-Clause
#include "netns.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <linux/if.h> // after net/if.h, which it leaves alone then
#include <netlink/route/link.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "loader/host/netlink.hpp"
#include "process.hpp"
#include "tests/patience.hpp"

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

void batch(const std::string &tool, const std::string &name, const std::string &lines) {
    const auto done = run({tool, "-n", name, "-batch", "-"}, lines);
    if (done.status != 0)
        throw std::runtime_error(tool + " in " + name + ": " + done.err);
}

} // namespace

Netns::Netns(const std::string &role)
    : name_(prefix + test_name() + "-" + role) {
    if (const auto made = run({"ip", "netns", "add", name_}); made.status != 0)
        throw std::runtime_error("cannot make namespace " + name_ + ": " + made.err);
    fd_ = open((std::string(directory) + "/" + name_).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0)
        throw std::runtime_error("cannot open namespace " + name_);
    // Quiet links: no duplicate address detection, no router solicitations.
    sysctl("ipv6/conf/default/accept_dad", "0");
    sysctl("ipv6/conf/default/router_solicitations", "0");
    sysctl("ipv6/conf/default/accept_ra", "0");
    // Wireshark calls what comes from or goes to a port a little above 33434 a traceroute.
    sysctl("ipv4/ip_local_port_range", "34000 60999");
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

std::uint64_t Netns::received(const std::string &device) const {
    const Inside inside(*this);
    std::ifstream file("/proc/thread-self/net/dev");
    std::string name;
    for (std::uint64_t bytes = 0, frames = 0; file >> name; std::getline(file, name))
        if (name == device + ":" && file >> bytes >> frames)
            return frames;
    throw std::runtime_error("no device " + device + " in " + name_);
}

namespace {

/// A device that is up, but that the kernel hasn't given its queue yet; nothing if there is none. The kernel
/// sets the state of the link and the queue under one lock, which a request for the devices takes as well.
std::string without_queue(nl_sock *netlink) {
    nl_cache *devices = nullptr;
    if (const int error = rtnl_link_alloc_cache(netlink, AF_UNSPEC, &devices); error < 0)
        throw std::runtime_error(std::string("cannot list devices: ") + nl_geterror(error));
    std::string found;
    for (auto *object = nl_cache_get_first(devices); object != nullptr; object = nl_cache_get_next(object)) {
        auto *device = reinterpret_cast<rtnl_link *>(object);
        if ((rtnl_link_get_flags(device) & (IFF_UP | IFF_LOOPBACK)) == IFF_UP &&
            rtnl_link_get_operstate(device) != IF_OPER_UP)
            found = rtnl_link_get_name(device);
    }
    nl_cache_free(devices);
    return found;
}

} // namespace

void Netns::await_links() const {
    const Inside inside(*this);
    const auto netlink = Netlink::open(NETLINK_ROUTE);
    if (!netlink)
        throw std::runtime_error("cannot ask for the devices of " + name_);
    await([&] { return without_queue(netlink->get()).empty(); },
          [&] { return "a queue for " + without_queue(netlink->get()) + " of " + name_; });
}

namespace {

std::string slot_of(int nic) {
    return "/sys/bus/pci/devices/0000:00:" + std::to_string(10 + nic) + ".0";
}

} // namespace

void unplug_nic(int number) {
    std::ofstream(slot_of(number) + "/remove") << 1 << std::flush;
}

namespace {

/// Writes a line for QEMU's monitor (tests/kernels/boot), which does it a little later.
void tell_monitor(const std::string &line) {
    std::ofstream monitor("/dev/ttyS3");
    monitor << line << "\n" << std::flush;
    if (!monitor)
        throw std::runtime_error("cannot write to QEMU's monitor");
}

/// How far the emulated clock chip, which goes on while the guest stands still, is ahead of the guest's clock.
std::int64_t ahead_seconds() {
    std::ifstream file("/sys/class/rtc/rtc0/since_epoch");
    std::int64_t chip = 0;
    if (!(file >> chip))
        throw std::runtime_error("cannot read the guest's clock chip");
    return chip - std::time(nullptr);
}

} // namespace

void set_cable(int number, bool plugged_in) {
    tell_monitor("set_link n" + std::to_string(number) + (plugged_in ? " on" : " off"));
}

void pause_guest(unsigned seconds) {
    const auto before = ahead_seconds();
    tell_monitor("pause " + std::to_string(seconds));
    // Two clocks of whole seconds: the difference of theirs may be one less.
    await([&] { return ahead_seconds() - before + 1 >= static_cast<std::int64_t>(seconds); },
          [] { return std::string("that QEMU lets the guest stand still"); });
}

void move_nic(int number, const Netns &to, const std::string &name) {
    const auto slot = slot_of(number);
    if (!std::filesystem::exists(slot))
        std::ofstream("/sys/bus/pci/rescan") << 1 << std::flush;
    std::string now;
    const auto look = [&] {
        std::error_code gone;
        for (const auto &entry : std::filesystem::recursive_directory_iterator(slot, gone))
            if (entry.path().parent_path().filename() == "net")
                now = entry.path().filename();
        return !now.empty();
    };
    await(look, [&] { return "NIC " + std::to_string(number) + " in the first namespace"; });
    const auto moved =
        run({"ip", "link", "set", "dev", now, "down", "netns", to.name(), "name", name});
    if (moved.status != 0)
        throw std::runtime_error("cannot move NIC " + now + ": " + moved.err);
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

namespace {

void order(int fd, const std::string &device, std::uint32_t command, std::uint32_t &data) {
    ethtool_value value{.cmd = command, .data = data};
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char *>(&value);
    if (ioctl(fd, SIOCETHTOOL, &request) != 0)
        throw std::runtime_error("ethtool command " + std::to_string(command) + " on " + device);
    data = value.data;
}

} // namespace

void set_offloads(const Netns &netns, const std::string &device, const Offloads &offloads) {
    const Inside inside(netns);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    std::uint32_t gro = offloads.gro, checksum = offloads.tx_checksum, flags = 0;
    order(fd, device, ETHTOOL_SGRO, gro);
    order(fd, device, ETHTOOL_STXCSUM, checksum);
    order(fd, device, ETHTOOL_GFLAGS, flags);
    flags = offloads.tx_vlan ? flags | ETH_FLAG_TXVLAN : flags & ~std::uint32_t{ETH_FLAG_TXVLAN};
    order(fd, device, ETHTOOL_SFLAGS, flags);
    close(fd);
}

void hide_the_host() {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0)
        throw std::system_error(errno, std::system_category(), "cannot have mounts of my own");
    std::filesystem::create_directories(directory);
    if (mount("tmpfs", directory, "tmpfs", 0, "mode=0755") != 0)
        throw std::system_error(errno, std::system_category(), directory);
    if (mount("bpf", "/sys/fs/bpf", "bpf", 0, "mode=0700") != 0)
        throw std::system_error(errno, std::system_category(), "/sys/fs/bpf");
}

} // namespace olaf::test
