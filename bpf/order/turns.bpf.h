/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Turns: order holds for each next hop, though others pass an entry whose hop doesn't answer.
 * An entry takes a turn of its hop when it takes a place, and leaves when all before it have
 * left. All of it under the ring's lock; without it, the answers are hints.
 */
#ifndef OLAF_TURNS_BPF_H
#define OLAF_TURNS_BPF_H

#include "bpf/way/hops.bpf.h"

/*
 * Only where next hops may differ. What is decided here stands in the place: after `attach
 * --replace` an entry may leave by programs of another way, and its turn must be served by them.
 */
static __always_inline void olaf_turn_take(struct olaf_place *place, __u32 index)
{
	struct olaf_hop *hop;

	place->hop = olaf_cfg.deliver == OLAF_DELIVER_FORWARD ? index : OLAF_NO_HOP;
	if (place->hop == OLAF_NO_HOP)
		return;
	hop = olaf_hop_at(place->hop);
	if (hop)
		place->turn = hop->issued++;
}

static __always_inline int olaf_turn_has_come(const struct olaf_place *place)
{
	struct olaf_hop *hop;

	if (place->hop == OLAF_NO_HOP)
		return 1;
	hop = olaf_hop_at(place->hop);
	return hop && hop->served == place->turn;
}

static __always_inline void olaf_turn_served(const struct olaf_place *place)
{
	struct olaf_hop *hop;

	if (place->hop == OLAF_NO_HOP)
		return;
	hop = olaf_hop_at(place->hop);
	if (hop)
		hop->served++;
}

#endif /* OLAF_TURNS_BPF_H */
