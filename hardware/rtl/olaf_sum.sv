// SPDX-License-Identifier: BSD-2-Clause
// The ones' complement sum of a frame's bytes from UDP on, as far as UDP's length says, as its beats come
// in. `sum` holds from the third cycle behind the last beat, for one cycle.
module olaf_sum (
    input logic clk,
    input logic take,
    input logic [511:0] data,
    input logic first,
    input logic [1:0] beat,
    input logic [6:0] l4,  // where UDP begins, from the cycle behind beat 0
    output logic [31:0] sum
);
  // ---- the beat, and where UDP ends: known with beat 1, and never before byte 90 ----
  logic [511:0] held, previous;
  logic held_valid, held_first;
  logic [1:0] held_beat;
  logic [16:0] end_at;     // of UDP, from the start of the beat that comes next
  logic [16:0] held_end;   // from the start of the beat that is held
  logic [16:0] held_end_in;
  logic [1023:0] two;
  logic [15:0] udp_bytes;
  integer k, w;

  assign two = {data, previous};
  always_comb begin
    udp_bytes = '0;
    for (k = 0; k <= 12; k++)
      if (l4 == 7'(34 + 4 * k)) udp_bytes = olaf::swap16(two[8*(38+4*k)+:16]);
    if (beat == 2'd1) held_end_in = {10'd0, l4} + {1'b0, udp_bytes} - 17'd64;
    else held_end_in = end_at;
  end

  always_ff @(posedge clk) begin
    held_valid <= take;
    if (take) begin
      held <= data;
      held_first <= first;
      held_beat <= beat;
      if (first) previous <= data;
      held_end <= held_end_in;
      // A length too short for a message goes below zero: malformed for that.
      end_at <= held_end_in > 17'd64 ? held_end_in - 17'd64 : 17'd0;
    end
  end

  // ---- its words that count, in eight sums ----
  logic [31:0] counts;
  logic [17:0] partial[0:7];
  logic [18:0] pair[0:3];
  logic [20:0] whole;
  logic summed_valid, summed_first;
  logic [6:0] from;

  always_comb begin
    from = held_beat == 2'd0 ? l4 : held_beat == 2'd1 && l4 > 7'd64 ? l4 - 7'd64 : 7'd0;
    for (w = 0; w < 32; w++)
      counts[w] = 7'(2 * w) >= from && (held_beat == 2'd0 || 17'(2 * w) < held_end);
  end

  generate
    for (genvar g = 0; g < 8; g++) begin : eighth
      logic [15:0] a, b, c, d;
      assign a = counts[4*g] ? held[64*g+:16] : 16'd0;
      assign b = counts[4*g+1] ? held[64*g+16+:16] : 16'd0;
      assign c = counts[4*g+2] ? held[64*g+32+:16] : 16'd0;
      assign d = counts[4*g+3] ? held[64*g+48+:16] : 16'd0;
      always_ff @(posedge clk) partial[g] <= ({2'd0, a} + {2'd0, b}) + ({2'd0, c} + {2'd0, d});
    end
    for (genvar g = 0; g < 4; g++) begin : quarter
      assign pair[g] = {1'b0, partial[2*g]} + {1'b0, partial[2*g+1]};
    end
  endgenerate
  assign whole = ({2'd0, pair[0]} + {2'd0, pair[1]}) + ({2'd0, pair[2]} + {2'd0, pair[3]});

  always_ff @(posedge clk) begin
    summed_valid <= held_valid;
    summed_first <= held_first;
    if (summed_valid) sum <= (summed_first ? 32'd0 : sum) + {11'd0, whole};
  end
endmodule
