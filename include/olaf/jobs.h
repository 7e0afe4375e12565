/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job of rounds (docs/rounds.md): what `olaf job set` says of it, who its members are, what they have
 * agreed on, and where its results wait. Its chunks are olaf/rounds.h's.
 *
 * Integers are in host order unless the name ends in _be; times are nanoseconds of CLOCK_MONOTONIC
 * unless the name says otherwise. A map's writers, and what orders them, are stated where the map is
 * defined (bpf/rounds/NAME.bpf.h). A change of size or meaning raises OLAF_LAYOUT.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_JOBS_H
#define OLAF_JOBS_H

#include <linux/types.h>

#include "olaf/members.h"
#include "olaf/protocol.h"
#include "olaf/run.h"

#define OLAF_MAX_JOBS 64
/* Children of a node: ranks 0 ... 255. */
#define OLAF_RANKS 256
#define OLAF_RANK_WORDS (OLAF_RANKS / 64)

/* A set of ranks: bit r mod 64 of word r / 64. */
struct olaf_ranks {
	__u64 word[OLAF_RANK_WORDS];
};
OLAF_LAST(olaf_ranks, 0, 32, word);

/* struct olaf_job_setup::flags */
#define OLAF_JOB_ANY 0x1 /* `threshold` contributions complete a chunk, of whomever */
#define OLAF_JOB_PARENTS_GROUP 0x2 /* the parent's results come to parent_group_be, too */
#define OLAF_JOB_OUR_CLSACT 0x4 /* the clsact of the parent's device came with a job's filter */

/* What `olaf job set` says. It stays for the life of the job, but for the thresholds. */
struct olaf_job_setup {
	__u32 id; /* a cluster id; OLAF_EVERY_WORKER: nobody's */
	__u32 flags; /* OLAF_JOB_* */
	__u32 children; /* 1 ... OLAF_RANKS */
	__u32 threshold; /* contributions that complete a chunk: 1 ... children, more with ANY */
	__u32 max_count; /* workers' contributions in one result at most: all of the job's */
	__u32 first_slot; /* its slots are first_slot ... first_slot + slots - 1 */
	__u32 slots; /* P, a power of two */
	__u32 rank; /* of this node at its parent */
	__u16 lanes; /* of every contribution, checksum lane included */
	__u16 shape; /* OLAF_FLAG_CHECKSUM and the format */
	__u8 float_bits; /* F32X2: s, values are added times 2^s: 0 ... OLAF_MOST_FLOAT_BITS */
	__u8 float_headroom; /* F32X2: max_count is at most 2^this */
	__be16 parent_port_be;
	__u32 parent_family; /* 4 or 6; 0: this node is the root */
	__be32 parent_addr_be[4]; /* IPv4 in [0] */
	__be32 source_addr_be[4]; /* this host's address towards the parent */
	__u32 pool; /* p, P being 2^p */
	__u64 deadline_ns; /* a chunk that is open for longer may be sealed; 0: never */
	__u16 group_family; /* 4 or 6: results leave by multicast; 0: to each member */
	__u16 group_hops; /* TTL or hop limit of those: 1 ... 255 */
	__u32 parent_ifindex; /* the parent is behind this device; 0: behind the queue's own */
	__be32 group_addr_be[4]; /* IPv4 in [0] */
	__be32 parent_group_be[4]; /* PARENTS_GROUP: of the parent's family */
	/* Only this one may have the job: its training's alias; number 0: any of the training; none: any. */
	struct olaf_run run;
	__u32 set_threshold; /* what `olaf job` said last: a worker's SETH changes `threshold` alone */
	__u32 pad[11];
};
OLAF_SPAN(olaf_job_setup, 0, 28, id, flags, children, threshold, max_count, first_slot, slots);
OLAF_SPAN(olaf_job_setup, 28, 40, rank, lanes, shape, float_bits, float_headroom, parent_port_be);
OLAF_SPAN(olaf_job_setup, 40, 80, parent_family, parent_addr_be, source_addr_be, pool);
OLAF_SPAN(olaf_job_setup, 80, 96, deadline_ns, group_family, group_hops, parent_ifindex);
OLAF_SPAN(olaf_job_setup, 96, 144, group_addr_be, parent_group_be, run);
OLAF_LAST(olaf_job_setup, 144, 192, set_threshold, pad);

