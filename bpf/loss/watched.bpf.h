/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_watched: whose losses count.
 *
 * Key 0, struct olaf_watched. Writer: user space (`olaf attach`); read field by field.
 * Tracepoints see every device of the host, so most calls end at the first comparison here.
 */
#ifndef OLAF_WATCHED_BPF_H
#define OLAF_WATCHED_BPF_H

#include "bpf/loss/skb.bpf.h"
#include "olaf/events.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_watched);
} olaf_watched SEC(".maps");

static __always_inline const volatile struct olaf_watched *olaf_watched_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_watched, &zero);
}

static __always_inline int olaf_is_in_netns(const struct net_device *dev,
					    const volatile struct olaf_watched *watched)
{
	return olaf_netns_of(dev) == watched->netns;
}

/* The queue's own device? */
static __always_inline int olaf_is_device(const struct net_device *dev,
					  const volatile struct olaf_watched *watched)
{
	__u32 ifindex = BPF_CORE_READ(dev, ifindex);

	return ifindex == watched->ifindex && olaf_is_in_netns(dev, watched);
}

/* The device that departures leave by? */
static __always_inline int olaf_is_way_out(const struct net_device *dev,
					   const volatile struct olaf_watched *watched)
{
	__u32 ifindex = BPF_CORE_READ(dev, ifindex);

	return ifindex && ifindex == watched->egress_ifindex && olaf_is_in_netns(dev, watched);
}

/*
 * Did the queue's device bring what a process is about to read? In a socket's buffer an skb forgets
 * its device; it still knows the index, and the process is in the server's namespace.
 */
static __always_inline int olaf_is_being_read(const struct sk_buff *skb,
					      const volatile struct olaf_watched *watched)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();
	__u32 iif = BPF_CORE_READ(skb, skb_iif);

	return iif == watched->ifindex &&
	       BPF_CORE_READ(task, nsproxy, net_ns, ns.inum) == watched->netns;
}

/*
 * Did the queue's device bring what a socket has no room for? By then UDP may have written notes of
 * its own where the skb had its device; the skb still knows the index. `reader`, where the kernel
 * tells the socket, knows the namespace. Elsewhere the index must do, with the address and the port
 * that the caller compares: a queue in another namespace that has all three alike counts it, too.
 */
static __always_inline int olaf_was_to_be_read(const struct sk_buff *skb, const struct sock *reader,
					       const volatile struct olaf_watched *watched)
{
	__u32 iif = BPF_CORE_READ(skb, skb_iif);

	if (iif != watched->ifindex ||
	    BPF_CORE_READ(skb, dev, ifindex)) /* of a device, which the caller has looked at */
		return 0;
	return !reader ||
	       BPF_CORE_READ(reader, __sk_common.skc_net.net, ns.inum) == watched->netns;
}

#endif /* OLAF_WATCHED_BPF_H */
