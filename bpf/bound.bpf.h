/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a program that is loaded for one device must not do: grow while it is loaded.
 *
 * The kernel keeps a pointer from the device to such a program, made before the verifier runs
 * (__bpf_prog_dev_bound_init). Where the verifier needs more pages for the program than the
 * loader brought, it moves the program and leaves that pointer behind. When the device is
 * deleted the kernel follows it into freed memory, and hangs with the network's lock held.
 *
 * So the program brings instructions that never run. The verifier removes them first, and then has
 * their room for what it puts in. It inlines bpf_loop() before that, so that must not happen.
 * The loader looks at what became of it: Object::has_outgrown().
 */
#ifndef OLAF_BOUND_BPF_H
#define OLAF_BOUND_BPF_H

#include "bpf/config.bpf.h"

#ifdef OLAF_ASKS_DRIVER

/*
 * 16 KiB. Without them the longest program of bound_test.cpp stays 48 instructions below its limit
 * on Linux 6.18; another kernel's verifier may put in more.
 */
#define OLAF_RESERVED "2048"

/* Always 0. The verifier reads it and knows what never runs, clang doesn't. */
const volatile __u32 olaf_uses_reserve = 0;

static __always_inline void olaf_bring_reserve(void)
{
	if (olaf_uses_reserve)
		asm volatile(".rept " OLAF_RESERVED "\n"
			     "r0 = 0\n"
			     ".endr\n" ::: "r0");
}

/* 0, which the verifier can't know: it inlines the call only where it knows the flags. */
static __always_inline __u64 olaf_no_loop_flags(void)
{
	return bpf_ktime_get_ns() >> 63;
}

#else

static __always_inline void olaf_bring_reserve(void)
{
}

static __always_inline __u64 olaf_no_loop_flags(void)
{
	return 0;
}

#endif

#endif /* OLAF_BOUND_BPF_H */
