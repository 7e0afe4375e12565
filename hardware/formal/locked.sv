// SPDX-License-Identifier: BSD-2-Clause
// A departure, with the mover's commands around it left to the prover: they are given and completed in order, at
// most sixteen are open, and none is given for a buffer after it was popped.
//
//   locked   a buffer is read for its departure only when every command given for it is done: never while
//            it is written
//   stable   a beat that waits is neither withdrawn nor changed
//   freed    each popped buffer is freed once, in their order
module locked (
    input logic clk,
    input logic rst,
    input logic want_pop,
    input olaf::seg_t pop_seg,
    input olaf::record_t popped,
    input logic gives,
    input logic gives_watched,   // for the buffer that is watched
    input logic completes,
    input logic ready,
    input logic [511:0] lanes,
    input logic [31:0] lanes_sum,
    input olaf::seg_t watched    // any that stays
);
  logic room, idle, read, frees, valid, last;
  olaf::seg_t read_seg, freed_seg;
  logic [7:0] read_block, issued, completed;
  logic [511:0] data;
  logic [5:0] bytes;
  logic [47:0] user;

  logic pop, has_left, next_valid;
  logic [2:0] passed;
  olaf::seg_t next_seg, sum_seg;
  logic [7:0] ticket, waits_for;
  assign waits_for = ticket - completed;
  assign pop = want_pop && room && !(has_left && pop_seg == watched);

  olaf_depart depart (
      .clk(clk), .rst(rst), .pop(pop), .pop_seg(pop_seg), .popped(popped), .issued(issued),
      .completed(completed), .room(room), .idle(idle), .read(read), .read_seg(read_seg),
      .read_block(read_block), .lanes(lanes), .sum_seg(sum_seg), .lanes_sum(lanes_sum), .frees(frees),
      .freed_seg(freed_seg), .valid(valid), .ready(ready), .data(data), .last(last), .bytes(bytes), .user(user),
      .f_next_valid(next_valid), .f_next_seg(next_seg), .f_ticket(ticket), .f_passed(passed)
  );

  // ---- commands, by number; the newest one for the watched buffer ----
  logic [7:0] newest, open_commands, since;
  logic any;
  assign open_commands = issued - completed;
  assign since = newest - completed;  // 1 ... 16: not done yet
  logic given;
  assign given = gives && open_commands < 8'd16;
  always_ff @(posedge clk) begin
    if (rst) begin
      issued <= '0;
      completed <= '0;
      any <= 1'b0;
      has_left <= 1'b0;
    end else begin
      if (given) issued <= issued + 8'd1;
      if (completes && open_commands != 8'd0) begin
        completed <= completed + 8'd1;
        if (any && newest == completed + 8'd1) any <= 1'b0;
      end
      if (given && gives_watched && !has_left && !(pop && pop_seg == watched)) begin
        newest <= issued + 8'd1;
        any <= 1'b1;
      end
      if (pop && pop_seg == watched) has_left <= 1'b1;
      if (frees && freed_seg == watched) has_left <= 1'b0;
    end
  end

  logic started = 1'b0;
  logic was_valid, was_ready, was_last, was_rst;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    was_valid <= valid;
    was_ready <= ready;
    was_last <= last;
    was_rst <= rst;
  end
  olaf::seg_t watched_before;
  always_ff @(posedge clk) watched_before <= watched;
  always_comb begin
    if (!started) assume (rst);
    else assume (watched == watched_before);
  end

  always_ff @(posedge clk) begin
    if (started && !rst) begin
      assert (open_commands <= 8'd16);
      // What the induction rests on: where the watched buffer is, and for what it waits.
      assert (has_left == ((valid && read_seg == watched) || (next_valid && next_seg == watched)));
      assert (!(valid && read_seg == watched && next_valid && next_seg == watched));
      if (next_valid && passed[2]) assert (passed[1]);
      if (next_valid && passed[1]) assert (passed[0]);
      if (next_valid && !passed[0]) assert (waits_for <= open_commands);
      if (next_valid && next_seg == watched && any) assert (!passed[0] && since <= waits_for);
      if (any) assert (since >= 8'd1 && since <= open_commands);
      if (read && read_seg == watched) locked_read: assert (!any);
      if (valid && read_seg == watched && has_left) locked_way: assert (!any);
      if (frees) freed_popped: assert (valid);
      if (!was_rst && was_valid && !was_ready) stable: assert (valid && last == was_last);
    end
  end
endmodule
