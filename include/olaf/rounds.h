/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Synchronous aggregation: jobs, whose members sum a vector in rounds (docs/rounds.md).
 *
 * A job's vector is cut into chunks. Chunk c of any round uses slot c mod P of the job's P slots,
 * each with two buffers. Integers are in host order unless the name ends in _be; times are
 * nanoseconds of CLOCK_MONOTONIC unless the name says otherwise. A map's writers, and what orders
 * them, are stated where the map is defined (bpf/rounds/NAME.bpf.h). A change of size or meaning
 * raises OLAF_LAYOUT.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_ROUNDS_H
#define OLAF_ROUNDS_H

#include <linux/types.h>

#include "olaf/counters.h"
#include "olaf/floats.h"
#include "olaf/job_counters.h"
#include "olaf/members.h"
#include "olaf/protocol.h"

#define OLAF_MAX_JOBS 64
/* Children of a node: ranks 0 ... 255. */
#define OLAF_RANKS 256
#define OLAF_RANK_WORDS (OLAF_RANKS / 64)
/* Slots of a queue, of all its jobs together. */
#define OLAF_MAX_ROUND_SLOTS (1 << 17)
#define OLAF_DEFAULT_POOL 64

/* Keys of olaf_rooms: programs that the entrance calls. */
enum olaf_room {
	OLAF_ROOM_ROUNDS = 0,
	OLAF_ROOM_FLOATS = 1, /* contributions of jobs that sum floats */
	OLAF_ROOMS,
};

/* A set of ranks: bit r mod 64 of word r / 64. */
struct olaf_ranks {
	__u64 word[OLAF_RANK_WORDS];
};

/* struct olaf_job_setup::flags */
#define OLAF_JOB_ANY 0x1 /* `threshold` contributions complete a chunk, of whomever */
#define OLAF_JOB_PARENTS_GROUP 0x2 /* the parent's results come to parent_group_be, too */
#define OLAF_JOB_OUR_CLSACT 0x4 /* the clsact of the parent's device came with a job's filter */

/* What `olaf job set` says. It stays for the life of the job, but for the threshold. */
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
};

/* Who may contribute. */
enum olaf_job_state {
	OLAF_JOB_NONE = 0, /* no such job */
	OLAF_JOB_SYNCING = 1, /* nobody: its members are asked which chunk is next */
	OLAF_JOB_RUNNING = 2, /* its members */
};

/*
 * The results of a job that wait for a frame to ride on, as a ring of olaf_line_places: buffers
 * (olaf_round_buffer_of()), oldest first. A buffer that is in it owes its result to a member, or did.
 */
struct olaf_line {
	__u32 lock; /* guards the tail; taken inside a round slot's lock, never the other way round */
	__u32 head; /* next place to serve; counts up, wraps; by compare-and-swap */
	__u32 tail; /* next place to fill */
	__u32 pad;
};

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

/* Places in the line for each slot of a job. */
#define OLAF_LINE_PLACES 4
/* In a place beside the buffer: one frame takes its result to all members. */
#define OLAF_LINE_GROUP 0x80000000U

/* olaf_jobs[index] */
struct olaf_job {
	struct olaf_job_setup setup;
	__u32 lock; /* guards what follows but the line, which has its own; taken last */
	__u32 state; /* enum olaf_job_state; read without the lock */
	__u32 generation; /* what its members must know; not 0; read without the lock */
	__u32 halted; /* contributions are refused until it is resumed; read without the lock */
	__u32 next_round; /* SYNCING: the lowest that was asked for; RUNNING: where all began */
	__u32 next_chunk;
	__u32 pool; /* p: the smallest that a member or the parent can take; read without the lock */
	__u32 parent_generation; /* 0: not known yet; read without the lock */
	__u32 asker; /* SYNCING: rank of the child that asked last */
	__u32 flushing; /* a hint, without the lock: the newest contribution had FLUSH */
	__u64 stamp; /* of this node's own last SYNC to its parent: CLOCK_TAI */
	__u64 turnaround_ns; /* from sending up to the result, smoothed; written without the lock */
	struct olaf_ranks asked; /* SYNCING: who has asked */
	struct olaf_line line;
	struct olaf_membership membership; /* written under the lock */
};

