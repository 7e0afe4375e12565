// SPDX-License-Identifier: BSD-2-Clause
// Frames wait here for their verdict: a FIFO of beats in block RAM, a beat a cycle in and out. A beat that
// was written can be read two cycles later.
module olaf_buffer #(
    parameter int DEPTH_LOG2 = 9,
    parameter int WIDTH = 552
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
  (* ram_style = "block" *) logic [WIDTH-1:0] beats[0:(1<<DEPTH_LOG2)-1];
  logic [DEPTH_LOG2:0] written, fetched;
  logic advance;

  assign room = (written - fetched) != {1'b1, {DEPTH_LOG2{1'b0}}};
  assign advance = !valid || take;

  always_ff @(posedge clk) begin
    if (put) beats[written[DEPTH_LOG2-1:0]] <= in;
    if (advance) out <= beats[fetched[DEPTH_LOG2-1:0]];
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      written <= '0;
      fetched <= '0;
      valid <= 1'b0;
    end else begin
      if (put) written <= written + 1'b1;
      if (advance) begin
        valid <= written != fetched;
        if (written != fetched) fetched <= fetched + 1'b1;
      end
    end
  end
endmodule
