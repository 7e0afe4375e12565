// SPDX-License-Identifier: BSD-2-Clause
// Included into the shell's box_250mhz: addresses as the queue has them.
wire [31:0] axil_olaf_awaddr;
wire [31:0] axil_olaf_araddr;

box_250mhz_address_map address_map_inst (
    .s_axil_awaddr(s_axil_awaddr),
    .s_axil_araddr(s_axil_araddr),
    .m_axil_olaf_awaddr(axil_olaf_awaddr),
    .m_axil_olaf_araddr(axil_olaf_araddr)
);
