/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel program as a library: OLAF_PROGRAM is included as it is, headers and all, and compiled
 * for this machine. Two things only are not what the kernel gets: the helpers (shim/), and
 * olaf_clamp(), whose BPF instructions say the same to the verifier as its C says here.
 */
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "olaf/queue.h"

/* `asm volatile(...)` vanishes while this header is read, and its olaf_clamp gets another name. */
#define olaf_clamp olaf_clamp_for_the_verifier
#define asm
#define volatile(...)
#include "bpf/config.bpf.h"
#undef olaf_clamp
#undef asm
#undef volatile

static __always_inline __u32 olaf_clamp(__u32 value, __u32 low, __u32 high)
{
	if (value < low)
		value = low;
	if (value > high)
		value = high;
	return value;
}

/* What the loader does before it loads: the configuration is read-only afterwards. */
__attribute__((visibility("default"))) const volatile void *interleave_config(void)
{
	return &olaf_cfg;
}

#include OLAF_PROGRAM
