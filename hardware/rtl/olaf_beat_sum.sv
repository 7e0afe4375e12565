// SPDX-License-Identifier: BSD-2-Clause
// Adds the 32 16-bit words of a beat, in two cycles: eight sums of four, then these. `whole` is of the beat
// of the cycle before.
module olaf_beat_sum (
    input logic clk,
    input logic [511:0] words,
    output logic [20:0] whole
);
  logic [17:0] eighths[0:7];
  logic [18:0] quarters[0:3];

  generate
    for (genvar g = 0; g < 8; g++) begin : eighth
      always_ff @(posedge clk)
        eighths[g] <= ({2'd0, words[64*g+:16]} + {2'd0, words[64*g+16+:16]}) +
            ({2'd0, words[64*g+32+:16]} + {2'd0, words[64*g+48+:16]});
    end
    for (genvar g = 0; g < 4; g++) begin : quarter
      assign quarters[g] = {1'b0, eighths[2*g]} + {1'b0, eighths[2*g+1]};
    end
  endgenerate
  assign whole = ({2'd0, quarters[0]} + {2'd0, quarters[1]}) + ({2'd0, quarters[2]} + {2'd0, quarters[3]});
endmodule
