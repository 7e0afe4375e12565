/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which addresses are this host's own: keys of the maps olaf_own and olaf_own_macs.
 * User space writes them, for a kernel program can't ask (docs/design.md).
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_OWN_H
#define OLAF_OWN_H

#include <linux/types.h>

#include "olaf/protocol.h"

/* Addresses, and MAC addresses, that a host may have. */
#define OLAF_MOST_OWN 4096

/* A unicast address of the network namespace; IPv4 is mapped into ::ffff:0:0/96. */
struct olaf_own_address {
	__be32 words_be[4];
};
OLAF_LAST(olaf_own_address, 0, 16, words_be);

/* A MAC address by which frames that arrive at the queue's device reach this host's stack. */
struct olaf_own_mac {
	__u8 mac[6];
	__u8 pad[2];
};
OLAF_LAST(olaf_own_mac, 0, 8, mac, pad);

#endif /* OLAF_OWN_H */
