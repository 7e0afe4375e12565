// SPDX-License-Identifier: BSD-2-Clause
// Does what was decided with the frames of the buffer, in their order, a beat a cycle: lets them pass, skips
// them, or hands their lanes to the store in blocks of eight. A block is written two cycles after its last
// beat was taken, with zeros behind the last lane; `completed` counts a command three cycles after its frame's last beat.
module olaf_move (
    input logic clk,
    input logic rst,
    input logic beat_valid,
    input logic [511:0] beat,
    input logic beat_last,
    output logic beat_take,
    input logic command_valid,
    input olaf::command_t command,
    output logic command_take,
    output logic pass_valid,
    input logic pass_ready,
    output logic read,              // the block that is to be folded into, a cycle before
    output olaf::seg_t read_seg,
    output logic [7:0] read_block,
    output logic write,
    output logic write_folds,
    output olaf::seg_t write_seg,
    output logic [7:0] write_block,
    output logic [511:0] write_lanes,
`ifdef FORMAL
    output logic [1:0] f_over,
    output logic f_begun,
    output logic f_flush,
    output olaf::seg_t f_flush_seg,
`endif
    output logic [7:0] completed
);
  logic [511:0] turned, turned_before;
  logic [63:0] low;
  logic [1:0] ahead;
  logic stores;
  logic [7:0] beats;  // of the frame that were taken
  logic [7:0] block, blocks, behind;

  olaf_align #(.UP(0)) align (
      .words(command.words), .in(beat), .out(turned), .low(low), .ahead(ahead)
  );

  assign stores = command.op == olaf::OP_STORE || command.op == olaf::OP_FOLD;
  assign pass_valid = beat_valid && command_valid && command.op == olaf::OP_PASS;
  assign beat_take = beat_valid && command_valid && (command.op != olaf::OP_PASS || pass_ready);
  assign command_take = beat_take && beat_last;
  assign blocks = 8'((command.lanes + 16'd7) >> 3);
  assign behind = beats - {6'd0, ahead};  // block that begins in this beat
  assign block = behind - 8'd1;            // block that ends in this beat

  // The last block may end with its frame's last beat: it goes a cycle later.
  logic flush, flush_folds;
  olaf::seg_t flush_seg;
  logic [7:0] flush_block;
  logic [15:0] flush_lanes, left;  // lanes from the block on
  logic ends_here;
  assign ends_here = beat_take && stores && beats > {6'd0, ahead} && block < blocks;

  assign read = (ends_here && command.op == olaf::OP_FOLD) || (flush && flush_folds);
  assign read_seg = flush ? flush_seg : command.seg;
  assign read_block = flush ? flush_block : block;
  assign left = (flush ? flush_lanes : command.lanes) - {5'd0, read_block, 3'd0};

  logic [1:0] over;
  integer i;
  always_ff @(posedge clk) begin
    if (beat_take) turned_before <= turned;
    flush_folds <= command.op == olaf::OP_FOLD;
    flush_seg <= command.seg;
    flush_block <= behind;
    flush_lanes <= command.lanes;
    write_folds <= flush ? flush_folds : command.op == olaf::OP_FOLD;
    write_seg <= read_seg;
    write_block <= read_block;
    for (i = 0; i < 64; i++)
      write_lanes[8*i+:8] <= 16'(i / 8) >= left ? 8'd0 :
          flush || low[i] ? turned_before[8*i+:8] : turned[8*i+:8];
    if (rst) begin
      beats <= '0;
      flush <= 1'b0;
      write <= 1'b0;
      over <= '0;
      completed <= '0;
    end else begin
      if (beat_take) beats <= beat_last ? 8'd0 : beats + {7'd0, beats != 8'd255};
      flush <= command_take && stores && beats >= {6'd0, ahead} && behind < blocks;
      write <= ends_here || flush;
      over <= {over[0], command_take};
      completed <= completed + {7'd0, over[1]};
    end
  end

`ifdef FORMAL
  assign f_over = over;
  assign f_begun = beats != 8'd0;
  assign f_flush = flush;
  assign f_flush_seg = flush_seg;
`endif
endmodule
