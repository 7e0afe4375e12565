// SPDX-License-Identifier: BSD-2-Clause
// The queue of docs/design.md on 512-bit AXI4-Stream. The way of an update, top to bottom:
//
//   entrance   frames to a buffer, their headers apart beside it
//   verdict    bypass, malformed, or an update
//   decide     passes, folds, replaces, opens a buffer, is dropped: every two cycles
//   slots      whose update each buffer holds      records   and its fields
//   ring       who leaves next                     pacer     and when
//   move       frames out of the buffer, one by one: on, away, or their lanes to the
//   store      the lanes that wait, twice; folding is eight 64-bit additions
//   depart     a popped update becomes a frame
//   out        what passes and what departs, in turn
//
// `up` is the workers' way to the server, `down` the way back, where ACKs are stamped (back). Side band: bits
// 15:0 are the frame's bytes, the rest is opaque and leaves as it came. The t_ ports tell tests what happens.
module olaf_queue #(
    parameter int PLACES = 8,
    parameter int CLUSTERS = 128,
    parameter int SLOTS = 128,
    parameter int LANES = 1152,
    parameter int NS_PER_CYCLE = 4
) (
    input logic clk,
    input logic rst,
    input logic up_s_tvalid,
    output logic up_s_tready,
    input logic [511:0] up_s_tdata,
    input logic [63:0] up_s_tkeep,
    input logic up_s_tlast,
    input logic [47:0] up_s_tuser,
    output logic up_m_tvalid,
    input logic up_m_tready,
    output logic [511:0] up_m_tdata,
    output logic [63:0] up_m_tkeep,
    output logic up_m_tlast,
    output logic [47:0] up_m_tuser,
    input logic down_s_tvalid,
    output logic down_s_tready,
    input logic [511:0] down_s_tdata,
    input logic [63:0] down_s_tkeep,
    input logic down_s_tlast,
    input logic [47:0] down_s_tuser,
    output logic down_m_tvalid,
    input logic down_m_tready,
    output logic [511:0] down_m_tdata,
    output logic [63:0] down_m_tkeep,
    output logic down_m_tlast,
    output logic [47:0] down_m_tuser,
    input logic awvalid,
    output logic awready,
    input logic [19:0] awaddr,
    input logic wvalid,
    output logic wready,
    input logic [31:0] wdata,
    output logic bvalid,
    input logic bready,
    output logic [1:0] bresp,
    input logic arvalid,
    output logic arready,
    input logic [19:0] araddr,
    output logic rvalid,
    input logic rready,
    output logic [31:0] rdata,
    output logic [1:0] rresp,
    output logic [63:0] t_now,
    output logic t_restarts,
    output logic t_ignored,
    output logic t_decided,
    output logic [3:0] t_action,
    output logic t_way_clear,
    output logic t_popped,
    output logic t_freed,
    output logic t_sampled,
    output logic t_foreign,
    output logic t_snapshot
);
  localparam int SEGS = PLACES + 2;  // what waits, and two departures

  // ---- time, and registers ----
  logic [63:0] now;
  olaf::config_t cfg;
  logic prepared, restart, clear, rule_write, snapshot;
  logic [11:0] clear_slot, read_slot;
  logic [15:0] rule_cluster, rule_read_cluster, active;
  olaf::rule_t rule, rule_written, rule_read;
  logic [7:0] counter, ring_length;
  logic [63:0] counter_value, slot_value, updates_waiting;
  logic [3:0] slot_counter;
  logic depart_idle;
  logic [39:0] next_window;

  always_ff @(posedge clk) begin
    if (rst) now <= '0;
    else now <= now + 64'(NS_PER_CYCLE);
  end

  olaf_card #(
      .PLACES(PLACES), .CLUSTERS(CLUSTERS), .SLOTS(SLOTS), .LANES(LANES), .NS_PER_CYCLE(NS_PER_CYCLE)
  ) card (
      .clk(clk), .rst(rst), .awvalid(awvalid), .awready(awready), .awaddr(awaddr), .wvalid(wvalid),
      .wready(wready), .wdata(wdata), .bvalid(bvalid), .bready(bready), .bresp(bresp),
      .arvalid(arvalid), .arready(arready), .araddr(araddr), .rvalid(rvalid), .rready(rready),
      .rdata(rdata), .rresp(rresp), .ready(prepared), .cfg(cfg), .restart(restart),
      .next_window(next_window), .clear(clear),
      .clear_slot(clear_slot), .rule_write(rule_write), .rule_cluster(rule_cluster),
      .rule_written(rule_written), .rule_read_cluster(rule_read_cluster), .rule_read(rule_read),
      .snapshot(snapshot), .counter(counter), .counter_value(counter_value), .slot(read_slot),
      .slot_counter(slot_counter), .slot_value(slot_value), .now(now), .queue_length(ring_length),
      .active(active), .updates_waiting(updates_waiting),
      .empty(ring_length == 8'd0 && depart_idle && undecided == 5'd0)
  );

  // ---- entrance and verdict ----
  logic beat_valid, beat_last, beat_take, found_valid, verdict_valid, head_valid, head_take;
  logic verdict_room;
  logic [511:0] beat;
  logic [5:0] beat_bytes;
  logic [47:0] beat_user;
  olaf::headers_t found;
  logic [31:0] sum;
  olaf::verdict_t verdict, head;

  olaf_entrance entrance (
      .clk(clk), .rst(rst), .ready(prepared), .s_tvalid(up_s_tvalid), .s_tready(up_s_tready),
      .s_tdata(up_s_tdata), .s_tkeep(up_s_tkeep), .s_tlast(up_s_tlast), .s_tuser(up_s_tuser),
      .beat_valid(beat_valid), .beat(beat), .beat_bytes(beat_bytes), .beat_user(beat_user),
      .beat_last(beat_last), .beat_take(beat_take), .found_valid(found_valid), .found(found),
      .sum(sum), .verdict_take(head_take)
  );
  olaf_verdict judge_headers (
      .clk(clk), .rst(rst), .cfg(cfg), .found_valid(found_valid), .found(found), .sum(sum),
      .valid(verdict_valid), .verdict(verdict)
  );
  olaf_fifo #(.DEPTH_LOG2(4), .WIDTH($bits(verdict))) verdicts (
      .clk(clk), .rst(rst), .put(verdict_valid), .in(verdict), .room(verdict_room),
      .valid(head_valid), .out(head), .take(head_take)
  );

  // Updates that came to a queue that was on, at most 16. They may be appended once it is off: it isn't empty.
  logic [4:0] undecided;
  logic awaits, awaited;
  assign awaits = verdict_valid && verdict.enabled && verdict.kind == olaf::KIND_UPDATE;
  assign awaited = head_take && head.enabled && head.kind == olaf::KIND_UPDATE;
  always_ff @(posedge clk)
    undecided <= rst ? 5'd0 : undecided + {4'd0, awaits} - {4'd0, awaited};

  // ---- decide ----
  logic look, judging, hit, any_open, two_used, due, way_clear, command_room, command_valid;
  logic opens, folds, seals, writes, decided, passed, ignored, pop, frees;
  olaf::seg_t hit_seg, free_seg, record_seg, ring_head, freed_seg;
  olaf::record_t waiting, record, leaving_record;
  olaf::command_t command, next_command;
  olaf::action_t action;
  logic [3:0] refused;
  logic [SEGS-1:0] leaving;

  olaf_rules #(.CLUSTERS(CLUSTERS)) rule_table (
      .clk(clk), .write(rule_write), .write_cluster(rule_cluster), .written(rule_written),
      .look(look), .cluster(head.update.cluster[15:0]), .rule(rule),
      .read_cluster(rule_read_cluster), .read(rule_read)
  );
  olaf_slots #(.SEGS(SEGS)) slots (
      .clk(clk), .rst(rst), .look(look), .cluster(head.update.cluster[15:0]),
      .segment(head.update.segment), .fit(head.fit), .hit(hit), .hit_seg(hit_seg),
      .any_open(any_open), .two_used(two_used), .free_seg(free_seg), .opens(opens), .folds(folds),
      .seals(seals), .pops(pop), .pop_seg(ring_head), .frees(frees), .freed_seg(freed_seg),
      .leaving(leaving)
  );
  olaf_records #(.SEGS(SEGS)) record_table (
      .clk(clk), .write(writes), .write_seg(record_seg), .record(record), .first_seg(hit_seg),
      .first(waiting), .second_seg(ring_head), .second(leaving_record)
  );
  olaf_decide #(.PLACES(PLACES)) decide (
      .clk(clk), .rst(rst), .cfg(cfg), .head_valid(head_valid), .head(head), .head_take(head_take),
      .look(look), .judging(judging), .rule(rule), .hit(hit), .any_open(any_open),
      .two_used(two_used), .hit_seg(hit_seg), .free_seg(free_seg), .waiting(waiting),
      .ring_length(ring_length), .due(due), .way_clear(way_clear), .command_room(command_room),
      .command_valid(command_valid), .command(command), .opens(opens), .folds(folds),
      .seals(seals), .writes(writes), .record_seg(record_seg), .record(record),
      .decided(decided), .passed(passed), .action(action), .refused(refused), .ignored(ignored)
  );

  // ---- order and pace ----
  logic depart_room, stalled;
  assign pop = !judging && ring_length != 8'd0 && due && depart_room;
  assign stalled = up_m_tvalid && !up_m_tready;
  assign way_clear = depart_idle && !stalled;

  olaf_ring #(.PLACES(PLACES)) ring (
      .clk(clk), .rst(rst), .append(opens), .append_seg(free_seg), .pop(pop), .head(ring_head),
      .length(ring_length)
  );
  olaf_pacer pacer (
      .clk(clk), .rst(rst), .restart(restart), .paced(cfg.ns_per_byte_q24 != 40'd0), .now(now),
      .interval(cfg.drain_interval_ns), .leaves(passed || pop),
      .serialisation(passed ? head.passing : leaving_record.around.serialisation), .due(due)
  );
  olaf_active #(.CLUSTERS(CLUSTERS)) activity (
      .clk(clk), .rst(rst), .restart(restart), .next_window(next_window), .now(now),
      .window(cfg.activity_window_ns),
      .seen(decided && action != olaf::ACT_REFUSED), .cluster(head.update.cluster[15:0]),
      .active(active)
  );

  // ---- move and store ----
  logic next_valid, next_take, pass_valid, pass_ready, read, write, write_folds, depart_read;
  olaf::seg_t read_seg, write_seg, depart_seg;
  logic [7:0] read_block, write_block, depart_block, issued, completed;
  logic [511:0] write_lanes, departing;
  logic [31:0] departing_sum;
  olaf::seg_t sum_seg;

  olaf_fifo #(.DEPTH_LOG2(2), .WIDTH($bits(command))) commands (
      .clk(clk), .rst(rst), .put(command_valid), .in(command), .room(command_room),
      .valid(next_valid), .out(next_command), .take(next_take)
  );
  olaf_move move (
      .clk(clk), .rst(rst), .beat_valid(beat_valid), .beat(beat), .beat_last(beat_last),
      .beat_take(beat_take), .command_valid(next_valid), .command(next_command),
      .command_take(next_take), .pass_valid(pass_valid), .pass_ready(pass_ready), .read(read),
      .read_seg(read_seg), .read_block(read_block), .write(write), .write_folds(write_folds),
      .write_seg(write_seg), .write_block(write_block), .write_lanes(write_lanes),
      .completed(completed)
  );
  olaf_store #(.SEGS(SEGS), .BLOCKS((LANES + 7) / 8)) store (
      .clk(clk), .read(read), .read_seg(read_seg), .read_block(read_block), .write(write),
      .write_folds(write_folds), .write_seg(write_seg), .write_block(write_block),
      .write_lanes(write_lanes), .depart(depart_read), .depart_seg(depart_seg),
      .depart_block(depart_block), .departing(departing), .sum_seg(sum_seg), .lanes_sum(departing_sum)
  );
  always_ff @(posedge clk) begin
    if (rst) issued <= '0;
    else issued <= issued + {7'd0, command_valid};
  end

  // ---- depart and out ----
  logic depart_valid, depart_ready, depart_last;
  logic [511:0] depart_data;
  logic [5:0] depart_bytes, out_bytes;
  logic [47:0] depart_user;

  olaf_depart depart (
      .clk(clk), .rst(rst), .pop(pop), .pop_seg(ring_head), .popped(leaving_record),
      .issued(issued), .completed(completed), .room(depart_room), .idle(depart_idle),
      .read(depart_read), .read_seg(depart_seg), .read_block(depart_block), .lanes(departing),
      .sum_seg(sum_seg), .lanes_sum(departing_sum),
      .frees(frees), .freed_seg(freed_seg), .valid(depart_valid), .ready(depart_ready),
      .data(depart_data), .last(depart_last), .bytes(depart_bytes), .user(depart_user)
  );
  olaf_out #(.WIDTH(567)) way_out (
      .clk(clk), .rst(rst), .a_valid(pass_valid), .a({beat_last, beat_user, beat_bytes, beat}),
      .a_ready(pass_ready), .b_valid(depart_valid),
      .b({depart_last, depart_user, depart_bytes, depart_data}), .b_ready(depart_ready),
      .valid(up_m_tvalid), .ready(up_m_tready),
      .out({up_m_tlast, up_m_tuser, out_bytes, up_m_tdata})
  );
  assign up_m_tkeep = {64{1'b1}} >> (6'd63 - out_bytes);

  // ---- the way back ----
  logic ack_sampled, ack_foreign, ack_stamped, ack_kept;
  olaf_back #(.CLUSTERS(CLUSTERS)) back (
      .clk(clk), .rst(rst), .ready(prepared), .cfg(cfg), .s_tvalid(down_s_tvalid),
      .s_tready(down_s_tready), .s_tdata(down_s_tdata), .s_tkeep(down_s_tkeep),
      .s_tlast(down_s_tlast), .s_tuser(down_s_tuser), .m_tvalid(down_m_tvalid),
      .m_tready(down_m_tready), .m_tdata(down_m_tdata), .m_tkeep(down_m_tkeep),
      .m_tlast(down_m_tlast), .m_tuser(down_m_tuser),
      .heard(decided && action != olaf::ACT_REFUSED), .heard_cluster(head.update.cluster[15:0]),
      .heard_at(head.fit.daddr), .active(active), .queue_length(ring_length),
      .sampled(ack_sampled), .is_foreign(ack_foreign), .stamped(ack_stamped), .kept(ack_kept)
  );

  // ---- counters ----
  olaf_counters counters (
      .clk(clk), .rst(rst), .ignored(ignored), .enabled(head.enabled), .kind(head.kind),
      .reason(head.reason), .decided(decided), .action(action), .refused(refused),
      .count(head.update.pending.count), .waiting(waiting.pending.count), .popped(pop),
      .popped_count(leaving_record.pending.count), .ack_foreign(ack_foreign),
      .ack_stamped(ack_stamped), .ack_kept(ack_kept), .snapshot(snapshot), .index(counter),
      .value(counter_value), .updates_waiting(updates_waiting)
  );
  olaf_slot_counters #(.SLOTS(SLOTS)) slot_counters (
      .clk(clk), .rst(rst), .clear(clear), .clear_slot(clear_slot),
      .counted(decided && action != olaf::ACT_REFUSED), .popped(pop), .action(action),
      .slot(pop ? leaving_record.slot : head.update.slot),
      .count(pop ? leaving_record.pending.count : head.update.pending.count),
      .waiting(waiting.pending.count), .read_slot(read_slot), .read_counter(slot_counter),
      .value(slot_value)
  );

  assign t_now = now;
  assign t_restarts = restart;
  assign t_ignored = ignored;
  assign t_decided = decided;
  assign t_action = action;
  assign t_way_clear = way_clear;
  assign t_popped = pop;
  assign t_freed = frees;
  assign t_sampled = ack_sampled;
  assign t_foreign = ack_foreign;
  assign t_snapshot = snapshot;
endmodule
