/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Olaf wire protocol: version 1 of updates and what answers them, version 2 of a job's messages.
 *
 * UDP over IPv4 or IPv6, zero to two VLAN tags. One 48-byte header serves every
 * message; 8-byte payload lanes follow it. Header fields are big-endian on the
 * wire (suffix _be), lanes are little-endian, because the kernel adds them.
 *
 * Compiled as BPF C, C11 and C++. docs/protocol.md is the prose.
 */
#ifndef OLAF_PROTOCOL_H
#define OLAF_PROTOCOL_H

#include <linux/types.h>

#include "olaf/layout.h"

/* "O-L-A-F" on a phone's keys. */
#define OLAF_DEFAULT_PORT 6523

#define OLAF_MAGIC 0x01AF
#define OLAF_VERSION 1
/* Of CONTRIBUTION and RESULT, and of CONTROL messages of a job. */
#define OLAF_ROUNDS_VERSION 2

enum olaf_message_type {
	OLAF_UPDATE = 1, /* worker -> parameter server: a packed gradient */
	OLAF_ACK = 2, /* parameter server -> workers: weights and queue state */
	OLAF_CONTROL = 3, /* of a job: joining, agreeing on a round (enum olaf_control_action) */
	OLAF_CONTRIBUTION = 4, /* child -> node: one chunk of a vector that is summed in rounds */
	OLAF_RESULT = 5, /* node -> child: a chunk of the sum */
};

/* struct olaf_header::flags_be, in host order. Other bits are sent as zero and ignored. */
#define OLAF_FLAG_CHECKSUM 0x0001 /* the last lane is the checksum lane */
#define OLAF_FLAG_AGGREGATED 0x0002 /* UPDATE: more than one update folded in */
#define OLAF_FLAG_STAMPED 0x0004 /* ACK: queue state is filled in */
#define OLAF_FLAG_CONGESTED 0x0008 /* ACK: active clusters > queue capacity */
#define OLAF_FLAG_PARTIAL 0x0010 /* CONTRIBUTION, RESULT: not every member is in it; probe: the sender abstains */
#define OLAF_FLAG_ANEW 0x0010 /* CONTROL: SYNC, a worker below has no session yet; WAIT: the rank must begin anew */
#define OLAF_FLAG_LATE 0x0020 /* RESULT: the addressee's own contribution isn't in it */
#define OLAF_FLAG_STALE 0x0040 /* RESULT without lanes: this round is no longer possible here */
#define OLAF_FLAG_FLUSH 0x0080 /* CONTRIBUTION: nothing more comes before results do */
#define OLAF_FLAG_ANSWER 0x1000 /* CONTROL: the node's answer */
#define OLAF_FLAG_ABOVE 0x2000 /* CONTROL, answer WAIT or OVER: the rank is one of a node above */
#define OLAF_FLAG_SPOILT 0x4000 /* CONTRIBUTION: the result that came doesn't match its checksum lane */
#define OLAF_FLAG_MISFIT 0x8000 /* CONTRIBUTION, RESULT: no sum, as two members' vectors differ */
#define OLAF_FLAG_FORMAT_MASK 0x0f00 /* enum olaf_format */
#define OLAF_FLAG_FORMAT_SHIFT 8

/* How a lane packs elements: sum of e_i * 2^(w*i) mod 2^64, with signed e_i of w bits. */
enum olaf_format {
	OLAF_FORMAT_I32X2 = 0, /* two signed 32-bit fixed-point elements */
	OLAF_FORMAT_I16X4 = 1, /* four signed 16-bit fixed-point elements */
	OLAF_FORMAT_I64X1 = 2, /* one signed 64-bit element */
	OLAF_FORMAT_F32X2 = 3, /* two binary32 values; not linear: ACK weights, and jobs whose node adds floats */
};

/* CONTROL: what is asked for. */
enum olaf_control_action {
	OLAF_CONTROL_JOIN = 1, /* of a cluster: send me the weights; of a job: I am a member from now on */
	OLAF_CONTROL_SYNC = 2, /* of a job: which chunk is next? Agreed on by all its members */
	OLAF_CONTROL_LEAVE = 3, /* of a job, as all below: I contribute no more, from this round on */
	OLAF_CONTROL_SETH = 4, /* so many contributions complete a chunk */
	OLAF_CONTROL_FBCAST = 5, /* complete what is open without those that are missing */
	OLAF_CONTROL_HALT = 6, /* refuse contributions */
	OLAF_CONTROL_RESUME = 7, /* take them again */
	OLAF_CONTROL_RESET = 8, /* let all agree anew where to begin */
};

