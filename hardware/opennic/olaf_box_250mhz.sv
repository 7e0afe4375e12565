// SPDX-License-Identifier: BSD-2-Clause
// The queue in OpenNIC's 250 MHz box: one physical function, one port. Workers are on the network, the server
// on the host: what the port receives goes up through the queue, what the host sends goes down past it.
//
// Signals are named as the shell's box names them. tuser_size, _src and _dst are the queue's side band; _dst says
// on the way out where a frame goes, since the shell drops what names no port. The shell's AXI4-Lite runs at
// axil_aclk (125 MHz); it crosses here, an access at a time.
module olaf_box_250mhz (
    input logic s_axil_awvalid,
    input logic [31:0] s_axil_awaddr,
    output logic s_axil_awready,
    input logic s_axil_wvalid,
    input logic [31:0] s_axil_wdata,
    output logic s_axil_wready,
    output logic s_axil_bvalid,
    output logic [1:0] s_axil_bresp,
    input logic s_axil_bready,
    input logic s_axil_arvalid,
    input logic [31:0] s_axil_araddr,
    output logic s_axil_arready,
    output logic s_axil_rvalid,
    output logic [31:0] s_axil_rdata,
    output logic [1:0] s_axil_rresp,
    input logic s_axil_rready,
    input logic s_axis_qdma_h2c_tvalid,
    input logic [511:0] s_axis_qdma_h2c_tdata,
    input logic [63:0] s_axis_qdma_h2c_tkeep,
    input logic s_axis_qdma_h2c_tlast,
    input logic [15:0] s_axis_qdma_h2c_tuser_size,
    input logic [15:0] s_axis_qdma_h2c_tuser_src,
    input logic [15:0] s_axis_qdma_h2c_tuser_dst,
    output logic s_axis_qdma_h2c_tready,
    output logic m_axis_qdma_c2h_tvalid,
    output logic [511:0] m_axis_qdma_c2h_tdata,
    output logic [63:0] m_axis_qdma_c2h_tkeep,
    output logic m_axis_qdma_c2h_tlast,
    output logic [15:0] m_axis_qdma_c2h_tuser_size,
    output logic [15:0] m_axis_qdma_c2h_tuser_src,
    output logic [15:0] m_axis_qdma_c2h_tuser_dst,
    input logic m_axis_qdma_c2h_tready,
    output logic m_axis_adap_tx_250mhz_tvalid,
    output logic [511:0] m_axis_adap_tx_250mhz_tdata,
    output logic [63:0] m_axis_adap_tx_250mhz_tkeep,
    output logic m_axis_adap_tx_250mhz_tlast,
    output logic [15:0] m_axis_adap_tx_250mhz_tuser_size,
    output logic [15:0] m_axis_adap_tx_250mhz_tuser_src,
    output logic [15:0] m_axis_adap_tx_250mhz_tuser_dst,
    input logic m_axis_adap_tx_250mhz_tready,
    input logic s_axis_adap_rx_250mhz_tvalid,
    input logic [511:0] s_axis_adap_rx_250mhz_tdata,
    input logic [63:0] s_axis_adap_rx_250mhz_tkeep,
    input logic s_axis_adap_rx_250mhz_tlast,
    input logic [15:0] s_axis_adap_rx_250mhz_tuser_size,
    input logic [15:0] s_axis_adap_rx_250mhz_tuser_src,
    input logic [15:0] s_axis_adap_rx_250mhz_tuser_dst,
    output logic s_axis_adap_rx_250mhz_tready,
    input logic mod_rstn,
    output logic mod_rst_done,
    input logic axil_aclk,
    input logic axis_aclk
);
  // ---- reset, in both clocks: long, whatever the shell's pulse is, and once after configuration ----
  logic [5:0] held = '0;       // cycles since mod_rstn was released, as far as they matter
  logic [4:0] held_axil = '0;
  logic rst, rst_axil;
  always_ff @(posedge axis_aclk) begin
    if (!mod_rstn) held <= '0;
    else if (!held[5]) held <= held + 6'd1;
  end
  assign rst = !held[5];
  // As long at half the clock.
  always_ff @(posedge axil_aclk) begin
    if (!mod_rstn) held_axil <= '0;
    else if (!held_axil[4]) held_axil <= held_axil + 5'd1;
  end
  assign rst_axil = !held_axil[4];
  assign mod_rst_done = !rst_axil;

  // ---- registers: one request crosses, and its answer comes back ----
  typedef enum logic [1:0] {IDLE, ASKED, ANSWERED} step_t;
  step_t step;
  logic writes, asked, done;
  logic [2:0] asked_there, done_here;
  logic [19:0] address;
  logic [31:0] data, answer;
  logic awready, wready, bvalid, arready, rvalid;
  logic [31:0] rdata;

  assign s_axil_awready = step == IDLE && s_axil_awvalid && s_axil_wvalid;
  assign s_axil_wready = s_axil_awready;
  assign s_axil_arready = step == IDLE && !s_axil_awvalid && s_axil_arvalid;
  assign s_axil_bvalid = step == ANSWERED && writes;
  assign s_axil_rvalid = step == ANSWERED && !writes;
  assign s_axil_rdata = answer;  // steady since before `done` crossed
  assign s_axil_bresp = 2'b00;
  assign s_axil_rresp = 2'b00;

  always_ff @(posedge axil_aclk) begin
    done_here <= {done_here[1:0], done};
    if (rst_axil) begin
      step <= IDLE;
      asked <= 1'b0;
    end else begin
      case (step)
        IDLE:
        if (s_axil_awready || s_axil_arready) begin
          writes <= s_axil_awready;
          address <= s_axil_awready ? s_axil_awaddr[19:0] : s_axil_araddr[19:0];
          data <= s_axil_wdata;
          asked <= !asked;
          step <= ASKED;
        end
        ASKED: if (done_here[2] == asked) step <= ANSWERED;
        default:
        if ((writes && s_axil_bready) || (!writes && s_axil_rready)) step <= IDLE;
      endcase
    end
  end

  logic serving, sent;
  always_ff @(posedge axis_aclk) begin
    asked_there <= {asked_there[1:0], asked};
    if (rst) begin
      serving <= 1'b0;
      sent <= 1'b0;
      done <= 1'b0;
    end else if (!serving) begin
      serving <= asked_there[2] != done;
      sent <= 1'b0;
    end else begin
      if ((writes && awready && wready) || (!writes && arready)) sent <= 1'b1;
      if ((writes && bvalid) || (!writes && rvalid)) begin
        answer <= rdata;
        done <= !done;
        serving <= 1'b0;
      end
    end
  end

  // ---- where a frame goes: PCIe function 0 is bit 0, MAC port 0 is bit 6 ----
  logic [15:0] up_dst, down_dst;  // as they came: zeros
  assign m_axis_qdma_c2h_tuser_dst = 16'h0001;
  assign m_axis_adap_tx_250mhz_tuser_dst = 16'h0040;

  // verilator lint_off PINCONNECTEMPTY
  olaf_queue queue (
      .clk(axis_aclk), .rst(rst),
      .up_s_tvalid(s_axis_adap_rx_250mhz_tvalid), .up_s_tready(s_axis_adap_rx_250mhz_tready),
      .up_s_tdata(s_axis_adap_rx_250mhz_tdata), .up_s_tkeep(s_axis_adap_rx_250mhz_tkeep),
      .up_s_tlast(s_axis_adap_rx_250mhz_tlast),
      .up_s_tuser({s_axis_adap_rx_250mhz_tuser_dst, s_axis_adap_rx_250mhz_tuser_src,
                   s_axis_adap_rx_250mhz_tuser_size}),
      .up_m_tvalid(m_axis_qdma_c2h_tvalid), .up_m_tready(m_axis_qdma_c2h_tready),
      .up_m_tdata(m_axis_qdma_c2h_tdata), .up_m_tkeep(m_axis_qdma_c2h_tkeep),
      .up_m_tlast(m_axis_qdma_c2h_tlast),
      .up_m_tuser({up_dst, m_axis_qdma_c2h_tuser_src, m_axis_qdma_c2h_tuser_size}),
      .down_s_tvalid(s_axis_qdma_h2c_tvalid), .down_s_tready(s_axis_qdma_h2c_tready),
      .down_s_tdata(s_axis_qdma_h2c_tdata), .down_s_tkeep(s_axis_qdma_h2c_tkeep),
      .down_s_tlast(s_axis_qdma_h2c_tlast),
      .down_s_tuser({s_axis_qdma_h2c_tuser_dst, s_axis_qdma_h2c_tuser_src, s_axis_qdma_h2c_tuser_size}),
      .down_m_tvalid(m_axis_adap_tx_250mhz_tvalid), .down_m_tready(m_axis_adap_tx_250mhz_tready),
      .down_m_tdata(m_axis_adap_tx_250mhz_tdata), .down_m_tkeep(m_axis_adap_tx_250mhz_tkeep),
      .down_m_tlast(m_axis_adap_tx_250mhz_tlast),
      .down_m_tuser({down_dst, m_axis_adap_tx_250mhz_tuser_src,
                     m_axis_adap_tx_250mhz_tuser_size}),
      .awvalid(serving && writes && !sent), .awready(awready), .awaddr(address),
      .wvalid(serving && writes && !sent), .wready(wready), .wdata(data), .bvalid(bvalid),
      .bready(1'b1), .bresp(), .arvalid(serving && !writes && !sent), .arready(arready),
      .araddr(address), .rvalid(rvalid), .rready(1'b1), .rdata(rdata), .rresp(), .t_now(),
      .t_restarts(), .t_ignored(), .t_decided(), .t_action(), .t_way_clear(), .t_popped(),
      .t_freed(), .t_sampled(), .t_foreign(), .t_snapshot()
  );
  // verilator lint_on PINCONNECTEMPTY
endmodule
