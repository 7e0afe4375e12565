/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes and offsets of everything shared by kernel programs and user space, as one
 * table. Compiled as BPF C, C11 and pedantic C++, it must come out the same.
 */
#ifndef OLAF_TESTS_ABI_LAYOUT_H
#define OLAF_TESTS_ABI_LAYOUT_H

#include "olaf/congestion.h"
#include "olaf/members.h"
#include "olaf/queue.h"
#include "olaf/window.h"

#include "abi_observed_layout.h"
#include "abi_rounds_layout.h"

#define ABI_SIZE(name) sizeof(struct name),
#define ABI_FIELD(name, field) __builtin_offsetof(struct name, field),

/* clang-format off */
#define ABI_LAYOUT \
	ABI_SIZE(olaf_config) \
	ABI_FIELD(olaf_config, layout) \
	ABI_FIELD(olaf_config, flags) \
	ABI_FIELD(olaf_config, deliver) \
	ABI_FIELD(olaf_config, ifindex) \
	ABI_FIELD(olaf_config, egress_ifindex) \
	ABI_FIELD(olaf_config, drain_ifindex) \
	ABI_FIELD(olaf_config, port_be) \
	ABI_FIELD(olaf_config, mac) \
	ABI_FIELD(olaf_config, drain_mac) \
	ABI_FIELD(olaf_config, frame_overhead) \
	ABI_FIELD(olaf_config, max_clusters) \
	ABI_FIELD(olaf_config, max_segments) \
	ABI_FIELD(olaf_config, max_lanes) \
	ABI_FIELD(olaf_config, queue_capacity) \
	ABI_FIELD(olaf_config, ring_places) \
	ABI_FIELD(olaf_config, default_policy) \
	ABI_FIELD(olaf_config, ns_per_byte_q24) \
	ABI_FIELD(olaf_config, rate_bps) \
	ABI_FIELD(olaf_config, drain_interval_ns) \
	ABI_FIELD(olaf_config, activity_window_ns) \
	ABI_FIELD(olaf_config, token_secret) \
	ABI_FIELD(olaf_config, upstream_family) \
	ABI_FIELD(olaf_config, upstream_port_be) \
	ABI_FIELD(olaf_config, pad) \
	ABI_FIELD(olaf_config, upstream_addr_be) \
	ABI_FIELD(olaf_config, source_addr_be) \
	ABI_FIELD(olaf_config, own4_be) \
	ABI_FIELD(olaf_config, own6_be) \
	ABI_FIELD(olaf_config, member_timeout_ns) \
	ABI_FIELD(olaf_config, max_workers) \
	ABI_FIELD(olaf_config, window) \
	ABI_FIELD(olaf_config, kick_ifindex) \
	ABI_FIELD(olaf_config, egress_mtu) \
	ABI_FIELD(olaf_config, fifo_places) \
	ABI_FIELD(olaf_config, round_slots) \
	ABI_FIELD(olaf_config, round_lines) \
	ABI_SIZE(olaf_rule) \
	ABI_FIELD(olaf_rule, policy) \
	ABI_FIELD(olaf_rule, max_count) \
	ABI_FIELD(olaf_rule, reward_threshold) \
	ABI_SIZE(olaf_active) \
	ABI_FIELD(olaf_active, lock) \
	ABI_FIELD(olaf_active, current_clusters) \
	ABI_FIELD(olaf_active, previous_clusters) \
	ABI_FIELD(olaf_active, pad) \
	ABI_FIELD(olaf_active, epoch_start_ns) \
	ABI_SIZE(olaf_pending) \
	ABI_FIELD(olaf_pending, slot) \
	ABI_FIELD(olaf_pending, cluster) \
	ABI_FIELD(olaf_pending, worker) \
	ABI_FIELD(olaf_pending, sequence) \
	ABI_FIELD(olaf_pending, count) \
	ABI_FIELD(olaf_pending, model_version) \
	ABI_FIELD(olaf_pending, segment) \
	ABI_FIELD(olaf_pending, segments) \
	ABI_FIELD(olaf_pending, lanes) \
	ABI_FIELD(olaf_pending, flags) \
	ABI_FIELD(olaf_pending, header_bytes) \
	ABI_FIELD(olaf_pending, l3_offset) \
	ABI_FIELD(olaf_pending, l4_offset) \
	ABI_FIELD(olaf_pending, family) \
	ABI_FIELD(olaf_pending, routed) \
	ABI_FIELD(olaf_pending, fate) \
	ABI_FIELD(olaf_pending, pad) \
	ABI_FIELD(olaf_pending, generated_ns) \
	ABI_FIELD(olaf_pending, reward) \
	ABI_FIELD(olaf_pending, first_arrived_ns) \
	ABI_FIELD(olaf_pending, arrived_ns) \
	ABI_SIZE(olaf_entry) \
	ABI_FIELD(olaf_entry, pending) \
	ABI_FIELD(olaf_entry, headers) \
	ABI_FIELD(olaf_entry, message) \
	ABI_FIELD(olaf_entry, lanes) \
	ABI_SIZE(olaf_slot_counters) \
	ABI_FIELD(olaf_slot_counters, aggregated) \
	ABI_FIELD(olaf_slot_counters, appended) \
	ABI_FIELD(olaf_slot_counters, replaced) \
	ABI_FIELD(olaf_slot_counters, departed_riding) \
	ABI_FIELD(olaf_slot_counters, departed_drain) \
	ABI_FIELD(olaf_slot_counters, dropped_full) \
	ABI_FIELD(olaf_slot_counters, dropped_reward) \
	ABI_FIELD(olaf_slot_counters, dropped_sealed) \
	ABI_FIELD(olaf_slot_counters, dropped_misfit) \
	ABI_FIELD(olaf_slot_counters, updates_departed) \
	ABI_FIELD(olaf_slot_counters, updates_superseded) \
	ABI_FIELD(olaf_slot_counters, updates_dropped) \
	ABI_FIELD(olaf_slot_counters, passed_through) \
	ABI_FIELD(olaf_slot_counters, updates_passed) \
	ABI_SIZE(olaf_hop) \
	ABI_FIELD(olaf_hop, lock) \
	ABI_FIELD(olaf_hop, state) \
	ABI_FIELD(olaf_hop, family) \
	ABI_FIELD(olaf_hop, dmac) \
	ABI_FIELD(olaf_hop, smac) \
	ABI_FIELD(olaf_hop, daddr_be) \
	ABI_FIELD(olaf_hop, via_be) \
	ABI_FIELD(olaf_hop, via_family) \
	ABI_FIELD(olaf_hop, egress_ifindex) \
	ABI_FIELD(olaf_hop, looked_up_ns) \
	ABI_FIELD(olaf_hop, resolved_ns) \
	ABI_FIELD(olaf_hop, asked_ns) \
	ABI_FIELD(olaf_hop, issued) \
	ABI_FIELD(olaf_hop, served) \
	ABI_SIZE(olaf_slot) \
	ABI_FIELD(olaf_slot, lock) \
	ABI_FIELD(olaf_slot, buffers) \
	ABI_FIELD(olaf_slot, position) \
	ABI_FIELD(olaf_slot, counters) \
	ABI_SIZE(olaf_place) \
	ABI_FIELD(olaf_place, state) \
	ABI_FIELD(olaf_place, entry) \
	ABI_FIELD(olaf_place, slot) \
	ABI_FIELD(olaf_place, bytes) \
	ABI_FIELD(olaf_place, hop) \
	ABI_FIELD(olaf_place, turn) \
	ABI_SIZE(olaf_ring) \
	ABI_FIELD(olaf_ring, lock) \
	ABI_FIELD(olaf_ring, holds) \
	ABI_FIELD(olaf_ring, head) \
	ABI_FIELD(olaf_ring, tail) \
	ABI_FIELD(olaf_ring, next_departure_ns) \
	ABI_FIELD(olaf_ring, drain_deadline_ns) \
	ABI_FIELD(olaf_ring, drain_generation) \
	ABI_FIELD(olaf_ring, pad) \
	ABI_SIZE(olaf_control) \
	ABI_FIELD(olaf_control, emptying_until_ns) \
	ABI_FIELD(olaf_control, held_until_ns) \
	ABI_FIELD(olaf_control, figures_from_ns) \
	ABI_SIZE(olaf_gate) \
	ABI_FIELD(olaf_gate, lost_ns) \
	ABI_FIELD(olaf_gate, probed_ns) \
	ABI_FIELD(olaf_gate, tried_ns) \
	ABI_FIELD(olaf_gate, asked_ns) \
	ABI_FIELD(olaf_gate, shut_ns) \
	ABI_SIZE(olaf_counters) \
	ABI_FIELD(olaf_counters, received) \
	ABI_FIELD(olaf_counters, updates_in) \
	ABI_FIELD(olaf_counters, bypassed) \
	ABI_FIELD(olaf_counters, malformed) \
	ABI_FIELD(olaf_counters, not_allowed) \
	ABI_FIELD(olaf_counters, tokens_launched) \
	ABI_FIELD(olaf_counters, drain_ticks) \
	ABI_FIELD(olaf_counters, drain_stale) \
	ABI_FIELD(olaf_counters, dropped_contended) \
	ABI_FIELD(olaf_counters, updates_contended) \
	ABI_FIELD(olaf_counters, departures_unfit) \
	ABI_FIELD(olaf_counters, departures_refused) \
	ABI_FIELD(olaf_counters, updates_refused) \
	ABI_FIELD(olaf_counters, drain_kicks) \
	ABI_FIELD(olaf_counters, events_lost) \
	ABI_FIELD(olaf_counters, hops_asked) \
	ABI_FIELD(olaf_counters, gate_probes) \
	ABI_FIELD(olaf_counters, drain_proofs) \
	ABI_FIELD(olaf_counters, passages_unmetered) \
	ABI_SIZE(olaf_prefix) \
	ABI_FIELD(olaf_prefix, prefix_bits) \
	ABI_FIELD(olaf_prefix, address) \
	ABI_SIZE(olaf_flight) \
	ABI_FIELD(olaf_flight, state) \
	ABI_FIELD(olaf_flight, cluster) \
	ABI_FIELD(olaf_flight, worker) \
	ABI_FIELD(olaf_flight, sequence) \
	ABI_FIELD(olaf_flight, segment) \
	ABI_FIELD(olaf_flight, segments) \
	ABI_FIELD(olaf_flight, pad) \
	ABI_FIELD(olaf_flight, generated_ns) \
	ABI_FIELD(olaf_flight, departed_ns) \
	ABI_SIZE(olaf_rtt) \
	ABI_FIELD(olaf_rtt, smoothed_ns) \
	ABI_FIELD(olaf_rtt, variation_ns) \
	ABI_FIELD(olaf_rtt, backoff) \
	ABI_FIELD(olaf_rtt, pad) \
	ABI_SIZE(olaf_trial) \
	ABI_FIELD(olaf_trial, size) \
	ABI_FIELD(olaf_trial, acked) \
	ABI_FIELD(olaf_trial, elapsed_ns) \
	ABI_SIZE(olaf_pilot) \
	ABI_FIELD(olaf_pilot, base) \
	ABI_FIELD(olaf_pilot, trial) \
	ABI_FIELD(olaf_pilot, mark) \
	ABI_FIELD(olaf_pilot, started_ns) \
	ABI_FIELD(olaf_pilot, starved) \
	ABI_FIELD(olaf_pilot, upwards) \
	ABI_FIELD(olaf_pilot, shift) \
	ABI_FIELD(olaf_pilot, skips) \
	ABI_FIELD(olaf_pilot, passed_over) \
	ABI_FIELD(olaf_pilot, rest) \
	ABI_SIZE(olaf_window) \
	ABI_FIELD(olaf_window, next) \
	ABI_FIELD(olaf_window, oldest) \
	ABI_FIELD(olaf_window, expires_ns) \
	ABI_FIELD(olaf_window, answered_ns) \
	ABI_FIELD(olaf_window, in_flight) \
	ABI_FIELD(olaf_window, silent) \
	ABI_FIELD(olaf_window, rtt) \
	ABI_FIELD(olaf_window, pilot) \
	ABI_FIELD(olaf_window, acked) \
	ABI_FIELD(olaf_window, released) \
	ABI_FIELD(olaf_window, forgiven) \
	ABI_FIELD(olaf_window, late) \
	ABI_FIELD(olaf_window, unmatched) \
	ABI_SIZE(olaf_congestion) \
	ABI_FIELD(olaf_congestion, active_clusters) \
	ABI_FIELD(olaf_congestion, queue_capacity) \
	ABI_FIELD(olaf_congestion, queue_length) \
	ABI_SIZE(olaf_tag) \
	ABI_FIELD(olaf_tag, proto_be) \
	ABI_FIELD(olaf_tag, tci_be) \
	ABI_SIZE(olaf_member) \
	ABI_FIELD(olaf_member, sequence) \
	ABI_FIELD(olaf_member, family) \
	ABI_FIELD(olaf_member, flags) \
	ABI_FIELD(olaf_member, tags) \
	ABI_FIELD(olaf_member, pad) \
	ABI_FIELD(olaf_member, last_seen_ns) \
	ABI_FIELD(olaf_member, addr_be) \
	ABI_FIELD(olaf_member, local_addr_be) \
	ABI_FIELD(olaf_member, mac) \
	ABI_FIELD(olaf_member, port_be) \
	ABI_FIELD(olaf_member, tag) \
	ABI_SIZE(olaf_roster) \
	ABI_FIELD(olaf_roster, end) \
	ABI_FIELD(olaf_roster, pad) \
	ABI_FIELD(olaf_roster, admitted) \
	ABI_SIZE(olaf_reached) \
	ABI_FIELD(olaf_reached, ack) \
	ABI_FIELD(olaf_reached, addr_be) \
	ABI_FIELD(olaf_reached, port_be) \
	ABI_FIELD(olaf_reached, family) \
	ABI_FIELD(olaf_reached, pad) \
	ABI_SIZE(olaf_registration) \
	ABI_FIELD(olaf_registration, enrolment) \
	ABI_FIELD(olaf_registration, cluster) \
	ABI_FIELD(olaf_registration, worker) \
	ABI_FIELD(olaf_registration, family) \
	ABI_FIELD(olaf_registration, addr_be) \
	ABI_FIELD(olaf_registration, port_be) \
	ABI_FIELD(olaf_registration, pad) \
	ABI_SIZE(olaf_header) \
	ABI_FIELD(olaf_header, magic_be) \
	ABI_FIELD(olaf_header, version) \
	ABI_FIELD(olaf_header, type) \
	ABI_FIELD(olaf_header, flags_be) \
	ABI_FIELD(olaf_header, lanes_be) \
	ABI_FIELD(olaf_header, cluster_be) \
	ABI_FIELD(olaf_header, worker_be) \
	ABI_FIELD(olaf_header, sequence_be) \
	ABI_FIELD(olaf_header, count_be) \
	ABI_FIELD(olaf_header, active_clusters_be) \
	ABI_FIELD(olaf_header, reserved_be) \
	ABI_FIELD(olaf_header, generated_ns_be) \
	ABI_FIELD(olaf_header, reward_be) \
	ABI_FIELD(olaf_header, queue_capacity_be) \
	ABI_FIELD(olaf_header, queue_length_be) \
	ABI_FIELD(olaf_header, model_version_be) \
	ABI_FIELD(olaf_header, segment_be) \
	ABI_FIELD(olaf_header, segments_be) \
	ABI_SIZE(olaf_u128) \
	ABI_FIELD(olaf_u128, low) \
	ABI_FIELD(olaf_u128, high) \
	ABI_ROUNDS_LAYOUT \
	ABI_OBSERVED_LAYOUT
/* clang-format on */

#define ABI_ENTRIES 496

#endif /* OLAF_TESTS_ABI_LAYOUT_H */
