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

  // ---- its words that count ----
  logic [511:0] counted;
  logic [20:0] whole;
  logic summed_valid, summed_first;
  logic [6:0] from;

  always_comb begin
    from = held_beat == 2'd0 ? l4 : held_beat == 2'd1 && l4 > 7'd64 ? l4 - 7'd64 : 7'd0;
    counted = '0;
    for (w = 0; w < 32; w++)
      if (7'(2 * w) >= from && (held_beat == 2'd0 || 17'(2 * w) < held_end))
        counted[16*w+:16] = held[16*w+:16];
  end
  olaf_beat_sum beat_sum (.clk(clk), .words(counted), .whole(whole));

  always_ff @(posedge clk) begin
    summed_valid <= held_valid;
    summed_first <= held_first;
    if (summed_valid) sum <= (summed_first ? 32'd0 : sum) + {11'd0, whole};
  end
endmodule
