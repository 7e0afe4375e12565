/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that another one, the entrance above all, hands a frame to. They are verified and loaded each by itself, and
 * only where they are asked for: what the queue costs doesn't grow with them.
 *
 * Map olaf_rooms: key enum olaf_room, value the program. Writer: user space, when it attaches or
 * replaces. It is pinned, because the kernel empties a map of programs that user space has let go.
 */
#ifndef OLAF_ROOMS_BPF_H
#define OLAF_ROOMS_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/rounds.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, OLAF_ROOMS);
	__type(key, __u32);
	__type(value, __u32);
} olaf_rooms SEC(".maps");

#endif /* OLAF_ROOMS_BPF_H */
