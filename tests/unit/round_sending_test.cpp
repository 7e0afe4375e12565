// SPDX-License-Identifier: BSD-2-Clause
// What a worker of a job sends, and when: the parts.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "endpoints/rounds/exponent_guess.hpp"
#include "endpoints/rounds/sending.hpp"

namespace olaf::test::round_sending_test {
namespace {

using std::chrono::nanoseconds;

constexpr auto first = CongestionWindow::kFirst;

void take(CongestionWindow &window, std::size_t results, bool full = true) {
    for (std::size_t i = 0; i < results; i++)
        window.taken(full);
}

TEST(CongestionWindow, GrowsByAnEighthARoundTripUntilSomethingIsLost) {
    CongestionWindow window;
    take(window, first);
    EXPECT_EQ(window.size(), first + first / 8);
}

void lose(CongestionWindow &window, std::size_t chunks, std::uint64_t from, std::uint64_t next) {
    for (std::size_t i = 0; i < chunks; i++)
        window.lost(from + i, next);
}

TEST(CongestionWindow, GrowsByOneARoundTripAfterwards) {
    CongestionWindow window;
    lose(window, first / 2, 0, first);
    take(window, first / 2 - 1);
    EXPECT_EQ(window.size(), first / 2);
    take(window, 1);
    EXPECT_EQ(window.size(), first / 2 + 1);
}

TEST(CongestionWindow, DoesntGrowWhereSomethingElseLimitsWhatIsUnderWay) {
    CongestionWindow window;
    take(window, 1000, false);
    EXPECT_EQ(window.size(), first);
}

TEST(CongestionWindow, GrowsAboveItsFirstSizeOnlyWhileResultsDontWaitInQueues) {
    using namespace std::chrono_literals;
    CongestionWindow window;
    window.measured(100us);
    window.measured(200us);
    take(window, 1000);
    EXPECT_EQ(window.size(), first) << "half of the time is a queue's";
    window.measured(199us);
    take(window, first);
    EXPECT_EQ(window.size(), first + first / 8);
}

TEST(CongestionWindow, GrowsUpToItsFirstSizeHoweverLongResultsTake) {
    using namespace std::chrono_literals;
    CongestionWindow window;
    window.measured(100us);
    window.measured(10ms);
    lose(window, first / 2, 0, first);
    take(window, 2 * first * first);
    EXPECT_EQ(window.size(), first);
}

// A frame here and there is no ring that overflows.
TEST(CongestionWindow, StaysWhereLessThanHalfOfItIsLost) {
    CongestionWindow window;
    lose(window, first / 2 - 1, 0, first);
    lose(window, first / 2 - 1, first, 2 * first);
    EXPECT_EQ(window.size(), first);
}

TEST(CongestionWindow, IsHalvedOnceForAllThatWasUnderWay) {
    CongestionWindow window;
    lose(window, first, 0, first);
    EXPECT_EQ(window.size(), first / 2);
    lose(window, first / 2, first, 2 * first);
    EXPECT_EQ(window.size(), first / 4);
}

TEST(CongestionWindow, IsHalvedAgainWhereAllBeginAtEarlierPositions) {
    CongestionWindow window;
    lose(window, first, 1000, 1000 + first);
    window.begin_anew();
    lose(window, first / 4, 1000, 1000 + first);
    EXPECT_EQ(window.size(), first / 4);
}

TEST(CongestionWindow, IsNeverClosed) {
    CongestionWindow window;
    for (std::uint64_t round = 0; round < 20; round++)
        lose(window, first, round * first, (round + 1) * first);
    EXPECT_EQ(window.size(), CongestionWindow::kLeast);
}

TEST(CongestionWindow, IsOpenedAgainWhereTooLittleWasLostAfterAll) {
    CongestionWindow window;
    lose(window, first / 2 + 1, 0, first);
    window.not_lost();
    EXPECT_EQ(window.size(), first / 2) << "half of it was lost";
    window.not_lost();
    EXPECT_EQ(window.size(), first);
}

using namespace std::chrono_literals;

/// A time for each round trip.
void measure(RoundTimeout &timeout, nanoseconds turnaround, unsigned times = 100) {
    static nanoseconds now = 0ns;
    for (unsigned i = 0; i < times; i++)
        timeout.measured(turnaround, now += turnaround);
}

TEST(RoundTimeout, IsHalfAsLongAgainAsAResultTakes) {
    RoundTimeout timeout;
    EXPECT_EQ(timeout.after(0), RoundTimeout::kFirst);
    measure(timeout, 10ms);
    EXPECT_EQ(timeout.after(0), 15ms);
    EXPECT_EQ(timeout.after(1), 30ms) << "nothing has come";
    measure(timeout, 1us);
    EXPECT_EQ(timeout.after(0), RoundTimeout::kLeast);
    measure(timeout, 10s);
    EXPECT_EQ(timeout.after(0), RoundTimeout::kMost);
}

// Who waits for what others have lost finds long times. Would all follow these, each wait would
// lengthen the next one's.
TEST(RoundTimeout, FollowsALongTimeForAWhileAndOnlySoFar) {
    RoundTimeout timeout;
    measure(timeout, 1ms);
    measure(timeout, 3ms, 1);
    EXPECT_EQ(timeout.after(0), 3ms);
    measure(timeout, 1ms);
    EXPECT_LT(timeout.after(0), 1600us);
    measure(timeout, 100ms, 1);
    EXPECT_LT(timeout.after(0), 5ms);
    EXPECT_GT(timeout.after(0), 4ms);
}

TEST(RoundTimeout, BeginsWithTwiceAsMuchWhereRepeatedChunksWereAnswered) {
    RoundTimeout timeout;
    measure(timeout, 10ms);
    timeout.ambiguous();
    EXPECT_EQ(timeout.after(0), 30ms);
    timeout.ambiguous();
    EXPECT_EQ(timeout.after(0), 60ms);
    for (int i = 0; i < 100; i++)
        timeout.ambiguous();
    EXPECT_EQ(timeout.after(0), 120ms) << "others' losses may be behind it";
    timeout.over();
    EXPECT_EQ(timeout.after(0), 15ms);
    timeout.ambiguous();
    measure(timeout, 10ms, 1);
    EXPECT_EQ(timeout.after(0), 15ms);
}

// As long as it turns out to have been on its way. Where it was lost each time, that may be less.
TEST(RoundTimeout, WaitsForWhatWasOvertakenUpToARoundTrip) {
    RoundTimeout timeout;
    EXPECT_EQ(timeout.reordering(), RoundTimeout::kLeastReordering);
    measure(timeout, 1ms);
    EXPECT_EQ(timeout.reordering(), 1ms);
    timeout.was_lost();
    EXPECT_EQ(timeout.reordering(), 750us);
    for (int i = 0; i < 10; i++)
        timeout.was_lost();
    EXPECT_EQ(timeout.reordering(), 250us);
    timeout.was_not_lost();
    EXPECT_EQ(timeout.reordering(), 1ms);
    measure(timeout, 1us);
    EXPECT_EQ(timeout.reordering(), RoundTimeout::kLeastReordering);
}

std::uint64_t said_by(const std::vector<std::int16_t> &guesses) {
    std::uint64_t sum = 0;
    for (const std::int16_t guess : guesses)
        sum += say_guess(guess);
    return sum;
}

TEST(ExponentGuess, IsAgreedByWhoeverGuessesTheSame) {
    for (const int exponent : {-148, -1, 0, 1, 129, static_cast<int>(kAllZero)})
        for (const std::uint32_t count : {1U, 2U, 3U, 256U, 16384U}) {
            const auto guess = static_cast<std::int16_t>(exponent);
            EXPECT_EQ(agreed_guess(said_by(std::vector(count, guess)), count), guess)
                << exponent << ", " << count;
        }
}

TEST(ExponentGuess, IsNoneWhereAnybodyGuessesAnother) {
    const std::int16_t none = kNoGuess, zero = kAllZero;
    EXPECT_EQ(agreed_guess(0, 3), kNoGuess);
    EXPECT_EQ(agreed_guess(said_by({5, none}), 2), kNoGuess);
    EXPECT_EQ(agreed_guess(said_by({5, 5, none}), 3), kNoGuess);
    EXPECT_EQ(agreed_guess(said_by({4, 6}), 2), kNoGuess);
    EXPECT_EQ(agreed_guess(said_by({4, 5, 6}), 3), kNoGuess);
    EXPECT_EQ(agreed_guess(said_by({5, zero}), 2), kNoGuess);
    EXPECT_EQ(agreed_guess(said_by({zero, none}), 2), kNoGuess);
    std::mt19937 random(7);
    for (int i = 0; i < 100'000; i++) {
        std::vector<std::int16_t> guesses(2 + random() % 15);
        for (auto &guess : guesses)
            guess = static_cast<std::int16_t>(random() % 278) - 148;
        guesses[0] = static_cast<std::int16_t>(guesses[1] + 1);
        ASSERT_EQ(agreed_guess(said_by(guesses), static_cast<std::uint32_t>(guesses.size())),
                  kNoGuess);
    }
}

TEST(ExponentGuess, OfAStrangersLaneIsNeverBeyondFloats) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 100'000; i++) {
        const std::uint64_t number = random() % (1 << 16);
        const std::int16_t guess = agreed_guess(number + (number * number << 32), 1);
        EXPECT_TRUE(guess == kNoGuess || guess == kAllZero || (guess > -200 && guess <= 200));
    }
    EXPECT_EQ(agreed_guess(said_by({5}), 0), kNoGuess);
    EXPECT_EQ(agreed_guess(said_by({5}), 16385), kNoGuess) << "squares have no room";
}

