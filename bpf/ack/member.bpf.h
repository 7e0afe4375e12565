/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One member, in whatever map it lies.
 *
 * A writer makes the sequence odd by compare-and-swap and even again when it is done; one that
 * finds it odd leaves it alone, as the next message comes soon: nobody ever waits here. Readers
 * take a copy between two equal even sequences, so no address is ever half an old one.
 */
#ifndef OLAF_MEMBER_BPF_H
#define OLAF_MEMBER_BPF_H

#include <linux/errno.h>

#include "bpf/config.bpf.h"
#include "olaf/members.h"

/* Looks at a member that another CPU is writing: some tens of nanoseconds each. */
#define OLAF_MEMBER_LOOKS 8

/* Nothing before it may pass it, nothing behind it may come before it. */
static __always_inline void olaf_member_barrier(struct olaf_member *member)
{
#ifdef __TARGET_ARCH_x86
	/* Loads stay in order here, and so do stores. */
	(void)member;
	asm volatile("" ::: "memory");
#else
	__sync_fetch_and_add(&member->sequence, 0);
#endif
}

/*
 * Begins to write a member that has this sequence. Returns whether it may: not if it is being
 * written, or was since the sequence was read. olaf_member_close() must follow.
 */
static __always_inline int olaf_member_open_at(struct olaf_member *member, __u32 sequence)
{
	return !(sequence & 1) &&
	       __sync_val_compare_and_swap(&member->sequence, sequence, sequence + 1) == sequence;
}

/* Begins to write a member. Returns whether it may; olaf_member_close() must follow. */
static __always_inline int olaf_member_open(struct olaf_member *member)
{
	return olaf_member_open_at(member, READ_ONCE(member->sequence));
}

static __always_inline void olaf_member_close(struct olaf_member *member)
{
	/* An atomic addition without a result is no barrier outside x86. */
	olaf_member_barrier(member);
	__sync_fetch_and_add(&member->sequence, 1);
}

/*
 * Empties a member that is open, all but its sequence: were that even for a moment, a second
 * writer could come in.
 */
static __always_inline void olaf_member_clear(struct olaf_member *member)
{
	__builtin_memset((void *)member + sizeof(member->sequence), 0,
			 sizeof(*member) - sizeof(member->sequence));
}

/*
 * Registers who `member` is for user space: the port is bound too, unless it is 0. A member that is heard
 * from that address already stays reachable. Returns 0, or -EAGAIN: it is being written, ask again.
 */
static __always_inline int olaf_member_register(struct olaf_member *member, __u32 family,
						const __be32 addr_be[4], __be16 port_be)
{
	if (!olaf_member_open(member))
		return -EAGAIN;
	if (member->family != family || !olaf_address_same(member->addr_be, addr_be) ||
	    (port_be && member->port_be != port_be)) {
		olaf_member_clear(member);
		member->family = family;
		olaf_address_copy(member->addr_be, addr_be);
		member->port_be = port_be;
	}
	member->flags = OLAF_MEMBER_REGISTERED | (port_be ? OLAF_MEMBER_PORT_BOUND : 0);
	olaf_member_close(member);
	return 0;
}

/* Takes a copy of one moment. Returns 0 if the member is being written all the time. */
static __always_inline int olaf_member_read(struct olaf_member *member, struct olaf_member *copy)
{
	__u32 sequence, i;

	for (i = 0; i < OLAF_MEMBER_LOOKS; i++) {
		sequence = READ_ONCE(member->sequence);
		olaf_member_barrier(member);
		*copy = *member;
		olaf_member_barrier(member);
		if (!(sequence & 1) && READ_ONCE(member->sequence) == sequence)
			return 1;
	}
	return 0;
}

#endif /* OLAF_MEMBER_BPF_H */
