/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames whose UDP checksum a socket of the same host left to the device: only the sum of
 * the pseudo header stands there (veth, tap).
 *
 * Native XDP forgets that with whatever it sends on, so what leaves must be complete. In
 * generic mode the skb remembers it, wherever it is sent and whatever lies in it by then:
 * the device adds up the bytes from where UDP began, and writes the sum there. So such an
 * skb carries no departure; its own update leaves in it where UDP begins where it did.
 */
#ifndef OLAF_PACKET_PARTIAL_BPF_H
#define OLAF_PACKET_PARTIAL_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/beside.bpf.h"
#include "bpf/packet/compose.bpf.h"
#include "bpf/packet/staging.bpf.h"

/* Is it what stands in the staged frame? */
static __always_inline int olaf_checksum_is_partial(struct olaf_entry *staged,
						    const struct olaf_pending *update)
{
	const struct udphdr *udp = (void *)&staged->message - sizeof(*udp);

	return udp->check == olaf_partial_checksum(staged, update->header_bytes,
						   update->l3_offset, update->family);
}

/* Generic mode: finds out by the bytes what no note has told (a kernel without BTF). */
static __always_inline void olaf_look_whether_partial(struct xdp_md *ctx, struct olaf_arrival *a)
{
	struct olaf_entry *staged;

	if (!(olaf_cfg.flags & OLAF_CONFIG_SKB_MODE) || (a->beside & OLAF_BESIDE_KNOWN))
		return;
	staged = olaf_stage(ctx, a->update.header_bytes, a->update.header_bytes);
	if (staged && olaf_checksum_is_partial(staged, &a->update))
		a->beside |= OLAF_BESIDE_PARTIAL;
}

static __always_inline int olaf_is_partial(const struct olaf_arrival *a)
{
	return (olaf_cfg.flags & OLAF_CONFIG_SKB_MODE) && (a->beside & OLAF_BESIDE_PARTIAL);
}

/*
 * Could a departure leave in this frame, as it is? Not in an skb that would spoil its
 * checksum, nor in one that may have a VLAN tag.
 */
static __always_inline int olaf_may_carry(const struct olaf_arrival *a)
{
	if (!(olaf_cfg.flags & OLAF_CONFIG_SKB_MODE))
		return 1;
	if (!(a->beside & OLAF_BESIDE_KNOWN) && (olaf_cfg.flags & OLAF_CONFIG_TAGS_HIDDEN))
		return 0;
	return !(a->beside & OLAF_BESIDE_PARTIAL);
}

#endif /* OLAF_PACKET_PARTIAL_BPF_H */
