// SPDX-License-Identifier: BSD-2-Clause
// Takes a frame's headers apart while its beats come in: Ethernet, at most two tags, IPv4, UDP, the
// message. Judges nothing. `found` holds for the cycle two behind the last beat.
//
// Every offset follows from beat 0: the tags, and the length of the IPv4 header, which starts at byte 22
// at the latest.
module olaf_headers (
    input logic clk,
    input logic rst,
    input logic take,                   // a beat is taken
    input logic [511:0] data,
    input logic last,
    input logic [5:0] bytes,            // valid bytes less one
    input logic [31:0] user,
    output logic first,                 // the beat at hand begins a frame
    output logic ends,                  // it ends one, or makes it too long
    output logic [1:0] beat,            // its number; 3: a later one
    output logic [6:0] l4,              // where UDP begins; from the cycle behind beat 0
    output logic found_valid,
    output olaf::headers_t found
);
  logic [1535:0] raw;  // the first three beats
  logic [8:0] beats;   // of the frame that were taken
  logic passing_on;    // the rest of a frame that is too long

  // ---- beat 0, as it comes: where is what? ----
  logic [15:0] type0, type1, type2;
  logic tagged0, tagged1;
  logic [1:0] tags_in;
  logic [15:0] proto_in;
  logic [3:0] ihl_in;

  function automatic logic is_tag(input logic [15:0] proto);
    is_tag = proto == 16'h0081 || proto == 16'ha888;
  endfunction

  assign type0 = data[8*12+:16];
  assign type1 = data[8*16+:16];
  assign type2 = data[8*20+:16];
  assign tagged0 = is_tag(type0);
  assign tagged1 = tagged0 && is_tag(type1);
  assign tags_in = {tagged1, tagged0 && !tagged1};
  assign proto_in = tagged1 ? type2 : tagged0 ? type1 : type0;
  assign ihl_in = tagged1 ? data[8*22+:4] : tagged0 ? data[8*18+:4] : data[8*14+:4];

  logic [1:0] tags;
  logic [3:0] words;
  logic is_ipv4;

  assign first = beats == 9'd0 && !passing_on;
  assign beat = beats[8:2] != 0 ? 2'd3 : beats[1:0];
  assign l4 = 7'd34 + {1'b0, words, 2'b00};
  assign ends = !passing_on && (last || beats == 9'(olaf::LONG_BEATS - 1));

  logic ended;  // the frame in `raw` is over
  logic [15:0] ended_bytes;
  logic ended_long;
  logic [31:0] user_of_first;

  always_ff @(posedge clk) begin
    if (rst) begin
      beats <= '0;
      passing_on <= 1'b0;
      ended <= 1'b0;
    end else begin
      ended <= take && ends;
      if (take) begin
        passing_on <= !last && (passing_on || ends);
        beats <= last || ends || passing_on ? 9'd0 : beats + 9'd1;
      end
    end
    if (take && !passing_on) begin
      if (beat == 2'd0) raw[511:0] <= data;
      if (beat == 2'd1) raw[1023:512] <= data;
      if (beat == 2'd2) raw[1535:1024] <= data;
      ended_bytes <= {1'b0, beats, 6'd0} + {10'd0, bytes} + 16'd1;
      ended_long <= !last;
    end
    if (take && first) begin
      user_of_first <= user;
      tags <= tags_in;
      is_ipv4 <= proto_in == 16'h0008;
      words <= {2'b00, tags_in} + (ihl_in < 4'd5 ? 4'd0 : ihl_in - 4'd5);
    end
  end

  // ---- the cycle behind the last beat: each field where it begins ----
  logic [159:0] ip;
  logic [447:0] from_udp;
  logic [719:0] header;
  integer i, k, w;

  always_comb begin
    ip = tags == 2'd2 ? raw[8*22+:160] : tags == 2'd1 ? raw[8*18+:160] : raw[8*14+:160];
    from_udp = '0;
    header = '0;
    for (k = 0; k <= 12; k++)
      if (words == k[3:0]) from_udp = raw[8*(34+4*k)+:448];
    // The UDP checksum of what leaves is another one (olaf_depart).
    for (i = 0; i < olaf::HEADER_BYTES; i++)
      if (i < 40 + 4 * {28'd0, words}) header[8*i+:8] = raw[8*i+:8];
  end

  // The IPv4 header's words, from byte 14, 18 or 22 to UDP: nine sums of four in this cycle, three in the next.
  logic [15:0] counted[0:35];
  logic [17:0] four[0:8];
  logic [19:0] twelve[0:2];
  always_comb begin
    for (w = 0; w < 36; w++) counted[w] = '0;
    for (w = 0; w < 34; w++)
      if (2 * w >= 4 * {30'd0, tags} && 14 + 2 * w < {25'd0, l4})
        counted[w] = raw[8*(14+2*w)+:16];
  end
  always_ff @(posedge clk) begin
    for (i = 0; i < 9; i++)
      four[i] <= ({2'd0, counted[4*i]} + {2'd0, counted[4*i+1]}) +
          ({2'd0, counted[4*i+2]} + {2'd0, counted[4*i+3]});
  end
  always_comb begin
    for (k = 0; k < 3; k++)
      twelve[k] = {2'd0, four[3*k]} + {2'd0, four[3*k+1]} + {2'd0, four[3*k+2]};
  end

  olaf::headers_t held;

  always_ff @(posedge clk) begin
    found_valid <= !rst && ended;
    if (ended) begin
      held.frame_bytes <= ended_bytes;
      held.too_long <= ended_long;
      held.is_ipv4 <= is_ipv4;
      held.tags <= tags;
      held.words <= words;
      held.ip <= ip;
      held.udp <= from_udp[63:0];
      held.message <= from_udp[447:64];
      held.header <= header;
      held.user <= user_of_first;
      held.ip_sums <= '0;  // below
    end
  end
  always_comb begin
    found = held;
    found.ip_sums = {twelve[2], twelve[1], twelve[0]};
  end
endmodule
