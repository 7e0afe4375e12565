/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Why the kernel drops an skb, as far as the losses tell reasons apart. A reason's number differs
 * between kernels, and older ones lack some: both are looked up when the object is loaded (CO-RE).
 */
#ifndef OLAF_REASON_BPF_H
#define OLAF_REASON_BPF_H

#include "bpf/config.bpf.h"

#include <bpf/bpf_core_read.h>

/* Only the names count here. */
enum skb_drop_reason {
	SKB_DROP_REASON_NOT_SPECIFIED,
	SKB_DROP_REASON_NO_SOCKET,
	SKB_DROP_REASON_SOCKET_CLOSE,
	SKB_DROP_REASON_SOCKET_FILTER,
	SKB_DROP_REASON_SOCKET_RCVBUFF,
	SKB_DROP_REASON_UDP_CSUM,
	SKB_DROP_REASON_PROTO_MEM,
	SKB_DROP_REASON_XDP,
	SKB_DROP_REASON_PACKET_SOCK_ERROR,
};

#define OLAF_REASON_IS(reason, NAME)                                                      \
	(bpf_core_enum_value_exists(enum skb_drop_reason, SKB_DROP_REASON_##NAME) &&      \
	 (reason) == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_##NAME))

/* The server's socket is missing, full or refuses it. */
static __always_inline int olaf_reason_is_socket(__u32 reason)
{
	return OLAF_REASON_IS(reason, SOCKET_RCVBUFF) || OLAF_REASON_IS(reason, NO_SOCKET) ||
	       OLAF_REASON_IS(reason, SOCKET_FILTER) || OLAF_REASON_IS(reason, SOCKET_CLOSE) ||
	       OLAF_REASON_IS(reason, UDP_CSUM) || OLAF_REASON_IS(reason, PROTO_MEM);
}

/* The server's socket looks at a UDP checksum when the server reads. */
static __always_inline int olaf_reason_is_checksum(__u32 reason)
{
	return OLAF_REASON_IS(reason, UDP_CSUM);
}

/* Not a loss of ours: XDP's own verdict, and a packet socket's copy. */
static __always_inline int olaf_reason_is_none_of_ours(__u32 reason)
{
	return OLAF_REASON_IS(reason, XDP) || OLAF_REASON_IS(reason, PACKET_SOCK_ERROR);
}

#endif /* OLAF_REASON_BPF_H */