TEST(ExponentGuess, IsGoodWhereAllFitsAndFewBitsAreLost) {
    struct Case {
        std::int16_t guess, exponent;
        unsigned bits;
        bool good;
    };
    for (const Case &each : {Case{5, 5, 2, true}, Case{5, 3, 2, true}, Case{5, 2, 2, false},
                             Case{5, 6, 2, false}, Case{5, 5, 1, true}, Case{5, 3, 1, false},
                             Case{5, 5, 0, false}, Case{5, kAllZero, 2, true},
                             Case{5, kNotFinite, 2, true}, Case{kAllZero, kAllZero, 2, true},
                             Case{kAllZero, -148, 2, false}, Case{kAllZero, kNotFinite, 2, true},
                             Case{kNoGuess, 5, 2, false}, Case{kNoGuess, kNotFinite, 2, false}})
        EXPECT_EQ(is_good_guess(each.guess, each.exponent, each.bits), each.good)
            << each.guess << ", " << each.exponent << ", " << each.bits;
}

TEST(ExponentGuess, LiesInTheMiddleOfWhatMayBeLost) {
    EXPECT_EQ(guess_after(5, 0), kNoGuess);
    EXPECT_EQ(guess_after(5, 1), 5);
    EXPECT_EQ(guess_after(5, 2), 6);
    EXPECT_EQ(guess_after(5, 4), 7);
    EXPECT_EQ(guess_after(kAllZero, 2), kAllZero);
    EXPECT_EQ(guess_after(kNotFinite, 2), kNoGuess);
}

