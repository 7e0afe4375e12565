/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's struct net_device, as far as tracepoints read it. The layout is looked up in
 * the kernel's BTF when the object is loaded (CO-RE).
 */
#ifndef OLAF_NETDEV_BPF_H
#define OLAF_NETDEV_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define OLAF_KERNEL __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} OLAF_KERNEL;

struct net {
	struct ns_common ns;
} OLAF_KERNEL;

typedef struct {
	struct net *net;
} OLAF_KERNEL possible_net_t;

/* A mode of XDP on a device: generic, native, in hardware. */
struct bpf_xdp_entity {
	struct bpf_xdp_link *link; /* that keeps a program there */
} OLAF_KERNEL;

#define OLAF_XDP_MODES 3

struct netdev_queue {
	int xmit_lock_owner; /* CPU that is in the driver's ndo_start_xmit() for this queue, or -1 */
} OLAF_KERNEL;

/* The driver locks its send queues itself, and xmit_lock_owner says nothing: since Linux 6.12 a bit field. */
struct net_device___lltx {
	unsigned long lltx : 1;
} OLAF_KERNEL;
#define OLAF_FEATURE_LLTX (1ULL << 12) /* before */

struct net_device {
	int ifindex;
	unsigned long state;
	__u64 features;
	struct netdev_queue *_tx; /* by skb->queue_mapping */
	possible_net_t nd_net;
	struct bpf_xdp_entity xdp_state[OLAF_XDP_MODES];
} OLAF_KERNEL;

/* Inode of the network namespace that the device is in. */
static __always_inline __u32 olaf_netns_of(const struct net_device *dev)
{
	return BPF_CORE_READ(dev, nd_net.net, ns.inum);
}

static __always_inline int olaf_locks_itself(const struct net_device *dev)
{
	const struct net_device___lltx *newer = (const void *)dev;

	if (bpf_core_field_exists(newer->lltx))
		return BPF_CORE_READ_BITFIELD_PROBED(newer, lltx) != 0;
	return (BPF_CORE_READ(dev, features) & OLAF_FEATURE_LLTX) != 0;
}

/* Is this CPU handing a frame to the driver, by that send queue? Unknown, and 1, where drivers lock themselves. */
static __always_inline int olaf_is_in_xmit(const struct net_device *dev, __u16 queue)
{
	const struct netdev_queue *queues = BPF_CORE_READ(dev, _tx);
	__u32 bytes = bpf_core_type_size(struct netdev_queue);

	if (olaf_locks_itself(dev))
		return 1;
	queues = (const void *)queues + (__u64)queue * bytes;
	return BPF_CORE_READ(queues, xmit_lock_owner) == (int)bpf_get_smp_processor_id();
}

/* Does a link keep an XDP program on the device, generic or native? */
static __always_inline int olaf_has_xdp_link(const struct net_device *dev)
{
	return BPF_CORE_READ(dev, xdp_state[0].link) || BPF_CORE_READ(dev, xdp_state[1].link);
}

#endif /* OLAF_NETDEV_BPF_H */
