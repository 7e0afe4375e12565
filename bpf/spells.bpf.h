/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_spells: since when something goes wrong (olaf/spells.h).
 *
 * Key enum olaf_trouble. Value struct olaf_spell, one copy a CPU. Writers: our programs, each its
 * own CPU's copy, and only where something goes wrong. XDP and TC run in softirq context, which
 * doesn't preempt itself. A tracepoint of a process may be interrupted by another writer of its
 * CPU: then a spell begins or ends later by what that took. Readers: user space, which joins the
 * copies.
 */
#ifndef OLAF_SPELLS_BPF_H
#define OLAF_SPELLS_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/spells.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OLAF_TROUBLES);
	__type(key, __u32);
	__type(value, struct olaf_spell);
} olaf_spells SEC(".maps");

/* The trouble (enum olaf_trouble) happens at `now`. A global function: verified once. */
__noinline int olaf_spell_note(__u32 trouble, __u64 now)
{
	struct olaf_spell *spell = bpf_map_lookup_elem(&olaf_spells, &trouble);

	if (!spell)
		return -1;
	if (!spell->last_ns || now > spell->last_ns + OLAF_SPELL_GAP_NS)
		WRITE_ONCE(spell->began_ns, now);
	WRITE_ONCE(spell->last_ns, now);
	return 0;
}

#endif /* OLAF_SPELLS_BPF_H */
