/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout as kernel programs see it; read from the object without loading it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "tests/unit/abi_layout.h"

const volatile __u32 abi_layout[ABI_ENTRIES] = { ABI_LAYOUT };

char LICENSE[] SEC("license") = "Dual BSD/GPL";
