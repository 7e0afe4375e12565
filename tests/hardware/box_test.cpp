// SPDX-License-Identifier: BSD-2-Clause
// The plug-in for OpenNIC's shell, in a box that has the shell's port names: registers across two clocks, both ways
// of the data, and where frames are said to go.
#include <memory>

#include <Vbox_250mhz.h>
#include <gtest/gtest.h>

#include "olaf/registers.h"

namespace {

class HardwareBox : public testing::Test {
  protected:
    HardwareBox() {
        box_->mod_rstn = 0xfffe;
        ticks(8);
        EXPECT_EQ(box_->mod_rst_done & 1, 0);
        box_->mod_rstn = 0xffff;
        for (int i = 0; i < 1000 && (box_->mod_rst_done & 1) == 0; i++)
            ticks(1);
        EXPECT_EQ(box_->mod_rst_done, 0xffff) << "the shell waits for all sixteen";
    }

    /// Cycles of 250 MHz; every second one begins one of 125 MHz.
    void ticks(int n) {
        while (n-- > 0) {
            box_->axis_aclk = 0;
            if (cycle_ % 2 == 0)
                box_->axil_aclk = 0;
            box_->eval();
            box_->axis_aclk = 1;
            if (cycle_++ % 2 == 1)
                box_->axil_aclk = 1;
            box_->eval();
        }
    }
    /// Until `there`, at most some hundred cycles.
    template <class There> bool wait(There there) {
        for (int i = 0; i < 1000; i++, ticks(2))
            if (there())
                return true;
        return false;
    }

    std::uint32_t read(std::uint32_t address) {
        box_->s_axil_arvalid = 1;
        box_->s_axil_araddr = address;
        box_->eval();
        EXPECT_TRUE(wait([&] { return box_->s_axil_arready; }));
        ticks(2);
        box_->s_axil_arvalid = 0;
        EXPECT_TRUE(wait([&] { return box_->s_axil_rvalid; }));
        ticks(4); // it stays until it is taken
        EXPECT_TRUE(box_->s_axil_rvalid);
        const auto value = box_->s_axil_rdata;
        box_->s_axil_rready = 1;
        ticks(2);
        box_->s_axil_rready = 0;
        return value;
    }
    void write(std::uint32_t address, std::uint32_t value) {
        box_->s_axil_awvalid = 1;
        box_->s_axil_awaddr = address;
        box_->s_axil_wvalid = 1;
        box_->s_axil_wdata = value;
        box_->eval();
        EXPECT_TRUE(wait([&] { return box_->s_axil_awready && box_->s_axil_wready; }));
        ticks(2);
        box_->s_axil_awvalid = 0;
        box_->s_axil_wvalid = 0;
        EXPECT_TRUE(wait([&] { return box_->s_axil_bvalid; }));
        box_->s_axil_bready = 1;
        ticks(2);
        box_->s_axil_bready = 0;
    }

    std::unique_ptr<Vbox_250mhz> box_ = std::make_unique<Vbox_250mhz>();
    unsigned cycle_ = 0;
};

TEST_F(HardwareBox, RegistersAreReadAndWrittenAcrossTheClocks) {
    // As the box is reached through BAR 2, or by its own addresses: both name the same.
    for (const std::uint32_t base : {0x100000u, 0u}) {
        EXPECT_EQ(read(base + OLAF_REGISTER_MAGIC), std::uint32_t{OLAF_CARD_MAGIC});
        EXPECT_EQ(read(base + OLAF_REGISTER_PLACES), 8u);
        for (const std::uint32_t port : {7000u, 6523u}) {
            write(base + OLAF_REGISTER_PORT, port);
            EXPECT_EQ(read(base + OLAF_REGISTER_PORT), port);
        }
    }
}

// Nothing takes the frame, so it stays on the output until it was looked at.
#define SENDS_A_FRAME(in, out)                                                                     \
    box_->in##_tvalid = 1;                                                                         \
    box_->in##_tkeep = UINT64_MAX;                                                                 \
    box_->in##_tlast = 1;                                                                          \
    box_->in##_tuser_size = 64;                                                                    \
    box_->in##_tuser_src = 0x1234;                                                                 \
    box_->in##_tdata[3] = 0x12345678;                                                              \
    box_->eval();                                                                                  \
    ASSERT_TRUE(wait([&] { return box_->in##_tready; }));                                          \
    ticks(1);                                                                                      \
    box_->in##_tvalid = 0;                                                                         \
    ASSERT_TRUE(wait([&] { return box_->out##_tvalid; }));                                         \
    EXPECT_EQ(box_->out##_tuser_src, 0x1234);                                                      \
    EXPECT_EQ(box_->out##_tuser_size, 64);                                                         \
    EXPECT_EQ(box_->out##_tkeep, UINT64_MAX);                                                      \
    EXPECT_EQ(box_->out##_tdata[3], 0x12345678u);                                                  \
    EXPECT_TRUE(box_->out##_tlast);

// The shell drops what names no destination.
TEST_F(HardwareBox, WhatThePortReceivesIsForThePhysicalFunction) {
    SENDS_A_FRAME(s_axis_adap_rx_250mhz, m_axis_qdma_c2h)
    EXPECT_EQ(box_->m_axis_qdma_c2h_tuser_dst, 1u << 0);
    EXPECT_FALSE(box_->m_axis_adap_tx_250mhz_tvalid);
}

TEST_F(HardwareBox, WhatTheHostSendsIsForThePort) {
    SENDS_A_FRAME(s_axis_qdma_h2c, m_axis_adap_tx_250mhz)
    EXPECT_EQ(box_->m_axis_adap_tx_250mhz_tuser_dst, 1u << 6);
    EXPECT_FALSE(box_->m_axis_qdma_c2h_tvalid);
}

} // namespace
