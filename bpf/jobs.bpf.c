// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What `olaf job` does, as a program that user space runs: it takes the locks that XDP takes, and
 * unlike a process it is never killed halfway.
 */
#include <linux/errno.h>

#include "bpf/rounds/slots.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("syscall")
int olaf_job_order(struct olaf_job_order *asked)
{
	return asked->action ? -EINVAL : 0;
}
