// SPDX-License-Identifier: BSD-2-Clause
// A small FIFO whose oldest entry is at hand: entries in distributed RAM. Who puts asks `room` first.
module olaf_fifo #(
    parameter int DEPTH_LOG2 = 4,
    parameter int WIDTH = 8
) (
    input logic clk,
    input logic rst,
    input logic put,
    input logic [WIDTH-1:0] in,
    output logic room,
    output logic valid,
    output logic [WIDTH-1:0] out,
    input logic take
);
  (* ram_style = "distributed" *) logic [WIDTH-1:0] entries[0:(1<<DEPTH_LOG2)-1];
  logic [DEPTH_LOG2:0] written, taken;

  assign room = (written - taken) != {1'b1, {DEPTH_LOG2{1'b0}}};
  assign valid = written != taken;
  assign out = entries[taken[DEPTH_LOG2-1:0]];

  always_ff @(posedge clk) begin
    if (put) entries[written[DEPTH_LOG2-1:0]] <= in;
    if (rst) begin
      written <= '0;
      taken <= '0;
    end else begin
      if (put) written <= written + 1'b1;
      if (take) taken <= taken + 1'b1;
    end
  end
endmodule
