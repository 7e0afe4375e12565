/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every counter of a job, as olaf/counters.h has those of the queue: one line each, of which struct
 * olaf_job_counters, JSON, schemas, text, metrics and docs/counters.md are made. They stand in the
 * objects of "jobs" and in no group:
 *
 *   X(field, object, key, unit, metric, meaning)     object "": the job's own
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_JOB_COUNTERS_H
#define OLAF_JOB_COUNTERS_H

/* clang-format off */
#define OLAF_JOB_COUNTER_LIST(X) \
	X(received, contributions, received, contributions, "olaf_job_received_contributions_total", "contributions of members, each of which is one of the following") \
	X(added, contributions, added, contributions, "olaf_job_contributions_total{action=added}", "added to their chunk") \
	X(duplicate, contributions, duplicate, contributions, "olaf_job_contributions_total{action=duplicate}", "in their chunk already") \
	X(late, contributions, late, contributions, "olaf_job_contributions_total{action=late}", "their chunk was complete without them") \
	X(stale, contributions, stale, contributions, "olaf_job_contributions_total{action=stale}", "of a chunk or a generation that is over, or while members agree where to begin") \
	X(ahead, contributions, ahead, contributions, "olaf_job_contributions_total{action=ahead}", "both buffers of their slot are in use") \
	X(halted, contributions, halted, contributions, "olaf_job_contributions_total{action=halted}", "the job is halted") \
	X(probes, , probes, messages, "olaf_job_probes_total", "contributions without lanes, which ask for a result") \
	X(completed, chunks, completed, chunks, "olaf_job_completed_chunks_total", "have their result, partial ones among them") \
	X(partial, chunks, partial, chunks, "olaf_job_partial_chunks_total", "completed without all members") \
	X(spoilt, chunks, spoilt, chunks, "olaf_job_spoilt_chunks_total", "summed anew, since a contribution to them was damaged on its way") \
	X(misfit, chunks, misfit, chunks, "olaf_job_misfit_chunks_total", "not summed, since vectors of two members differ in elements, type, operation or workers") \
	X(riding, results, riding, results, "olaf_job_results_total{way=riding}", "left in the frame of a contribution") \
	X(copied, results, copied, results, "olaf_job_results_total{way=copied}", "left in a clone") \
	X(multicast, results, multicast, results, "olaf_job_results_total{way=multicast}", "left in one frame for all members") \
	X(repeated, results, repeated, results, "olaf_job_results_total{way=repeated}", "sent once more to a member that asked for them") \
	X(undelivered, results, undelivered, results, "olaf_job_undelivered_results_total", "gave way to a newer chunk before their member got them") \
	X(up_sent, up, sent, aggregates, "olaf_job_aggregates_total{sending=first}", "sent to the parent") \
	X(up_again, up, again, aggregates, "olaf_job_aggregates_total{sending=again}", "sent to the parent once more, as its result was overdue") \
	X(syncs, , syncs, messages, "olaf_job_syncs_total", "SYNC messages of members") \
	X(controls, , controls, messages, "olaf_job_controls_total", "JOIN, LEAVE and other orders of members") \
	X(silent, , silent, members, "olaf_job_silent_members_total", "members that are none any more because nothing came from them") \
	X(up_unfit, up, unfit, aggregates, "olaf_job_unfit_aggregates_total", "not sent: longer than the MTU of the device that the parent is behind") \
	X(up_asked, up, asked, messages, "olaf_job_parent_probes_total", "probes to the parent, for a chunk that a member waits for and that isn't complete here") \
	X(float_overflow, float, overflow, elements, "olaf_job_float_elements_total{fault=overflow}", "floats too large for the job's fixed point: their sum is NaN") \
	X(float_not_finite, float, not_finite, elements, "olaf_job_float_elements_total{fault=not_finite}", "floats that are NaN or infinite: their sum is NaN") \
	/* end */
/* clang-format on */

#endif /* OLAF_JOB_COUNTERS_H */
