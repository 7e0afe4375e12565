/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In place of libbpf's <bpf/bpf_helpers.h>: the kernel's helpers, played by helpers.cpp.
 * Only what the programs under test call. A helper that is missing here fails the build.
 */
#ifndef OLAF_INTERLEAVE_BPF_HELPERS_H
#define OLAF_INTERLEAVE_BPF_HELPERS_H

#include <linux/bpf.h>
#include <stddef.h>

/* Programs and configuration can be found by name; maps are found by theirs, below. */
#define SEC(name) __attribute__((visibility("default"), used))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))

/* A map is known by its name: objects that are loaded apart share it, as pinned maps are. */
#define bpf_map_lookup_elem(map, key) interleave_lookup(#map, key)
#define bpf_ringbuf_output(map, data, size, flags) interleave_unmodelled("bpf_ringbuf_output")
#define bpf_map_update_elem(map, key, value, flags) interleave_update(#map, key, value)
#define bpf_map_delete_elem(map, key) interleave_delete(#map, key)
/* It doesn't come back. */
#define bpf_tail_call(context, map, index) return interleave_tail_call(context, index)

void *interleave_lookup(const char *map, const void *key);
long interleave_unmodelled(const char *helper);
long interleave_update(const char *map, const void *key, const void *value);
long interleave_delete(const char *map, const void *key);
long interleave_tail_call(struct xdp_md *xdp, __u32 room);

__u64 bpf_ktime_get_ns(void);
__u64 bpf_ktime_get_tai_ns(void);
__u64 bpf_jiffies64(void);
__u32 bpf_get_smp_processor_id(void);
long bpf_loop(__u32 rounds, void *callback, void *context, __u64 flags);

long bpf_xdp_load_bytes(struct xdp_md *xdp, __u32 offset, void *to, __u32 bytes);
long bpf_xdp_store_bytes(struct xdp_md *xdp, __u32 offset, void *from, __u32 bytes);
long bpf_xdp_adjust_tail(struct xdp_md *xdp, int delta);
long bpf_xdp_adjust_head(struct xdp_md *xdp, int delta);
__u64 bpf_xdp_get_buff_len(struct xdp_md *xdp);

long bpf_skb_load_bytes(const void *skb, __u32 offset, void *to, __u32 bytes);
long bpf_skb_load_bytes_relative(const void *skb, __u32 offset, void *to, __u32 bytes, __u32 from);
long bpf_skb_store_bytes(struct __sk_buff *skb, __u32 offset, const void *from, __u32 bytes,
			 __u64 flags);
long bpf_skb_change_tail(struct __sk_buff *skb, __u32 bytes, __u64 flags);
long bpf_skb_change_head(struct __sk_buff *skb, __u32 bytes, __u64 flags);
long bpf_skb_change_proto(struct __sk_buff *skb, __be16 proto_be, __u64 flags);
long bpf_skb_adjust_room(struct __sk_buff *skb, int delta, __u32 mode, __u64 flags);
long bpf_skb_pull_data(struct __sk_buff *skb, __u32 bytes);
long bpf_skb_vlan_pop(struct __sk_buff *skb);
long bpf_skb_vlan_push(struct __sk_buff *skb, __be16 proto_be, __u16 tci);
long bpf_l3_csum_replace(struct __sk_buff *skb, __u32 offset, __u64 from, __u64 to, __u64 size);
long bpf_l4_csum_replace(struct __sk_buff *skb, __u32 offset, __u64 from, __u64 to, __u64 flags);
long bpf_csum_update(struct __sk_buff *skb, __u32 sum);
__s64 bpf_csum_diff(__be32 *from, __u32 from_bytes, __be32 *to, __u32 to_bytes, __u32 seed);

long bpf_redirect(__u32 ifindex, __u64 flags);
long bpf_redirect_neigh(__u32 ifindex, void *hop, int bytes, __u64 flags);
long bpf_clone_redirect(struct __sk_buff *skb, __u32 ifindex, __u64 flags);
long bpf_check_mtu(void *context, __u32 ifindex, __u32 *bytes, __s32 delta, __u64 flags);
long bpf_fib_lookup(void *context, struct bpf_fib_lookup *fib, int bytes, __u32 flags);

#endif /* OLAF_INTERLEAVE_BPF_HELPERS_H */