/* olaf_children[job x OLAF_RANKS + rank] */
struct olaf_child {
	struct olaf_member member; /* written as any member is (bpf/ack/members.bpf.h) */
	__u64 stamp; /* generated_ns of its newest SYNC; under the job's lock */
	__u64 newest_ns; /* ANY: generated_ns of its newest contribution that was added; atomic */
	__u64 joined_ns; /* generated_ns of the JOIN that it is a member by; under the job's lock */
	__u64 waited_ns; /* since when chunks are completed without it; under the job's lock */
	__u32 first_round; /* that it is a member of since; under the job's lock */
	__u32 pad[7];
};

/* opened_ns of a buffer that the next duplicate seals, whatever the job's deadline. */
#define OLAF_ROUND_OVERDUE 1

enum olaf_round_state {
	OLAF_ROUND_FREE = 0,
	OLAF_ROUND_OPEN = 1, /* contributions are added; lanes of floats: olaf/floats.h */
	OLAF_ROUND_UP = 2, /* complete, and on its way to the parent */
	OLAF_ROUND_DONE = 3, /* the lanes are the result */
};

/* One chunk of one round. */
struct olaf_round_buffer {
	__u32 state; /* enum olaf_round_state */
	__u32 generation; /* of the job when it was opened; another one's buffer is void */
	__u32 round;
	__u32 chunk;
	__u32 chunks;
	__u32 count; /* workers' contributions in it */
	__u32 added; /* children's contributions in it */
	__s16 exponent; /* the maximum */
	__u16 flags; /* OLAF_FLAG_PARTIAL, _LATE, _STALE: for every child */
	__u64 generated_ns; /* CLOCK_TAI, the newest */
	__u64 opened_ns;
	__u64 up_ns; /* when it was last sent up */
	__u64 first_up_ns; /* when it was first sent up */
	__u64 lanes_sum; /* DONE: of its 32-bit halves, for UDP checksums */
	struct olaf_ranks in; /* children whose contribution is in it */
	struct olaf_ranks owed; /* DONE: members that haven't got it; bits are taken atomically */
};

#define OLAF_ROUND_BUFFERS 2

/* olaf_round_slots[setup.first_slot + chunk mod P] */
struct olaf_round_slot {
	__u32 lock; /* guards the buffers and their lanes, but for `owed` */
	__u32 pad;
	struct olaf_round_buffer buffer[OLAF_ROUND_BUFFERS];
};

/* Number of a buffer, as lines name it. */
static inline __u32 olaf_round_buffer_of(__u32 slot, __u32 buffer)
{
	return OLAF_ROUND_BUFFERS * slot + buffer;
}

/*
 * Key of olaf_round_lanes, whose values are lanes as they lie in a frame, but for floats that are being
 * added (olaf/floats.h). First buffers lie together and second ones behind them: a round runs through
 * one kind, and the memory through its pages.
 */
static inline __u32 olaf_round_lanes_of(__u32 buffer_number, __u32 round_slots)
{
	return buffer_number % OLAF_ROUND_BUFFERS * round_slots + buffer_number / OLAF_ROUND_BUFFERS;
}

/* Value size of olaf_round_lanes; the slack is what the verifier can't rule out. */
#define OLAF_ROUND_LANES_BYTES(max_lanes) (8 * (max_lanes) + OLAF_MAX_HEADERS)

/*
 * olaf_job_counters[index], one copy a CPU (olaf/job_counters.h).
 * received = added + duplicate + late + stale + ahead + halted.
 */
struct olaf_job_counters {
	OLAF_JOB_COUNTER_LIST(OLAF_COUNTER_FIELD)
};