/* Who may contribute. */
enum olaf_job_state {
	OLAF_JOB_NONE = 0, /* no such job */
	OLAF_JOB_SYNCING = 1, /* nobody: its members are asked which chunk is next */
	OLAF_JOB_RUNNING = 2, /* its members */
};

/*
 * Results of a job that wait for a frame to ride on, as a ring of places in olaf_lines: numbers
 * of buffers (olaf/rounds.h), oldest first. A buffer that is in it owes its result to a member, or did.
 * A cache line, as CPUs take turns at it.
 */
struct olaf_line {
	__u32 lock; /* guards the tail; taken inside a round slot's lock, never the other way round */
	__u32 head; /* next place to serve; counts up, wraps; by compare-and-swap */
	__u32 tail; /* next place to fill */
	__u32 pad[13];
};
OLAF_LAST(olaf_line, 0, 64, lock, head, tail, pad);

/* struct olaf_membership::flags */
#define OLAF_MEMBERS_YOUNG 0x1 /* since the job was set, not all rounds that are under way were seen */
#define OLAF_MEMBERS_BEGUN 0x2 /* newest_round is one */
#define OLAF_MEMBERS_LEFT 0x4 /* a member has left since the membership was settled */
#define OLAF_MEMBERS_DOUBTFUL 0x8 /* sums may lack a part that others had: they are PARTIAL */
#define OLAF_MEMBERS_FORGOT 0x10 /* the same: who was absent when the job was set may have joined an earlier life */

/*
 * Who belongs to a job (docs/rounds.md, "Members"). Who joins does so from a round on; rounds before it
 * have the members of before. Who leaves is out of all rounds at once. All zero: every child is in.
 */
struct olaf_membership {
	__u64 joining; /* number of the newest joining << 32 | its first round; read without the lock */
	__u32 newest_round; /* BEGUN: that anybody has contributed to; read without the lock */
	__u32 unsettled; /* chunks to be opened until nobody needs what was before; read without the lock */
	__u32 since; /* only those of this round and later count; unless YOUNG */
	__u32 flags; /* OLAF_MEMBERS_*; read without the lock */
	__u32 away; /* a hint: somebody is or was absent; read without the lock */
	__u32 pad;
	__u64 sealed_ns; /* what was opened until then needn't wait for anybody; read without the lock */
	__u64 judged_ns; /* when silent members were last looked for; read without the lock */
	struct olaf_ranks absent[2]; /* [joining's number mod 2]: now; the other: in rounds before it */
};
OLAF_SPAN(olaf_membership, 0, 32, joining, newest_round, unsettled, since, flags, away, pad);
OLAF_LAST(olaf_membership, 32, 112, sealed_ns, judged_ns, absent);

/* Lines of a job at most: CPU c uses that of number c mod olaf_config.round_lines. */
#define OLAF_MAX_LINES 8
/* Places in a line for each slot of a job. */
#define OLAF_LINE_PLACES 4
/* In a place beside the buffer: one frame takes its result to all members. */
#define OLAF_LINE_GROUP 0x80000000U

/* Two members give different vectors to a round. Identities are olaf_vector_identity()'s. */
struct olaf_misfit {
	__u64 one;
	__u64 other;
	__u32 round;
	__u32 chunk;
};
OLAF_LAST(olaf_misfit, 0, 24, one, other, round, chunk);

/*
 * Which members go on with each other (docs/rounds.md, "Sessions"). All but `id` and `replaced` is of the
 * questions of those who have asked since the job was stopped.
 */
struct olaf_session {
	__u64 id; /* RUNNING: of all members; 0: none */
	__u64 incarnations; /* of who has asked: their sum */
	__u64 asked; /* that those who have one have named; the first of them */
	__u32 differ; /* another one was named, too */
	__u32 culprit; /* 1 + the first rank that had none; 0: nobody */
	__u32 culprit_above; /* it is one of a node above */
	__u32 replaced; /* 1 + the first rank whose process isn't that of session `id` any more; 0: none known */
	__u32 pad[6];
	struct olaf_ranks in; /* who has named one */
	struct olaf_ranks anew; /* who has none, or has a worker below that has none */
};
OLAF_SPAN(olaf_session, 0, 40, id, incarnations, asked, differ, culprit, culprit_above, replaced);
OLAF_LAST(olaf_session, 40, 128, pad, in, anew);

