/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of abi_layout.h that is of ages, events, losses, spells and ACKs. */
#ifndef OLAF_TESTS_ABI_OBSERVED_LAYOUT_H
#define OLAF_TESTS_ABI_OBSERVED_LAYOUT_H

#include "olaf/acks.h"
#include "olaf/aom.h"
#include "olaf/events.h"
#include "olaf/spells.h"

/* clang-format off */
#define ABI_OBSERVED_LAYOUT \
	ABI_SIZE(olaf_ack_counters) \
	ABI_FIELD(olaf_ack_counters, unplaced) \
	ABI_FIELD(olaf_ack_counters, sources_refused) \
	ABI_FIELD(olaf_ack_counters, takeovers_refused) \
	ABI_FIELD(olaf_ack_counters, deferred) \
	ABI_FIELD(olaf_ack_counters, foreign) \
	ABI_FIELD(olaf_ack_counters, recognised) \
	ABI_FIELD(olaf_ack_counters, stamped) \
	ABI_FIELD(olaf_ack_counters, kept) \
	ABI_FIELD(olaf_ack_counters, copied) \
	ABI_FIELD(olaf_ack_counters, copies) \
	ABI_FIELD(olaf_ack_counters, copies_refused) \
	ABI_FIELD(olaf_ack_counters, copies_unreachable) \
	ABI_FIELD(olaf_ack_counters, copies_foreign) \
	ABI_FIELD(olaf_ack_counters, copies_shared) \
	ABI_FIELD(olaf_ack_counters, copies_unfit) \
	ABI_SIZE(olaf_sawtooth) \
	ABI_FIELD(olaf_sawtooth, newest_ns) \
	ABI_FIELD(olaf_sawtooth, twice_area) \
	ABI_FIELD(olaf_sawtooth, peak_sum) \
	ABI_FIELD(olaf_sawtooth, peaks) \
	ABI_FIELD(olaf_sawtooth, highest_peak_ns) \
	ABI_FIELD(olaf_sawtooth, last_age_ns) \
	ABI_SIZE(olaf_age_peaks) \
	ABI_FIELD(olaf_age_peaks, arrival_ns) \
	ABI_FIELD(olaf_age_peaks, generated_ns) \
	ABI_SIZE(olaf_age_mark) \
	ABI_FIELD(olaf_age_mark, from_ns) \
	ABI_FIELD(olaf_age_mark, to_ns) \
	ABI_FIELD(olaf_age_mark, newest_arrival_ns) \
	ABI_FIELD(olaf_age_mark, newest_generated_ns) \
	ABI_FIELD(olaf_age_mark, twice_arrival) \
	ABI_FIELD(olaf_age_mark, twice_generated) \
	ABI_SIZE(olaf_aom) \
	ABI_FIELD(olaf_aom, ended) \
	ABI_FIELD(olaf_aom, first_ns) \
	ABI_FIELD(olaf_aom, last_ns) \
	ABI_FIELD(olaf_aom, wait_sum) \
	ABI_FIELD(olaf_aom, wait_max_ns) \
	ABI_FIELD(olaf_aom, updates) \
	ABI_FIELD(olaf_aom, from_future) \
	ABI_FIELD(olaf_aom, arrival) \
	ABI_FIELD(olaf_aom, generated) \
	ABI_FIELD(olaf_aom, version_newest) \
	ABI_FIELD(olaf_aom, version_lag) \
	ABI_FIELD(olaf_aom, version_lag_max) \
	ABI_FIELD(olaf_aom, pad) \
	ABI_FIELD(olaf_aom, version_lag_sum) \
	ABI_FIELD(olaf_aom, age_by_arrival) \
	ABI_FIELD(olaf_aom, age_by_generated) \
	ABI_FIELD(olaf_aom, folds) \
	ABI_FIELD(olaf_aom, seconds) \
	ABI_FIELD(olaf_aom, marks) \
	ABI_FIELD(olaf_aom, arrival_age_sum) \
	ABI_FIELD(olaf_aom, generated_age_sum) \
	ABI_FIELD(olaf_aom, forgotten) \
	ABI_FIELD(olaf_aom, begun) \
	ABI_SIZE(olaf_event) \
	ABI_FIELD(olaf_event, time_ns) \
	ABI_FIELD(olaf_event, tai_offset_ns) \
	ABI_FIELD(olaf_event, generated_ns) \
	ABI_FIELD(olaf_event, first_arrived_ns) \
	ABI_FIELD(olaf_event, arrived_ns) \
	ABI_FIELD(olaf_event, cluster) \
	ABI_FIELD(olaf_event, worker) \
	ABI_FIELD(olaf_event, sequence) \
	ABI_FIELD(olaf_event, count) \
	ABI_FIELD(olaf_event, model_version) \
	ABI_FIELD(olaf_event, queue_length) \
	ABI_FIELD(olaf_event, cpu) \
	ABI_FIELD(olaf_event, sampled) \
	ABI_FIELD(olaf_event, frame_bytes) \
	ABI_FIELD(olaf_event, captured_bytes) \
	ABI_FIELD(olaf_event, frames) \
	ABI_FIELD(olaf_event, segment) \
	ABI_FIELD(olaf_event, kind) \
	ABI_FIELD(olaf_event, detail) \
	ABI_FIELD(olaf_event, cause) \
	ABI_FIELD(olaf_event, pad) \
	ABI_SIZE(olaf_listen) \
	ABI_FIELD(olaf_listen, first_cluster) \
	ABI_FIELD(olaf_listen, last_cluster) \
	ABI_FIELD(olaf_listen, kinds) \
	ABI_FIELD(olaf_listen, sample) \
	ABI_FIELD(olaf_listen, frame_bytes) \
	ABI_FIELD(olaf_listen, pad) \
	ABI_FIELD(olaf_listen, until_ns) \
	ABI_SIZE(olaf_losses) \
	ABI_FIELD(olaf_losses, frames) \
	ABI_FIELD(olaf_losses, updates) \
	ABI_SIZE(olaf_watched) \
	ABI_FIELD(olaf_watched, netns) \
	ABI_FIELD(olaf_watched, ifindex) \
	ABI_FIELD(olaf_watched, egress_ifindex) \
	ABI_FIELD(olaf_watched, drain_ifindex) \
	ABI_FIELD(olaf_watched, kick_ifindex) \
	ABI_FIELD(olaf_watched, skb_mode) \
	ABI_FIELD(olaf_watched, port_be) \
	ABI_FIELD(olaf_watched, pad) \
	ABI_SIZE(olaf_spell) \
	ABI_FIELD(olaf_spell, last_ns) \
	ABI_FIELD(olaf_spell, began_ns)
/* clang-format on */

#endif /* OLAF_TESTS_ABI_OBSERVED_LAYOUT_H */
