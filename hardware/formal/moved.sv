// SPDX-License-Identifier: BSD-2-Clause
// The mover, with a buffer of frames and a queue of commands left to the prover: what they offer stays until it is
// taken.
//
//   locked     lanes are written only for a command that isn't done yet: once it counts as completed, its buffer
//              is as it will stay
//   own        lanes go to the first LANES / 8 blocks alone, so to none of the next buffer's, if no update has
//              more lanes than a buffer holds: a commit and the verdict see to that
//   counted    each command that was taken is completed once, and in order
//   whole      a frame is taken to its end under one command; of what passes, what is taken is what went out
module moved #(
    parameter int LANES = 1152
) (
    input logic clk,
    input logic rst,
    input logic beat_valid,
    input logic [511:0] beat,
    input logic beat_last,
    input logic command_valid,
    input olaf::command_t command,
    input logic pass_ready
);
  logic beat_take, command_take, pass_valid, read, write, write_folds;
  olaf::seg_t read_seg, write_seg;
  logic [7:0] read_block, write_block, completed;
  logic [1:0] over;
  logic begun, flush;
  olaf::seg_t flush_seg;
  logic [511:0] write_lanes;

  olaf_move move (
      .clk(clk), .rst(rst), .beat_valid(beat_valid), .beat(beat), .beat_last(beat_last),
      .beat_take(beat_take), .command_valid(command_valid), .command(command),
      .command_take(command_take), .pass_valid(pass_valid), .pass_ready(pass_ready), .read(read),
      .read_seg(read_seg), .read_block(read_block), .write(write), .write_folds(write_folds),
      .write_seg(write_seg), .write_block(write_block), .write_lanes(write_lanes),
      .completed(completed), .f_over(over), .f_begun(begun), .f_flush(flush), .f_flush_seg(flush_seg)
  );

  // ---- the commands that were taken last, and how many ----
  logic [7:0] taken;
  logic is_store, going_1, going_2, inside;
  olaf::seg_t seg_1, seg_2;
  assign is_store = command.op == olaf::OP_STORE || command.op == olaf::OP_FOLD;
  always_ff @(posedge clk) begin
    seg_1 <= command.seg;
    seg_2 <= seg_1;
    if (rst) begin
      taken <= '0;
      inside <= 1'b0;
      going_1 <= 1'b0;
      going_2 <= 1'b0;
    end else begin
      taken <= taken + {7'd0, command_take};
      if (beat_take) inside <= !beat_last;
      going_1 <= command_take && is_store;
      going_2 <= going_1;
    end
  end

  logic started = 1'b0;
  logic was_valid, was_command, was_taken, was_ended, was_last, was_rst, was_passing;
  olaf::command_t was;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    was_rst <= rst;
    was_valid <= beat_valid;
    was_command <= command_valid;
    was_taken <= beat_take;
    was_ended <= command_take;
    was_last <= beat_last;
    was_passing <= pass_valid && !pass_ready;
    was <= command;
  end
  always_comb begin
    if (is_store) assume (command.lanes <= 16'(LANES));
    if (!started) assume (rst);
    else if (!was_rst) begin
      if (was_command && !was_ended) assume (command_valid && command == was);
      if (was_valid && !was_taken) assume (beat_valid && beat_last == was_last);
    end
  end

  logic [7:0] going;
  assign going = taken - completed;
  always_ff @(posedge clk) begin
    if (started && !rst) begin
      if (write) begin
        locked: assert ((going_1 && write_seg == seg_1) || (going_2 && write_seg == seg_2) ||
                        (inside && command_valid && is_store && write_seg == command.seg));
      end
      if (write) own: assert (write_block < 8'(LANES / 8));
      counted: assert (going == {7'd0, over[0]} + {7'd0, over[1]});
      whole_begun: assert (inside == begun);
      // What the induction rests on.
      assert ((!going_1 || over[0]) && (!going_2 || over[1]));
      if (flush) assert (going_1 && flush_seg == seg_1 && read_block < 8'(LANES / 8));
      whole: assert (command_take == (beat_take && beat_last));
      if (inside) whole_command: assert (command_valid);
      if (pass_valid) whole_pass: assert (beat_take == pass_ready);
      if (was_passing && !was_rst) stable: assert (pass_valid);
    end
  end
endmodule
