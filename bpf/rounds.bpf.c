// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "bpf/rounds/slots.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("xdp.frags")
int olaf_rounds(struct xdp_md *ctx)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(0);

	(void)ctx;
	return slot && olaf_round_lanes_of(0, 0) ? XDP_PASS : XDP_DROP;
}
