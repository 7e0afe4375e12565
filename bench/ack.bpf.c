// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TEST_RUN repeats one frame, and the program under test changes it. This one
 * stands in front of it, makes the ACK what it was, and tail-calls. The floor is called
 * through it as well, so its own cost cancels.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "olaf/protocol.h"

/* Flags to addressee of a frame without VLAN tags and IP options. */
#define FLAGS_AT (14 + 20 + 8 + 4)

/* Those bytes of the ACK, as it was. */
const volatile __u8 was[12];

/* Key 0: the program under test. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

SEC("tc")
int nothing(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int restore(struct __sk_buff *skb)
{
	if (bpf_skb_store_bytes(skb, FLAGS_AT, (const void *)was, sizeof(was), 0))
		return TC_ACT_SHOT;
	bpf_tail_call(skb, &target, 0);
	return TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