TEST(FloatPieces, OfVectorsThatGuessAreTwiceTheLagAndNoOthersAre) {
    for (const Format format : {Format::i32x2, Format::i64x1})
        for (std::size_t data_lanes = 2; data_lanes < 40; data_lanes++)
            for (std::size_t elements = 1; elements < 1000; elements += 7)
                for (const std::uint32_t ahead : {1U, 2U, 5U, 64U}) {
                    const auto cut = cut_floats(format, data_lanes, elements, ahead);
                    EXPECT_EQ(cut.guesses, cut.pieces == cut.lag);
                    EXPECT_GE(cut.each * cut.pieces, elements);
                    EXPECT_LT(cut.each * (cut.pieces - 1), elements);
                    EXPECT_LE(lanes_for(format, cut.each), data_lanes - (cut.guesses ? 1 : 0));
                }
    EXPECT_TRUE(cut_floats(Format::i32x2, 8, 16 * 20, 10).guesses);
    EXPECT_FALSE(cut_floats(Format::i32x2, 8, 16 * 20 + 1, 10).guesses);
    EXPECT_FALSE(cut_floats(Format::i16x4, 8, 10, 64).guesses);
    EXPECT_FALSE(cut_floats(Format::i32x2, 1, 10, 64).guesses) << "there is no lane to say it in";
}

TEST(ExponentHistory, KeepsTheLastVectorOfEachLength) {
    ExponentHistory history;
    EXPECT_EQ(history.last(10, 0), kNoGuess);
    history.remember(10, std::vector<std::int16_t>{1, 2});
    history.remember(20, std::vector<std::int16_t>{3});
    history.remember(10, std::vector<std::int16_t>{4, kAllZero});
    EXPECT_EQ(history.last(10, 0), 4);
    EXPECT_EQ(history.last(10, 1), kAllZero);
    EXPECT_EQ(history.last(10, 2), kNoGuess);
    EXPECT_EQ(history.last(20, 0), 3);
    for (std::size_t length = 100; length < 131; length++)
        history.remember(length, std::vector<std::int16_t>{7});
    EXPECT_EQ(history.last(10, 0), 4) << "the newest of the others";
    EXPECT_EQ(history.last(20, 0), kNoGuess) << "it keeps no more";
}

} // namespace
} // namespace olaf::test::round_sending_test
