// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Losses behind the queue: frames that it sent and that were then refused or dropped. The
 * programs that sent them don't learn of it; tracepoints of the kernel do.
 *
 *   xdp_redirect_err    the redirect itself failed: no such device, down, no XDP output
 *   xdp_devmap_xmit     the output device took fewer frames than it was given, or has no carrier: many
 *                       drivers take frames then, and lose them
 *   xdp_exception       generic XDP can't send a frame back out of the device it came by
 *   kfree_skb           an skb died: at the server's socket, on its way up the stack, or at the
 *                       output device
 *
 * On its way up an skb counts only while an XDP link stands on the queue's device: before attach has
 * put the entrance there, and when detach has taken it off, nothing has passed the queue.
 *
 * Raw tracepoints, pinned like the rest of the queue. They run for every device of the host;
 * most calls end at the first comparison.
 */
#include <linux/errno.h>

#include "bpf/age/events.bpf.h"
#include "bpf/loss/watched.bpf.h"
#include "bpf/spells.bpf.h"
#include "bpf/way/gate.bpf.h"
#include "bpf/way/sent.bpf.h"
#include "bpf/way/xdp_gate.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * Map olaf_losses: what was lost behind the queue, by place.
 *
 * Key 0, struct olaf_losses, one copy a CPU. Writers: the loss programs. An skb may die in a
 * process, which a softirq that loses another one interrupts: increments are atomic. User space
 * sums.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_losses);
} olaf_losses SEC(".maps");

static __always_inline int olaf_lose(__u32 where, __u32 frames, __u32 updates)
{
	struct olaf_losses *losses;
	struct olaf_telling *telling;
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;

	losses = bpf_map_lookup_elem(&olaf_losses, &zero);
	if (!losses)
		return 0;
	__sync_fetch_and_add(&losses->frames[where], frames);
	__sync_fetch_and_add(&losses->updates[where], updates);
	olaf_spell_note(OLAF_TROUBLE_LOST, now);
	if (!olaf_listened(now))
		return 0;
	telling = olaf_event_begin(OLAF_EVENT_LOSS, where, NULL, now);
	if (!telling)
		return 0;
	telling->record.event.frames = frames;
	telling->record.event.count = updates;
	olaf_event_send(telling);
	return 0;
}

/*
 * Why the kernel drops an skb, as far as the losses tell reasons apart. A reason's number differs
 * between kernels, and older ones lack some: both are looked up when the object is loaded (CO-RE), so only
 * the names count here.
 */
enum skb_drop_reason {
	SKB_DROP_REASON_NOT_SPECIFIED,
	SKB_DROP_REASON_NO_SOCKET,
	SKB_DROP_REASON_SOCKET_CLOSE,
	SKB_DROP_REASON_SOCKET_FILTER,
	SKB_DROP_REASON_SOCKET_RCVBUFF,
	SKB_DROP_REASON_UDP_CSUM,
	SKB_DROP_REASON_PROTO_MEM,
	SKB_DROP_REASON_XDP,
	SKB_DROP_REASON_PACKET_SOCK_ERROR,
};

