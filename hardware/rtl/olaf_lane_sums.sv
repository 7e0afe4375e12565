// SPDX-License-Identifier: BSD-2-Clause
// The sum of each buffer's lanes in 16-bit words, for the UDP checksum of the frame that it leaves in: a header
// leaves before its lanes. A block counts as it is written, with what was folded; the sum knows it three cycles
// later. Block 0 begins it anew, and each command writes all blocks of its buffer, in their order.
module olaf_lane_sums #(
    parameter int SEGS = 10
) (
    input logic clk,
    input logic write,
    input logic first,            // block 0
    input olaf::seg_t seg,
    input logic [511:0] lanes,    // zeros behind the last one
    input olaf::seg_t of_seg,
    output logic [31:0] sum       // of that buffer's; not folded
);
  localparam int INDEX = $clog2(SEGS);
  (* ram_style = "distributed" *) logic [31:0] sums[0:(1<<INDEX)-1];
  logic [511:0] held;
  logic [31:0] so_far;
  logic [20:0] whole;
  logic [1:0] counts, begins;
  olaf::seg_t seg_held, seg_summed;

  olaf_beat_sum beat_sum (.clk(clk), .words(held), .whole(whole));
  assign so_far = begins[1] ? 32'd0 : sums[seg_summed[INDEX-1:0]];
  assign sum = sums[of_seg[INDEX-1:0]];

  always_ff @(posedge clk) begin
    held <= lanes;
    counts <= {counts[0], write};
    begins <= {begins[0], first};
    seg_held <= seg;
    seg_summed <= seg_held;
    if (counts[1]) sums[seg_summed[INDEX-1:0]] <= so_far + {11'd0, whole};
  end
endmodule
