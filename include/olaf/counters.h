/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every counter of the queue, and every reason by which something is counted: one line each.
 *
 * All that names a counter is made from these lists: the structs that kernel programs count in,
 * the enums of reasons, the names of events, the text and JSON of `olaf status`, the JSON
 * schemas, the metrics and the page of `olaf serve`, the losses of `olaf report`, the manual,
 * docs/counters.md. A new counter is a line here, and a line where it counts.
 *
 * A counter:   X(field, group, key, unit, identity, sum, metric, meaning)
 * A family:    F(field, list, size, group, unit, identity, sum, metric, meaning)
 * A level:     X(field, group, key, unit, identity, metric, meaning)
 * A sum:       X(group, key, unit, identity, meaning)
 *
 *   field      in the kernel's struct. A family is an array with a place for each reason of `list`.
 *   group      the line of text and the JSON object that it stands in (OLAF_GROUP_LIST).
 *   key        its name in that object. Counters with the same key are added up.
 *   unit       what it counts. A message may hold many updates: its `count` says how many.
 *   identity   on which sides of which identities it stands (OLAF_IDENTITY_LIST), or 0.
 *   sum        a key of the JSON object "counters" that it is part of, or "".
 *   metric     its series for Prometheus, "name" or "name{label=value}"; several with a space.
 *              For a family "name{label": each reason's key becomes the label's value.
 *
 * Structs are kept in pinned maps: the order of a struct's counters and of a list's reasons is
 * ABI. A new one goes at the end of its list, before "end", and raises OLAF_LAYOUT; the struct's
 * OLAF_LAST (olaf/layout.h) says where it lies.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_COUNTERS_H
#define OLAF_COUNTERS_H

/* The fields of a struct of counters: LIST(OLAF_COUNTER_FIELD), or LIST(…, OLAF_FAMILY_FIELD). */
#define OLAF_COUNTER_FIELD(field, ...) __u64 field;
#define OLAF_FAMILY_FIELD(field, list, size, ...) __u64 field[size];
/* The constants of an enum of reasons: LIST(OLAF_REASON_CONSTANT). */
#define OLAF_REASON_CONSTANT(constant, ...) constant,

/* clang-format off */

/* ---- identities: X(NAME, outside, when) ------------------------------------------------- */
/*
 * The left sides add up to the same as the right sides. `outside` is a term on the right that
 * this host doesn't count, `when` says when the identity holds.
 */
#define OLAF_IDENTITY_LIST(X) \
	X(ARRIVALS, "", "exactly, whenever no packet is in flight") \
	X(PLACES, "", "exactly, whenever no packet is in flight") \
	X(UPDATES, "", "exactly, whenever no packet is in flight") \
	X(WINDOW, "", "exactly, whenever no packet is in flight, with a window from the start") \
	X(SERVER, "updates that the server received", "over a run, where losses are watched") \
	/* end */

#define OLAF_LEFT(identity) (1U << (2 * OLAF_IDENTITY_##identity))
#define OLAF_RIGHT(identity) (2U << (2 * OLAF_IDENTITY_##identity))

/* ---- groups: X(name, title, object, loses, at_zero, meaning) ----------------------------- */
/*
 * In the order in which they are shown. `title` begins its line of text; "": it goes on with the
 * group before it. `object` holds its counters in the JSON of `olaf status`; "": the outermost
 * one. `loses`: messages or frames that didn't arrive (`olaf report`). `at_zero`: its line of text
 * is there even if all is 0.
 */
#define OLAF_GROUP_LIST(X) \
	X(queue, "queue", "queue", 0, 0, "What waits.") \
	X(received, "received", "counters", 0, 1, "Messages that came in, and what became of them.") \
	X(departed, "departed", "counters", 0, 1, "Messages that left the queue. They are counted as they leave, also those that are lost behind it.") \
	X(dropped, "dropped", "counters", 1, 1, "Messages that were received and then dropped.") \
	X(updates, "updates", "counters", 0, 1, "The same flow counted in updates: sums of the messages' `count`.") \
	X(malformed, "malformed", "malformed_by_reason", 1, 0, "Messages that are no proper update. They are dropped and not part of `received`.") \
	X(not_allowed, "refused", "not_allowed_by_reason", 1, 0, "Well-formed messages that were refused. They are dropped and not part of `received`.") \
	X(bypassed, "bypassed", "bypassed_by_reason", 0, 0, "Frames that were left alone. They are not part of `received`.") \
	X(window, "window", "window", 0, 0, "Departures and their ACKs. null without `--window`.") \
	X(acks, "acks", "acks", 0, 0, "ACKs on their way back, their copies, and the workers that they go to.") \
	X(drain, "drain", "drain", 0, 0, "The drain, which sends what is due while nothing arrives.") \
	X(departures_failed, "failed", "departures_failed", 1, 0, "Departures that came to nothing.") \
	X(lost_behind, "lost behind", "lost_behind", 1, 0, "Frames that were lost after they left the queue. null: not watched.") \
	X(lost_behind_updates, "", "lost_behind_updates", 0, 0, "The updates in those frames.") \
	X(gate, "gate", "gate", 0, 0, "Whether the way out takes departures. While it doesn't, updates wait and fold.") \
	X(observed, "observed", "", 0, 0, "What observers of the queue missed.") \
	/* end */

