// SPDX-License-Identifier: BSD-2-Clause
// A line whose first results nobody is owed any more, as all have asked for them.
#include "rounds_clones.hpp"

namespace olaf::test::rounds_line_test {
namespace {

class RoundsInLine : public RoundsWithClones {
  protected:
    RoundsInLine() : RoundsWithClones(any_of_four()) {}
    static olaf_job_setup any_of_four() {
        auto setup = small_job();
        setup.children = 4;
        setup.threshold = 1;
        setup.pool = 6;
        setup.slots = 64;
        return setup;
    }
    /// The first child alone completes 24 chunks. Its frames take the results of the first six away.
    void fill() {
        for (std::uint32_t rank = 1; rank < 4; rank++) { // by a probe each is known
            auto probe = contribution(rank, 0);
            probe.lanes.clear();
            dropped(offer(probe));
        }
        for (std::uint32_t chunk = 0; chunk < 24; chunk++)
            sent_to(chunk % 4, offer(contribution(0, chunk)));
        EXPECT_EQ(owed(), 72u);
    }
    /// All ask for the next ones of these.
    void ask_until(std::uint32_t end) {
        for (std::uint32_t chunk = 6; chunk < end; chunk++)
            for (std::uint32_t rank = 0; rank < 4; rank++)
                EXPECT_EQ(sent_to(rank, offer(contribution(rank, chunk))).chunk, chunk);
        EXPECT_EQ(owed(), 4 * (24 - end));
    }
};

TEST_F(RoundsInLine, AFlushSendsWhatIsBehindAFewThatNobodyIsOwed) {
    fill();
    ask_until(6 + 5);
    EXPECT_EQ(clones_of(offer(flushing(contribution(0, 24)))).size(), 4u * (24 - 11 + 1));
    EXPECT_EQ(owed(), 0u);
}

TEST_F(RoundsInLine, AFlushSendsWhatIsBehindManyThatNobodyIsOwed) {
    fill();
    ask_until(6 + 16);
    EXPECT_EQ(clones_of(offer(flushing(contribution(0, 24)))).size(), 4u * (24 - 22 + 1));
    EXPECT_EQ(owed(), 0u);
}

} // namespace
} // namespace olaf::test::rounds_line_test
