/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Does an update fit through the way out? Its device's MTU was written into the
 * configuration at attach, so an arrival is refused before it waits in vain. The MTU may
 * shrink later: olaf_fits_now() asks the kernel, for a departure.
 */
#ifndef OLAF_FITS_BPF_H
#define OLAF_FITS_BPF_H

#include "bpf/packet/parse.bpf.h"

/*
 * Bytes that count towards the MTU when this update leaves: its IP packet as it will be,
 * and the second VLAN tag. A device makes room for one tag beyond its MTU.
 */
static __always_inline __u32 olaf_bytes_out(const struct olaf_pending *update)
{
	__u32 message_bytes = sizeof(struct olaf_header) + 8 * update->lanes;
	__u32 tag_bytes = update->l3_offset - ETH_HLEN;

	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM)
		return message_bytes + sizeof(struct udphdr) +
		       (olaf_cfg.upstream_family == 4 ? sizeof(struct iphdr) :
							sizeof(struct ipv6hdr));
	if (tag_bytes <= sizeof(struct olaf_vlan))
		tag_bytes = 0;
	else
		tag_bytes -= sizeof(struct olaf_vlan);
	return tag_bytes + update->header_bytes - update->l3_offset + message_bytes;
}

/* As attached. What goes up this host's own stack always fits. */
static __always_inline int olaf_fits_out(const struct olaf_pending *update)
{
	return !olaf_cfg.egress_mtu || olaf_bytes_out(update) <= olaf_cfg.egress_mtu;
}

/*
 * As the MTU is now. `ctx` is the program's own, XDP or TC. Yes if the kernel can't tell:
 * then the device refuses the frame, and that is counted.
 */
static __always_inline int olaf_fits_now(void *ctx, const struct olaf_pending *update)
{
	__u32 bytes = olaf_bytes_out(update);

	if (!olaf_cfg.egress_mtu)
		return 1;
	return bpf_check_mtu(ctx, olaf_cfg.egress_ifindex, &bytes, 0, 0) !=
	       BPF_MTU_CHK_RET_FRAG_NEEDED;
}

#endif /* OLAF_FITS_BPF_H */
