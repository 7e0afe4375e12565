/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What belongs to a frame and isn't among its bytes: a VLAN tag that the device took off,
 * a checksum that a socket of the same host left to the device.
 *
 * Generic XDP runs behind the skb, which knows both. It can't ask, so a tracepoint just
 * before it leaves a note (bpf/beside.bpf.c). Native XDP asks the driver for the tag; only
 * a program that is loaded for one device may (bpf/ingress_bound.bpf.c). A checksum is
 * forgotten by what a native program sends on, so nobody asks for it there.
 */
#ifndef OLAF_BESIDE_BPF_H
#define OLAF_BESIDE_BPF_H

#include "bpf/config.bpf.h"

#define OLAF_BESIDE_KNOWN 0x1 /* the rest is known */
#define OLAF_BESIDE_TAGGED 0x2 /* it has a VLAN tag that isn't among its bytes */
#define OLAF_BESIDE_PARTIAL 0x4 /* of its UDP checksum only the pseudo header's sum is there */

#ifdef OLAF_ASKS_DRIVER
/* 0: there is a tag. A kfunc since Linux 6.8; bpf/ingress_bound.bpf.c says what else it takes. */
extern int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md *ctx, __be16 *vlan_proto,
					__u16 *vlan_tci) __ksym;
#endif

/* Has the frame a VLAN tag that isn't among its bytes, as far as can be known? */
static __always_inline int olaf_tag_is_hidden(struct xdp_md *ctx, __u32 beside)
{
#ifdef OLAF_ASKS_DRIVER
	__be16 proto_be;
	__u16 tci;

	(void)beside;
	return !bpf_xdp_metadata_rx_vlan_tag(ctx, &proto_be, &tci);
#else
	(void)ctx;
	return !!(beside & OLAF_BESIDE_TAGGED);
#endif
}

#endif /* OLAF_BESIDE_BPF_H */
