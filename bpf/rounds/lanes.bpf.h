/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_round_lanes: key olaf_round_lanes_of(), value the buffer's lanes, as they lie in a frame
 * (OLAF_ROUND_LANES_BYTES). Writers and readers: XDP and TC programs, under the lock of the slot.
 */
#ifndef OLAF_ROUND_LANES_BPF_H
#define OLAF_ROUND_LANES_BPF_H

#include "bpf/rounds/slots.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OLAF_ROUND_BUFFERS); /* 2 x round_slots, set by the loader */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OLAF_ROUND_LANES_BYTES(OLAF_MAX_LANES)); /* by max_lanes */
} olaf_round_lanes SEC(".maps");

static __always_inline __u64 *olaf_round_lanes_at(__u32 buffer_index)
{
	__u32 key = olaf_round_lanes_of(buffer_index, olaf_cfg.round_slots);

	return bpf_map_lookup_elem(&olaf_round_lanes, &key);
}

#endif /* OLAF_ROUND_LANES_BPF_H */
