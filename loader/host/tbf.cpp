// SPDX-License-Identifier: BSD-2-Clause
//
// Written by hand rather than with rtnl_qdisc_tbf_*: that gives the bucket as a time in
// microseconds, from which the kernel computes a largest packet that may be a little too short.
#include "tbf.hpp"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <algorithm>
#include <cerrno>

#include "netlink.hpp"
#include "olaf/try.hpp"

namespace olaf {

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

} // namespace olaf
