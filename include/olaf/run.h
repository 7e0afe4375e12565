/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs: which processes may sum with each other in a job (docs/rounds.md, "Runs").
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_RUN_H
#define OLAF_RUN_H

#include <linux/types.h>

#include "olaf/layout.h"

/* One run of a training: what is started at all workers together, once. All zero: none. */
struct olaf_run {
	__u64 training; /* olaf_training_id() of its name; 0: none */
	__u64 number; /* a later run of the same training has a higher one */
};
OLAF_LAST(olaf_run, 0, 16, training, number);

static inline __u64 olaf_turned_left(__u64 word, unsigned bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void olaf_sip_round(__u64 v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = olaf_turned_left(v[1], 13) ^ v[0];
	v[3] = olaf_turned_left(v[3], 16) ^ v[2];
	v[0] = olaf_turned_left(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = olaf_turned_left(v[3], 21) ^ v[0];
	v[1] = olaf_turned_left(v[1], 17) ^ v[2];
	v[2] = olaf_turned_left(v[2], 32);
}

/*
 * What a training is called to whoever isn't of it: SipHash-2-4 of nothing, keyed by the training; never 0.
 * Who hears it can't ask in that training, for nothing but trying all trainings leads back.
 */
static inline __u64 olaf_training_alias(__u64 training)
{
	__u64 v[4] = { training ^ 0x736f6d6570736575ULL, 0x646f72616e646f6dULL,
		       training ^ 0x6c7967656e657261ULL, 0x7465646279746573ULL };
	__u64 alias;

	olaf_sip_round(v);
	olaf_sip_round(v);
	v[2] ^= 0xff;
	olaf_sip_round(v);
	olaf_sip_round(v);
	olaf_sip_round(v);
	olaf_sip_round(v);
	alias = v[0] ^ v[1] ^ v[2] ^ v[3];
	return alias ? alias : 1;
}

/* What a job that one run has is to another run that asks for it. */
enum olaf_run_verdict {
	OLAF_RUN_SAME = 0, /* it is the asker's already */
	OLAF_RUN_TAKES = 1, /* the asker's from now on: nobody has it, or an older run of its training */
	OLAF_RUN_OLDER = 2, /* refused: a later run of the asker's training has it */
	OLAF_RUN_OTHER = 3, /* refused as long as the other training's members are heard of */
	OLAF_RUN_BARRED = 4, /* refused: the job was set for another run */
};

/*
 * `has` the job: none, if nobody. `only`: what `olaf job set --run` says, with its training's alias; none, if
 * nothing, and its number may be 0: any. `asks` isn't none.
 */
static inline enum olaf_run_verdict olaf_run_judge(const struct olaf_run *has,
						   const struct olaf_run *only,
						   const struct olaf_run *asks)
{
	if (only->training && (only->training != olaf_training_alias(asks->training) ||
			       (only->number && only->number != asks->number)))
		return OLAF_RUN_BARRED;
	if (!has->training)
		return OLAF_RUN_TAKES;
	if (has->training != asks->training)
		return OLAF_RUN_OTHER;
	if (has->number == asks->number)
		return OLAF_RUN_SAME;
	return has->number < asks->number ? OLAF_RUN_TAKES : OLAF_RUN_OLDER;
}

/*
 * What whoever is refused is told of the run because of which: all of a run of its own training. Of another
 * one, no more than that it is another: who knew its training and number could ask in a later run of it.
 */
static inline struct olaf_run olaf_run_told(enum olaf_run_verdict verdict,
					    const struct olaf_run *has, const struct olaf_run *only,
					    const struct olaf_run *asks)
{
	struct olaf_run told = *has;

	if (verdict == OLAF_RUN_OLDER)
		return told;
	told.training = verdict == OLAF_RUN_BARRED ? only->training :
						     olaf_training_alias(has->training);
	told.number = 0;
	if (verdict == OLAF_RUN_BARRED && told.training == olaf_training_alias(asks->training)) {
		told.training = asks->training;
		told.number = only->number;
	}
	return told;
}

/* What a training's name is on the wire: FNV-1a of its bytes, 64 bits; 1 if that is 0. */
static inline __u64 olaf_training_id(const char *name, __u32 bytes)
{
	__u64 hash = 0xcbf29ce484222325ULL;
	__u32 i;

	for (i = 0; i < bytes; i++)
		hash = (hash ^ (__u8)name[i]) * 0x100000001b3ULL;
	return hash ? hash : 1;
}

#endif /* OLAF_RUN_H */
