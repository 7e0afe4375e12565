// SPDX-License-Identifier: BSD-2-Clause
// When the link is free (bpf/order/due.bpf.h): a departure starts no earlier than the one before it plus its
// time on the link; an idle link saves credit for one frame or one drain interval, whichever is longer.
//
// With what leaves in cycle t the kernel computes next = max(next, now - max(time, interval)) + time. Here that
// takes three cycles, each with one addition or comparison: t keeps the frame's time, t + 1 adds it to both sides
// of the outer max, t + 2 takes the larger one and compares with both. In t + 1 nothing is due: who passes
// there finds the way not clear, or comes a cycle later anyway (olaf_decide).
module olaf_pacer (
    input logic clk,
    input logic rst,
    input logic restart,                 // forget what left before
    input logic paced,                   // there is a rate
    input logic [63:0] now,              // ns
    input logic [31:0] interval,         // ns
    input logic leaves,                  // something leaves now; never in two cycles that follow each other
    input logic [29:0] serialisation,    // its time, ns
    output logic due
);
  logic [63:0] next;
  // t + 1
  logic left;
  logic [29:0] took;
  logic [63:0] left_at, base;  // when it left; the same less the interval, at least 0
  // t + 2
  logic added;
  logic [63:0] busy, idle;  // what `next` is if the link was busy until then, and if it was idle

  // Of a paced queue. What was left aside while there was no rate is forgotten by the commit that brings one.
  assign due = !paced || (!left && (added ? now >= busy && now >= idle : now >= next));

  always_ff @(posedge clk) begin
    took <= serialisation;
    left_at <= now;
    base <= now > {32'd0, interval} ? now - {32'd0, interval} : 64'd0;
    busy <= next + {34'd0, took};
    // max(left_at - max(took, interval), 0) + took, a case each.
    if ({2'd0, took} <= interval) idle <= base + {34'd0, took};
    else idle <= left_at > {34'd0, took} ? left_at : {34'd0, took};
    if (rst || restart) begin
      next <= rst ? 64'd0 : now;
      left <= 1'b0;
      added <= 1'b0;
    end else begin
      left <= leaves && paced;
      added <= left;
      if (added) next <= busy > idle ? busy : idle;
    end
  end
endmodule
