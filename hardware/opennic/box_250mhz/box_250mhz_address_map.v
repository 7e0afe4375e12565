// SPDX-License-Identifier: BSD-2-Clause
// Addresses in the 250 MHz box: the queue is alone there, and has all of its 1 MiB (0x100000 to 0x1fffff of
// BAR 2). A register's address in the box is its offset on docs/registers.md.
module box_250mhz_address_map (
    input wire [31:0] s_axil_awaddr,
    input wire [31:0] s_axil_araddr,
    output wire [31:0] m_axil_olaf_awaddr,
    output wire [31:0] m_axil_olaf_araddr
);
  assign m_axil_olaf_awaddr = {12'd0, s_axil_awaddr[19:0]};
  assign m_axil_olaf_araddr = {12'd0, s_axil_araddr[19:0]};
endmodule
