/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Words that other CPUs read or write at the same time, without a lock that both take.
 *
 * A plain access leaves the compiler free to read such a word twice, to write it in parts, or to keep
 * it in a register. READ_ONCE() and WRITE_ONCE() make it exactly one access of the word's own width,
 * in the order of the program's other volatile accesses. They don't order anything for other CPUs:
 * where that is needed, the barriers of bpf/lock.bpf.h and of the maps stand.
 */
#ifndef OLAF_ONCE_BPF_H
#define OLAF_ONCE_BPF_H

#define READ_ONCE(word) (*(const volatile __typeof__(word) *)&(word))
#define WRITE_ONCE(word, value) (*(volatile __typeof__(word) *)&(word) = (value))

#endif /* OLAF_ONCE_BPF_H */
