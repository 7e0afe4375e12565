// SPDX-License-Identifier: BSD-2-Clause
// How many clusters are active: time is cut into epochs of one window, and a cluster counts in the epoch of
// its last update and in the next. A change of the window begins anew.
module olaf_active #(
    parameter int CLUSTERS = 128
) (
    input logic clk,
    input logic rst,
    input logic restart,
    input logic [39:0] next_window,
    input logic [63:0] now,      // ns
    input logic [39:0] window,   // ns; 0: none is ever active
    input logic seen,            // an update was received
    input logic [15:0] cluster,
    output logic [15:0] active
);
  localparam int INDEX = $clog2(CLUSTERS);
  logic [CLUSTERS-1:0] current, previous;
  logic [15:0] in_current, in_previous;
  logic [63:0] turns_at;
  logic turns, known, was;
  logic [INDEX-1:0] index;

  assign index = cluster[INDEX-1:0];
  assign turns = now >= turns_at;
  // In the cycle of the turn what was current is previous already.
  assign known = current[index] && !turns;
  assign was = turns ? current[index] : previous[index];
  assign active = turns ? in_current : in_current + in_previous;

  always_ff @(posedge clk) begin
    if (rst || restart) begin
      current <= '0;
      previous <= '0;
      in_current <= '0;
      in_previous <= '0;
      turns_at <= now + {24'd0, next_window};
    end else begin
      if (turns) begin
        current <= '0;
        previous <= current;
        in_previous <= in_current;
        in_current <= '0;
        turns_at <= turns_at + {24'd0, window};
      end
      if (seen && !known && window != 40'd0) begin
        current[index] <= 1'b1;
        in_current <= (turns ? 16'd0 : in_current) + 16'd1;
        if (was) begin
          previous[index] <= 1'b0;
          in_previous <= (turns ? in_current : in_previous) - 16'd1;
        end
      end
    end
  end
endmodule
