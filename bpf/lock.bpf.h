/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A lock that is one word of a map value: 0 free, 1 held.
 *
 * Why not bpf_spin_lock: its two helper calls cost as much as folding the whole update
 * (docs/benchmarks.md), it forbids every helper in between, and a program may hold only
 * one. This one is an exchange, taken inline; helpers may be called under it, and locks
 * nest in one order (a slot's, then the ring's).
 *
 * What makes it safe: its holders run with softirqs disabled and never sleep, so a CPU
 * isn't interrupted by a rival on itself; and every program releases what it took on
 * every way out. A waiter gives up after OLAF_LOCK_SPINS looks, tens of milliseconds,
 * which only a stopped virtual CPU can make it wait: it then does without, and the loss
 * is counted (dropped_contended). So no packet can hang a CPU here, unlike in a spinlock.
 * Nor can a poll's worth of packets: once a CPU has waited in vain, it looks for some
 * microseconds only, for as long as OLAF_LOCK_IMPATIENT_NS.
 *
 * Order: taking is an atomic exchange, a full barrier; releasing is a store that no
 * earlier access may pass, which on x86 any store is.
 */
#ifndef OLAF_LOCK_BPF_H
#define OLAF_LOCK_BPF_H

#include "bpf/bound.bpf.h"

#define OLAF_LOCK_SPINS (1 << 22)
/* Looks of a CPU that has lately waited in vain: longer than any lock is held. */
#define OLAF_LOCK_FEW_SPINS (1 << 12)
#define OLAF_LOCK_IMPATIENT_NS 500000000ULL

/*
 * Map olaf_vain_waits: key 0, when this CPU last waited for a lock in vain; one copy a CPU,
 * written and read by our programs on it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} olaf_vain_waits SEC(".maps");

struct olaf_waiter {
	__u32 *lock;
	__u32 taken;
};

/* How often a waiter may look now. */
static __always_inline __u32 olaf_lock_patience(void)
{
	__u32 zero = 0;
	__u64 *vain_ns = bpf_map_lookup_elem(&olaf_vain_waits, &zero);

	if (vain_ns && *vain_ns && bpf_ktime_get_ns() - *vain_ns < OLAF_LOCK_IMPATIENT_NS)
		return OLAF_LOCK_FEW_SPINS;
	return OLAF_LOCK_SPINS;
}

/* A wait has ended. If it was in vain, this CPU's next ones are shorter. */
static __always_inline void olaf_lock_waited(__u32 taken)
{
	__u32 zero = 0;
	__u64 *vain_ns;

	if (taken)
		return;
	vain_ns = bpf_map_lookup_elem(&olaf_vain_waits, &zero);
	if (vain_ns)
		*vain_ns = bpf_ktime_get_ns();
}

static long olaf_lock_look(__u32 round, struct olaf_waiter *waiter)
{
	(void)round;
	if (READ_ONCE(*waiter->lock) || __sync_lock_test_and_set(waiter->lock, 1))
		return 0;
	waiter->taken = 1;
	return 1;
}

/* The slow way: somebody holds it. Returns whether it was got. */
__noinline int olaf_lock_wait(__u32 *lock)
{
	struct olaf_waiter waiter = { lock, 0 };

	if (lock)
		bpf_loop(olaf_lock_patience(), olaf_lock_look, &waiter, olaf_no_loop_flags());
	olaf_lock_waited(waiter.taken);
	return waiter.taken;
}

/* Takes the lock. Returns 0 if it can't be had. */
static __always_inline int olaf_lock(__u32 *lock)
{
	return !__sync_lock_test_and_set(lock, 1) || olaf_lock_wait(lock);
}

/* Sets a shared word; nothing before it may pass it. */
static __always_inline void olaf_release_as(__u32 *word, __u32 value)
{
#ifdef __TARGET_ARCH_x86
	asm volatile("" ::: "memory");
	WRITE_ONCE(*word, value);
#else
	__sync_lock_test_and_set(word, value);
#endif
}

static __always_inline void olaf_release(__u32 *word)
{
	olaf_release_as(word, 0);
}

static __always_inline void olaf_unlock(__u32 *lock)
{
	olaf_release(lock);
}

#endif /* OLAF_LOCK_BPF_H */
