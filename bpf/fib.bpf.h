/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kernel's forwarding table (FIB): by which MAC addresses does an IP address lead on? */
#ifndef OLAF_FIB_BPF_H
#define OLAF_FIB_BPF_H

#include "bpf/config.bpf.h"

/*
 * Asks for the way from `source_be` to `dest_be`, out of the device `ifindex`. `family` is 4 or 6; IPv4 in
 * [0]. ctx is the program's own, of XDP or TC. Returns BPF_FIB_LKUP_RET_*: with 0, *fib has the addresses.
 * A macro: the configuration is volatile, and must be read as volatile.
 */
#define olaf_fib_ask(ctx, fib, device, ip_version, source_be, dest_be)            \
	({                                                                        \
		(fib)->ifindex = (device);                                        \
		/* Not 0, or the kernel compares the frame's length with the MTU. */ \
		(fib)->tot_len = 1;                                               \
		if ((ip_version) == 4) {                                          \
			(fib)->family = OLAF_AF_INET;                             \
			(fib)->ipv4_src = (source_be)[0];                         \
			(fib)->ipv4_dst = (dest_be)[0];                           \
		} else {                                                          \
			(fib)->family = OLAF_AF_INET6;                            \
			olaf_address_copy((fib)->ipv6_src, source_be);            \
			olaf_address_copy((fib)->ipv6_dst, dest_be);              \
		}                                                                 \
		bpf_fib_lookup(ctx, fib, sizeof(*(fib)), BPF_FIB_LOOKUP_OUTPUT);  \
	})

#endif /* OLAF_FIB_BPF_H */
