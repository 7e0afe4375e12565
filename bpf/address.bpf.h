/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * IP addresses of both versions: four words in network order. An IPv4 address is the first one, and
 * the others are 0.
 */
#ifndef OLAF_ADDRESS_BPF_H
#define OLAF_ADDRESS_BPF_H

#include <linux/types.h>

/* Copies one. A macro: the configuration is volatile, and must be read as volatile. */
#define olaf_address_copy(to_be, from_be)                   \
	do {                                                \
		int olaf_word;                              \
		for (olaf_word = 0; olaf_word < 4; olaf_word++) \
			(to_be)[olaf_word] = (from_be)[olaf_word]; \
	} while (0)

/* Are two the same? A macro for the same reason. */
#define olaf_address_same(a_be, b_be)                                             \
	((a_be)[0] == (b_be)[0] && (a_be)[1] == (b_be)[1] && (a_be)[2] == (b_be)[2] && \
	 (a_be)[3] == (b_be)[3])

#endif /* OLAF_ADDRESS_BPF_H */
