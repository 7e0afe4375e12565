// SPDX-License-Identifier: BSD-2-Clause
// Where lanes begin in a beat, by the words that the headers are longer than the shortest: byte 90 + 4 x words
// of the frame. Rotates by that, down (a frame's bytes to lanes) or up (lanes to a frame's bytes). No state.
module olaf_align #(
    parameter bit UP = 0
) (
    input logic [3:0] words,
    input logic [511:0] in,
    output logic [511:0] out,
    output logic [63:0] low,     // DOWN: bytes that come from the beat before; UP: bytes from the one before
    output logic [1:0] ahead    // beats that hold no lane at all
);
  logic [5:0] shift;
  integer k, i;

  assign shift = 6'd26 + {words, 2'b00};  // mod 64: 90 is 26 behind a beat's begin
  assign ahead = words >= 4'd10 ? 2'd2 : 2'd1;

  always_comb begin
    out = '0;
    for (k = 0; k <= 12; k++) begin
      if (words == k[3:0]) begin
        if (UP) out = (in << (8 * ((26 + 4 * k) % 64))) | (in >> (8 * (64 - (26 + 4 * k) % 64)));
        else out = (in >> (8 * ((26 + 4 * k) % 64))) | (in << (8 * (64 - (26 + 4 * k) % 64)));
      end
    end
    for (i = 0; i < 64; i++) low[i] = UP ? i < {26'd0, shift} : i + {26'd0, shift} < 64;
  end
endmodule