/* CONTROL of a job, in answers. */
enum olaf_control_status {
	OLAF_CONTROL_DONE = 0,
	OLAF_CONTROL_WAIT = 1, /* SYNC: not all members have asked yet; ask again */
	OLAF_CONTROL_OLD = 2, /* SYNC, JOIN: this is over; ask with a newer stamp */
	OLAF_CONTROL_GONE = 3, /* the sender is no member: it must JOIN */
	OLAF_CONTROL_REFUSED = 4, /* SETH: no such threshold */
	OLAF_CONTROL_OVER = 5, /* SYNC: the asker's session is: the rank that is named has begun anew */
	OLAF_CONTROL_OTHER = 6, /* SYNC, JOIN: another run has the job, which the lanes name */
	OLAF_CONTROL_VERSION = 7, /* the question was of another version of the protocol than this answer */
};

/* SYNC and JOIN, and their answers: what the first lanes are, little-endian as all lanes. */
enum olaf_sync_lane {
	OLAF_SYNC_INCARNATION = 0, /* a worker's random number; a node's: the sum of its children's */
	OLAF_SYNC_SESSION = 1, /* the sum of all incarnations when it began; 0: none yet */
	OLAF_SYNC_TRAINING = 2, /* struct olaf_run of the asker; in an answer of whoever has the job */
	OLAF_SYNC_RUN = 3,
	OLAF_SYNC_LANES,
};

/*
 * CONTRIBUTION, RESULT: what a vector is made of, in the upper bits of olaf_header::content_be. The lower
 * ones are how many elements its last piece has: a piece is what one chunk brings of the data.
 */
enum olaf_content {
	OLAF_CONTENT_UNTOLD = 0, /* the sender's own matter */
	OLAF_CONTENT_INT32 = 1,
	OLAF_CONTENT_INT64 = 2,
	OLAF_CONTENT_FLOAT_SUM = 3,
	OLAF_CONTENT_FLOAT_MEAN = 4, /* each member divides the sum by its count */
	OLAF_CONTENT_GUESSED_SUM = 5, /* floats that travel along with their exponents */
	OLAF_CONTENT_GUESSED_MEAN = 6,
};
#define OLAF_CONTENT_SHIFT 13
#define OLAF_CONTENT_ELEMENTS_MASK 0x1fff

/* ACK worker field: every worker of the cluster. */
#define OLAF_EVERY_WORKER 0xffffffffu
/* CONTRIBUTION, RESULT: a farewell has this in place of its vector's chunks. No vector is that long. */
#define OLAF_FAREWELL_CHUNKS 0xffffffffu
/* RESULT: every rank of the job. */
#define OLAF_EVERY_RANK 0xffffu

/* Fractional bits of a reward: signed Q47.16. */
#define OLAF_REWARD_FRACTION_BITS 16

/*
 * A cluster's max_count unless it says otherwise: the queue never folds more
 * updates than this into one, and workers clip elements so that so many can't
 * overflow. Both sides must agree on it.
 */
#define OLAF_DEFAULT_MAX_COUNT 256
#define OLAF_LIMIT_MAX_COUNT 65535

/* Largest payload, checksum lane included: 9,216 bytes, beyond any jumbo MTU in use. */
#define OLAF_MAX_LANES 1152

/*
 * The header of every message, directly behind UDP. All types agree on every field but those
 * in unions, which an ACK uses for the queue's state and a job's messages for the round.
 */
