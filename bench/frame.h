/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the benchmark's frames look like, shared by the programs that make,
 * vary and check them and by user space.
 *
 * Ethernet, IPv4 without options, UDP, then Olaf's header or XAgg's, then lanes
 * whose values are a function of the lane and the cluster: lane 0 names the
 * cluster, the last lane is Olaf's checksum lane. A frame that carries `count`
 * updates then has `count` times each value, whatever was folded with what. In rounds a chunk is
 * what a cluster is here.
 */
#ifndef OLAF_BENCH_FRAME_H
#define OLAF_BENCH_FRAME_H

#include <olaf/protocol.h>

#define BENCH_LANES	  128  /* 1 KiB */
#define BENCH_JUMBO_LANES 1120 /* 8,960 B */
#define BENCH_MAX_LANES	  384  /* of a generated frame, which must fit a page with its headroom: 3 KiB */
#define BENCH_L4_END	  42   /* Ethernet 14, IPv4 20, UDP 8 */

#define BENCH_OLAF_PAYLOAD (BENCH_L4_END + (int)sizeof(struct olaf_header))
#define BENCH_OLAF_FRAME   (BENCH_OLAF_PAYLOAD + BENCH_LANES * 8)
#define BENCH_MAX_FRAME    (BENCH_OLAF_PAYLOAD + BENCH_MAX_LANES * 8)

#define BENCH_XAGG_PORT	    6524
#define BENCH_XAGG_ELEMENTS 256
#define BENCH_MAX_CLUSTERS  100000
#define BENCH_MAX_CPUS	    64
#define BENCH_MAX_CHILDREN  32

/* "Host ID" and "Gradient ID" of XAgg's figure 3, in the hosts' byte order, which costs XAgg least.
 */
struct xagg_header {
	__u32 id;      /* one-hot: which child sent it */
	__u32 idx;     /* which gradient fragment */
	__u64 sent_ns; /* the benchmark's, not the paper's: for the latency */
};

#define BENCH_XAGG_PAYLOAD (BENCH_L4_END + (int)sizeof(struct xagg_header))
#define BENCH_XAGG_FRAME   (BENCH_XAGG_PAYLOAD + BENCH_XAGG_ELEMENTS * 4)

/* One element of Agg_array (XAgg, figure 4). The map's values end behind the elements in use. */
struct xagg_aggregate {
	__u32 bitmap;
	__u32 counter;
	__s32 grad[2 * BENCH_MAX_LANES];
};

#define BENCH_XAGG_BYTES(elements) (8 + (elements) * 4)

/* What the programs that make, vary and check frames need to know; all in their rodata. */
struct bench_config {
	__u8 xagg;	/* XAgg's header, else Olaf's */
	__u8 stamped;	/* frames carry when they were sent, and the far end measures ages */
	__u8 narrow;	/* lanes hold four elements of 16 bits, else two of 32 */
	__u8 shuffled;	/* clusters and workers come at random, else in turns; not for XAgg */
	__u32 clusters; /* aggregates, for XAgg */
	__u32 workers;	/* per cluster */
	__u64 checksum; /* last lane of a frame of cluster 0 that carries one update */
	__u32 lanes;	/* of an update, the checksum lane included: at most BENCH_MAX_LANES */
	__u32 first;	/* the generator's clusters begin here */
	__u32 stride;	/* from one update's cluster to the next's, below `clusters` */
	__u64 interval_ns; /* between two updates; 0: as fast as the CPU can */
};

/* What arrived on one CPU: two cache lines, of which the neighbour CPU's prefetcher takes none. */
struct bench_arrived {
	__u64 frames, updates, wrong, verified;
	__u64 pad[12];
};

/* Ages of one cluster's model at the far end, in microseconds. */
struct bench_age {
	__u64 since_us;	    /* the last arrival; 0: none yet */
	__u64 generated_us; /* the newest update that arrived */
	__u64 span_us;	    /* metered time */
	__u64 area;	    /* microseconds squared */
	__u64 peaks_us;	    /* sum of the ages just before an arrival */
	__u64 arrivals;
};

/* Frames are counted by the updates in them, the last of these with those that have more. */
#define BENCH_FOLDS 64

/* Latencies are counted in buckets of an eighth of a power of two: see bench_bucket(). */
#define BENCH_BUCKETS 512

static inline __u32 bench_bucket(__u64 ns)
{
	__u32 power = 0;

	if (ns < 8)
		return ns;
	for (int step = 32; step; step >>= 1)
		if (ns >> (power + step))
			power += step;
	return (power - 2) * 8 + ((ns >> (power - 3)) & 7);
}

/* Where a bucket begins. */
static inline __u64 bench_bucket_ns(__u32 bucket)
{
	return bucket < 8 ? bucket : (8ull + bucket % 8) << (bucket / 8 - 1);
}

/* What the program that goes through whole rounds needs to know, in its rodata. */
struct bench_rounds {
	__u8 xagg;	/* XAgg's header, else a job's */
	__u8 pad[3];
	__u32 children; /* at most 32 */
	__u32 chunks;	/* of the vector, each of which has a slot of its own */
	__u32 first_child, end_child; /* it contributes for these */
	__u32 first_chunk, stride; /* to every stride-th chunk from there on */
	__u32 window; /* chunks that it may be ahead of the other generator; 0: it waits for nobody */
	__u32 number; /* of this generator: 0 or 1 */
	__u32 floats; /* lanes are floats, and of so many children, 2^this; 0: integers */
	__u64 checksum;	/* last lane of chunk 0 of one child */
	__u8 head[BENCH_OLAF_PAYLOAD + 6]; /* what every contribution begins with, up to its lanes */
};

/* How far a generator has come: two cache lines, of which the neighbour CPU's prefetcher takes none. */
struct bench_position {
	__u64 chunks; /* that it has contributed to */
	__u64 pad[15];
};

/* Two signed elements, one of them negative so that the borrow between them is exercised. */
static inline __u64 bench_lane(__u32 lane)
{
	return ((__u64)(2 * lane + 3) << 32) - (lane + 1);
}

/*
 * Four signed elements of 16 bits, two of them negative. They are small: as many as a frame here ever
 * carries add up without an overflow into the neighbour.
 */
static inline __u64 bench_narrow_lane(__u32 lane)
{
	return ((__u64)(lane % 7 + 2) << 48) - ((__u64)(lane % 5 + 1) << 32) +
	       ((__u64)(lane % 3 + 1) << 16) - (lane % 11 + 1);
}

static inline __u64 bench_lane_of(__u8 narrow, __u32 lane)
{
	return narrow ? bench_narrow_lane(lane) : bench_lane(lane);
}

#endif /* OLAF_BENCH_FRAME_H */
