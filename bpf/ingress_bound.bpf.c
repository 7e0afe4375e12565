// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The queue's entrance again, for a driver that tells VLAN tags (Linux 6.8). The kernel takes
 * a program with that question only if it is loaded for one device, and natively. One of the
 * two programs is loaded: this one where the driver says that it answers.
 */
#define OLAF_ASKS_DRIVER
#include "bpf/ingress.bpf.c"
