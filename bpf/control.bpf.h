/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_control: orders to running programs. Key 0, value struct olaf_control.
 * Writer: user space (`olaf detach`, `attach --replace`, `reset`), one command at a time, which
 * holds the lock of the pin directory. Each word is read whole, and without a lock.
 */
#ifndef OLAF_CONTROL_BPF_H
#define OLAF_CONTROL_BPF_H

#include "bpf/config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_control);
} olaf_control SEC(".maps");

static __always_inline struct olaf_control *olaf_the_control(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_control, &zero);
}

/*
 * Is the queue being emptied? Then an arrival that can go on doesn't wait. The order is a
 * lease: a command that dies stops renewing it, and the queue is what it was.
 */
static __always_inline int olaf_emptying(__u64 now)
{
	struct olaf_control *control = olaf_the_control();

	return control && now < READ_ONCE(control->emptying_until_ns);
}

/*
 * Must what waits stay? While other programs take the queue over and send another way: what came
 * to wait meanwhile, because the command was stopped for longer than its lease to drain, was made
 * for the old way. A lease too, a longer one.
 */
static __always_inline int olaf_held(__u64 now)
{
	struct olaf_control *control = olaf_the_control();

	return control && now < READ_ONCE(control->held_until_ns);
}

/* The moment from which ages count, CLOCK_MONOTONIC; 0: from the first departure. */
static __always_inline __u64 olaf_figures_from(void)
{
	struct olaf_control *control = olaf_the_control();

	return control ? READ_ONCE(control->figures_from_ns) : 0;
}

#endif /* OLAF_CONTROL_BPF_H */
