// SPDX-License-Identifier: BSD-2-Clause
// The lanes that wait: every buffer's, in two copies, each one deep memory of block RAM with one read and one
// write a cycle. Folding reads the one, a departure the other, so neither waits for the other. A memory for
// each buffer would need no second copy, and more: a wide choice between all of them, and block RAM that a
// buffer's 144 words leave three quarters empty. Beside them is the sum of each buffer's lanes.
module olaf_store #(
    parameter int SEGS = 10,
    parameter int BLOCKS = 144
) (
    input logic clk,
    input logic read,               // for folding: the cycle before `write`
    input olaf::seg_t read_seg,
    input logic [7:0] read_block,
    input logic write,
    input logic write_folds,
    input olaf::seg_t write_seg,
    input logic [7:0] write_block,
    input logic [511:0] write_lanes,
    input logic depart,             // for a departure: `departing` holds until the next
    input olaf::seg_t depart_seg,
    input logic [7:0] depart_block,
    output logic [511:0] departing,
    input olaf::seg_t sum_seg,
    output logic [31:0] lanes_sum   // of that buffer; from the third cycle behind its last `write`
);
  localparam int WORDS = SEGS * BLOCKS;
  localparam int ADDRESS = $clog2(WORDS);

  (* ram_style = "block" *) logic [511:0] to_fold[0:WORDS-1];
  (* ram_style = "block" *) logic [511:0] to_leave[0:WORDS-1];
  logic [511:0] waiting, sum;
  logic [ADDRESS-1:0] written, folded, leaves;

  assign written = ADDRESS'(write_seg) * ADDRESS'(BLOCKS) + ADDRESS'(write_block);
  assign folded = ADDRESS'(read_seg) * ADDRESS'(BLOCKS) + ADDRESS'(read_block);
  assign leaves = ADDRESS'(depart_seg) * ADDRESS'(BLOCKS) + ADDRESS'(depart_block);

  olaf_fold fold (.folds(write_folds), .waiting(waiting), .arriving(write_lanes), .sum(sum));
  olaf_lane_sums #(.SEGS(SEGS)) lane_sums (
      .clk(clk), .write(write), .first(write_block == 8'd0), .seg(write_seg), .lanes(sum),
      .of_seg(sum_seg), .sum(lanes_sum)
  );

  always_ff @(posedge clk) begin
    if (write) to_fold[written] <= sum;
    if (read) waiting <= to_fold[folded];
  end
  always_ff @(posedge clk) begin
    if (write) to_leave[written] <= sum;
    if (depart) departing <= to_leave[leaves];
  end
endmodule
