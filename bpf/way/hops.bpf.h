/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_hops: where departures to a destination go next.
 *
 * Key: olaf_hop_index(), a keyed hash of the destination address; upstream has one
 * destination and uses 0. Value struct olaf_hop: the kernel's FIB entry, asked again
 * after OLAF_HOP_TTL_NS, so that a change of route or neighbour is followed in that time.
 * Two destinations of one index ask the FIB in turn, and leave in one order.
 *
 * Writers: arrivals and the drain. The cached answer is under the hop's own lock,
 * which nobody holds while taking another. `issued` and `served` are under the ring's.
 */
#ifndef OLAF_HOPS_BPF_H
#define OLAF_HOPS_BPF_H

#include <linux/if_ether.h>

#include "bpf/claim.bpf.h"
#include "bpf/fib.bpf.h"
#include "bpf/lock.bpf.h"

#define OLAF_HOP_TTL_NS 100000000ULL
/* An answer without an address is asked for again sooner: the next hop may appear at any moment. */
#define OLAF_NO_HOP_TTL_NS 1000000ULL
/* A next hop that is in use is asked for its address again after this long. */
#define OLAF_HOP_CONFIRM_NS 4000000000ULL
/* One that doesn't answer is asked this often. */
#define OLAF_HOP_ASK_NS 1000000000ULL

/* An entry whose destination has never had one is given up after so long. */
#define OLAF_HOP_PATIENCE_NS 30000000000ULL

/* Index of a departure that needs no next hop. */
#define OLAF_NO_HOP 0xffffffff

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OLAF_HOPS);
	__type(key, __u32);
	__type(value, struct olaf_hop);
} olaf_hops SEC(".maps");

static __always_inline struct olaf_hop *olaf_hop_at(__u32 index)
{
	return bpf_map_lookup_elem(&olaf_hops, &index);
}

/* Keyed, so that nobody can choose addresses that share a hop with a server's. */
static __always_inline __u32 olaf_hop_index(const __be32 addr_be[4])
{
	__u64 key = olaf_cfg.token_secret | 1;
	__u64 hash = ((__u64)addr_be[0] << 32 | addr_be[1]) ^ key;

	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM)
		return 0;
	hash = (hash ^ hash >> 29) * key;
	hash ^= (__u64)addr_be[2] << 32 | addr_be[3];
	hash = (hash ^ hash >> 31) * (key ^ 0x9e3779b97f4a7c15ULL);
	return (hash ^ hash >> 32) & (OLAF_HOPS - 1);
}

/* Asks the FIB for the next hop of `to`, from the output device's side. */
static __always_inline void olaf_hop_ask(void *ctx, const struct olaf_destination *to,
					 struct olaf_nexthop *hop)
{
	struct bpf_fib_lookup fib = {};
	long result = olaf_fib_ask(ctx, &fib, olaf_cfg.egress_ifindex, to->family,
				   olaf_cfg.source_addr_be, to->addr_be);

	if (result == BPF_FIB_LKUP_RET_SUCCESS) {
		hop->state = OLAF_HOP_RESOLVED;
		hop->via_family = fib.family == OLAF_AF_INET ? 4 : 6;
		olaf_address_copy(hop->via_be, fib.ipv6_dst);
		__builtin_memcpy(hop->dmac, fib.dmac, ETH_ALEN);
		__builtin_memcpy(hop->smac, fib.smac, ETH_ALEN);
	} else if (result == BPF_FIB_LKUP_RET_NO_NEIGH) {
		hop->state = OLAF_HOP_NO_NEIGHBOUR;
	} else {
		hop->state = OLAF_HOP_NO_ROUTE;
	}
}

/* `attach --replace` may have chosen another output device since. */
static __always_inline int olaf_hop_is_of(const struct olaf_hop *hop,
					  const struct olaf_destination *to)
{
	return hop->family == to->family && hop->egress_ifindex == olaf_cfg.egress_ifindex &&
	       olaf_address_same(hop->daddr_be, to->addr_be);
}

