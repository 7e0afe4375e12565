// SPDX-License-Identifier: BSD-2-Clause
// What a cluster's policy says to an arrival that fits what waits (policies/), and what the two make when
// they are folded (protocol.md, "after folding"). No state.
module olaf_judge (
    input olaf::rule_t rule,
    input olaf::pending_t waiting,
    input olaf::pending_t arriving,
    input logic higher,         // mean rewards, once they were compared
    input logic lower,
    output logic compares,      // the answer needs that comparison
    output olaf::says_t says,
    output olaf::pending_t folded
);
  logic [16:0] count;
  logic newer;  // of the same worker, which alone is in what waits
  olaf::says_t adds;

  // A count above 16 bits was refused: no rule allows one.
  assign count = {1'b0, waiting.count[15:0]} + {1'b0, arriving.count[15:0]};
  assign newer = waiting.count[15:0] == 16'd1 && waiting.worker == arriving.worker;
  assign adds = count > {1'b0, rule.max_count} ? olaf::SAYS_SEAL : olaf::SAYS_AGGREGATE;
  assign compares = rule.policy == olaf::POLICY_OLAF && !newer && !rule.reward_threshold[63];

  always_comb begin
    case (rule.policy)
      olaf::POLICY_FIFO: says = olaf::SAYS_SEAL;
      olaf::POLICY_AGGREGATE: says = adds;
      olaf::POLICY_NEWEST: says = olaf::SAYS_REPLACE;
      default:
      if (newer) says = olaf::SAYS_REPLACE;
      else if (compares && higher) says = olaf::SAYS_REPLACE;
      else if (compares && lower) says = olaf::SAYS_DROP;
      else says = adds;
    endcase
  end

  always_comb begin
    folded = arriving;  // of the newest: worker, sequence, segments
    folded.count = {15'd0, count};
    folded.reward = waiting.reward + arriving.reward;
    if (waiting.generated > arriving.generated) folded.generated = waiting.generated;
    if (waiting.model_version < arriving.model_version) folded.model_version = waiting.model_version;
  end
endmodule
