// SPDX-License-Identifier: BSD-2-Clause
// The way out: whole frames of two sources in turn, and a register at the end, whose beat stays until it is
// taken.
module olaf_out #(
    parameter int WIDTH = 567  // of a beat; its last bit says that it ends a frame
) (
    input logic clk,
    input logic rst,
    input logic a_valid,
    input logic [WIDTH-1:0] a,
    output logic a_ready,
    input logic b_valid,
    input logic [WIDTH-1:0] b,
    output logic b_ready,
`ifdef FORMAL
    output logic f_begun,
    output logic f_its_b,
`endif
    output logic valid,
    input logic ready,
    output logic [WIDTH-1:0] out
);
  logic begun;  // a frame has
  logic its_b;   // whose, or whose was the last
  logic chooses_b, moves;
  logic [WIDTH-1:0] chosen;

  assign moves = !valid || ready;
  assign chooses_b = begun ? its_b : its_b ? !a_valid : b_valid;
  assign chosen = chooses_b ? b : a;
  assign a_ready = moves && !chooses_b;
  assign b_ready = moves && chooses_b;

  always_ff @(posedge clk) begin
    if (moves) out <= chosen;
    if (rst) begin
      valid <= 1'b0;
      begun <= 1'b0;
      its_b <= 1'b0;
    end else if (moves) begin
      valid <= chooses_b ? b_valid : a_valid;
      if (chooses_b ? b_valid : a_valid) begin
        begun <= !chosen[WIDTH-1];
        its_b <= chooses_b;
      end
    end
  end

`ifdef FORMAL
  assign f_begun = begun;
  assign f_its_b = its_b;
`endif
endmodule
