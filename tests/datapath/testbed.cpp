// SPDX-License-Identifier: BSD-2-Clause
#include "testbed.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <net/ethernet.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/inet6.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/neighbour.h>
#include <sched.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "tests/patience.hpp"

namespace olaf::test {

namespace {

void check(int error, const char *what) {
    if (error < 0)
        throw std::runtime_error(std::string(what) + ": " + nl_geterror(error));
}

template <class T, void (*Free)(T *)> struct With {
    void operator()(T *object) const { Free(object); }
};
using Socket = std::unique_ptr<nl_sock, With<nl_sock, nl_socket_free>>;
using Link = std::unique_ptr<rtnl_link, With<rtnl_link, rtnl_link_put>>;
using Address = std::unique_ptr<nl_addr, With<nl_addr, nl_addr_put>>;
using InterfaceAddress = std::unique_ptr<rtnl_addr, With<rtnl_addr, rtnl_addr_put>>;
using Neighbour = std::unique_ptr<rtnl_neigh, With<rtnl_neigh, rtnl_neigh_put>>;

Address address_of(const char *text, int family) {
    nl_addr *address = nullptr;
    check(nl_addr_parse(text, family, &address), text);
    return Address(address);
}

void add_pair(nl_sock *netlink, const Mac &mac) {
    rtnl_link *near = rtnl_link_veth_alloc();
    rtnl_link *far = rtnl_link_veth_get_peer(near);
    Address link_address(nl_addr_build(AF_LLC, mac.data(), mac.size()));
    rtnl_link_set_name(near, "near");
    rtnl_link_set_name(far, "far");
    rtnl_link_set_addr(near, link_address.get());
    for (rtnl_link *end : {near, far})
        rtnl_link_set_mtu(end, 9500);
    int error = rtnl_link_add(netlink, near, NLM_F_CREATE | NLM_F_EXCL);
    rtnl_link_put(far);
    rtnl_link_veth_release(near);
    check(error, "add veth pair");
}

std::uint32_t raise(nl_sock *netlink, const char *name) {
    rtnl_link *found = nullptr;
    check(rtnl_link_get_kernel(netlink, 0, name, &found), name);
    Link link(found), quiet(rtnl_link_alloc()), up(rtnl_link_alloc());
    // No router solicitations among the frames that a test captures.
    rtnl_link_inet6_set_addr_gen_mode(quiet.get(), rtnl_link_inet6_str2addrgenmode("none"));
    rtnl_link_change(netlink, found, quiet.get(), 0);
    rtnl_link_set_flags(up.get(), IFF_UP);
    check(rtnl_link_change(netlink, found, up.get(), 0), name);
    return static_cast<std::uint32_t>(rtnl_link_get_ifindex(found));
}

/// A device that has come up is given its queue only later, by a work queue of the kernel. Until then the kernel
/// drops what it sends.
void await_queue(nl_sock *netlink, const char *name) {
    await(
        [&] {
            rtnl_link *found = nullptr;
            check(rtnl_link_get_kernel(netlink, 0, name, &found), name);
            return rtnl_link_get_operstate(Link(found).get()) == IF_OPER_UP;
        },
        [&] { return std::string("a queue for ") + name; });
}

void add_address(nl_sock *netlink, std::uint32_t ifindex, const char *text, int family) {
    InterfaceAddress address(rtnl_addr_alloc());
    rtnl_addr_set_ifindex(address.get(), static_cast<int>(ifindex));
    check(rtnl_addr_set_local(address.get(), address_of(text, family).get()), text);
    if (family == AF_INET6)
        rtnl_addr_set_flags(address.get(), IFA_F_NODAD);
    check(rtnl_addr_add(netlink, address.get(), 0), text);
}

void add_neighbour(nl_sock *netlink, std::uint32_t ifindex, const char *text, int family,
                   const Mac &mac) {
    Neighbour neighbour(rtnl_neigh_alloc());
    Address link_address(nl_addr_build(AF_LLC, mac.data(), mac.size()));
    rtnl_neigh_set_ifindex(neighbour.get(), static_cast<int>(ifindex));
    rtnl_neigh_set_dst(neighbour.get(), address_of(text, family).get());
    rtnl_neigh_set_lladdr(neighbour.get(), link_address.get());
    rtnl_neigh_set_state(neighbour.get(), NUD_PERMANENT);
    check(rtnl_neigh_add(netlink, neighbour.get(), NLM_F_CREATE | NLM_F_REPLACE), text);
}

/// Leaves out the multicast listener reports that the near end's kernel sends of itself, at some
/// moment in the first seconds: IPv6, hop-by-hop options, to a group.
sock_filter without_reports[] = {
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x3333, 0, 5),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 3),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, 0),
    BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
};
const sock_fprog reports_filter{.len = std::size(without_reports), .filter = without_reports};

void write_sysctl(const char *path) { std::ofstream(path) << "1\n"; }

} // namespace

Testbed::Testbed() {
    if (unshare(CLONE_NEWNET) != 0)
        throw std::system_error(errno, std::generic_category(), "new network namespace");
    write_sysctl("/proc/sys/net/ipv4/ip_forward");
    write_sysctl("/proc/sys/net/ipv6/conf/all/forwarding");
    Socket netlink(nl_socket_alloc());
    check(nl_connect(netlink.get(), NETLINK_ROUTE), "netlink");
    add_pair(netlink.get(), near_mac);
    far = raise(netlink.get(), "far");
    near = raise(netlink.get(), "near");
    for (const char *name : {"far", "near"})
        await_queue(netlink.get(), name);
    add_address(netlink.get(), near, "10.0.1.1/24", AF_INET);
    add_address(netlink.get(), near, "fd00:0:0:1::1/64", AF_INET6);
    add_neighbour(netlink.get(), near, "10.0.1.2", AF_INET, next_hop_mac);
    add_neighbour(netlink.get(), near, "fd00:0:0:1::2", AF_INET6, next_hop_mac);
}

Capture::Capture(std::uint32_t ifindex) : socket_(ifindex, &reports_filter) {}

std::optional<Bytes> Capture::next() {
    return ahead_ ? std::exchange(ahead_, {}) : socket_.poll(patience);
}

bool Capture::empty() {
    if (!ahead_)
        ahead_ = socket_.poll(std::chrono::milliseconds(0));
    return !ahead_;
}

} // namespace olaf::test
