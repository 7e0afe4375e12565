// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <olaf/worker_table.hpp>

namespace olaf::test::worker_table_test {
namespace {

TEST(WorkerTable, CountsWhatWasPassedOver) {
    olaf::WorkerTable table(8);
    const olaf::Address address;
    for (const std::uint32_t sequence : {0xfffffffeU, 0xffffffffU, 2U, 2U, 3U, 1U, 7U})
        table.count(5, address, sequence);
    const olaf::KnownWorker &known = table.all().at(5);
    EXPECT_EQ(known.last_sequence, 7U);
    EXPECT_EQ(known.seen, 6U) << "the second 2 is another segment; 1 is late, but an update";
    EXPECT_EQ(known.missed, 2U + 3U) << "0 and 1, then 4 to 6";
}

TEST(WorkerTable, ForgetsWhoWasSilentForLongest) {
    olaf::WorkerTable table(2);
    const olaf::Address address;
    table.remember(1, address);
    table.remember(2, address);
    table.remember(1, address);
    table.remember(3, address);
    EXPECT_TRUE(table.all().contains(1));
    EXPECT_FALSE(table.all().contains(2));
    EXPECT_TRUE(table.all().contains(3));
}

} // namespace
} // namespace olaf::test::worker_table_test
