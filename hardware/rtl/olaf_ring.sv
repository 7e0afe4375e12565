// SPDX-License-Identifier: BSD-2-Clause
// The order of departure: buffers in the order in which they were opened. At most PLACES; who appends sees
// to Qmax.
module olaf_ring #(
    parameter int PLACES = 8
) (
    input logic clk,
    input logic rst,
    input logic append,
    input olaf::seg_t append_seg,
    input logic pop,
`ifdef FORMAL
    output logic [7*PLACES-1:0] f_order,  // from the head on
`endif
    output olaf::seg_t head,     // valid while length isn't 0
    output logic [7:0] length
);
  localparam int INDEX = PLACES > 1 ? $clog2(PLACES) : 1;
  olaf::seg_t places[0:(1<<INDEX)-1];
  logic [INDEX-1:0] first, behind_last;

  assign head = places[first];

  always_ff @(posedge clk) begin
    if (append) places[behind_last] <= append_seg;
    if (rst) begin
      first <= '0;
      behind_last <= '0;
      length <= '0;
    end else begin
      if (append) behind_last <= behind_last + 1'b1;
      if (pop) first <= first + 1'b1;
      length <= length + {7'd0, append} - {7'd0, pop};
    end
  end

`ifdef FORMAL
  integer i;
  always_comb begin
    for (i = 0; i < PLACES; i++) f_order[7*i+:7] = places[first+i[INDEX-1:0]];
  end
  always_ff @(posedge clk) if (!rst) assert (length[INDEX-1:0] == behind_last - first);
`endif
endmodule
