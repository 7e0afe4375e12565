// SPDX-License-Identifier: BSD-2-Clause
// When the link is free (bpf/order/due.bpf.h): a departure starts no earlier than the one before it plus its
// time on the link; an idle link saves credit for one frame or one drain interval, whichever is longer.
module olaf_pacer (
    input logic clk,
    input logic rst,
    input logic restart,                 // forget what left before
    input logic paced,                   // there is a rate
    input logic [63:0] now,              // ns
    input logic [31:0] interval,         // ns
    input logic leaves,                  // something leaves now
    input logic [29:0] serialisation,    // its time, ns
    output logic due
);
  logic [63:0] next, credit, start, earliest;

  assign due = !paced || now >= next;
  assign credit = {34'd0, serialisation} > {32'd0, interval} ? {34'd0, serialisation} : {32'd0, interval};
  assign earliest = now > credit ? now - credit : 64'd0;
  assign start = next > earliest ? next : earliest;

  always_ff @(posedge clk) begin
    if (rst) next <= '0;
    else if (restart) next <= now;
    else if (leaves && paced) next <= start + {34'd0, serialisation};
  end
endmodule
