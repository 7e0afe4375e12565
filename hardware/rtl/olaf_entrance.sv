// SPDX-License-Identifier: BSD-2-Clause
// Where a stream comes in: frames go to the buffer, and their headers are taken apart beside it. At most 16
// frames are between here and their verdict's end, which is what the FIFO of verdicts has room for.
module olaf_entrance (
    input logic clk,
    input logic rst,
    input logic ready,              // the queue takes frames
    input logic s_tvalid,
    output logic s_tready,
    input logic [511:0] s_tdata,
    input logic [63:0] s_tkeep,
    input logic s_tlast,
    input logic [47:0] s_tuser,
    output logic beat_valid,
    output logic [511:0] beat,
    output logic [5:0] beat_bytes,  // valid ones less one
    output logic [47:0] beat_user,
    output logic beat_last,
    input logic beat_take,
    output logic found_valid,
    output olaf::headers_t found,
    output logic [31:0] sum,
    input logic verdict_take
);
  logic take, room, first, ends;
  logic [1:0] number;
  logic [6:0] l4;
  logic [4:0] frames;
  logic [5:0] bytes;
  integer i;

  // Bytes are valid from the first on, without a gap (AXI4-Stream's tkeep, as Ethernet cores have it).
  // So one bit alone has none above it, and its number is the count less one: no chain from bit to bit.
  logic [63:0] ends_at;
  always_comb begin
    ends_at = s_tkeep & ~{1'b0, s_tkeep[63:1]};
    bytes = '0;
    for (i = 0; i < 64; i++) if (ends_at[i]) bytes = bytes | i[5:0];
  end

  assign s_tready = ready && room && (!first || !frames[4]);
  assign take = s_tvalid && s_tready;

  olaf_buffer #(.DEPTH_LOG2(9), .WIDTH(567)) buffer (
      .clk(clk), .rst(rst), .put(take), .in({s_tlast, s_tuser, bytes, s_tdata}), .room(room),
      .valid(beat_valid), .out({beat_last, beat_user, beat_bytes, beat}), .take(beat_take)
  );
  olaf_headers headers (
      .clk(clk), .rst(rst), .take(take), .data(s_tdata), .last(s_tlast), .bytes(bytes),
      .user(s_tuser[47:16]), .first(first), .ends(ends), .beat(number), .l4(l4),
      .found_valid(found_valid), .found(found)
  );
  olaf_sum checksum (
      .clk(clk), .take(take), .data(s_tdata), .first(first), .beat(number), .l4(l4), .sum(sum)
  );

  always_ff @(posedge clk) begin
    if (rst) frames <= '0;
    else frames <= frames + {4'd0, take && first} - {4'd0, verdict_take};
  end
endmodule