/* ---- reasons: X(CONSTANT, key, meaning, words) ------------------------------------------- */
/*
 * `words` follow a number in text for people: "231 cluster id 1024 or above". {max_clusters},
 * {max_segments} and {max_lanes} stand for the queue's own. Reasons of events alone have none.
 */

/* Why a message of ours was malformed. */
#define OLAF_MALFORMED_LIST(X) \
	X(OLAF_MALFORMED_VERSION, version, "its version isn't that of its type: 2 of a job's messages, 1 of all others", "version of the protocol unknown") \
	X(OLAF_MALFORMED_TYPE, type, "there is no such message type", "type of message unknown") \
	X(OLAF_MALFORMED_LENGTH, length, "the UDP length isn't 8 + 48 + 8 x lanes, or it is less than IP's", "length wrong") \
	X(OLAF_MALFORMED_TRUNCATED, truncated, "the frame or its IP packet ends before the message does", "truncated") \
	X(OLAF_MALFORMED_LANES, lanes, "it has no lanes, or only the checksum lane", "lanes missing") \
	X(OLAF_MALFORMED_FORMAT, format, "the element format is unknown, or f32x2 in an update", "format unknown, or f32x2") \
	X(OLAF_MALFORMED_COUNT, count, "its count is 0", "count of 0") \
	X(OLAF_MALFORMED_SEGMENT, segment, "its segment isn't below its segments", "segment out of range") \
	X(OLAF_MALFORMED_IP_CHECKSUM, ip_checksum, "the IPv4 header checksum is wrong", "ip checksum wrong") \
	X(OLAF_MALFORMED_UDP_CHECKSUM, udp_checksum, "the UDP checksum is wrong, or missing over IPv6", "udp checksum wrong") \
	X(OLAF_MALFORMED_CHUNK, chunk, "CONTRIBUTION: its chunk isn't below its chunks", "chunk out of range") \
	X(OLAF_MALFORMED_JOB, job, "CONTRIBUTION: its rank, lanes or format aren't its job's", "rank, lanes or format other than the job's") \
	X(OLAF_MALFORMED_HEADER, header, "of a job: bits of its header were flipped on the way", "header damaged") \
	/* end */

/* Why a well-formed update was refused. */
#define OLAF_NOT_ALLOWED_LIST(X) \
	X(OLAF_NOT_ALLOWED_SOURCE, source, "its source address isn't in `--allow`", "source address not in --allow") \
	X(OLAF_NOT_ALLOWED_CLUSTER, cluster, "its cluster isn't below `--max-clusters`", "cluster id {max_clusters} or above") \
	X(OLAF_NOT_ALLOWED_SEGMENT, segment, "it has more segments than `--max-segments`", "model in more segments than {max_segments}") \
	X(OLAF_NOT_ALLOWED_SIZE, size, "it has more lanes than `--max-lanes`, or than fit the output's MTU", "size above {max_lanes} lanes, or above the output's MTU") \
	X(OLAF_NOT_ALLOWED_WORKER, worker, "`--strict`: no worker with this id is registered", "worker not registered (--strict)") \
	X(OLAF_NOT_ALLOWED_ADDRESS, address, "`--strict`: the registered worker has another address or port", "address other than the registered worker's (--strict)") \
	X(OLAF_NOT_ALLOWED_COUNT, count, "its count is above its cluster's max_count: its elements may overflow", "count above the cluster's max_count") \
	X(OLAF_NOT_ALLOWED_JOB_SOURCE, job_source, "its rank belongs to a member at another address or port", "job source other than that of the rank's member") \
	X(OLAF_NOT_ALLOWED_JOB_RESULT, job_result, "a RESULT that didn't come from the job's parent", "job results that aren't from the parent") \
	/* end */

