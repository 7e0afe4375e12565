// SPDX-License-Identifier: BSD-2-Clause
// Eight additions of 64 bits: a block of lanes is folded, whatever its elements are (protocol.md, "linearly").
module olaf_fold (
    input logic folds,
    input logic [511:0] waiting,
    input logic [511:0] arriving,
    output logic [511:0] sum
);
  generate
    for (genvar g = 0; g < 8; g++) begin : lane
      assign sum[64*g+:64] = arriving[64*g+:64] + (folds ? waiting[64*g+:64] : 64'd0);
    end
  endgenerate
endmodule
