// SPDX-License-Identifier: BSD-2-Clause
// The decisions, with all that they look at left to the prover: any verdict, rule and waiting update, any answer of
// the buffers and of the comparison of rewards, at any time. What `order` takes for granted is claimed here.
//
//   opens         only into a ring with a place, for a slot with a buffer, and then what waited open is sealed
//   into          what is folded or replaced is an open buffer of its slot, under a policy that folds
//   steps         nobody looks while a decision is due; a verdict gets one command, and is gone with it
//   conservation  an entry's count is what was in it and what came; a replaced one's what came
module decided (
    input logic clk,
    input logic rst,
    input olaf::config_t cfg,
    input logic head_valid,
    input olaf::verdict_t head,
    input olaf::rule_t rule,
    input logic hit,
    input logic any_open,
    input logic two_used,
    input olaf::seg_t hit_seg,
    input olaf::seg_t free_seg,
    input olaf::record_t waiting,
    input logic [7:0] ring_length,
    input logic due,
    input logic way_clear,
    input logic command_room
);
  logic head_take, look, judging, command_valid, opens, folds, seals, writes, is_decided, passed, ignored;
  olaf::command_t command;
  olaf::seg_t record_seg;
  olaf::record_t record;
  olaf::action_t action;
  logic [3:0] refused;

  olaf_decide decide (
      .clk(clk), .rst(rst), .cfg(cfg), .head_valid(head_valid), .head(head), .head_take(head_take),
      .look(look), .judging(judging), .rule(rule), .hit(hit), .any_open(any_open),
      .two_used(two_used), .hit_seg(hit_seg), .free_seg(free_seg), .waiting(waiting),
      .ring_length(ring_length), .due(due), .way_clear(way_clear), .command_room(command_room),
      .command_valid(command_valid), .command(command), .opens(opens), .folds(folds),
      .seals(seals), .writes(writes), .record_seg(record_seg), .record(record),
      .decided(is_decided), .passed(passed), .action(action), .refused(refused), .ignored(ignored)
  );

  logic started = 1'b0;
  logic is_fold;
  assign is_fold = is_decided && action == olaf::ACT_AGGREGATED;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb begin
    if (!started) assume (rst);
    // What waits was once taken, and so is no larger than a rule's 16 bits.
    assume (waiting.pending.count[31:16] == 16'd0);
  end

  always_ff @(posedge clk) begin
    if (started && !rst) begin
      if (opens) begin
        opens_place: assert (ring_length < cfg.queue_capacity);
        opens_buffer: assert (!folds || !two_used);
        opens_sealing: assert (!folds || !hit || seals);
      end
      if (seals) opens_sealed: assert (opens && hit && folds);
      if (writes && !opens) into: assert (hit && folds && record_seg == hit_seg);
      if (opens) into_free: assert (record_seg == free_seg && writes);
      if (look) steps_look: assert (!judging && !opens && !writes && !is_decided);
      if (is_decided) steps_decided: assert (judging && head_take && !ignored);
      steps_command: assert (command_valid == head_take && head_take == (ignored || is_decided));
      steps_passed: assert (passed == (is_decided && action == olaf::ACT_PASSED));
      if (command_valid) begin
        steps_store: assert ((command.op == olaf::OP_STORE || command.op == olaf::OP_FOLD) == writes);
        steps_fold: assert ((command.op == olaf::OP_FOLD) == is_fold);
        if (writes) steps_buffer: assert (command.seg == record_seg);
      end
      if (writes) begin
        conservation: assert ({1'b0, record.pending.count} == {1'b0, head.update.pending.count} +
            (is_fold ? {1'b0, waiting.pending.count} : 33'd0));
        conservation_small: assert (record.pending.count <= {16'd0, rule.max_count});
      end
    end
  end
endmodule