/*
 * A frame that XDP hands to TC, which can send more than one, and by other devices: its MAC addresses
 * stay, and this lies behind them. ONWARD: the IP header is lost by that; all else is as it will leave.
 */
struct olaf_round_order {
	__be16 eth_proto_be; /* IPv4's; ONWARD: the parent's IP version */
	__u64 secret; /* not a token's (OLAF_ROUND_SECRET) */
	__u32 job; /* index */
	__u32 work; /* enum olaf_round_work */
	__u32 partial; /* header bytes of a frame whose checksum the device finishes; 0: none */
} __attribute__((packed));

#define OLAF_ROUND_SECRET(token_secret) ((token_secret) ^ 0x726f756e64732121ULL)

enum olaf_round_work {
	OLAF_ROUND_COPY = 1, /* send what is in line, a clone for each member */
	OLAF_ROUND_ASK = 2, /* ask for the parent's MAC address */
	OLAF_ROUND_ONWARD = 3, /* the frame is the parent's, who is behind another device */
	OLAF_ROUND_LAST = 4, /* from user space, as the queue goes: as COPY, but few at a time */
};

/* What user space asks of the program olaf_job_order. */
enum olaf_job_action {
	OLAF_JOB_SET = 1, /* begin the job `setup` at `index`, which must be free */
	OLAF_JOB_REMOVE = 2,
	OLAF_JOB_RESET = 3, /* its members must agree anew; what is under way is void */
	OLAF_JOB_HALT = 4,
	OLAF_JOB_RESUME = 5,
	OLAF_JOB_FLUSH = 6, /* seal what is open */
	OLAF_JOB_BIND = 7, /* rank is at addr_be:port_be */
	OLAF_JOB_LEAVE = 8, /* rank is no member any more */
};

struct olaf_job_order {
	__u32 action; /* enum olaf_job_action */
	__u32 index; /* of the job in olaf_jobs */
	__u32 generation; /* SET: random, not 0 */
	__u32 rank; /* BIND, LEAVE */
	__u32 family; /* BIND: 4 or 6 */
	__be32 addr_be[4]; /* BIND; IPv4 in [0] */
	__be16 port_be; /* BIND; 0: any */
	__u16 pad;
	struct olaf_job_setup setup; /* SET */
	struct olaf_ranks absent; /* SET: who is no member yet */
};

/* olaf_job_desk[0]: where the program finds its order, and leaves its answer. */
struct olaf_job_desk {
	struct olaf_job_order order;
	__s32 answer; /* 0 or a negative errno; -EAGAIN: ask again */
	__u32 pad;
};

static inline __u32 olaf_child_index(__u32 job, __u32 rank)
{
	return job * OLAF_RANKS + rank;
}

/* Is round or chunk number a behind b? Numbers wrap. */
static inline int olaf_is_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* Is (round, chunk) a before b? */
static inline int olaf_chunk_is_before(__u32 round_a, __u32 chunk_a, __u32 round_b, __u32 chunk_b)
{
	return round_a == round_b ? chunk_a < chunk_b : olaf_is_before(round_a, round_b);
}

OLAF_STATIC_ASSERT(sizeof(struct olaf_job_setup) == 128, "a setup has no hidden padding");
OLAF_STATIC_ASSERT(sizeof(struct olaf_job) == 128 + 40 + 16 + 32 + 16 + 112, "a job has no hidden padding");
OLAF_STATIC_ASSERT(sizeof(struct olaf_child) == 128, "a child is two cache lines");
OLAF_STATIC_ASSERT(sizeof(struct olaf_round_buffer) == 72 + 64, "a buffer has no hidden padding");
OLAF_STATIC_ASSERT(sizeof(struct olaf_job_order) == 40 + 128 + 32, "an order has no hidden padding");
OLAF_STATIC_ASSERT(sizeof(struct olaf_job_desk) == 200 + 8, "a desk has no hidden padding");

#endif /* OLAF_ROUNDS_H */
