// SPDX-License-Identifier: BSD-2-Clause
// What the queue keeps of each buffer's update besides lanes: written by a decision, read by the next one and
// by a departure.
module olaf_records #(
    parameter int SEGS = 10
) (
    input logic clk,
    input logic write,
    input olaf::seg_t write_seg,
    input olaf::record_t record,
    input olaf::seg_t first_seg,
    output olaf::record_t first,
    input olaf::seg_t second_seg,
    output olaf::record_t second
);
  localparam int INDEX = $clog2(SEGS);
  // Plain bits: of an array of structs yosys makes registers and shifters, no RAM.
  (* ram_style = "distributed" *) logic [$bits(record)-1:0] records[0:(1<<INDEX)-1];

  assign first = records[first_seg[INDEX-1:0]];
  assign second = records[second_seg[INDEX-1:0]];

  always_ff @(posedge clk) if (write) records[write_seg[INDEX-1:0]] <= record;
endmodule
