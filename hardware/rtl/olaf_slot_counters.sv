// SPDX-License-Identifier: BSD-2-Clause
// The counters of each slot (struct olaf_slot_counters), in block RAM twice: one copy to count in, one to read.
// One event a cycle. After a reset they are cleared, a slot a cycle; until then nothing may be counted.
module olaf_slot_counters #(
    parameter int SLOTS = 128
) (
    input logic clk,
    input logic rst,
    input logic clear,
    input logic [11:0] clear_slot,
    input logic counted,             // what became of an update of this slot
    input logic popped,              // or that one departed; never both in a cycle
    input olaf::action_t action,
    input logic [11:0] slot,
    input logic [31:0] count,
    input logic [31:0] waiting,      // updates that were replaced
    input logic [11:0] read_slot,    // its counter is there two cycles later
    input logic [3:0] read_counter,
    output logic [63:0] value
);
  localparam int N = olaf_registers::SLOT_COUNTERS;
  localparam int INDEX = $clog2(SLOTS);
  (* ram_style = "block" *) logic [64*N-1:0] sums[0:SLOTS-1];
  (* ram_style = "block" *) logic [64*N-1:0] sums_to_read[0:SLOTS-1];

  logic adds, forwards, clears;
  logic [INDEX-1:0] at;
  logic [64*N-1:0] fetched, old, sum, wrote, reading;
  logic [32*N-1:0] more, more_in;
  logic dropped;
  integer i;

  assign dropped = counted && (action == olaf::ACT_FULL || action == olaf::ACT_REWARD ||
      action == olaf::ACT_SEALED || action == olaf::ACT_MISFIT);
  always_comb begin
    more_in = '0;
    more_in[32*olaf_registers::SLOT_AGGREGATED] = counted && action == olaf::ACT_AGGREGATED;
    more_in[32*olaf_registers::SLOT_APPENDED] = counted && action == olaf::ACT_APPENDED;
    more_in[32*olaf_registers::SLOT_REPLACED] = counted && action == olaf::ACT_REPLACED;
    more_in[32*olaf_registers::SLOT_DEPARTED_DRAIN] = popped;
    more_in[32*olaf_registers::SLOT_DROPPED_FULL] = counted && action == olaf::ACT_FULL;
    more_in[32*olaf_registers::SLOT_DROPPED_REWARD] = counted && action == olaf::ACT_REWARD;
    more_in[32*olaf_registers::SLOT_DROPPED_SEALED] = counted && action == olaf::ACT_SEALED;
    more_in[32*olaf_registers::SLOT_DROPPED_MISFIT] = counted && action == olaf::ACT_MISFIT;
    more_in[32*olaf_registers::SLOT_PASSED_THROUGH] = counted && action == olaf::ACT_PASSED;
    if (popped) more_in[32*olaf_registers::SLOT_UPDATES_DEPARTED+:32] = count;
    if (counted && action == olaf::ACT_REPLACED)
      more_in[32*olaf_registers::SLOT_UPDATES_SUPERSEDED+:32] = waiting;
    if (dropped) more_in[32*olaf_registers::SLOT_UPDATES_DROPPED+:32] = count;
    if (counted && action == olaf::ACT_PASSED)
      more_in[32*olaf_registers::SLOT_UPDATES_PASSED+:32] = count;
  end

  // What was written in the cycle before isn't in `fetched` yet.
  assign old = forwards ? wrote : fetched;
  always_comb begin
    for (i = 0; i < N; i++)
      sum[64*i+:64] = clears ? 64'd0 : old[64*i+:64] + {32'd0, more[32*i+:32]};
  end

  always_ff @(posedge clk) begin
    adds <= !rst && (counted || popped);
    clears <= !rst && clear;
    at <= clear ? clear_slot[INDEX-1:0] : slot[INDEX-1:0];
    more <= more_in;
    fetched <= sums[slot[INDEX-1:0]];
    forwards <= adds && at == slot[INDEX-1:0];
    wrote <= sum;
    if (adds || clears) begin
      sums[at] <= sum;
      sums_to_read[at] <= sum;
    end
    reading <= sums_to_read[read_slot[INDEX-1:0]];
    value <= '0;
    for (i = 0; i < N; i++) if (read_counter == i[3:0]) value <= reading[64*i+:64];
  end
endmodule
