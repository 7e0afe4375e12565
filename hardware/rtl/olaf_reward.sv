// SPDX-License-Identifier: BSD-2-Clause
// Compares mean rewards without a division, exactly: |r_a x c_w - r_w x c_a| <= t x c_a x c_w
// (policies/reward.bpf.h). Three cycles from `start`; inputs stay until then.
module olaf_reward (
    input logic clk,
    input logic rst,
    input logic start,
    input logic signed [63:0] arriving_reward,
    input logic signed [63:0] waiting_reward,
    input logic [15:0] arriving_count,
    input logic [15:0] waiting_count,
    input logic [62:0] threshold,
    output logic done,    // for a cycle
    output logic higher,  // the arrival's mean, by more than the threshold
    output logic lower
);
  logic [1:0] stage;
  logic signed [80:0] product_a, product_w;
  logic signed [81:0] difference;
  logic [31:0] counts;
  logic [94:0] margin;
  logic signed [96:0] wide_difference, wide_margin;

  assign wide_difference = {{15{difference[81]}}, difference};
  assign wide_margin = {2'b00, margin};

  always_ff @(posedge clk) begin
    product_a <= arriving_reward * $signed({1'b0, waiting_count});
    product_w <= waiting_reward * $signed({1'b0, arriving_count});
    counts <= {16'd0, arriving_count} * {16'd0, waiting_count};
    difference <= {product_a[80], product_a} - {product_w[80], product_w};
    margin <= {32'd0, threshold} * {63'd0, counts};
    higher <= wide_difference > wide_margin;
    lower <= wide_difference < -wide_margin;
    if (rst) begin
      stage <= 2'd0;
      done <= 1'b0;
    end else begin
      done <= stage == 2'd2;
      if (start) stage <= 2'd1;
      else if (stage != 2'd0) stage <= stage == 2'd2 ? 2'd0 : stage + 2'd1;
    end
  end
endmodule
