// SPDX-License-Identifier: BSD-2-Clause
#include "drain.hpp"

#include <fmt/format.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/inet6.h>
#include <netlink/route/link/veth.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "device.hpp"
#include "netlink.hpp"
#include "olaf/drain.h"
#include "olaf/try.hpp"

namespace olaf {
namespace {

struct TokenBucket {
    std::uint64_t bytes_per_second = 0;
    std::uint32_t burst = 0; ///< bytes; also the largest packet that passes
    std::uint32_t limit = 0; ///< bytes that may wait
};

/// Puts a token-bucket qdisc at the root of a device, or changes the one that is there. The message is
/// written by hand: rtnl_qdisc_tbf_*() gives the bucket as a time in microseconds, from which the kernel
/// computes a largest packet that may be a little too short.
Result<void> set_tbf(const std::string &device, std::uint32_t ifindex, const TokenBucket &bucket) {
    auto netlink = OLAF_TRY(Netlink::open(NETLINK_ROUTE));

    tcmsg header{};
    header.tcm_family = AF_UNSPEC;
    header.tcm_ifindex = static_cast<int>(ifindex);
    header.tcm_parent = TC_H_ROOT;
    header.tcm_handle = TC_H_MAKE(1u << 16, 0u);
    auto message = make_message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &header, sizeof header);
    if (!message)
        return fail("shape", device, ENOMEM);

    tc_tbf_qopt options{};
    options.rate.rate = static_cast<__u32>(std::min<std::uint64_t>(bucket.bytes_per_second, ~0u));
    // With a known link layer the kernel asks for no rate table.
    options.rate.linklayer = TC_LINKLAYER_ETHERNET;
    options.limit = bucket.limit;
    nla_put_string(message.get(), TCA_KIND, "tbf");
    nlattr *nest = nla_nest_start(message.get(), TCA_OPTIONS);
    nla_put(message.get(), TCA_TBF_PARMS, sizeof options, &options);
    nla_put_u32(message.get(), TCA_TBF_BURST, bucket.burst);
    if (bucket.bytes_per_second > ~0u)
        nla_put_u64(message.get(), TCA_TBF_RATE64, bucket.bytes_per_second);
    nla_nest_end(message.get(), nest);

    if (const int error = netlink.request(std::move(message)); error < 0)
        return fail("shape", device, errno_of_netlink(error),
                    "the drain needs the tbf qdisc: modprobe sch_tbf");
    return {};
}

constexpr std::uint32_t waiting_tokens = 4; // stale ones may share the drain for a moment
constexpr std::uint32_t least_mtu = 9500;   // beyond any jumbo frame in use
constexpr std::uint32_t link_headers = 64;  // VLAN tags count towards the MTU of a veth
constexpr std::uint32_t most_mtu = 65535;

struct LinkPutter {
    void operator()(rtnl_link *link) const { rtnl_link_put(link); }
};
using Link = std::unique_ptr<rtnl_link, LinkPutter>;

int add_pair(Netlink &netlink, const Drain &drain, std::uint32_t mtu) {
    rtnl_link *a = rtnl_link_veth_alloc();
    if (a == nullptr)
        return -ENOMEM;
    rtnl_link *b = rtnl_link_veth_get_peer(a);
    for (auto [end, name] : {std::pair{a, &drain.a}, std::pair{b, &drain.b}}) {
        rtnl_link_set_name(end, name->c_str());
        rtnl_link_set_mtu(end, mtu);
    }
    const int error = rtnl_link_add(netlink.get(), a, NLM_F_CREATE | NLM_F_EXCL);
    rtnl_link_put(b);
    rtnl_link_veth_release(a);
    return error;
}

/// No IPv6 address, no ARP, no multicast: nothing but tokens moves here.
int silence(Netlink &netlink, const std::string &name, std::uint32_t &ifindex) {
    rtnl_link *found = nullptr;
    if (const int error = rtnl_link_get_kernel(netlink.get(), 0, name.c_str(), &found); error < 0)
        return error;
    const Link link(found);
    ifindex = static_cast<std::uint32_t>(rtnl_link_get_ifindex(found));

    const Link quiet(rtnl_link_alloc());
    rtnl_link_inet6_set_addr_gen_mode(quiet.get(), rtnl_link_inet6_str2addrgenmode("none"));
    // A kernel without IPv6 refuses this, and doesn't need it.
    rtnl_link_change(netlink.get(), found, quiet.get(), 0);

    const Link change(rtnl_link_alloc());
    rtnl_link_set_flags(change.get(), IFF_NOARP);
    rtnl_link_unset_flags(change.get(), IFF_MULTICAST);
    rtnl_link_set_ifalias(change.get(), "drain of olaf");
    return rtnl_link_change(netlink.get(), found, change.get(), 0);
}

int raise(Netlink &netlink, std::uint32_t ifindex) {
    rtnl_link *found = nullptr;
    if (const int error =
            rtnl_link_get_kernel(netlink.get(), static_cast<int>(ifindex), nullptr, &found);
        error < 0)
        return error;
    const Link link(found), change(rtnl_link_alloc());
    rtnl_link_set_flags(change.get(), IFF_UP);
    return rtnl_link_change(netlink.get(), found, change.get(), 0);
}

Result<void> furnish(Netlink &netlink, Drain &drain, std::uint64_t drain_interval_ns) {
    if (const int error = silence(netlink, drain.a, drain.ifindex_a); error < 0)
        return fail("set up drain", drain.a, errno_of_netlink(error));
    if (const int error = silence(netlink, drain.b, drain.ifindex_b); error < 0)
        return fail("set up drain", drain.b, errno_of_netlink(error));
    for (const auto &name : {drain.a, drain.b})
        OLAF_TRY(disable_tx_checksum(name));
    OLAF_TRY(shape_drain(drain, drain_interval_ns));
    for (const auto ifindex : {drain.ifindex_b, drain.ifindex_a})
        if (const int error = raise(netlink, ifindex); error < 0)
            return fail("bring up drain", drain.a, errno_of_netlink(error));
    return {};
}

} // namespace

