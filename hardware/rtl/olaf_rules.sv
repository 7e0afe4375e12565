// SPDX-License-Identifier: BSD-2-Clause
// Each cluster's rule. All of one changes in one cycle.
module olaf_rules #(
    parameter int CLUSTERS = 128
) (
    input logic clk,
    input logic write,
    input logic [15:0] write_cluster,
    input olaf::rule_t written,
    input logic look,              // `rule` is of this cluster from the next cycle on
    input logic [15:0] cluster,
    output olaf::rule_t rule,
    input logic [15:0] read_cluster,
    output olaf::rule_t read
);
  localparam int INDEX = $clog2(CLUSTERS);
  // Plain bits: of an array of structs yosys makes registers and shifters, no RAM.
  (* ram_style = "distributed" *) logic [$bits(written)-1:0] rules[0:CLUSTERS-1];

  assign read = rules[read_cluster[INDEX-1:0]];
  always_ff @(posedge clk) begin
    if (write) rules[write_cluster[INDEX-1:0]] <= written;
    if (look) rule <= rules[cluster[INDEX-1:0]];
  end
endmodule