/*
 * The generation in which the members contributed last, and where all began in it. A member that hasn't heard
 * of that generation may know other exponents than the others do (docs/rounds.md, "Exponents agreed on anew").
 */
struct olaf_last_run {
	__u32 generation; /* 0: none that this node knows of */
	__u32 round;
	__u32 chunk;
	__u8 partial; /* a sum of that generation lacks a member's part; written without the lock */
	__u8 missed; /* of those who have asked since the job stopped, one names another generation */
	__u8 forgotten; /* the generation is a member's, and this node doesn't know the round and chunk */
	__u8 pad;
};
OLAF_LAST(olaf_last_run, 0, 16, generation, round, chunk, partial, missed, forgotten, pad);

/* struct olaf_tenancy::flags */
#define OLAF_TENANCY_USED 0x1 /* a run had the job: the next one begins with the members that were set */

/* Whose the job is (docs/rounds.md, "Runs"). Written under the job's lock. */
struct olaf_tenancy {
	struct olaf_run run; /* that has the job; none: nobody */
	struct olaf_ranks in; /* who has asked in that run; read without the lock, as a hint */
	struct olaf_ranks absent; /* who was no member when the job was set */
	__u32 flags; /* OLAF_TENANCY_* */
	__u32 pad[11];
};
OLAF_LAST(olaf_tenancy, 0, 128, run, in, absent, flags, pad);

/* olaf_jobs[index] */
struct olaf_job {
	struct olaf_job_setup setup;
	__u32 lock; /* guards what follows but the lines, which have their own; taken last */
	__u32 state; /* enum olaf_job_state; read without the lock */
	__u32 generation; /* what its members must know; not 0; read without the lock */
	__u32 halted; /* contributions are refused until it is resumed; read without the lock */
	__u32 next_round; /* SYNCING: the lowest that was asked for; RUNNING: where all began */
	__u32 next_chunk;
	__u32 pool; /* p: the smallest that a member or the parent can take; read without the lock */
	__u32 parent_generation; /* 0: not known yet; read without the lock */
	__u32 misfit_generation; /* in which two members' vectors differ; read without the lock */
	__u32 flushing; /* a hint, without the lock: the newest contribution had FLUSH */
	__u64 stamp; /* of this node's own last SYNC to its parent: CLOCK_TAI */
	__u64 turnaround_ns; /* from sending up to the result, smoothed; written without the lock */
	__u64 answered_up_ns; /* when the newest aggregate that has its result went up; as above */
	struct olaf_ranks asked; /* SYNCING: who has asked */
	__u32 asker; /* SYNCING: rank of the child that asked last */
	__u32 pad; /* what CPUs write and what they only read are in cache lines of their own */
	struct olaf_misfit misfit; /* of misfit_generation */
	struct olaf_line line[OLAF_MAX_LINES];
	struct olaf_membership membership; /* written under the lock */
	struct olaf_last_run last_run; /* under the lock */
	struct olaf_session session; /* under the lock */
	struct olaf_tenancy tenancy;
};
OLAF_SPAN(olaf_job, 0, 220, setup, lock, state, generation, halted, next_round, next_chunk, pool);
OLAF_SPAN(olaf_job, 220, 240, parent_generation, misfit_generation, flushing, stamp);
OLAF_SPAN(olaf_job, 240, 320, turnaround_ns, answered_up_ns, asked, asker, pad, misfit);
OLAF_LAST(olaf_job, 320, 1216, line, membership, last_run, session, tenancy);

/* olaf_children[job x OLAF_RANKS + rank] */
struct olaf_child {
	struct olaf_member member; /* written as any member is (bpf/ack/members.bpf.h) */
	__u64 stamp; /* generated_ns of its newest SYNC; under the job's lock */
	__u64 newest_ns; /* ANY: generated_ns of its newest contribution that was added; atomic */
	__u64 joined_ns; /* generated_ns of the JOIN that it is a member by; under the job's lock */
	__u64 waited_ns; /* since when chunks are completed without it; under the job's lock */
	__u64 incarnation; /* of its newest SYNC; under the job's lock */
	__u32 first_round; /* that it is a member of since; under the job's lock */
	__u32 pad[5];
};
OLAF_SPAN(olaf_child, 0, 104, member, stamp, newest_ns, joined_ns, waited_ns, incarnation);
OLAF_LAST(olaf_child, 104, 128, first_round, pad);

#endif /* OLAF_JOBS_H */
