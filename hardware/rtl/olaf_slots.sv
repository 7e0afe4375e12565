// SPDX-License-Identifier: BSD-2-Clause
// The buffers: whose update each holds, and what it does (FREE, OPEN, SEALED, LEAVING; bpf/slots/slot.bpf.h).
// An arrival asks all of them at once, and has the answer in the next cycle. A cluster's updates under a
// policy that never folds take buffers that don't count as its own.
module olaf_slots #(
    parameter int SEGS = 10
) (
    input logic clk,
    input logic rst,
    // The arrival that asks, and what it is told in the next cycle.
    input logic look,
    input logic [15:0] cluster,
    input logic [15:0] segment,
    input olaf::fit_t fit,
    output logic hit,               // an open buffer of its slot that it fits
    output olaf::seg_t hit_seg,
    output logic any_open,          // an open one, whether it fits or not
    output logic two_used,          // both buffers of its slot are in use
    output olaf::seg_t free_seg,    // a free one: there is one while the ring isn't full
    // What the decision makes of it, in that cycle or later, before the next look.
    input logic opens,              // free_seg becomes its own
    input logic folds,              // its policy folds
    input logic seals,              // hit_seg is closed
    // Departures. Never while a decision is due.
    input logic pops,
    input olaf::seg_t pop_seg,
    input logic frees,
    input olaf::seg_t freed_seg,
`ifdef FORMAL
    output logic [2*SEGS-1:0] f_states,
    output logic [SEGS-1:0] f_own,
    output logic [16*SEGS-1:0] f_clusters,
    output logic [SEGS-1:0] f_still_used,
    output logic [15:0] f_asked,
`endif
    output logic [SEGS-1:0] leaving
);
  logic [SEGS-1:0] open_hits, fit_hits, used, still_used, free, freed;
  integer i;
  logic [15:0] asked_cluster, asked_segment;
  olaf::fit_t asked_fit;

  generate
    for (genvar g = 0; g < SEGS; g++) begin : buffer
      olaf::buffer_t state;
      logic own;  // counts as its slot's
      logic [15:0] its_cluster, its_segment;
      olaf::fit_t its_fit;
      logic same, pops_me;

      assign pops_me = pops && pop_seg == 7'(g);
      assign same = own && its_cluster == cluster && its_segment == segment;
      assign used[g] = same && state != olaf::BUFFER_FREE;
      assign open_hits[g] = same && state == olaf::BUFFER_OPEN && !pops_me;
      assign fit_hits[g] = open_hits[g] && its_fit == fit;
      assign freed[g] = frees && freed_seg == 7'(g);
      assign free[g] = state == olaf::BUFFER_FREE || freed[g];
`ifdef FORMAL
      assign f_states[2*g+:2] = state;
      assign f_own[g] = own && its_segment == 16'd0;
      assign f_clusters[16*g+:16] = its_cluster;
`endif
      assign leaving[g] = state == olaf::BUFFER_LEAVING;

      always_ff @(posedge clk) begin
        if (rst) state <= olaf::BUFFER_FREE;
        else if (opens && free_seg == 7'(g)) state <= olaf::BUFFER_OPEN;
        else if (seals && hit_seg == 7'(g)) state <= olaf::BUFFER_SEALED;
        else if (pops_me) state <= olaf::BUFFER_LEAVING;
        else if (freed[g]) state <= olaf::BUFFER_FREE;
        if (opens && free_seg == 7'(g)) begin
          own <= folds;
          its_cluster <= asked_cluster;
          its_segment <= asked_segment;
          its_fit <= asked_fit;
        end
      end
    end
  endgenerate

  // More than one of them: x & (x - 1). What is freed while a decision takes its time is free for it.
  assign two_used = |(still_used & (still_used - 1'b1));

  always_ff @(posedge clk) begin
    still_used <= (look ? used : still_used) & ~freed;
    if (look) begin
      asked_cluster <= cluster;
      asked_segment <= segment;
      asked_fit <= fit;
      hit <= |fit_hits;
      any_open <= |open_hits;
      hit_seg <= '0;
      free_seg <= '0;
      for (i = SEGS - 1; i >= 0; i--) begin
        if (fit_hits[i]) hit_seg <= i[6:0];
        if (free[i]) free_seg <= i[6:0];
      end
    end
  end

`ifdef FORMAL
  assign f_still_used = still_used;
  assign f_asked = asked_cluster;
  always_ff @(posedge clk) if (!rst) assume (asked_segment == 16'd0);
`endif
endmodule