Drain drain_names(std::uint32_t ifindex) {
    const auto stem = "olaf" + std::to_string(ifindex);
    return {.a = stem + "a", .b = stem + "b"};
}

Result<Drain> make_drain(std::uint32_t ifindex, std::uint32_t mtu,
                         std::uint64_t drain_interval_ns) {
    auto netlink = OLAF_TRY(Netlink::open(NETLINK_ROUTE));
    Drain drain = drain_names(ifindex);
    const auto wide = std::clamp(mtu + link_headers, least_mtu, most_mtu);
    if (const int error = add_pair(netlink, drain, wide); error < 0) {
        const int code = errno_of_netlink(error);
        return fail("make the drain", drain.a, code,
                    code == EEXIST       ? fmt::format("another device has that name: ip link delete {}", drain.a)
                    : code == EOPNOTSUPP ? "this kernel has no veth: modprobe veth"
                                         : "");
    }
    if (auto done = furnish(netlink, drain, drain_interval_ns); !done) {
        // Best effort: the first error is the one to tell.
        [[maybe_unused]] const auto removed = remove_drain(drain);
        return std::unexpected(done.error());
    }
    return drain;
}

Result<void> shape_drain(const Drain &drain, std::uint64_t drain_interval_ns) {
    constexpr std::uint64_t second = 1'000'000'000;
    // As large as the longest token of any interval: a frame larger than the bucket never passes
    // it.
    constexpr std::uint32_t burst = OLAF_TOKEN_MAX_BYTES + OLAF_TOKEN_MIN_BYTES;
    return set_tbf(drain.a, drain.ifindex_a,
                   {.bytes_per_second = std::max<std::uint64_t>(
                        OLAF_TOKEN_MIN_BYTES * second / drain_interval_ns, 1),
                    .burst = burst,
                    .limit = waiting_tokens * burst});
}

Result<void> remove_drain(const Drain &drain) {
    auto netlink = OLAF_TRY(Netlink::open(NETLINK_ROUTE));
    const auto device = find_device(drain.a);
    if (!device || device->kind != "veth" ||
        (drain.ifindex_a != 0 && device->ifindex != drain.ifindex_a))
        return {}; // gone already, or somebody else's
    const Link link(rtnl_link_alloc());
    rtnl_link_set_ifindex(link.get(), static_cast<int>(device->ifindex));
    if (const int error = rtnl_link_delete(netlink.get(), link.get()); error < 0)
        return fail("remove the drain", drain.a, errno_of_netlink(error));
    return {};
}

} // namespace olaf
