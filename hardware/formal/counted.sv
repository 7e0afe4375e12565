// SPDX-License-Identifier: BSD-2-Clause
// The counters, whatever happens to updates: at most one decision or departure in a cycle, as olaf_queue has it.
//
//   messages      each update that is received is counted once more: as passed, appended, aggregated, replacing,
//                 or dropped by one reason
//   conservation  each cycle's updates pass, are dropped or wait; and of those that wait, what departs or is superseded
//                 is gone
//   others        what is counted as refused, malformed or bypassed is counted once, and is no received one
module counted (
    input logic clk,
    input logic rst,
    input logic ignored,
    input logic enabled,
    input olaf::kind_t kind,
    input logic [3:0] reason,
    input logic decided,
    input olaf::action_t action,
    input logic [3:0] refused,
    input logic [31:0] count,
    input logic [31:0] waiting,
    input logic popped,
    input logic [31:0] popped_count,
    input logic snapshot,
    input logic [7:0] index
);
  localparam int N = olaf_registers::COUNTERS;
  logic [63:0] value, updates_waiting;
  logic [32*N-1:0] more;
  logic [31:0] enters, goes;

  olaf_counters counters (
      .clk(clk), .rst(rst), .ignored(ignored), .enabled(enabled), .kind(kind), .reason(reason),
      .decided(decided), .action(action), .refused(refused), .count(count), .waiting(waiting),
      .popped(popped), .popped_count(popped_count), .ack_foreign(1'b0), .ack_stamped(1'b0),
      .ack_kept(1'b0), .snapshot(snapshot), .index(index), .value(value),
      .updates_waiting(updates_waiting), .f_more(more), .f_enters(enters), .f_goes(goes)
  );

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;
  always_comb begin
    if (!started) assume (rst);
    assume (!(popped && (decided || ignored)) && !(decided && ignored));
    if (decided) assume (action >= olaf::ACT_PASSED && action <= olaf::ACT_REFUSED);
    assume (reason < 4'd10 && refused < 4'd10);
  end

  function automatic logic [31:0] of(input logic [32*N-1:0] all, input int which);
    of = all[32*which+:32];
  endfunction

  logic [31:0] messages, refusals;
  integer i;
  always_comb begin
    messages = of(more, olaf_registers::COUNT_PASSED_THROUGH) + of(more, olaf_registers::COUNT_APPENDED) + of(more, olaf_registers::COUNT_AGGREGATED) +
        of(more, olaf_registers::COUNT_REPLACED) + of(more, olaf_registers::COUNT_DROPPED_FULL) + of(more, olaf_registers::COUNT_DROPPED_REWARD) +
        of(more, olaf_registers::COUNT_DROPPED_SEALED) + of(more, olaf_registers::COUNT_DROPPED_MISFIT);
    refusals = '0;
    for (i = olaf_registers::COUNT_BYPASSED_OTHER; i < N; i++) refusals = refusals + of(more, i);
  end

  always_ff @(posedge clk) begin
    if (started && !rst) begin
      messages_once: assert (messages == of(more, olaf_registers::COUNT_RECEIVED) && messages <= 32'd1);
      conservation: assert (of(more, olaf_registers::COUNT_UPDATES_IN) ==
          of(more, olaf_registers::COUNT_UPDATES_PASSED) + of(more, olaf_registers::COUNT_UPDATES_DROPPED) + enters);
      conservation_left: assert (goes ==
          of(more, olaf_registers::COUNT_UPDATES_DEPARTED) + of(more, olaf_registers::COUNT_UPDATES_SUPERSEDED));
      others_once: assert (refusals <= 32'd1);
      if (refusals != 32'd0) others: assert (messages == 32'd0 && of(more, olaf_registers::COUNT_DEPARTED_DRAIN) == 32'd0);
    end
  end
endmodule