/* Why a frame was left alone. */
#define OLAF_BYPASS_LIST(X) \
	X(OLAF_BYPASS_OTHER, other, "no update: other traffic, ACKs, CONTROL, fragments, too long headers", "other traffic") \
	X(OLAF_BYPASS_FOREIGN, foreign, "an update for another host, or one that this host may not forward", "foreign updates (for another host)") \
	X(OLAF_BYPASS_TAGGED, tagged, "an update with a VLAN tag that the program can't see", "tagged updates (a hidden VLAN tag)") \
	X(OLAF_BYPASS_UNBRIDGED, unbridged, "an update for another MAC address, where nobody asked to bridge", "unbridged updates (for another MAC address)") \
	X(OLAF_BYPASS_JOB, job, "a CONTRIBUTION or RESULT of no job here", "messages of jobs that aren't here") \
	/* end */

/* Where frames were lost behind the queue. */
#define OLAF_LOST_LIST(X) \
	X(OLAF_LOST_REDIRECT, redirect, "the output device is down or gone, or takes no frames of XDP's", "redirect refused (the output is down, or takes no frames of XDP's)") \
	X(OLAF_LOST_XMIT, transmit, "the output device refused a redirected frame: it is full, or its peer takes none", "transmit refused (the output is full, or its peer takes none)") \
	X(OLAF_LOST_TX, send_back, "the device refused a frame that was sent back out of it", "send back refused") \
	X(OLAF_LOST_DRAIN, drain_send, "the output device, or the stack, refused a frame of the drain's; needs no watching", "drain send refused") \
	X(OLAF_LOST_SOCKET, socket, "`--local`: the server's socket is missing, full, or refuses it", "socket missing, full or refusing") \
	X(OLAF_LOST_STACK, stack, "`--local`: this host's stack dropped it on its way to the socket", "stack of this host dropped them") \
	X(OLAF_LOST_DEVICE, device, "the output's queueing discipline or driver took it and dropped it", "device of the output dropped them") \
	/* end */

/* What events tell: their kinds, and for each kind what happened (olaf/events.h). */
#define OLAF_EVENT_KIND_LIST(X) \
	X(OLAF_EVENT_ARRIVAL, arrival, "an update joined the queue") \
	X(OLAF_EVENT_DEPARTURE, departure, "an update left") \
	X(OLAF_EVENT_DROP, drop, "an update was dropped") \
	X(OLAF_EVENT_LOSS, loss, "frames were lost behind the queue") \
	/* end */
#define OLAF_JOINED_LIST(X) \
	X(OLAF_JOINED_APPENDED, appended, "became an entry of its own") \
	X(OLAF_JOINED_AGGREGATED, aggregated, "was folded into the waiting entry") \
	X(OLAF_JOINED_REPLACED, replaced, "took the waiting entry over") \
	/* end */
#define OLAF_LEFT_LIST(X) \
	X(OLAF_LEFT_RIDING, riding, "in an arriving frame") \
	X(OLAF_LEFT_DRAIN, drain, "by the drain") \
	X(OLAF_LEFT_PASSED, passed, "at once, in its own frame: the queue was empty and the link free") \
	/* end */
#define OLAF_DROPPED_LIST(X) \
	X(OLAF_DROPPED_FULL, full, "no place in the queue was free") \
	X(OLAF_DROPPED_REWARD, reward, "its reward was too low") \
	X(OLAF_DROPPED_SEALED, sealed, "its entry is closed, and both buffers are in use") \
	X(OLAF_DROPPED_CONTENDED, contended, "a lock was held for too long") \
	X(OLAF_DROPPED_UNFIT, unfit, "no frame could carry it away; it may have waited") \
	X(OLAF_DROPPED_MALFORMED, malformed, "the cause is one of `malformed_by_reason`; no field of the update is valid") \
	X(OLAF_DROPPED_NOT_ALLOWED, not_allowed, "the cause is one of `not_allowed_by_reason`") \
	X(OLAF_DROPPED_MISFIT, misfit, "it fits neither entry that waits, and both buffers are in use") \
	/* end */

/* ---- counters ---------------------------------------------------------------------------- */

