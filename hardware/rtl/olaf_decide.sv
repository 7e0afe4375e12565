// SPDX-License-Identifier: BSD-2-Clause
// A decision every two cycles: look at the buffers, then judge. What is no update takes one. Where mean
// rewards must be compared, four more. Nothing is popped between the look and the decision.
//
// The order is the kernel's (bpf/ingress.bpf.c, bpf/slots/admit.bpf.h): refused? may it pass? does its policy
// fold? does it fit what waits?
module olaf_decide #(
    parameter int PLACES = 8
) (
    input logic clk,
    input logic rst,
    input olaf::config_t cfg,
    input logic head_valid,             // the oldest verdict
    input olaf::verdict_t head,
    output logic head_take,
    output logic look,
    output logic judging,               // no pops
    input olaf::rule_t rule,            // of the head's cluster, in the cycle behind `look`
    input logic hit,
    input logic any_open,
    input logic two_used,
    input olaf::seg_t hit_seg,
    input olaf::seg_t free_seg,
    input olaf::record_t waiting,       // of hit_seg
    input logic [7:0] ring_length,
    input logic due,
    input logic way_clear,              // what passes now would leave at once
    input logic command_room,
    output logic command_valid,
    output olaf::command_t command,
    output logic opens,
    output logic folds,
    output logic seals,
    output logic writes,                // `record` into record_seg
    output olaf::seg_t record_seg,
    output olaf::record_t record,
    output logic decided,               // an update: what became of it
    output logic passed,                // it passes; earlier in the cycle than `action`
    output olaf::action_t action,
    output logic [3:0] refused,         // reason, of ACT_REFUSED
    output logic ignored                // no update, or not for a queue that is off
);
  typedef enum logic [1:0] {LOOK, JUDGE, WEIGH} state_t;
  state_t state;
  logic weighed, compares, start, weighing_done, higher, lower, ring_full;
  olaf::says_t says;
  olaf::pending_t folded;

  assign folds = rule.policy != olaf::POLICY_FIFO;
  assign judging = state != LOOK;
  assign ring_full = ring_length >= cfg.queue_capacity;

  olaf_judge judge (
      .rule(rule), .waiting(waiting.pending), .arriving(head.update.pending), .higher(higher),
      .lower(lower), .compares(compares), .says(says), .folded(folded)
  );
  olaf_reward reward (
      .clk(clk), .rst(rst), .start(start), .arriving_reward(head.update.pending.reward),
      .waiting_reward(waiting.pending.reward), .arriving_count(head.update.pending.count[15:0]),
      .waiting_count(waiting.pending.count[15:0]), .threshold(rule.reward_threshold[62:0]),
      .done(weighing_done), .higher(higher), .lower(lower)
  );

  // ---- what becomes of the update ----
  logic is_refused, passes;
  always_comb begin
    is_refused = 1'b1;
    refused = olaf_registers::NOT_ALLOWED_CLUSTER;
    if (head.bad_cluster) refused = olaf_registers::NOT_ALLOWED_CLUSTER;
    else if (head.update.pending.count > {16'd0, rule.max_count})
      refused = olaf_registers::NOT_ALLOWED_COUNT;
    else if (head.bad_segment) refused = olaf_registers::NOT_ALLOWED_SEGMENT;
    else if (head.bad_size) refused = olaf_registers::NOT_ALLOWED_SIZE;
    else is_refused = 1'b0;
  end
  assign passes = ring_length == 8'd0 && due && way_clear;
  assign start = state == JUDGE && !weighed && !is_refused && !passes && folds && hit && compares;

  always_comb begin
    if (is_refused) action = olaf::ACT_REFUSED;
    else if (passes) action = olaf::ACT_PASSED;
    else if (!folds) action = ring_full ? olaf::ACT_FULL : olaf::ACT_APPENDED;
    else if (!hit) begin
      // Closed buffers are to blame only if nothing is open that it might have fitted.
      if (!two_used && !ring_full) action = olaf::ACT_APPENDED;
      else if (any_open) action = olaf::ACT_MISFIT;
      else action = two_used ? olaf::ACT_SEALED : olaf::ACT_FULL;
    end else begin
      case (says)
        olaf::SAYS_AGGREGATE: action = olaf::ACT_AGGREGATED;
        olaf::SAYS_REPLACE: action = olaf::ACT_REPLACED;
        olaf::SAYS_DROP: action = olaf::ACT_REWARD;
        default: action = two_used || ring_full ? olaf::ACT_SEALED : olaf::ACT_APPENDED;
      endcase
    end
  end

  // ---- steps ----
  logic plain;  // nothing to decide
  assign plain = !head.enabled || head.kind != olaf::KIND_UPDATE;
  assign ignored = state == LOOK && head_valid && command_room && plain;
  assign look = state == LOOK && head_valid && command_room && !plain;
  assign decided = state == JUDGE && !start;
  assign passed = state == JUDGE && !is_refused && passes;
  assign head_take = ignored || decided;
  assign opens = decided && action == olaf::ACT_APPENDED;
  assign seals = opens && folds && hit;
  assign writes = opens || (decided && (action == olaf::ACT_AGGREGATED || action == olaf::ACT_REPLACED));
  assign record_seg = opens ? free_seg : hit_seg;
  assign command_valid = head_take;

  always_comb begin
    record = head.update;
    if (action == olaf::ACT_AGGREGATED) record.pending = folded;
    command.seg = record_seg;
    command.words = head.update.around.words;
    command.lanes = head.update.lanes;
    command.op = olaf::OP_DROP;
    if (state == LOOK) begin
      if (!head.enabled || head.kind == olaf::KIND_PASS) command.op = olaf::OP_PASS;
    end else begin
      case (action)
        olaf::ACT_PASSED: command.op = olaf::OP_PASS;
        olaf::ACT_APPENDED, olaf::ACT_REPLACED: command.op = olaf::OP_STORE;
        olaf::ACT_AGGREGATED: command.op = olaf::OP_FOLD;
        default: command.op = olaf::OP_DROP;
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state <= LOOK;
      weighed <= 1'b0;
    end else begin
      case (state)
        LOOK: if (look) state <= JUDGE;
        JUDGE: begin
          state <= start ? WEIGH : LOOK;
          weighed <= 1'b0;
        end
        default:
        if (weighing_done) begin
          state <= JUDGE;
          weighed <= 1'b1;
        end
      endcase
    end
  end
endmodule
