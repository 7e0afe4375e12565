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
#include "olaf/jobs.h"
#include "olaf/protocol.h"

/* Slots of a queue, of all its jobs together. */
#define OLAF_MAX_ROUND_SLOTS (1 << 17)
#define OLAF_DEFAULT_POOL 64

/* Keys of olaf_rooms: programs that the entrance calls. */
enum olaf_room {
	OLAF_ROOM_ROUNDS = 0,
	OLAF_ROOM_FLOATS = 1, /* contributions of jobs that sum floats */
	OLAF_ROOMS,
};

/* opened_ns of a buffer that the next duplicate seals, whatever the job's deadline. */
#define OLAF_ROUND_OVERDUE 1

enum olaf_round_state {
	OLAF_ROUND_FREE = 0,
	OLAF_ROUND_OPEN = 1, /* contributions are added; lanes of floats: olaf/floats.h */
	OLAF_ROUND_UP = 2, /* complete, and on its way to the parent */
	OLAF_ROUND_DONE = 3, /* the lanes are the result */
};

/*
 * One chunk of one round. With the slot's lock before it, what a contribution needs is one cache line,
 * and the sets of ranks are another.
 */
struct olaf_round_buffer {
	__u32 state; /* enum olaf_round_state */
	__u32 generation; /* of the job when it was opened; another one's buffer is void */
	__u32 round;
	__u32 chunk;
	__u32 chunks;
	__u32 count; /* workers' contributions in it */
	__u32 added; /* children's contributions in it */
	__s16 exponent; /* the maximum */
	__u16 flags; /* OLAF_FLAG_PARTIAL, _LATE, _STALE, _MISFIT: for every child */
	__u64 generated_ns; /* CLOCK_TAI, the newest; MISFIT: identity of the vector that differs */
	__u64 opened_ns;
	__u32 vector; /* of whoever opened it: workers << 16 | content */
	__u8 went_up; /* 1: an aggregate of this chunk has gone up, with the contributions of `given` */
	__u8 anew; /* 1: gathered anew after it went up; it takes contributions of `given` alone */
	__u8 summed; /* 1: `lanes_sum` is known */
	__u8 pad;
	struct olaf_ranks in; /* children whose contribution is in it */
	struct olaf_ranks owed; /* DONE: members that haven't got it */
	__u64 up_ns; /* below a parent: when it was last sent up; OPEN: opened, or the parent was last asked */
	__u64 first_up_ns; /* when it was first sent up */
	__u64 lanes_sum; /* DONE, `summed`: of its 32-bit halves, for UDP checksums */
	struct olaf_ranks given; /* `went_up`: children whose contribution was in what went up first */
	__u64 pad2;
};
OLAF_SPAN(olaf_round_buffer, 0, 28, state, generation, round, chunk, chunks, count, added);
OLAF_SPAN(olaf_round_buffer, 28, 52, exponent, flags, generated_ns, opened_ns, vector);
OLAF_SPAN(olaf_round_buffer, 52, 56, went_up, anew, summed, pad);
OLAF_LAST(olaf_round_buffer, 56, 184, in, owed, up_ns, first_up_ns, lanes_sum, given, pad2);

/* Buffers of a slot. Buffer 0 or 1 of slot s has the number OLAF_ROUND_BUFFERS x s + 0 or 1. */
#define OLAF_ROUND_BUFFERS 2

/* olaf_round_slots[setup.first_slot + chunk mod P] */
struct olaf_round_slot {
	__u32 lock; /* guards the buffers and their lanes */
	__u32 pad;
	struct olaf_round_buffer buffer[OLAF_ROUND_BUFFERS];
	__u64 pad2;
};
OLAF_LAST(olaf_round_slot, 0, 384, lock, pad, buffer, pad2);

/* Value size of olaf_round_lanes; the slack is what the verifier can't rule out. */
#define OLAF_ROUND_LANES_BYTES(max_lanes) (8 * (max_lanes) + OLAF_MAX_HEADERS)

/*
 * olaf_job_counters[index], one copy a CPU (olaf/job_counters.h).
 * received = added + duplicate + late + stale + ahead + halted.
 */
struct olaf_job_counters {
	OLAF_JOB_COUNTER_LIST(OLAF_COUNTER_FIELD)
};
OLAF_SPAN(olaf_job_counters, 0, 56, received, added, duplicate, late, stale, ahead, halted);
OLAF_SPAN(olaf_job_counters, 56, 96, probes, completed, partial, spoilt, misfit);
OLAF_SPAN(olaf_job_counters, 96, 120, riding, copied, multicast);
OLAF_SPAN(olaf_job_counters, 120, 168, repeated, undelivered, up_sent, up_again, syncs, controls);
OLAF_LAST(olaf_job_counters, 168, 208, silent, up_unfit, up_asked, float_overflow, float_not_finite);

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
OLAF_LAST(olaf_round_order, 0, 22, eth_proto_be, secret, job, work, partial);

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
	OLAF_JOB_THRESHOLD = 9, /* setup.threshold contributions complete a chunk, as by SETH */
	OLAF_JOB_RELEASE = 10, /* the run that has it has it no more: whoever asks next takes it */
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
	struct olaf_job_setup setup; /* SET; of THRESHOLD its threshold */
	struct olaf_ranks absent; /* SET: who is no member yet */
};
OLAF_SPAN(olaf_job_order, 0, 40, action, index, generation, rank, family, addr_be, port_be, pad);
OLAF_LAST(olaf_job_order, 40, 264, setup, absent);

/* olaf_job_desk[0]: where the program finds its order, and leaves its answer. */
struct olaf_job_desk {
	struct olaf_job_order order;
	__s32 answer; /* 0 or a negative errno; -EAGAIN: ask again */
	__u32 pad;
};
OLAF_LAST(olaf_job_desk, 0, 272, order, answer, pad);

static inline __u32 olaf_child_index(__u32 job, __u32 rank)
{
	return job * OLAF_RANKS + rank;
}

/* Is number a of a round before number b? Numbers wrap. */
static inline int olaf_is_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* Is chunk `chunk` of `round` before chunk `than_chunk` of `than_round`? Rounds wrap. */
static inline int olaf_chunk_is_before(__u32 round, __u32 chunk, __u32 than_round, __u32 than_chunk)
{
	return round == than_round ? chunk < than_chunk : olaf_is_before(round, than_round);
}

#endif /* OLAF_ROUNDS_H */