/* struct olaf_slot_counters: by (cluster, segment). */
#define OLAF_SLOT_COUNTER_LIST(X) \
	X(aggregated, received, aggregated, messages, OLAF_RIGHT(ARRIVALS), "", "olaf_arrivals_total{action=aggregated}", "folded into a waiting entry") \
	X(appended, received, appended, messages, OLAF_RIGHT(ARRIVALS) | OLAF_LEFT(PLACES), "", "olaf_arrivals_total{action=appended}", "became an entry of their own") \
	X(replaced, received, replaced, messages, OLAF_RIGHT(ARRIVALS), "", "olaf_arrivals_total{action=replaced}", "took a waiting entry over") \
	X(departed_riding, departed, departed_riding, messages, 0, "departed", "olaf_departures_total{way=riding}", "left in an arriving frame") \
	X(departed_drain, departed, departed_drain, messages, 0, "departed", "olaf_departures_total{way=drain}", "left by the drain") \
	X(dropped_full, dropped, dropped_full, messages, OLAF_RIGHT(ARRIVALS), "", "olaf_arrivals_total{action=dropped_full}", "no place in the queue was free; those of `dropped_contended` too") \
	X(dropped_reward, dropped, dropped_reward, messages, OLAF_RIGHT(ARRIVALS), "", "olaf_arrivals_total{action=dropped_reward}", "the reward was too far below the waiting entry's") \
	X(dropped_sealed, dropped, dropped_sealed, messages, OLAF_RIGHT(ARRIVALS), "", "olaf_arrivals_total{action=dropped_sealed}", "the waiting entry is closed, and both buffers are in use") \
	X(dropped_misfit, dropped, dropped_misfit, messages, OLAF_RIGHT(ARRIVALS), "", "olaf_arrivals_total{action=dropped_misfit}", "fit neither entry that waits, and both buffers are in use") \
	X(updates_departed, updates, updates_departed, updates, 0, "updates_out", "olaf_updates_total{fate=out}", "in messages that left the queue") \
	X(updates_superseded, updates, updates_superseded, updates, OLAF_RIGHT(UPDATES), "", "olaf_updates_total{fate=superseded}", "replaced by a newer update") \
	X(updates_dropped, updates, updates_dropped, updates, OLAF_RIGHT(UPDATES), "", "olaf_updates_total{fate=dropped}", "in messages that were dropped, or whose departure failed as unfit") \
	X(passed_through, received, passed_through, messages, OLAF_RIGHT(ARRIVALS) | OLAF_LEFT(WINDOW), "", "olaf_arrivals_total{action=passed_through} olaf_departures_total{way=passed}", "left at once: the queue was empty and the link free") \
	X(updates_passed, updates, updates_passed, updates, 0, "updates_out", "olaf_updates_total{fate=out}", "in messages that passed through") \
	/* end */

/* struct olaf_counters: what isn't an event of one slot. */
#define OLAF_COUNTER_LIST(X, F) \
	X(received, received, received, messages, OLAF_LEFT(ARRIVALS), "", "olaf_received_messages_total", "messages that came in, well formed and allowed") \
	X(updates_in, updates, updates_in, updates, OLAF_LEFT(UPDATES), "", "olaf_received_updates_total", "updates in the messages received") \
	F(bypassed, OLAF_BYPASS_LIST, OLAF_BYPASS_REASONS, bypassed, frames, 0, "bypassed", "olaf_bypassed_frames_total{reason", "frames left alone") \
	F(malformed, OLAF_MALFORMED_LIST, OLAF_MALFORMED_REASONS, malformed, messages, 0, "malformed", "olaf_malformed_messages_total{reason", "messages dropped as malformed") \
	F(not_allowed, OLAF_NOT_ALLOWED_LIST, OLAF_NOT_ALLOWED_REASONS, not_allowed, messages, 0, "not_allowed", "olaf_not_allowed_messages_total{reason", "messages dropped as not allowed") \
	X(tokens_launched, drain, launched, tokens, 0, "", "olaf_drain_tokens_total", "tokens launched into the drain") \
	X(drain_ticks, drain, ticks, tokens, 0, "", "olaf_drain_ticks_total", "times that the drain's token came round") \
	X(drain_stale, drain, stale, tokens, 0, "", "olaf_drain_stale_tokens_total", "tokens of an older generation that died") \
	X(dropped_contended, dropped, dropped_contended, messages, 0, "dropped_full", "olaf_contended_messages_total olaf_arrivals_total{action=dropped_full}", "messages dropped because a lock was held for too long") \
	X(updates_contended, updates, updates_contended, updates, 0, "updates_dropped", "olaf_updates_total{fate=dropped}", "in messages dropped at a lock") \
	X(departures_unfit, departures_failed, unfit, messages, 0, "", "olaf_failed_departures_total{reason=unfit}", "no frame could carry them; their updates count as dropped") \
	X(departures_refused, lost_behind, drain_send, frames, 0, "", "olaf_lost_frames_total{place=drain_send}", "") \
	X(updates_refused, lost_behind_updates, drain_send, updates, OLAF_RIGHT(SERVER), "", "olaf_lost_updates_total{place=drain_send}", "") \
	X(drain_kicks, drain, kicks, tokens, 0, "", "olaf_drain_kicks_total", "bursts of the drain that an ACK set off") \
	X(events_lost, observed, events_lost, events, 0, "", "olaf_lost_events_total", "events that found the listener's buffer full") \
	X(hops_asked, gate, hops_asked, frames, 0, "", "olaf_next_hop_requests_total", "frames that asked a next hop for its address") \
	X(gate_probes, gate, probes, frames, 0, "", "olaf_gate_probes_total", "frames that asked whether the output takes any again") \
	X(drain_proofs, drain, proofs, frames, 0, "", "olaf_drain_proofs_total", "frames with which attach tried a token's whole way") \
	X(passages_unmetered, observed, passages_unmetered, messages, 0, "", "olaf_unmetered_passages_total", "messages that passed through without being metered: a departure of the cluster took too long") \
	/* end */

