// SPDX-License-Identifier: BSD-2-Clause
// From a popped update to a frame, a beat a cycle: the newest's headers, the message's header and the UDP
// checksum anew, the lanes. Two updates may be on their way: while one leaves the next one's headers are made,
// so that frames of four beats or more follow each other without a gap. One leaves only when all commands given
// before it was popped are done: what it reads is written no more.
module olaf_depart (
    input logic clk,
    input logic rst,
    input logic pop,
    input olaf::seg_t pop_seg,
    input olaf::record_t popped,
    input logic [7:0] issued,      // commands so far
    input logic [7:0] completed,
    output logic room,             // for a pop
    output logic idle,             // nothing is on its way
    output logic read,
    output olaf::seg_t read_seg,
    output logic [7:0] read_block,
    input logic [511:0] lanes,     // the block asked for last
    output olaf::seg_t sum_seg,
    input logic [31:0] lanes_sum,  // of that buffer's, as olaf_store has it
    output logic frees,            // the buffer was read
    output olaf::seg_t freed_seg,
    output logic valid,
    input logic ready,
    output logic [511:0] data,
    output logic last,
    output logic [5:0] bytes,      // valid ones less one
`ifdef FORMAL
    output logic f_next_valid,
    output olaf::seg_t f_next_seg,
    output logic [7:0] f_ticket,
    output logic [2:0] f_passed,
`endif
    output logic [47:0] user
);
  // ---- made next ----
  logic next_valid, starts, over;
  logic [2:0] passed;  // cycles in which the commands were done
  olaf::seg_t next_seg;
  olaf::record_t next;
  logic [7:0] ticket, behind;
  logic [8*olaf::PREFIX_BYTES-1:0] prefix_next;
  logic [383:0] message;
  logic [15:0] flags, folded, checksum;
  logic [20:0] message_sum;
  integer k, i;

  assign behind = completed - ticket;
  // Once done is done: `behind` wraps while a departure waits for its turn on a blocked output. In the three
  // cycles from then on the last lanes come into their sum, and the message into its own.
  assign starts = next_valid && passed[2] && (!valid || over);
  assign room = !next_valid || starts;
  assign idle = !next_valid && !valid;
  assign flags = {6'd0, next.format, 6'd0, next.pending.count > 32'd1, next.checksum};
  assign message = {
    olaf::swap16(next.pending.segments), olaf::swap16(next.segment),
    olaf::swap32(next.pending.model_version), olaf::swap64(next.pending.reward),
    olaf::swap64(next.pending.generated), olaf::swap32(next.pending.count),
    olaf::swap32(next.pending.sequence_number), olaf::swap32(next.pending.worker),
    olaf::swap32(next.cluster), olaf::swap16(next.lanes), olaf::swap16(flags),
    olaf::TYPE_UPDATE, olaf::VERSION, olaf::swap16(olaf::MAGIC)
  };

  olaf_beat_sum beat_sum (.clk(clk), .words({128'd0, message}), .whole(message_sum));
  assign sum_seg = next_seg;
  assign folded = olaf::fold_sum(lanes_sum + {11'd0, message_sum} + {12'd0, next.around.sum});
  always_ff @(posedge clk) checksum <= folded == 16'hffff ? folded : ~folded;  // 0 would say that there is none

  always_comb begin
    prefix_next = {384'd0, next.around.header};
    for (k = 0; k <= 12; k++)
      if (next.around.words == k[3:0])
        prefix_next = {384'd0, next.around.header} | ({704'd0, message, checksum} << (8 * (40 + 4 * k)));
  end

  // ---- under way ----
  logic [8*olaf::PREFIX_BYTES-1:0] prefix;  // what is left of it
  logic [3:0] words;
  logic [15:0] left, left_next;  // bytes
  logic [15:0] total;
  logic [31:0] side;
  logic [7:0] beats;
  olaf::seg_t seg;
  logic [511:0] turned, turned_before, begun;
  logic [63:0] low;
  logic [1:0] ahead;
  logic moves;

  olaf_align #(.UP(1)) align (.words(words), .in(lanes), .out(turned), .low(low), .ahead(ahead));

  assign moves = valid && ready;
  assign last = left <= 16'd64;
  assign over = moves && last;
  assign bytes = last ? 6'(left - 16'd1) : 6'd63;
  assign user = {side, total};
  assign left_next = 16'd90 + {10'd0, next.around.words, 2'b00} + {next.lanes[12:0], 3'd0};
  assign read = moves && !last && beats + 8'd1 >= {6'd0, ahead};
  assign read_seg = seg;
  assign read_block = beats + 8'd1 - {6'd0, ahead};
  assign frees = over;
  assign freed_seg = seg;
  assign begun = beats == {6'd0, ahead} ? prefix[511:0] : turned_before;

  always_comb begin
    for (i = 0; i < 64; i++)
      data[8*i+:8] = beats < {6'd0, ahead} ? prefix[8*i+:8] : low[i] ? begun[8*i+:8] : turned[8*i+:8];
  end

  always_ff @(posedge clk) begin
    if (pop) begin
      next_seg <= pop_seg;
      next <= popped;
      ticket <= issued;
    end
    passed <= pop ? 3'd0 : {passed[1:0], passed[0] || !behind[7]};
    if (starts) begin
      prefix <= prefix_next;
      words <= next.around.words;
      left <= left_next;
      total <= left_next;
      side <= next.around.user;
      seg <= next_seg;
      beats <= '0;
    end else if (moves) begin
      if (beats < {6'd0, ahead}) prefix <= {512'd0, prefix[8*olaf::PREFIX_BYTES-1:512]};
      turned_before <= turned;
      left <= left - 16'd64;
      beats <= beats + 8'd1;
    end
    if (rst) begin
      next_valid <= 1'b0;
      valid <= 1'b0;
    end else begin
      next_valid <= pop || (next_valid && !starts);
      valid <= starts || (valid && !over);
    end
  end

`ifdef FORMAL
  assign f_next_valid = next_valid;
  assign f_next_seg = next_seg;
  assign f_ticket = ticket;
  assign f_passed = passed;
`endif
endmodule
