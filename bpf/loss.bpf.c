// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Losses behind the queue: frames that it sent and that a device then refused. XDP programs
 * don't learn of them; tracepoints of the kernel's XDP code do.
 *
 *   xdp_redirect_err    the redirect itself failed: no such device, down, no XDP output
 *   xdp_devmap_xmit     the output device took fewer frames than it was given
 *   xdp_bulk_tx         the same of frames sent back out of the device they came by (veth)
 *   xdp_exception       the same, one frame at a time (other drivers, generic XDP)
 *
 * Raw tracepoints, pinned like the rest of the queue. They run for every device of the host;
 * most calls end at the first comparison. The layouts of the kernel's structs are looked up
 * in its BTF when the object is loaded (CO-RE).
 */
#include <linux/errno.h>

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>

#include "bpf/age/events.bpf.h"
#include "bpf/queue/gate.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

/*
 * Key 0, struct olaf_losses, one copy a CPU. Writers: the programs below, in softirq or, for a
 * frame that a test offers, with softirqs off: plain increments. User space sums.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_losses);
} olaf_losses SEC(".maps");

/* Key 0, struct olaf_watched. Writer: user space (`olaf attach`). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_watched);
} olaf_watched SEC(".maps");

/* Is it the queue's device? With `egress` also the one that generic XDP sends out of. */
static __always_inline int olaf_is_watched(const struct net_device *dev, int egress)
{
	struct olaf_watched *watched;
	__u32 zero = 0, ifindex;

	watched = bpf_map_lookup_elem(&olaf_watched, &zero);
	if (!watched)
		return 0;
	ifindex = BPF_CORE_READ(dev, ifindex);
	if (ifindex != *(volatile __u32 *)&watched->ifindex &&
	    !(egress && ifindex && ifindex == *(volatile __u32 *)&watched->skb_egress_ifindex))
		return 0;
	return BPF_CORE_READ(dev, nd_net.net, ns.inum) == *(volatile __u32 *)&watched->netns;
}

/*
 * A device that is down or gone refuses with an error; one that is only full, or a frame that is
 * too long for it, says nothing of the way out.
 */
static __always_inline void olaf_way_refused(int error)
{
	if (error < 0 && error != -EMSGSIZE && error != -ENOSPC)
		olaf_gate_lost(bpf_ktime_get_ns());
}

static __always_inline int olaf_lose(__u32 where, __u32 frames)
{
	struct olaf_losses *losses;
	struct olaf_telling *telling;
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;

	losses = bpf_map_lookup_elem(&olaf_losses, &zero);
	if (!losses)
		return 0;
	losses->frames[where] += frames;
	if (!olaf_listened(now))
		return 0;
	telling = olaf_event_begin(OLAF_EVENT_LOSS, where, NULL, now);
	if (!telling)
		return 0;
	telling->record.event.count = frames;
	olaf_event_send(telling);
	return 0;
}

/* dev, program, target, error, kind and id of the map, index: see trace/events/xdp.h */
SEC("raw_tp/xdp_redirect_err")
int olaf_lost_redirect(struct bpf_raw_tracepoint_args *ctx)
{
	if (!olaf_is_watched((const struct net_device *)ctx->args[0], 0))
		return 0;
	olaf_way_refused(ctx->args[3]);
	return olaf_lose(OLAF_LOST_REDIRECT, 1);
}

/* device it came by, device it leaves by, sent, dropped, error */
SEC("raw_tp/xdp_devmap_xmit")
int olaf_lost_xmit(struct bpf_raw_tracepoint_args *ctx)
{
	int dropped = ctx->args[3];

	if (dropped <= 0 || !olaf_is_watched((const struct net_device *)ctx->args[0], 0))
		return 0;
	olaf_way_refused(ctx->args[4]);
	return olaf_lose(OLAF_LOST_XMIT, dropped);
}

/* device, sent, dropped, error */
SEC("raw_tp/xdp_bulk_tx")
int olaf_lost_bulk_tx(struct bpf_raw_tracepoint_args *ctx)
{
	int dropped = ctx->args[2];

	if (dropped <= 0 || !olaf_is_watched((const struct net_device *)ctx->args[0], 0))
		return 0;
	olaf_way_refused(ctx->args[3]);
	return olaf_lose(OLAF_LOST_TX, dropped);
}

/* device, program, verdict. Of redirects some drivers tell twice: those are counted above. */
SEC("raw_tp/xdp_exception")
int olaf_lost_tx(struct bpf_raw_tracepoint_args *ctx)
{
	if ((__u32)ctx->args[2] != XDP_TX ||
	    !olaf_is_watched((const struct net_device *)ctx->args[0], 1))
		return 0;
	return olaf_lose(OLAF_LOST_TX, 1);
}
