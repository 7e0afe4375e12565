/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing into a benchmark frame whose update it is. Needs: const volatile struct bench_config
 * config. */
#ifndef OLAF_BENCH_STAMP_BPF_H
#define OLAF_BENCH_STAMP_BPF_H

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/frame.h"

/* A frame of ours, once it is known to be long enough: the header is one of the two. */
struct bench_view {
	__be16 *udp_checksum; /* 0: none, as frames of ours are sent */
	struct olaf_header *olaf;
	struct xagg_header *xagg;
	__u64 *lanes;
};

static __always_inline bool view(struct xdp_md *ctx, struct bench_view *v)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	void *header = data + BENCH_L4_END;

	v->udp_checksum = header - sizeof(*v->udp_checksum);
	v->olaf = header;
	v->xagg = header;
	if (config.xagg) {
		v->lanes = header + sizeof(*v->xagg);
		return data + BENCH_XAGG_PAYLOAD + config.lanes * 8 <= data_end;
	}
	v->lanes = header + sizeof(*v->olaf);
	return data + BENCH_OLAF_PAYLOAD + config.lanes * 8 <= data_end;
}

/* False if the frame is too short to be one of ours. */
static __always_inline bool stamp(struct xdp_md *ctx, __u32 cluster, __u32 worker, __u32 sequence)
{
	struct bench_view v;

	if (!view(ctx, &v))
		return false;
	if (config.xagg) {
		v.xagg->id = 1u << (worker & 31);
		v.xagg->idx = cluster;
	} else {
		v.olaf->cluster_be = bpf_htonl(cluster);
		v.olaf->worker_be = bpf_htonl(worker);
		v.olaf->sequence_be = bpf_htonl(sequence);
	}
	v.lanes[0] = bench_lane_of(config.narrow, 0) + cluster;
	v.lanes[config.lanes - 1] = config.checksum + cluster;
	return true;
}

#endif /* OLAF_BENCH_STAMP_BPF_H */
