/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of abi_layout.h that is of jobs. */
#ifndef OLAF_TESTS_ABI_ROUNDS_LAYOUT_H
#define OLAF_TESTS_ABI_ROUNDS_LAYOUT_H

#include "olaf/rounds.h"

/* clang-format off */
#define ABI_ROUNDS_LAYOUT \
	ABI_SIZE(olaf_ranks) \
	ABI_FIELD(olaf_ranks, word) \
	ABI_SIZE(olaf_job_setup) \
	ABI_FIELD(olaf_job_setup, id) \
	ABI_FIELD(olaf_job_setup, flags) \
	ABI_FIELD(olaf_job_setup, children) \
	ABI_FIELD(olaf_job_setup, threshold) \
	ABI_FIELD(olaf_job_setup, max_count) \
	ABI_FIELD(olaf_job_setup, first_slot) \
	ABI_FIELD(olaf_job_setup, slots) \
	ABI_FIELD(olaf_job_setup, rank) \
	ABI_FIELD(olaf_job_setup, lanes) \
	ABI_FIELD(olaf_job_setup, shape) \
	ABI_FIELD(olaf_job_setup, float_bits) \
	ABI_FIELD(olaf_job_setup, float_headroom) \
	ABI_FIELD(olaf_job_setup, parent_port_be) \
	ABI_FIELD(olaf_job_setup, parent_family) \
	ABI_FIELD(olaf_job_setup, parent_addr_be) \
	ABI_FIELD(olaf_job_setup, source_addr_be) \
	ABI_FIELD(olaf_job_setup, pool) \
	ABI_FIELD(olaf_job_setup, deadline_ns) \
	ABI_FIELD(olaf_job_setup, group_family) \
	ABI_FIELD(olaf_job_setup, group_hops) \
	ABI_FIELD(olaf_job_setup, parent_ifindex) \
	ABI_FIELD(olaf_job_setup, group_addr_be) \
	ABI_FIELD(olaf_job_setup, parent_group_be) \
	ABI_SIZE(olaf_line) \
	ABI_FIELD(olaf_line, lock) \
	ABI_FIELD(olaf_line, head) \
	ABI_FIELD(olaf_line, tail) \
	ABI_FIELD(olaf_line, pad) \
	ABI_SIZE(olaf_job) \
	ABI_FIELD(olaf_job, setup) \
	ABI_FIELD(olaf_job, lock) \
	ABI_FIELD(olaf_job, state) \
	ABI_FIELD(olaf_job, generation) \
	ABI_FIELD(olaf_job, halted) \
	ABI_FIELD(olaf_job, next_round) \
	ABI_FIELD(olaf_job, next_chunk) \
	ABI_FIELD(olaf_job, pool) \
	ABI_FIELD(olaf_job, parent_generation) \
	ABI_FIELD(olaf_job, asker) \
	ABI_FIELD(olaf_job, flushing) \
	ABI_FIELD(olaf_job, stamp) \
	ABI_FIELD(olaf_job, turnaround_ns) \
	ABI_FIELD(olaf_job, asked) \
	ABI_FIELD(olaf_job, line) \
	ABI_FIELD(olaf_job, membership) \
	ABI_SIZE(olaf_membership) \
	ABI_FIELD(olaf_membership, joining) \
	ABI_FIELD(olaf_membership, newest_round) \
	ABI_FIELD(olaf_membership, unsettled) \
	ABI_FIELD(olaf_membership, since) \
	ABI_FIELD(olaf_membership, flags) \
	ABI_FIELD(olaf_membership, away) \
	ABI_FIELD(olaf_membership, pad) \
	ABI_FIELD(olaf_membership, sealed_ns) \
	ABI_FIELD(olaf_membership, judged_ns) \
	ABI_FIELD(olaf_membership, absent) \
	ABI_SIZE(olaf_child) \
	ABI_FIELD(olaf_child, member) \
	ABI_FIELD(olaf_child, stamp) \
	ABI_FIELD(olaf_child, newest_ns) \
	ABI_FIELD(olaf_child, joined_ns) \
	ABI_FIELD(olaf_child, waited_ns) \
	ABI_FIELD(olaf_child, first_round) \
	ABI_FIELD(olaf_child, pad) \
	ABI_SIZE(olaf_round_buffer) \
	ABI_FIELD(olaf_round_buffer, state) \
	ABI_FIELD(olaf_round_buffer, generation) \
	ABI_FIELD(olaf_round_buffer, round) \
	ABI_FIELD(olaf_round_buffer, chunk) \
	ABI_FIELD(olaf_round_buffer, chunks) \
	ABI_FIELD(olaf_round_buffer, count) \
	ABI_FIELD(olaf_round_buffer, added) \
	ABI_FIELD(olaf_round_buffer, exponent) \
	ABI_FIELD(olaf_round_buffer, flags) \
	ABI_FIELD(olaf_round_buffer, generated_ns) \
	ABI_FIELD(olaf_round_buffer, opened_ns) \
	ABI_FIELD(olaf_round_buffer, up_ns) \
	ABI_FIELD(olaf_round_buffer, first_up_ns) \
	ABI_FIELD(olaf_round_buffer, lanes_sum) \
	ABI_FIELD(olaf_round_buffer, in) \
	ABI_FIELD(olaf_round_buffer, owed) \
	ABI_SIZE(olaf_round_slot) \
	ABI_FIELD(olaf_round_slot, lock) \
	ABI_FIELD(olaf_round_slot, pad) \
	ABI_FIELD(olaf_round_slot, buffer) \
	ABI_SIZE(olaf_job_counters) \
	ABI_FIELD(olaf_job_counters, received) \
	ABI_FIELD(olaf_job_counters, added) \
	ABI_FIELD(olaf_job_counters, duplicate) \
	ABI_FIELD(olaf_job_counters, late) \
	ABI_FIELD(olaf_job_counters, stale) \
	ABI_FIELD(olaf_job_counters, ahead) \
	ABI_FIELD(olaf_job_counters, halted) \
	ABI_FIELD(olaf_job_counters, probes) \
	ABI_FIELD(olaf_job_counters, completed) \
	ABI_FIELD(olaf_job_counters, partial) \
	ABI_FIELD(olaf_job_counters, riding) \
	ABI_FIELD(olaf_job_counters, copied) \
	ABI_FIELD(olaf_job_counters, multicast) \
	ABI_FIELD(olaf_job_counters, repeated) \
	ABI_FIELD(olaf_job_counters, undelivered) \
	ABI_FIELD(olaf_job_counters, up_sent) \
	ABI_FIELD(olaf_job_counters, up_again) \
	ABI_FIELD(olaf_job_counters, syncs) \
	ABI_FIELD(olaf_job_counters, controls) \
	ABI_FIELD(olaf_job_counters, silent) \
	ABI_FIELD(olaf_job_counters, up_unfit) \
	ABI_FIELD(olaf_job_counters, float_overflow) \
	ABI_FIELD(olaf_job_counters, float_not_finite) \
	ABI_SIZE(olaf_round_order) \
	ABI_FIELD(olaf_round_order, eth_proto_be) \
	ABI_FIELD(olaf_round_order, secret) \
	ABI_FIELD(olaf_round_order, job) \
	ABI_FIELD(olaf_round_order, work) \
	ABI_FIELD(olaf_round_order, partial) \
	ABI_SIZE(olaf_job_order) \
	ABI_FIELD(olaf_job_order, action) \
	ABI_FIELD(olaf_job_order, index) \
	ABI_FIELD(olaf_job_order, generation) \
	ABI_FIELD(olaf_job_order, rank) \
	ABI_FIELD(olaf_job_order, family) \
	ABI_FIELD(olaf_job_order, addr_be) \
	ABI_FIELD(olaf_job_order, port_be) \
	ABI_FIELD(olaf_job_order, pad) \
	ABI_FIELD(olaf_job_order, setup) \
	ABI_FIELD(olaf_job_order, absent) \
	ABI_SIZE(olaf_job_desk) \
	ABI_FIELD(olaf_job_desk, order) \
	ABI_FIELD(olaf_job_desk, answer) \
	ABI_FIELD(olaf_job_desk, pad)
/* clang-format on */

#endif /* OLAF_TESTS_ABI_ROUNDS_LAYOUT_H */