/* struct olaf_ack_counters: the way back. */
#define OLAF_ACK_COUNTER_LIST(X) \
	X(unplaced, acks, workers_unplaced, messages, 0, "", "olaf_unlearnt_updates_total{reason=unplaced}", "updates of workers beyond `--max-workers`: not learnt") \
	X(sources_refused, acks, sources_refused, messages, 0, "", "olaf_unlearnt_updates_total{reason=source}", "updates from where no ACK may go, not unicast or this host's own: not learnt") \
	X(takeovers_refused, acks, takeovers_refused, messages, 0, "", "olaf_unlearnt_updates_total{reason=takeover}", "updates in the name of a worker that lives at another address or port: not learnt") \
	X(deferred, acks, workers_deferred, messages, 0, "", "olaf_unlearnt_updates_total{reason=deferred}", "updates of new workers beyond 64 a second and cluster: learnt from a later one") \
	X(foreign, acks, foreign, acks, 0, "", "olaf_foreign_acks_total", "ACKs from an address that the cluster's workers don't send to: left alone") \
	X(recognised, acks, recognised, acks, 0, "", "olaf_received_acks_total", "well-formed ACKs that left, or came from upstream; neither copies nor foreign ones") \
	X(stamped, acks, stamped, acks, 0, "", "olaf_stamped_acks_total", "ACKs that carry this queue's state") \
	X(kept, acks, kept, acks, 0, "", "olaf_kept_stamps_total", "ACKs that kept the stamp of a more congested queue") \
	X(copied, acks, copied, acks, 0, "", "olaf_copied_acks_total", "ACKs that were copied to the cluster's workers") \
	X(copies, acks, copies, copies, 0, "", "olaf_ack_copies_total", "copies of ACKs that left") \
	X(copies_refused, acks, copies_refused, copies, 0, "", "olaf_failed_ack_copies_total{reason=refused}", "refused by the device, or by a filter of somebody else's") \
	X(copies_unreachable, acks, copies_unreachable, copies, 0, "", "olaf_failed_ack_copies_total{reason=unreachable}", "workers of the other IP version, or whose MAC address isn't known") \
	X(copies_foreign, acks, copies_foreign, copies, 0, "", "olaf_failed_ack_copies_total{reason=foreign}", "workers that send to another address than the ACK comes from") \
	X(copies_shared, acks, copies_shared, copies, 0, "", "olaf_failed_ack_copies_total{reason=shared}", "workers at an address and port that the ACK reached already") \
	X(copies_unfit, acks, copies_unfit, copies, 0, "", "olaf_failed_ack_copies_total{reason=unfit}", "no memory to make one: the ACK ends there") \
	/* end */

