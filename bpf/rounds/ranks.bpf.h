/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sets of ranks: 256 bits. */
#ifndef OLAF_RANKS_BPF_H
#define OLAF_RANKS_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/rounds.h"

/* What olaf_ranks_lowest() says of a set that is empty. */
#define OLAF_NO_RANK OLAF_RANKS

/* The word that a rank lies in: where the verifier doesn't know that it is one, the last. */
static __always_inline __u32 olaf_rank_word(__u32 rank)
{
	return olaf_clamp(rank / 64, 0, OLAF_RANK_WORDS - 1);
}

static __always_inline int olaf_ranks_has(const struct olaf_ranks *ranks, __u32 rank)
{
	return ranks->word[olaf_rank_word(rank)] >> (rank & 63) & 1;
}

static __always_inline void olaf_ranks_add(struct olaf_ranks *ranks, __u32 rank)
{
	ranks->word[olaf_rank_word(rank)] |= 1ULL << (rank & 63);
}

static __always_inline void olaf_ranks_clear(struct olaf_ranks *ranks)
{
	__builtin_memset(ranks, 0, sizeof(*ranks));
}

/* The ranks below `end` of the set's word `i`. */
static __always_inline __u64 olaf_ranks_below(__u32 end, __u32 i)
{
	if (end >= 64 * i + 64)
		return ~0ULL;
	return end > 64 * i ? (1ULL << (end - 64 * i)) - 1 : 0;
}

static __always_inline __u32 olaf_bits(__u64 word)
{
	word -= word >> 1 & 0x5555555555555555ULL;
	word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return word * 0x0101010101010101ULL >> 56;
}

/* Of a word that isn't 0. */
static __always_inline __u32 olaf_lowest_bit(__u64 word)
{
	return olaf_bits((word & -word) - 1);
}

#endif /* OLAF_RANKS_BPF_H */
