// SPDX-License-Identifier: BSD-2-Clause
// The way back, with the entrance, the judging of ACKs and the queue of verdicts left to the prover: any frame, any
// verdict, at any time. So are the bytes that a stamp makes of a beat.
//
//   stable  a beat that waits is neither withdrawn nor changed (AXI4-Stream)
//   kept    each beat that is taken leaves next, and nothing else does
//   turn    a verdict goes with the last beat of its frame
module returned (
    input logic clk,
    input logic rst,
    input olaf::config_t cfg,
    input logic s_tvalid,
    input logic [511:0] s_tdata,
    input logic [63:0] s_tkeep,
    input logic s_tlast,
    input logic [47:0] s_tuser,
    input logic m_tready
);
  logic s_tready, m_tvalid, m_tlast, sampled, is_foreign, stamped, kept, take, last, verdict_take;
  logic [511:0] m_tdata;
  logic [63:0] m_tkeep;
  logic [47:0] m_tuser;

  olaf_back #(.CLUSTERS(4)) back (
      .clk(clk), .rst(rst), .ready(1'b1), .cfg(cfg), .s_tvalid(s_tvalid), .s_tready(s_tready),
      .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tlast(s_tlast), .s_tuser(s_tuser),
      .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tdata(m_tdata), .m_tkeep(m_tkeep),
      .m_tlast(m_tlast), .m_tuser(m_tuser), .heard(1'b0), .heard_cluster(16'd0), .heard_at(32'd0),
      .active(16'd0), .queue_length(8'd0), .sampled(sampled), .is_foreign(is_foreign),
      .stamped(stamped), .kept(kept), .f_take(take), .f_last(last),
      .f_verdict_take(verdict_take)
  );

  logic started = 1'b0;
  logic was_rst, was_valid, was_ready, was_last, was_take, was_ending;
  logic [511:0] was_data;
  logic [63:0] was_keep;
  logic [47:0] was_user;
  always_ff @(posedge clk) begin
    started <= 1'b1;
    was_rst <= rst;
    was_valid <= m_tvalid;
    was_ready <= m_tready;
    was_last <= m_tlast;
    was_data <= m_tdata;
    was_keep <= m_tkeep;
    was_user <= m_tuser;
    was_take <= take;
    was_ending <= last;
  end
  always_comb if (!started) assume (rst);

  always_ff @(posedge clk) begin
    if (started && !rst && !was_rst) begin
      if (was_valid && !was_ready)
        stable: assert (m_tvalid && m_tlast == was_last && m_tdata == was_data && m_tkeep == was_keep && m_tuser == was_user);
      if (was_take) kept_beat: assert (m_tvalid && m_tlast == was_ending);
      if (!was_take && (!was_valid || was_ready)) kept_alone: assert (!m_tvalid);
    end
    if (started && !rst) turn: assert (verdict_take == (take && last));
  end
endmodule
