// SPDX-License-Identifier: BSD-2-Clause
// The way out, with sources that do what AXI4-Stream allows: a beat that is offered stays until it is taken.
//
//   stable   a beat that waits is neither withdrawn nor changed (AXI4-Stream)
//   whole    no frame begins before the other source's has ended
//   kept     what leaves is what was taken, from whom it was taken
module stream (
    input logic clk,
    input logic rst,
    input logic a_valid,
    input logic [7:0] a,
    input logic b_valid,
    input logic [7:0] b,
    input logic ready
);
  logic a_ready, b_ready, valid, f_begun, f_its_b;
  logic [7:0] out;
  olaf_out #(.WIDTH(8)) dut (
      .clk(clk), .rst(rst), .a_valid(a_valid), .a(a), .a_ready(a_ready), .b_valid(b_valid), .b(b),
      .b_ready(b_ready), .valid(valid), .ready(ready), .out(out), .f_begun(f_begun),
      .f_its_b(f_its_b)
  );

  logic started = 1'b0;
  logic was_valid, was_ready, was_rst, took_a, took_b;
  logic [7:0] was_out, was_a, was_b;
  logic inside_a, inside_b;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    was_rst <= rst;
    was_valid <= valid;
    was_ready <= ready;
    was_out <= out;
    took_a <= a_valid && a_ready;
    took_b <= b_valid && b_ready;
    was_a <= a;
    was_b <= b;
    if (rst) begin
      inside_a <= 1'b0;
      inside_b <= 1'b0;
    end else begin
      if (a_valid && a_ready) inside_a <= !a[7];
      if (b_valid && b_ready) inside_b <= !b[7];
    end
  end
  always_comb if (!started) assume (rst);

  always_ff @(posedge clk) begin
    if (started && !rst && !was_rst) begin
      if (was_valid && !was_ready) stable: assert (valid && out == was_out);
      if (took_a) kept_a: assert (valid && out == was_a);
      if (took_b) kept_b: assert (valid && out == was_b);
    end
    if (started && !rst) begin
      whole: assert (!(inside_a && inside_b));
      if (inside_a) whole_a: assert (!(b_valid && b_ready));
      if (inside_b) whole_b: assert (!(a_valid && a_ready));
      one: assert (!(a_valid && a_ready && b_valid && b_ready));
      // The induction rests on it: the room knows what the ghosts know.
      assert ((inside_a || inside_b) == f_begun && (!f_begun || inside_b == f_its_b));
    end
  end
endmodule