/* struct olaf_window: what became of departures, and of ACKs. */
#define OLAF_WINDOW_COUNTER_LIST(X) \
	X(acked, window, acked, messages, OLAF_RIGHT(WINDOW), "", "olaf_window_events_total{event=acked}", "departures whose own ACK came in time") \
	X(released, window, released, messages, OLAF_RIGHT(WINDOW), "", "olaf_window_events_total{event=released}", "by the ACK of a later departure of the same cluster and segment") \
	X(forgiven, window, forgiven, messages, OLAF_RIGHT(WINDOW), "", "olaf_window_events_total{event=forgiven}", "given up: no ACK came in time") \
	X(late, window, late, acks, 0, "", "olaf_window_events_total{event=late}", "ACKs that came for released and forgiven departures") \
	X(unmatched, window, unmatched, acks, 0, "", "olaf_window_events_total{event=unmatched}", "ACKs of no departure: duplicates, answers to joins, forgeries") \
	/* end */

/* struct olaf_losses: behind the queue, while somebody watches. The drain's are in olaf_counters. */
#define OLAF_LOSS_COUNTER_LIST(F) \
	F(frames, OLAF_LOST_LIST, OLAF_LOST_PLACES, lost_behind, frames, 0, "", "olaf_lost_frames_total{place", "frames lost behind the queue") \
	F(updates, OLAF_LOST_LIST, OLAF_LOST_PLACES, lost_behind_updates, updates, OLAF_RIGHT(SERVER), "", "olaf_lost_updates_total{place", "updates in those frames") \
	/* end */

/* Levels: what is there now. User space works them out; identities need them. */
#define OLAF_LEVEL_LIST(X) \
	X(queue_length, queue, length, messages, OLAF_RIGHT(PLACES), "olaf_queue_length", "messages that wait") \
	X(updates_waiting, updates, updates_waiting, updates, OLAF_RIGHT(UPDATES), "olaf_queue_waiting_updates", "updates folded into the messages that wait") \
	X(in_flight, window, in_flight, messages, OLAF_RIGHT(WINDOW), "olaf_window_in_flight_departures", "departures that are unacknowledged") \
	/* end */

/* Sums of the counters that name them, in the JSON object "counters". */
#define OLAF_SUM_LIST(X) \
	X(departed, departed, messages, OLAF_RIGHT(PLACES) | OLAF_LEFT(WINDOW), "messages that left the queue") \
	X(updates, updates_out, updates, OLAF_RIGHT(UPDATES) | OLAF_LEFT(SERVER), "in messages that left, through the queue or at once") \
	X(malformed, malformed, messages, 0, "all reasons together") \
	X(not_allowed, not_allowed, messages, 0, "all reasons together") \
	X(bypassed, bypassed, frames, 0, "all reasons together") \
	/* end */

/* What the labelled families of metrics count. */
#define OLAF_METRIC_LIST(X) \
	X(olaf_arrivals_total, "Messages by what became of them on arrival.") \
	X(olaf_departures_total, "Messages that left, by their way.") \
	X(olaf_updates_total, "Updates by how they ended.") \
	X(olaf_bypassed_frames_total, "Frames left alone.") \
	X(olaf_malformed_messages_total, "Messages dropped as malformed.") \
	X(olaf_not_allowed_messages_total, "Messages dropped as not allowed.") \
	X(olaf_failed_departures_total, "Departures that came to nothing.") \
	X(olaf_lost_frames_total, "Frames lost behind the queue.") \
	X(olaf_lost_updates_total, "Updates in the frames lost behind the queue.") \
	X(olaf_unlearnt_updates_total, "Messages that no worker was learnt from.") \
	X(olaf_failed_ack_copies_total, "Copies of ACKs that didn't leave.") \
	X(olaf_window_events_total, "What became of departures, and of ACKs.") \
	X(olaf_job_contributions_total, "Contributions to a job by what became of them.") \
	X(olaf_job_results_total, "Results of a job that left, by their way.") \
	X(olaf_job_aggregates_total, "Aggregates of a job that were sent to its parent.") \
	/* end */

/* clang-format on */

#define OLAF_IDENTITY_CONSTANT(name, ...) OLAF_IDENTITY_##name,
#define OLAF_GROUP_CONSTANT(name, ...) OLAF_GROUP_##name,

enum olaf_identity { OLAF_IDENTITY_LIST(OLAF_IDENTITY_CONSTANT) OLAF_IDENTITIES };
enum olaf_group { OLAF_GROUP_LIST(OLAF_GROUP_CONSTANT) OLAF_GROUPS };

#endif /* OLAF_COUNTERS_H */
