// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The queue's entrance again, for a driver that tells VLAN tags. The kernel takes a program that
 * asks (a kfunc, since Linux 6.8) only if the program is loaded for one device, and natively. Such a
 * program may call others since Linux 6.15. One of the two entrances is loaded: this one where the
 * driver says that it answers.
 */
#define OLAF_ASKS_DRIVER
#include "bpf/ingress.bpf.c"