#define OLAF_REASON_IS(reason, NAME)                                                      \
	(bpf_core_enum_value_exists(enum skb_drop_reason, SKB_DROP_REASON_##NAME) &&      \
	 (reason) == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_##NAME))

/* The server's socket takes no more: its buffer is full, or UDP has its share of the memory. */
static __always_inline int olaf_reason_is_full(__u32 reason)
{
	return OLAF_REASON_IS(reason, SOCKET_RCVBUFF) || OLAF_REASON_IS(reason, PROTO_MEM);
}

/* The server's socket is missing, full or refuses it. */
static __always_inline int olaf_reason_is_socket(__u32 reason)
{
	return olaf_reason_is_full(reason) || OLAF_REASON_IS(reason, NO_SOCKET) ||
	       OLAF_REASON_IS(reason, SOCKET_FILTER) || OLAF_REASON_IS(reason, SOCKET_CLOSE) ||
	       OLAF_REASON_IS(reason, UDP_CSUM);
}

/* The server's socket looks at a UDP checksum when the server reads. */
static __always_inline int olaf_reason_is_checksum(__u32 reason)
{
	return OLAF_REASON_IS(reason, UDP_CSUM);
}

/* Not a loss of ours: XDP's own verdict, and a packet socket's copy. */
static __always_inline int olaf_reason_is_none_of_ours(__u32 reason)
{
	return OLAF_REASON_IS(reason, XDP) || OLAF_REASON_IS(reason, PACKET_SOCK_ERROR);
}

/*
 * The output refused a frame of XDP's. A device that is only full, or a frame that is too long for
 * it, says nothing of the way out. With its link down nothing leaves. With its link up the driver has
 * no way for XDP's frames, and the drain's can leave. `to` is the output, NULL where the kernel
 * doesn't tell it.
 */
static __always_inline void olaf_way_refused(const struct net_device *to, int error)
{
	__u64 now = bpf_ktime_get_ns();

	if (error >= 0 || error == -EMSGSIZE || error == -ENOSPC)
		return;
	if (to ? olaf_link_is_down(to) : error != -EOPNOTSUPP)
		olaf_gate_lost(now);
	else
		olaf_xdp_gate_refused(error, now);
}

/* Did the frame that XDP sent come by the queue's device, or by the one below (a bond's slave)? */
static __always_inline int olaf_is_source(const struct net_device *dev,
					  const struct olaf_sent *sent,
					  const volatile struct olaf_watched *watched)
{
	__u32 ifindex = BPF_CORE_READ(dev, ifindex);

	return (ifindex == watched->ifindex || ifindex == sent->came_by) &&
	       olaf_is_in_netns(dev, watched);
}

/* The frame that XDP sent last was refused at once. */
static __always_inline int olaf_lose_last(struct olaf_sent *sent, __u32 where)
{
	__u32 updates = olaf_sent_take_back(sent);

	return updates ? olaf_lose(where, 1, updates) : 0;
}

/* dev, program, target, error, kind and id of the map, index: see trace/events/xdp.h */
SEC("raw_tp/xdp_redirect_err")
int olaf_lost_redirect(struct bpf_raw_tracepoint_args *ctx)
{
	const volatile struct olaf_watched *watched = olaf_watched_here();
	struct olaf_sent *sent = olaf_sent_here();

	if (!watched || !sent || (__u32)ctx->args[6] != watched->egress_ifindex ||
	    !olaf_is_source((const struct net_device *)ctx->args[0], sent, watched))
		return 0;
	olaf_way_refused((const struct net_device *)ctx->args[2], ctx->args[3]);
	return olaf_lose_last(sent, OLAF_LOST_REDIRECT);
}

/* device it came by, device it leaves by, sent, dropped, error: of a batch, of which the last were dropped */
SEC("raw_tp/xdp_devmap_xmit")
int olaf_lost_xmit(struct bpf_raw_tracepoint_args *ctx)
{
	const volatile struct olaf_watched *watched = olaf_watched_here();
	const struct net_device *to = (const struct net_device *)ctx->args[1];
	int taken = ctx->args[2], dropped = ctx->args[3], error = ctx->args[4];
	struct olaf_sent *sent = olaf_sent_here();
	__u64 updates;

	if (!watched || !sent || taken < 0 || dropped < 0 || !olaf_is_way_out(to, watched) ||
	    !olaf_is_source((const struct net_device *)ctx->args[0], sent, watched))
		return 0;
	if (taken && olaf_link_is_down(to)) {
		dropped += taken;
		taken = 0;
		error = -ENETDOWN;
	}
	updates = olaf_sent_settle(sent, taken + dropped, dropped);
	if (!dropped)
		return 0;
	olaf_way_refused(to, error);
	return updates ? olaf_lose(OLAF_LOST_XMIT, dropped, updates) : 0;
}

/*
 * device, program, verdict. Generic XDP tells of the device that it sent by, and frees the skb next.
 * Natively nothing of the queue's leaves by XDP_TX.
 */
SEC("raw_tp/xdp_exception")
int olaf_lost_tx(struct bpf_raw_tracepoint_args *ctx)
{
	const struct net_device *dev = (const struct net_device *)ctx->args[0];
	const volatile struct olaf_watched *watched = olaf_watched_here();
	struct olaf_sent *sent = olaf_sent_here();

	if (!watched || !sent || !watched->skb_mode || (__u32)ctx->args[2] != XDP_TX ||
	    !olaf_is_way_out(dev, watched))
		return 0;
	if (olaf_link_is_down(dev))
		olaf_gate_lost(bpf_ktime_get_ns());
	sent->excused = 1;
	return olaf_lose_last(sent, OLAF_LOST_TX);
}

/*
 * Did the skb die on its way out, and is it ours? A device gets it with its MAC header in front.
 * What the drain sent came in by one of its devices. What generic XDP sends has no route; what the
 * kernel forwards by itself has one, unless it bridges: then a queue in generic mode can't tell
 * them apart.
 */
static __always_inline int olaf_skb_left(const struct sk_buff *skb, const struct olaf_skb *lost,
					 const volatile struct olaf_watched *watched)
{
	__u32 iif = BPF_CORE_READ(skb, skb_iif);

	if (BPF_CORE_READ(skb, data) != lost->frame)
		return 0;
	if (iif == watched->drain_ifindex || iif == watched->kick_ifindex)
		return 1;
	return watched->skb_mode && iif == watched->ifindex && !BPF_CORE_READ(skb, _skb_refdst);
}

/*
 * Where an update that went up to this host's own server died, or -1: it isn't ours. The queue
 * left alone what is addressed to another host. An skb that was given no reason and has no route
 * was dropped by XDP, or is a packet socket's copy.
 */
static __always_inline int olaf_skb_died_at(const struct sk_buff *skb, const struct olaf_skb *lost,
					    __u32 reason)
{
	if (!olaf_is_own_address(lost->daddr_be) || olaf_reason_is_none_of_ours(reason) ||
	    (OLAF_REASON_IS(reason, NOT_SPECIFIED) && !BPF_CORE_READ(skb, _skb_refdst)))
		return -1;
	return olaf_reason_is_socket(reason) ? OLAF_LOST_SOCKET : OLAF_LOST_STACK;
}

/*
 * Did the driver free an skb that it has sent? Some do it as if they dropped it (vmxnet3, bnxt_en before
 * Linux 6.2, mvneta, xen-netfront, ...). A drop comes before, or while this CPU hands the skb over; or
 * the link is down, and the driver empties its queues.
 */
static __always_inline int olaf_skb_was_sent(const struct sk_buff *skb,
					     const struct net_device *dev, __u32 reason)
{
	return OLAF_REASON_IS(reason, NOT_SPECIFIED) && !olaf_link_is_down(dev) &&
	       !olaf_is_in_xmit(dev, BPF_CORE_READ(skb, queue_mapping));
}

/* Is it the message that was handed over last? */
static __always_inline int olaf_is_sent_last(const struct olaf_sent *sent,
					     const struct olaf_skb *lost)
{
	const __u32 *id = (const void *)&lost->message + OLAF_SENT_ID_AT;
	int i;

	for (i = 0; i < OLAF_SENT_ID_WORDS; i++)
		if (sent->id[i] != id[i])
			return 0;
	return 1;
}

/* While the drain sends: it learns what fell. Returns whether it counts this one itself. */
static __always_inline int olaf_drain_learns(struct olaf_sent *sent, const struct sk_buff *skb,
					    __be16 port_be, int way_out)
{
	struct olaf_skb lost = {};

	if (!olaf_skb_update(skb, port_be, &lost) && olaf_is_sent_last(sent, &lost)) {
		sent->drain_fell |= OLAF_FELL_ITSELF;
		return 1;
	}
	if (way_out)
		sent->drain_fell |= OLAF_FELL_OTHER;
	return 0;
}

/*
 * Did a veth's peer drop what generic XDP sent into the veth, its ring being full? By then the skb is
 * the peer's, which hasn't received it yet: it came by no device, and lies behind its MAC header.
 * What died so at DEV never reached the queue.
 */
static __always_inline int olaf_veth_was_full(struct olaf_sent *sent, const struct sk_buff *skb,
					      __be16 port_be, struct olaf_skb *lost)
{
	if (sent->sender != OLAF_SENT_BY_XDP || BPF_CORE_READ(skb, skb_iif) ||
	    BPF_CORE_READ(skb, _skb_refdst) || olaf_skb_update(skb, port_be, lost) ||
	    BPF_CORE_READ(skb, data) == lost->frame || !olaf_is_sent_last(sent, lost))
		return 0;
	sent->sender = OLAF_SENT_BY_NOBODY;
	return 1;
}

/* The tracepoint as Linux 6.11 and later have it: with the socket that was to get the skb. */
typedef void (*btf_trace_kfree_skb)(void *, struct sk_buff *, void *, enum skb_drop_reason,
				    struct sock *);

/* That socket, or NULL: nobody says. */
static __always_inline const struct sock *
olaf_skb_reader(const struct bpf_raw_tracepoint_args *ctx)
{
	if (!bpf_core_type_matches(btf_trace_kfree_skb))
		return NULL;
	return (const struct sock *)ctx->args[3];
}

/* skb, where in the kernel, reason, socket. Not called for what was consumed. */
SEC("raw_tp/kfree_skb")
int olaf_lost_skb(struct bpf_raw_tracepoint_args *ctx)
{
	const struct sk_buff *skb = (const struct sk_buff *)ctx->args[0];
	const volatile struct olaf_watched *watched = olaf_watched_here();
	struct olaf_sent *sent = olaf_sent_here();
	const struct net_device *dev;
	struct olaf_skb lost = {};
	int way_out, up, where;

	if (!watched || !sent)
		return 0;
	dev = BPF_CORE_READ(skb, dev);
	way_out = olaf_is_way_out(dev, watched);
	up = !watched->egress_ifindex &&
	     ((olaf_is_device(dev, watched) && olaf_has_xdp_link(dev)) ||
	      (olaf_reason_is_checksum(ctx->args[2]) && olaf_is_being_read(skb, watched)) ||
	      (olaf_reason_is_full(ctx->args[2]) &&
	       olaf_was_to_be_read(skb, olaf_skb_reader(ctx), watched)));
	/* Whatever frame it was, a probe perhaps: none of ours would fare better. */
	if (way_out && olaf_link_is_down(dev))
		olaf_gate_lost(bpf_ktime_get_ns());
	if (sent->sender == OLAF_SENT_BY_DRAIN &&
	    olaf_drain_learns(sent, skb, watched->port_be, way_out))
		return 0;
	if (!way_out && !up) {
		if (olaf_is_device(dev, watched) ||
		    !olaf_veth_was_full(sent, skb, watched->port_be, &lost))
			return 0;
		return olaf_lose(OLAF_LOST_DEVICE, 1, bpf_ntohl(lost.message.count_be));
	}
	if (sent->excused) {
		sent->excused = 0;
		return 0;
	}
	if (olaf_skb_update(skb, watched->port_be, &lost))
		return 0;
	where = OLAF_LOST_DEVICE;
	if (up)
		where = olaf_skb_died_at(skb, &lost, ctx->args[2]);
	else if (!olaf_skb_left(skb, &lost, watched) ||
		 olaf_skb_was_sent(skb, dev, ctx->args[2]))
		return 0;
	if (where < 0)
		return 0;
	return olaf_lose(where, 1, bpf_ntohl(lost.message.count_be));
}