/* What the hop knows of the destination, if that is recent. Under the hop's lock. */
static __always_inline int olaf_hop_recall(const struct olaf_hop *hop,
					   const struct olaf_destination *to, __u64 now,
					   struct olaf_nexthop *next)
{
	__u64 ttl = hop->state == OLAF_HOP_RESOLVED ? OLAF_HOP_TTL_NS : OLAF_NO_HOP_TTL_NS;

	/* Unsigned: an answer of a CPU whose clock was read later is as good as none. */
	if (!olaf_hop_is_of(hop, to) || now - hop->looked_up_ns >= ttl)
		return 0;
	next->state = hop->state;
	next->stale = now - hop->asked_ns >= OLAF_HOP_CONFIRM_NS;
	next->via_family = hop->via_family;
	olaf_address_copy(next->via_be, hop->via_be);
	__builtin_memcpy(next->dmac, hop->dmac, ETH_ALEN);
	__builtin_memcpy(next->smac, hop->smac, ETH_ALEN);
	return 1;
}

/* Writes down what the FIB said at `now`. Under the hop's lock. */
static __always_inline void olaf_hop_remember(struct olaf_hop *hop,
					      const struct olaf_destination *to, __u64 now,
					      struct olaf_nexthop *next)
{
	if (!olaf_hop_is_of(hop, to)) {
		olaf_address_copy(hop->daddr_be, to->addr_be);
		hop->family = to->family;
		hop->egress_ifindex = olaf_cfg.egress_ifindex;
		hop->asked_ns = now;
		hop->resolved_ns = 0;
	}
	hop->looked_up_ns = now;
	hop->state = next->state;
	if (next->state == OLAF_HOP_RESOLVED)
		hop->resolved_ns = now;
	hop->via_family = next->via_family;
	olaf_address_copy(hop->via_be, next->via_be);
	__builtin_memcpy(hop->dmac, next->dmac, ETH_ALEN);
	__builtin_memcpy(hop->smac, next->smac, ETH_ALEN);
	next->stale = now - hop->asked_ns >= OLAF_HOP_CONFIRM_NS;
}

/* The next hop of a departure: what is known, or what the FIB says. ctx is the program's own. */
static __always_inline void olaf_hop_of(void *ctx, const struct olaf_destination *to, __u64 now,
					struct olaf_nexthop *next)
{
	struct olaf_hop *hop = olaf_hop_at(to->index);
	int known;

	__builtin_memset(next, 0, sizeof(*next));
	if (!hop || !olaf_lock(&hop->lock))
		return;
	known = olaf_hop_recall(hop, to, now, next);
	olaf_unlock(&hop->lock);
	if (known)
		return;
	olaf_hop_ask(ctx, to, next);
	if (!olaf_lock(&hop->lock))
		return;
	olaf_hop_remember(hop, to, now, next);
	olaf_unlock(&hop->lock);
}

/* Has the destination ever had a next hop, as far as is remembered? */
static __always_inline int olaf_hop_ever_answered(const struct olaf_destination *to)
{
	struct olaf_hop *hop = olaf_hop_at(to->index);

	return hop && READ_ONCE(hop->resolved_ns);
}

/*
 * May the next hop be asked for its address now? At most once in `pause_ns`, whoever asks:
 * who is told so does it.
 */
static __always_inline int olaf_hop_may_ask(const struct olaf_destination *to, __u64 now,
					    __u64 pause_ns)
{
	struct olaf_hop *hop = olaf_hop_at(to->index);
	int may;

	if (!hop || !olaf_lock(&hop->lock))
		return 0;
	may = now > hop->asked_ns && now - hop->asked_ns >= pause_ns;
	if (may)
		hop->asked_ns = now;
	olaf_unlock(&hop->lock);
	return may;
}

#endif /* OLAF_HOPS_BPF_H */
