// SPDX-License-Identifier: BSD-2-Clause
// The lanes that wait: a bank of block RAM for each buffer, one read and one write a cycle in each. A buffer
// is folded into or read out by its departure, never both: so neither waits for the other.
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
    output logic [511:0] departing
);
  logic [511:0] waiting, sum;
  logic [511:0] outs[0:SEGS-1];
  integer i;

  olaf_fold fold (.folds(write_folds), .waiting(waiting), .arriving(write_lanes), .sum(sum));

  generate
    for (genvar g = 0; g < SEGS; g++) begin : bank
      (* ram_style = "block" *) logic [511:0] blocks[0:BLOCKS-1];
      logic departs, reads;
      logic [511:0] out;
      assign departs = depart && depart_seg == 7'(g);
      assign reads = departs || (read && read_seg == 7'(g));
      assign outs[g] = out;
      always_ff @(posedge clk) begin
        if (write && write_seg == 7'(g)) blocks[write_block] <= sum;
        if (reads) out <= blocks[departs?depart_block : read_block];
      end
    end
  endgenerate

  always_comb begin
    waiting = '0;
    departing = '0;
    for (i = 0; i < SEGS; i++) begin
      if (write_seg == i[6:0]) waiting = waiting | outs[i];
      if (depart_seg == i[6:0]) departing = departing | outs[i];
    end
  end
endmodule
