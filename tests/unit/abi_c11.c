/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout as C11 sees it. */
#include "abi_layout.h"

extern const __u32 abi_layout_c11[ABI_ENTRIES];
const __u32 abi_layout_c11[ABI_ENTRIES] = { ABI_LAYOUT };
