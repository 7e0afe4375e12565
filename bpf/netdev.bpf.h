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

struct net_device {
	int ifindex;
	unsigned long state;
	possible_net_t nd_net;
	struct bpf_xdp_entity xdp_state[OLAF_XDP_MODES];
} OLAF_KERNEL;

/* Inode of the network namespace that the device is in. */
static __always_inline __u32 olaf_netns_of(const struct net_device *dev)
{
	return BPF_CORE_READ(dev, nd_net.net, ns.inum);
}

/* Does a link keep an XDP program on the device, generic or native? */
static __always_inline int olaf_has_xdp_link(const struct net_device *dev)
{
	return BPF_CORE_READ(dev, xdp_state[0].link) || BPF_CORE_READ(dev, xdp_state[1].link);
}

#endif /* OLAF_NETDEV_BPF_H */
