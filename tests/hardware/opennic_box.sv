// SPDX-License-Identifier: BSD-2-Clause
// A stand-in for the shell's 250 MHz box with one port and one physical function: it has that box's port names and
// includes what the plug-in gives it. So the plug-in is linted and simulated as the shell would build it.
`define STREAM(there, back, name) \
    there wire name``_tvalid, \
    there wire [511:0] name``_tdata, \
    there wire [63:0] name``_tkeep, \
    there wire name``_tlast, \
    there wire [15:0] name``_tuser_size, \
    there wire [15:0] name``_tuser_src, \
    there wire [15:0] name``_tuser_dst, \
    back wire name``_tready

module box_250mhz #(
    parameter int USE_PHYS_FUNC = 1,
    parameter int NUM_PHYS_FUNC = 1,
    parameter int NUM_CMAC_PORT = 1
) (
    input wire s_axil_awvalid,
    input wire [31:0] s_axil_awaddr,
    output wire s_axil_awready,
    input wire s_axil_wvalid,
    input wire [31:0] s_axil_wdata,
    output wire s_axil_wready,
    output wire s_axil_bvalid,
    output wire [1:0] s_axil_bresp,
    input wire s_axil_bready,
    input wire s_axil_arvalid,
    input wire [31:0] s_axil_araddr,
    output wire s_axil_arready,
    output wire s_axil_rvalid,
    output wire [31:0] s_axil_rdata,
    output wire [1:0] s_axil_rresp,
    input wire s_axil_rready,
    `STREAM(input, output, s_axis_qdma_h2c),
    `STREAM(output, input, m_axis_qdma_c2h),
    `STREAM(output, input, m_axis_adap_tx_250mhz),
    `STREAM(input, output, s_axis_adap_rx_250mhz),
    input wire [15:0] mod_rstn,
    output wire [15:0] mod_rst_done,
    input wire axil_aclk,
    input wire axis_aclk
);
`include "box_250mhz_address_map_inst.vh"
`include "user_plugin_250mhz_inst.vh"
endmodule
