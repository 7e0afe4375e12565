// SPDX-License-Identifier: BSD-2-Clause
// OLAF_CLONES compiles a function once per vector extension and picks one when the
// program loads, so that one binary is fast where it can be and runs anywhere.
#pragma once

// Needs ifunc, hence glibc. Sanitizers instrument the resolvers, which run before
// their runtime is up, so those builds get the portable version only.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) &&                         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OLAF_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define OLAF_CLONES
#endif
