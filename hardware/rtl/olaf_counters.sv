// SPDX-License-Identifier: BSD-2-Clause
// All counters of the queue, and the copy of them that the last snapshot made in one cycle. What no line below
// adds to stays 0. What happens is added a cycle later, and so is a snapshot taken: the sums are as they were in
// its cycle, without an addition behind a decision.
module olaf_counters (
    input logic clk,
    input logic rst,
    input logic ignored,             // no update, or not for a queue that is off
    input logic enabled,
    input olaf::kind_t kind,
    input logic [3:0] reason,
    input logic decided,
    input olaf::action_t action,
    input logic [3:0] refused,
    input logic [31:0] count,        // updates in the arrival
    input logic [31:0] waiting,      // updates in what it replaces
    input logic popped,
    input logic [31:0] popped_count,
    input logic ack_foreign,
    input logic ack_stamped,
    input logic ack_kept,
    input logic snapshot,
    input logic [7:0] index,
    output logic [63:0] value,       // of that counter, at the last snapshot
    output logic [63:0] updates_waiting  // at the last snapshot
);
  localparam int N = olaf_registers::COUNTERS;
  logic [N-1:0] ones, ones_now;
  logic received, dropped;
  integer i;

  assign received = decided && action != olaf::ACT_REFUSED;
  assign dropped = decided && (action == olaf::ACT_FULL || action == olaf::ACT_REWARD ||
      action == olaf::ACT_SEALED || action == olaf::ACT_MISFIT);

  always_comb begin
    ones_now = '0;
    ones_now[olaf_registers::COUNT_RECEIVED] = received;
    ones_now[olaf_registers::COUNT_PASSED_THROUGH] = decided && action == olaf::ACT_PASSED;
    ones_now[olaf_registers::COUNT_APPENDED] = decided && action == olaf::ACT_APPENDED;
    ones_now[olaf_registers::COUNT_AGGREGATED] = decided && action == olaf::ACT_AGGREGATED;
    ones_now[olaf_registers::COUNT_REPLACED] = decided && action == olaf::ACT_REPLACED;
    ones_now[olaf_registers::COUNT_DROPPED_FULL] = decided && action == olaf::ACT_FULL;
    ones_now[olaf_registers::COUNT_DROPPED_REWARD] = decided && action == olaf::ACT_REWARD;
    ones_now[olaf_registers::COUNT_DROPPED_SEALED] = decided && action == olaf::ACT_SEALED;
    ones_now[olaf_registers::COUNT_DROPPED_MISFIT] = decided && action == olaf::ACT_MISFIT;
    ones_now[olaf_registers::COUNT_DEPARTED_DRAIN] = popped;
    ones_now[olaf_registers::COUNT_ACKS_FOREIGN] = ack_foreign;
    ones_now[olaf_registers::COUNT_ACKS_RECOGNISED] = ack_stamped || ack_kept;
    ones_now[olaf_registers::COUNT_ACKS_STAMPED] = ack_stamped;
    ones_now[olaf_registers::COUNT_ACKS_KEPT] = ack_kept;
    ones_now[olaf_registers::COUNT_BYPASSED_OTHER] =
        ignored && enabled && kind == olaf::KIND_PASS && reason == olaf_registers::BYPASS_OTHER;
    ones_now[olaf_registers::COUNT_BYPASSED_FOREIGN] =
        ignored && enabled && kind == olaf::KIND_PASS && reason == olaf_registers::BYPASS_FOREIGN;
    ones_now[olaf_registers::COUNT_BYPASSED_JOB] =
        ignored && enabled && kind == olaf::KIND_PASS && reason == olaf_registers::BYPASS_JOB;
    for (i = 0; i <= olaf_registers::MALFORMED_UDP_CHECKSUM; i++)
      ones_now[olaf_registers::COUNT_MALFORMED_VERSION+i] =
          ignored && enabled && kind == olaf::KIND_MALFORMED && reason == i[3:0];
    ones_now[olaf_registers::COUNT_NOT_ALLOWED_CLUSTER] = decided && action == olaf::ACT_REFUSED &&
        refused == olaf_registers::NOT_ALLOWED_CLUSTER;
    ones_now[olaf_registers::COUNT_NOT_ALLOWED_SEGMENT] = decided && action == olaf::ACT_REFUSED &&
        refused == olaf_registers::NOT_ALLOWED_SEGMENT;
    ones_now[olaf_registers::COUNT_NOT_ALLOWED_SIZE] = decided && action == olaf::ACT_REFUSED &&
        refused == olaf_registers::NOT_ALLOWED_SIZE;
    ones_now[olaf_registers::COUNT_NOT_ALLOWED_COUNT] = decided && action == olaf::ACT_REFUSED &&
        refused == olaf_registers::NOT_ALLOWED_COUNT;
  end

  // ---- a cycle later ----
  logic counts_in, counts_departed, counts_superseded, counts_dropped, counts_passed, enters, copies_now;
  logic [31:0] held_count, held_waiting, held_popped;
  always_ff @(posedge clk) begin
    ones <= rst ? '0 : ones_now;
    counts_in <= !rst && received;
    counts_departed <= !rst && popped;
    counts_superseded <= !rst && decided && action == olaf::ACT_REPLACED;
    counts_dropped <= !rst && dropped;
    counts_passed <= !rst && decided && action == olaf::ACT_PASSED;
    enters <= !rst && decided && (action == olaf::ACT_APPENDED ||
        action == olaf::ACT_AGGREGATED || action == olaf::ACT_REPLACED);
    copies_now <= !rst && snapshot;
    held_count <= count;
    held_waiting <= waiting;
    held_popped <= popped_count;
  end

  logic [64*N-1:0] copies;
  generate
    for (genvar g = 0; g < N; g++) begin : counter
      logic [63:0] sum, copy;
      logic [31:0] more;
      if (g == olaf_registers::COUNT_UPDATES_IN) assign more = counts_in ? held_count : 32'd0;
      else if (g == olaf_registers::COUNT_UPDATES_DEPARTED) assign more = counts_departed ? held_popped : 32'd0;
      else if (g == olaf_registers::COUNT_UPDATES_SUPERSEDED)
        assign more = counts_superseded ? held_waiting : 32'd0;
      else if (g == olaf_registers::COUNT_UPDATES_DROPPED) assign more = counts_dropped ? held_count : 32'd0;
      else if (g == olaf_registers::COUNT_UPDATES_PASSED)
        assign more = counts_passed ? held_count : 32'd0;
      else assign more = {31'd0, ones[g]};
      always_ff @(posedge clk) begin
        if (rst) begin
          sum <= '0;
          copy <= '0;
        end else begin
          sum <= sum + {32'd0, more};
          if (copies_now) copy <= sum;
        end
      end
      assign copies[64*g+:64] = copy;
    end
  endgenerate
  always_comb begin
    value = '0;
    for (i = 0; i < N; i++) if (index == i[7:0]) value = value | copies[64*i+:64];
  end

  logic [63:0] now_waiting;
  always_ff @(posedge clk) begin
    if (rst) begin
      now_waiting <= '0;
      updates_waiting <= '0;
    end else begin
      now_waiting <= now_waiting + {32'd0, enters ? held_count : 32'd0} -
          {32'd0, counts_departed ? held_popped : counts_superseded ? held_waiting : 32'd0};
      if (copies_now) updates_waiting <= now_waiting;
    end
  end
endmodule
