// SPDX-License-Identifier: BSD-2-Clause
// A twin that is checked at the end of each test, whatever the test did with it.
#pragma once

#include <gtest/gtest.h>

#include "tests/datapath/packet.hpp"
#include "twin.hpp"

namespace olaf::test {

class HardwareTest : public testing::Test {
  protected:
    explicit HardwareTest(const Setting &setting = {}) : both(setting) {}

    void TearDown() override {
        EXPECT_TRUE(both.settle()) << "hangs";
        EXPECT_EQ(both.compare_counters() + both.compare_slots() + both.differences(), "");
    }

    /// Sends the frame and waits until its verdict is there.
    void offer(const Frame &frame) {
        both.send(frame.bytes);
        both.card.cycles(60);
    }
    std::uint64_t counter(unsigned index) {
        both.card.snapshot();
        return both.card.counter(index);
    }

    Twin both;
};

} // namespace olaf::test
