// SPDX-License-Identifier: BSD-2-Clause
// The way back: frames leave as they came and in their order, but for the stamp of ACKs.
module olaf_back #(
    parameter int CLUSTERS = 128
) (
    input logic clk,
    input logic rst,
    input logic ready,
    input olaf::config_t cfg,
    input logic s_tvalid,
    output logic s_tready,
    input logic [511:0] s_tdata,
    input logic [63:0] s_tkeep,
    input logic s_tlast,
    input logic [47:0] s_tuser,
    output logic m_tvalid,
    input logic m_tready,
    output logic [511:0] m_tdata,
    output logic [63:0] m_tkeep,
    output logic m_tlast,
    output logic [47:0] m_tuser,
    input logic heard,
    input logic [15:0] heard_cluster,
    input logic [31:0] heard_at,
    input logic [15:0] active,
    input logic [7:0] queue_length,
    output logic sampled,
    output logic is_foreign,
    output logic stamped,
`ifdef FORMAL
    output logic f_take,
    output logic f_last,
    output logic f_verdict_take,
`endif
    output logic kept
);
  logic beat_valid, beat_last, beat_take, found_valid, verdict_take;
  logic [511:0] beat;
  logic [5:0] beat_bytes;
  logic [47:0] beat_user;
  olaf::headers_t found;
  logic [31:0] sum;

  olaf_entrance entrance (
      .clk(clk), .rst(rst), .ready(ready), .s_tvalid(s_tvalid), .s_tready(s_tready),
      .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tlast(s_tlast), .s_tuser(s_tuser),
      .beat_valid(beat_valid), .beat(beat), .beat_bytes(beat_bytes), .beat_user(beat_user),
      .beat_last(beat_last), .beat_take(beat_take), .found_valid(found_valid), .found(found),
      .sum(sum), .verdict_take(verdict_take)
  );

  logic judged, changes, head_changes, head_valid, verdict_room;
  logic [3:0] words, head_words;
  logic [447:0] changed, head_changed;
  olaf_stamp #(.CLUSTERS(CLUSTERS)) stamp (
      .clk(clk), .rst(rst), .cfg(cfg), .found_valid(found_valid), .found(found), .heard(heard),
      .heard_cluster(heard_cluster), .heard_at(heard_at), .active(active),
      .queue_length(queue_length), .sampled(sampled), .is_foreign(is_foreign), .valid(judged),
      .stamped(stamped), .kept(kept), .changes(changes), .words(words), .changed(changed)
  );
  olaf_fifo #(.DEPTH_LOG2(4), .WIDTH(453)) verdicts (
      .clk(clk), .rst(rst), .put(judged), .in({changes, words, changed}), .room(verdict_room),
      .valid(head_valid), .out({head_changes, head_words, head_changed}), .take(verdict_take)
  );

  // ---- the first three beats may hold what changes ----
  logic [1103:0] where, what;
  logic [1:0] number;
  logic [511:0] beat_where, beat_what, out;
  logic moves;
  integer k;
  always_comb begin
    what = '0;
    where = '0;
    for (k = 0; k <= 12; k++) begin
      if (head_changes && head_words == k[3:0]) begin
        what = {656'd0, head_changed} << (8 * (34 + 4 * k));
        where = {656'd0, {448{1'b1}}} << (8 * (34 + 4 * k));
      end
    end
    case (number)
      2'd0: begin
        beat_where = where[511:0];
        beat_what = what[511:0];
      end
      2'd1: begin
        beat_where = where[1023:512];
        beat_what = what[1023:512];
      end
      2'd2: begin
        beat_where = {432'd0, where[1103:1024]};
        beat_what = {432'd0, what[1103:1024]};
      end
      default: begin
        beat_where = '0;
        beat_what = '0;
      end
    endcase
    out = (beat & ~beat_where) | (beat_what & beat_where);
  end

  assign moves = !m_tvalid || m_tready;
  assign beat_take = beat_valid && head_valid && moves;
  assign verdict_take = beat_take && beat_last;
  always_ff @(posedge clk) begin
    if (moves) begin
      m_tdata <= out;
      m_tlast <= beat_last;
      m_tkeep <= {64{1'b1}} >> (6'd63 - beat_bytes);
      m_tuser <= beat_user;
    end
    if (rst) begin
      m_tvalid <= 1'b0;
      number <= '0;
    end else begin
      if (moves) m_tvalid <= beat_take;
      if (beat_take) number <= beat_last ? 2'd0 : number + {1'b0, number != 2'd3};
    end
  end

`ifdef FORMAL
  assign f_take = beat_take;
  assign f_last = beat_last;
  assign f_verdict_take = verdict_take;
`endif
endmodule