struct olaf_header {
	__be16 magic_be; /* OLAF_MAGIC */
	__u8 version; /* OLAF_VERSION, OLAF_ROUNDS_VERSION */
	__u8 type; /* enum olaf_message_type */
	__be16 flags_be; /* OLAF_FLAG_* and the element format */
	__be16 lanes_be; /* 8-byte lanes behind the header, checksum lane included */
	__be32 cluster_be; /* cluster id; the job's, which is one */
	union {
		__be32 worker_be; /* UPDATE: newest folded worker; ACK: addressee or OLAF_EVERY_WORKER */
		__extension__ struct { /* of a job */
			__be16 workers_be; /* CONTRIBUTION, RESULT: the sender's job has so many; 0: not told */
			__be16 rank_be; /* the sender's; RESULT: the addressee's or OLAF_EVERY_RANK */
		};
	};
	__be32 sequence_be; /* of the (newest folded) update; wraps. The round */
	union {
		__be32 count_be; /* UPDATE: what is folded in, 1 from a worker */
		__extension__ struct { /* CONTRIBUTION, RESULT */
			__be16 content_be; /* enum olaf_content, and the elements of the last piece */
			__be16 added_be; /* contributions of workers in it, 1 from a worker */
		};
		__be32 action_be; /* CONTROL: enum olaf_control_action */
		__be32 named_be; /* RESULT, STALE: the generation that the contribution named */
		__extension__ struct {
			__be16 active_clusters_be; /* ACK, stamped: N */
			__be16 reserved_be; /* ACK: zero */
		};
	};
	/* CLOCK_TAI when the gradient was computed; maximum; ACK: echo; MISFIT: the other vector's identity */
	__be64 generated_ns_be;
	union {
		__be64 reward_be; /* UPDATE: signed Q47.16 mean episode reward; sum */
		__extension__ struct {
			__be32 queue_capacity_be; /* ACK, stamped: Qmax */
			__be32 queue_length_be; /* ACK, stamped: Qn */
		};
		__extension__ struct {
			__be32 chunk_be; /* CONTRIBUTION, RESULT: 0 ... chunks - 1; SYNC: the next one */
			union {
				__be32 chunks_be; /* CONTRIBUTION, RESULT: frames of the round's vector */
				__be32 missing_be; /* WAIT: members that haven't asked; OTHER: that are there */
				__be32 threshold_be; /* CONTROL, SETH */
				__extension__ struct {
					__be16 job_lanes_be; /* CONTROL, other answers: the job's; 0: not told */
					__be16 job_shape_be; /* its OLAF_FLAG_CHECKSUM and format */
				};
			};
		};
	};
	union {
		__be32 model_version_be; /* UPDATE: oldest folded; ACK: of the weights carried */
		__be32 generation_be; /* of a job: what the sender knows; 0: none */
	};
	union {
		__be16 segment_be; /* 0 ... segments - 1 */
		__be16 exponent_be; /* CONTRIBUTION, RESULT: signed; maximum */
		__be16 status_be; /* CONTROL, answer: enum olaf_control_status */
	};
	union {
		__be16 segments_be; /* 1 when the whole model is in this frame */
		__extension__ struct {
			__u8 pool; /* RESULT, CONTROL: p, of 2^p chunks that may be under way */
			__u8 check; /* of a job's messages: makes olaf_header_parity() 0 */
		};
	};
};
OLAF_SPAN(olaf_header, 0, 16, magic_be, version, type, flags_be, lanes_be, cluster_be, worker_be);
OLAF_SPAN(olaf_header, 12, 16, workers_be, rank_be);
OLAF_SPAN(olaf_header, 16, 40, sequence_be, count_be, generated_ns_be, reward_be);
OLAF_LAST(olaf_header, 40, 48, model_version_be, segment_be, segments_be);
/* What stands in the place of those. */
OLAF_SPAN(olaf_header, 20, 24, content_be, added_be);
OLAF_SPAN(olaf_header, 20, 24, action_be);
OLAF_SPAN(olaf_header, 20, 24, named_be);
OLAF_SPAN(olaf_header, 20, 24, active_clusters_be, reserved_be);
OLAF_SPAN(olaf_header, 32, 40, queue_capacity_be, queue_length_be);
OLAF_SPAN(olaf_header, 32, 40, chunk_be, chunks_be);
OLAF_SPAN(olaf_header, 36, 40, missing_be);
OLAF_SPAN(olaf_header, 36, 40, threshold_be);
OLAF_SPAN(olaf_header, 36, 40, job_lanes_be, job_shape_be);
OLAF_SPAN(olaf_header, 40, 44, generation_be);
OLAF_SPAN(olaf_header, 44, 46, exponent_be);
OLAF_SPAN(olaf_header, 44, 46, status_be);
OLAF_SPAN(olaf_header, 46, 48, pool, check);

#define OLAF_HEADER_WORDS (sizeof(struct olaf_header) / 8)

/*
 * XOR of all bytes of a header, given as 64-bit words in the order of the wire: even words are turned left
 * by 3 bits, so that a bit that is stuck for two words in a row is seen. Of a job's message it is 0; one
 * flipped bit makes it another number. `check`, in the last word, is what it is with a check of 0.
 */
static inline __u8 olaf_parity_of(__u64 even, __u64 odd)
{
	__u64 sum = (even << 3 | even >> 61) ^ odd;

	sum ^= sum >> 32;
	sum ^= sum >> 16;
	return sum ^ sum >> 8;
}

static inline __u8 olaf_header_parity(const __u64 *word)
{
	return olaf_parity_of(word[0] ^ word[2] ^ word[4], word[1] ^ word[3] ^ word[5]);
}

/*
 * What must be the same of all that contribute to a round: chunks in bits 32 ... 63, workers in 16 ... 31, the
 * content in 0 ... 15. `vector` is the lower half.
 */
static inline __u64 olaf_vector_identity(__u32 chunks, __u32 vector)
{
	return (__u64)chunks << 32 | vector;
}

#endif /* OLAF_PROTOCOL_H */
