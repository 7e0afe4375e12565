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

TEST(CongestionWindow, GrowsByOneARoundTripAfterwards) {
    CongestionWindow window;
    window.lost(0, first);
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
    window.lost(0, first);
    take(window, 2 * first * first);
    EXPECT_EQ(window.size(), first);
}

TEST(CongestionWindow, IsHalvedOnceForAllThatWasUnderWay) {
    CongestionWindow window;
    for (const std::uint64_t position : {3, 9, 63})
        window.lost(position, 64);
    EXPECT_EQ(window.size(), first / 2);
    window.lost(64, 100);
    EXPECT_EQ(window.size(), first / 4);
}

TEST(CongestionWindow, IsHalvedAgainWhereAllBeginAtEarlierPositions) {
    CongestionWindow window;
    window.lost(1000, 1064);
    window.begin_anew();
    window.lost(1000, 1001);
    EXPECT_EQ(window.size(), first / 4);
}

TEST(CongestionWindow, IsNeverClosed) {
    CongestionWindow window;
    for (std::uint64_t position = 0; position < 20; position++)
        window.lost(position, position + 1);
    EXPECT_EQ(window.size(), CongestionWindow::kLeast);
}

TEST(CongestionWindow, IsOpenedAgainWhereNothingWasLostAfterAll) {
    CongestionWindow window;
    window.lost(1, 64);
    window.lost(2, 64);
    window.not_lost();
    EXPECT_EQ(window.size(), first / 2) << "one of two was lost";
    window.not_lost();
    EXPECT_EQ(window.size(), first);
    window.not_lost();
    EXPECT_EQ(window.size(), first) << "nothing more is known to have been lost";
}

DueChunk due(std::uint64_t position, std::int64_t at) {
    return {.at = nanoseconds(at), .position = position, .sendings = 1};
}

std::vector<std::uint64_t> all_of(DueChunks &chunks) {
    std::vector<std::uint64_t> positions;
    for (; !chunks.empty(); chunks.pop())
        positions.push_back(chunks.top().position);
    return positions;
}

TEST(DueChunks, WhatIsPutOffIsBehindWhatIsDueBeforeThat) {
    DueChunks chunks;
    for (const std::uint64_t position : {3, 1, 2})
        chunks.push(due(position, 10 * position));
    chunks.put_off(nanoseconds(10), nanoseconds(25));
    EXPECT_EQ(all_of(chunks), (std::vector<std::uint64_t>{2, 1, 3}));
}

TEST(DueChunks, WhatIsPutOffSaysSinceWhen) {
    DueChunks chunks;
    chunks.push(due(1, 10));
    EXPECT_EQ(chunks.top().put_off, nanoseconds(0));
    chunks.put_off(nanoseconds(12), nanoseconds(40));
    EXPECT_EQ(chunks.top().put_off, nanoseconds(12));
    EXPECT_EQ(chunks.top().at, nanoseconds(40));
}

// Of those put off, nobody overtakes: who is behind a longer timeout waits for that, and no longer.
TEST(DueChunks, WhatIsBehindALongerTimeoutIsDueRightAfterIt) {
    DueChunks chunks;
    chunks.push(due(1, 10));
    chunks.push(due(2, 11));
    chunks.put_off(nanoseconds(11), nanoseconds(100));
    chunks.put_off(nanoseconds(11), nanoseconds(50));
    chunks.push(due(3, 60));
    EXPECT_EQ(all_of(chunks), (std::vector<std::uint64_t>{3, 1, 2}));
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
