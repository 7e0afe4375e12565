// SPDX-License-Identifier: BSD-2-Clause
// What a node refuses or leaves alone: it changes nothing, and is counted. rounds_hostile.hpp has what differs in one
// thing from what a worker sends; the differential test offers that.

#include <cstring>
#include <set>

#include "rounds_clones.hpp"
#include "spells.hpp"

namespace olaf::test::rounds_refusals_test {
namespace {

// ---- Unknown, damaged and foreign messages change nothing, and are counted.

class RoundsRefusals : public RoundsTest {
  protected:
    std::uint64_t malformed(olaf_malformed reason) { return queue.counters().malformed[reason]; }
    void nothing_happened() {
        EXPECT_EQ(counters().received, 0u);
        for (std::uint32_t i = 0; i < setup.slots; i++)
            for (const auto &buffer : slot(i).buffer)
                EXPECT_EQ(buffer.state, OLAF_ROUND_FREE);
    }
};

TEST_F(RoundsRefusals, AnUnknownAction) {
    dropped(offer({.type = OLAF_CONTROL, .flags = 0, .count = 77}));
    EXPECT_EQ(malformed(OLAF_MALFORMED_TYPE), 1u);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
}

TEST_F(RoundsRefusals, AQuestionPaddedToAnotherLengthThanAContributionsAndAPaddedAnswer) {
    for (const std::size_t lanes : {6u, 7u, 8u})
        dropped(offer({.type = OLAF_CONTROL, .flags = 0, .count = OLAF_CONTROL_SYNC,
                       .lanes = std::vector<std::uint64_t>(lanes, 1)}));
    EXPECT_EQ(malformed(OLAF_MALFORMED_JOB), 3u);
    dropped(offer({.type = OLAF_CONTROL, .flags = OLAF_FLAG_ANSWER, .count = OLAF_CONTROL_SYNC,
                   .lanes = std::vector<std::uint64_t>(7)}));
    EXPECT_EQ(malformed(OLAF_MALFORMED_LANES), 1u);
    for (const std::uint32_t action : {OLAF_CONTROL_SYNC, OLAF_CONTROL_JOIN})
        for (const std::size_t lanes : {0u, 3u})
            dropped(offer({.type = OLAF_CONTROL, .flags = 0, .count = action,
                           .lanes = std::vector<std::uint64_t>(lanes)}));
    EXPECT_EQ(malformed(OLAF_MALFORMED_LANES), 5u);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
}

TEST_F(RoundsRefusals, MessagesOfNoJobHereAreLeftAlone) {
    for (const auto type : {OLAF_CONTRIBUTION, OLAF_RESULT, OLAF_CONTROL}) {
        auto other = contribution(0, 0);
        other.job = job_id + 1;
        other.type = type;
        const auto frame = path_of(0).carrying(other);
        const auto ran = queue.offer(frame);
        EXPECT_STREQ(verdict_name(ran.verdict), "XDP_PASS");
        EXPECT_EQ(hex(ran.bytes), hex(frame.bytes));
    }
    EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_JOB], 2u);
    EXPECT_EQ(queue.counters().bypassed[OLAF_BYPASS_OTHER], 1u);
    EXPECT_TRUE(spells_of(queue)[OLAF_TROUBLE_BYPASSED]);
    nothing_happened();
}

TEST_F(RoundsRefusals, DamagedLengthsAndChecksums) {
    const auto good = path_of(0).carrying(contribution(0, 0));
    dropped(queue.offer(truncated(good, good.size() - 8)));
    auto shorter = with(good, good.message + 6, 4, 2);
    seal(shorter.bytes, good.message);
    dropped(queue.offer(shorter));
    dropped(queue.offer(with(good, good.l3 + 10, 0, 2)));
    dropped(queue.offer(truncated(good, good.message + 40)));
    auto six = path_of(0, 6).carrying(contribution(0, 0));
    dropped(queue.offer(with(six, six.l4 + 6, 0, 2)));
    nothing_happened();
    const auto &by = queue.counters().malformed;
    EXPECT_EQ(by[OLAF_MALFORMED_TRUNCATED], 2u);
    EXPECT_EQ(by[OLAF_MALFORMED_LENGTH], 1u);
    EXPECT_EQ(by[OLAF_MALFORMED_IP_CHECKSUM], 1u);
    EXPECT_EQ(by[OLAF_MALFORMED_UDP_CHECKSUM], 1u);
}

TEST_F(RoundsRefusals, AnyFlippedBitOfAHeader) {
    constexpr std::size_t bits = 8 * sizeof(olaf_header);
    auto sync = contribution(0, 0);
    sync.type = OLAF_CONTROL;
    sync.count = OLAF_CONTROL_SYNC;
    sync.flags = 0;
    sync.lanes = process(0);
    for (const auto &message : {contribution(0, 0), sync})
        for (std::size_t bit = 0; bit < bits; bit++) {
            auto frame = path_of(0).carrying(message);
            frame.bytes[frame.message + bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
            EXPECT_STRNE(verdict_name(queue.offer(frame).verdict), "XDP_TX") << bit;
        }
    nothing_happened();
    EXPECT_EQ(counters().syncs, 0u);
    // The others make it a message of somebody else, of another version or type, or of no job here.
    EXPECT_EQ(malformed(OLAF_MALFORMED_HEADER), 2 * (bits - 16 - 8 - 32) - 15);
}

TEST_F(RoundsRefusals, AFlippedBitOfItsSourceTakesNoRankAway) {
    for (const auto family : {4, 6})
        for (const auto &message : {contribution(0, 0), JobMessage{.type = OLAF_CONTROL, .flags = 0, .count = OLAF_CONTROL_SYNC, .lanes = process(0)}}) {
            auto frame = path_of(0, family).carrying(message);
            frame.bytes[frame.l4] ^= 1; // the source port
            dropped(queue.offer(frame));
        }
    EXPECT_EQ(malformed(OLAF_MALFORMED_UDP_CHECKSUM), 4u);
    nothing_happened();
    EXPECT_EQ(counters().syncs, 0u);
}

/// The message in another version of the protocol.
Frame of_version(std::uint8_t version, const Path &path, const JobMessage &job) {
    Bytes bytes = message(job);
    bytes[offsetof(olaf_header, version)] = version;
    return path.carrying(bytes);
}

TEST_F(RoundsRefusals, AMessageOfAnotherVersion) {
    const JobMessage answer{.type = OLAF_CONTROL, .flags = OLAF_FLAG_ANSWER, .count = OLAF_CONTROL_SYNC,
                            .lanes = process(0)};
    for (const auto &message : {contribution(0, 0), answer})
        for (const int version : {0, 1, 3, 255})
            dropped(queue.offer(of_version(version, path_of(0), message)));
    nothing_happened();
    EXPECT_EQ(malformed(OLAF_MALFORMED_VERSION), 8u);
    EXPECT_EQ(counters().syncs, 0u);
}

TEST_F(RoundsRefusals, AQuestionOfAnotherVersionIsToldThisOneAndNoMore) {
    const JobMessage question{.type = OLAF_CONTROL, .flags = 0, .count = OLAF_CONTROL_SYNC, .lanes = process(0)};
    for (const int family : {4, 6})
        for (const int version : {0, 1, 3, 255}) {
            const auto told = sent_back(queue.offer(of_version(version, path_of(0, family), question)));
            ASSERT_TRUE(told);
            EXPECT_EQ(told->message.type, OLAF_CONTROL);
            EXPECT_EQ(told->message.flags, OLAF_FLAG_ANSWER);
            EXPECT_EQ(told->message.exponent, OLAF_CONTROL_VERSION);
            EXPECT_EQ(told->message.generation, 0u);
            EXPECT_TRUE(told->message.lanes.empty());
        }
    nothing_happened();
    EXPECT_EQ(malformed(OLAF_MALFORMED_VERSION), 8u);
    EXPECT_EQ(counters().syncs, 0u);
}

TEST_F(RoundsRefusals, LanesThatNothingProtects) {
    auto unchecked = small_job();
    unchecked.shape = OLAF_FORMAT_I32X2 << OLAF_FLAG_FORMAT_SHIFT;
    begin(unchecked);
    auto bare = contribution(0, 0);
    bare.flags = unchecked.shape;
    dropped(queue.offer(path_of(0).without_udp_checksum().carrying(bare)));
    EXPECT_EQ(malformed(OLAF_MALFORMED_UDP_CHECKSUM), 1u);
    nothing_happened();
}

// ---- A contribution whose lanes were damaged behind its senders' checksums: all members find its sum wrong.

class RoundsSpoilt : public RoundsTest {
  protected:
    static JobMessage spoilt(JobMessage message) {
        message.flags |= OLAF_FLAG_SPOILT;
        return message;
    }
    /// The sum of chunk 0 is there, and one bit of it is wrong.
    void damage_a_contribution() {
        auto damaged = contribution(0, 0);
        damaged.lanes[1] ^= 1ull << 40;
        dropped(offer(damaged));
        EXPECT_NE(sent_to(0, offer(contribution(1, 0))), result(0, {0, 1}, 0));
    }
};

TEST_F(RoundsSpoilt, TheSumIsMadeAnewAsSoonAsAMemberSaysSo) {
    damage_a_contribution();
    dropped(offer(spoilt(contribution(0, 0))));
    EXPECT_EQ(counters().spoilt, 1u);
    EXPECT_EQ(counters().undelivered, 1u); // to rank 1
    EXPECT_EQ(sent_to(0, offer(spoilt(contribution(1, 0)))), result(0, {0, 1}, 0));
    EXPECT_EQ(sent_to(1, offer(spoilt(contribution(1, 0)))), result(1, {0, 1}, 0));
    EXPECT_EQ(counters().spoilt, 1u);
}

TEST_F(RoundsSpoilt, ASumThatIsRightHereLeavesAgain) {
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))), result(0, {0, 1}, 0));
    EXPECT_EQ(sent_to(0, offer(spoilt(contribution(0, 0)))), result(0, {0, 1}, 0));
    EXPECT_EQ(counters().repeated, 1u);
    EXPECT_EQ(counters().spoilt, 0u);
}

TEST_F(RoundsSpoilt, WithoutTheSendersWordNothingIsMadeAnew) {
    damage_a_contribution();
    EXPECT_NE(sent_to(0, offer(contribution(0, 0))), result(0, {0, 1}, 0));
    auto probe = spoilt(contribution(0, 0));
    probe.lanes.clear();
    EXPECT_NE(sent_to(0, offer(probe)), result(0, {0, 1}, 0));
    EXPECT_EQ(counters().spoilt, 0u);
}

// ---- Members give different vectors to a round.

constexpr std::uint32_t hundred_floats = 3 << 16 | OLAF_CONTENT_FLOAT_SUM << OLAF_CONTENT_SHIFT | 100;
constexpr std::uint32_t hundred_and_one = hundred_floats + 1;
constexpr std::uint32_t for_four = hundred_floats + (1 << 16), mean = hundred_floats + (1 << OLAF_CONTENT_SHIFT);

class RoundsMisfit : public RoundsWithClones {
  protected:
    RoundsMisfit() : RoundsWithClones(job_of(3)) {
        auto probe = contribution(0, 0);
        probe.lanes.clear();
        for (probe.rank = 0; probe.rank < setup.children; probe.rank++) // so that all can be reached
            dropped(offer(probe));
        asked = counters().probes;
    }

    /// As in another generation.
    void forget() {
        queue.write("olaf_round_slots", 0, olaf_round_slot{});
        auto anew = job();
        anew.misfit_generation = 0;
        set_job(anew);
    }
    JobMessage of(std::uint32_t vector, std::uint32_t rank, std::uint32_t chunk_count = 100) const {
        auto message = contribution(rank, 0);
        message.vector = vector;
        message.chunks = chunk_count;
        return message;
    }
    std::uint64_t asked = 0;
};

TEST_F(RoundsMisfit, AllMembersAreToldOfBothVectorsAtOnce) {
    for (const auto &[vector, chunk_count] :
         {std::pair{hundred_and_one, 100u}, {for_four, 100u}, {mean, 100u}, {hundred_floats, 101u}}) {
        SCOPED_TRACE(std::to_string(vector) + ", chunks " + std::to_string(chunk_count));
        forget();
        dropped(offer(of(hundred_floats, 0)));
        const auto before = counters();
        const auto order = offer(of(vector, 2, chunk_count));
        EXPECT_EQ(counters().added, before.added + 1);
        EXPECT_EQ(counters().misfit, before.misfit + 1);
        std::set<std::uint32_t> told;
        for (const auto &clone : clones_of(order)) {
            const auto received = sent_back(clone);
            ASSERT_TRUE(received);
            const auto &got = received->message;
            EXPECT_TRUE(told.insert(got.rank).second);
            EXPECT_EQ(got.type, OLAF_RESULT);
            EXPECT_EQ(got.flags, checked_i32 | OLAF_FLAG_MISFIT | (got.rank == 1 ? OLAF_FLAG_LATE : 0));
            EXPECT_EQ(olaf_vector_identity(got.chunks, got.vector), olaf_vector_identity(100, hundred_floats));
            EXPECT_EQ(got.generated_ns, olaf_vector_identity(chunk_count, vector));
        }
        EXPECT_EQ(told, (std::set<std::uint32_t>{0, 1, 2}));
    }
}

// Whatever a member contributes in this generation, or asks for.
TEST_F(RoundsMisfit, WhoComesLaterIsToldToo) {
    dropped(offer(of(hundred_floats, 0)));
    clones_of(offer(of(mean, 2)));
    auto probe = contribution(2, 3);
    probe.lanes.clear();
    for (const auto &late : {of(hundred_floats, 1), contribution(1, 2, 7), probe}) {
        const auto told = sent_to(late.rank, offer(late));
        EXPECT_EQ(told.type, OLAF_RESULT);
        EXPECT_EQ(told.flags, checked_i32 | OLAF_FLAG_MISFIT);
        EXPECT_TRUE(told.lanes.empty());
        EXPECT_EQ(std::tuple(told.round, told.chunk, told.count, told.generation), std::tuple(0u, 0u, 1u, job_generation));
        EXPECT_EQ(olaf_vector_identity(told.chunks, told.vector), olaf_vector_identity(100, hundred_floats));
        EXPECT_EQ(told.generated_ns, olaf_vector_identity(100, mean));
    }
    EXPECT_EQ(counters().stale, 2u);
    EXPECT_EQ(counters().probes, asked + 1);
    auto anew = job();
    anew.generation++;
    set_job(anew);
    auto next = of(hundred_floats, 1);
    next.generation = anew.generation;
    dropped(offer(next));
    EXPECT_EQ(counters().stale, 2u) << "it is another generation's matter";
}

TEST_F(RoundsMisfit, ANodeBelowTellsOfItsMembers) {
    for (const bool is_first : {true, false}) {
        forget();
        auto from_node = of(hundred_and_one, 2);
        from_node.flags |= OLAF_FLAG_MISFIT;
        from_node.generated_ns = olaf_vector_identity(100, mean);
        if (!is_first)
            dropped(offer(of(hundred_and_one, 0)));
        for (const auto &clone : clones_of(offer(from_node))) {
            const auto received = sent_back(clone);
            ASSERT_TRUE(received);
            EXPECT_EQ(received->message.vector, hundred_and_one);
            EXPECT_EQ(received->message.generated_ns, olaf_vector_identity(100, mean));
            EXPECT_EQ(received->message.count, 1u);
        }
    }
    EXPECT_EQ(counters().misfit, 2u);
    EXPECT_EQ(counters().copied, 6u);
}

TEST_F(RoundsMisfit, IsNotMadeAnewAsWhatWasDamaged) {
    auto damaged = of(hundred_floats, 0);
    damaged.lanes[1] ^= 1;
    dropped(offer(damaged));
    clones_of(offer(of(mean, 2)));
    auto again = of(hundred_floats, 0);
    again.flags |= OLAF_FLAG_SPOILT;
    auto job_without = job();
    job_without.misfit_generation = 0;
    set_job(job_without);
    EXPECT_EQ(sent_to(0, offer(again)).flags, checked_i32 | OLAF_FLAG_MISFIT);
    EXPECT_EQ(counters().spoilt, 0u);
}

// ---- --allow and --strict hold for the messages of jobs: who isn't named takes no rank, and gives no order.

olaf::DatapathConfig with_allow_list() {
    auto config = queue_with_rounds();
    config.allow_list = true;
    return config;
}

olaf::DatapathConfig strict_queue() {
    auto config = queue_with_rounds();
    config.strict = true;
    return config;
}

class RoundsOfSome : public RoundsTest {
  protected:
    explicit RoundsOfSome(const olaf::DatapathConfig &config, const olaf_job_setup &setup = small_job())
        : RoundsTest(setup, config) {}
    std::uint64_t not_allowed(olaf_not_allowed reason) { return queue.counters().not_allowed[reason]; }
    JobMessage sync(std::uint32_t rank) const {
        return {.type = OLAF_CONTROL, .flags = 0, .rank = rank, .count = OLAF_CONTROL_SYNC,
                .generated_ns = 7, .chunks = 0, .generation = job_generation, .pool = 2,
                .lanes = process(rank)};
    }
    /// Where the rank's frames have their source address.
    static std::vector<std::uint8_t> source_of(const Frame &frame, int family) {
        const auto first = frame.bytes.begin() + static_cast<std::ptrdiff_t>(frame.l3) + (family == 4 ? 12 : 8);
        return {first, first + (family == 4 ? 4 : 16)};
    }
    [[nodiscard]] Frame frame_of(std::uint32_t rank, int family = 4) const {
        return path_of(rank, family).carrying(contribution(rank, 0));
    }
};

class RoundsAllowed : public RoundsOfSome {
  protected:
    RoundsAllowed() : RoundsOfSome(with_allow_list()) {}
    void allow(std::uint32_t rank, int family = 4) {
        olaf_prefix prefix{.prefix_bits = 128, .address = {}};
        const auto source = source_of(frame_of(rank, family), family);
        if (family == 4)
            prefix.address[10] = prefix.address[11] = 0xff;
        std::memcpy(prefix.address + 16 - source.size(), source.data(), source.size());
        queue.write("olaf_allow", prefix, 0u);
    }
};

TEST_F(RoundsAllowed, WhoIsNotInTheListTakesNoFreeRank) {
    allow(0);
    dropped(offer(contribution(1, 0)));
    EXPECT_EQ(not_allowed(OLAF_NOT_ALLOWED_SOURCE), 1u);
    EXPECT_EQ(not_allowed(OLAF_NOT_ALLOWED_JOB_SOURCE), 0u);
    EXPECT_EQ(counters().received, 0u);
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(counters().added, 1u);
    allow(1);
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))).type, OLAF_RESULT) << "the rank was left free";
    EXPECT_EQ(counters().completed, 1u);
}

TEST_F(RoundsAllowed, WhoIsNotInTheListGivesNoOrders) {
    dropped(offer(sync(0)));
    auto reset = sync(0);
    reset.count = OLAF_CONTROL_RESET;
    reset.lanes.clear();
    dropped(offer(reset));
    auto probe = contribution(0, 0);
    probe.lanes.clear();
    dropped(offer(probe));
    EXPECT_EQ(not_allowed(OLAF_NOT_ALLOWED_SOURCE), 3u);
    EXPECT_EQ(job().state, OLAF_JOB_RUNNING);
    EXPECT_EQ(job().generation, job_generation);
    EXPECT_EQ(counters().syncs + counters().controls + counters().probes, 0u);
}

TEST_F(RoundsAllowed, AddressesOfIPv6AreToldApartToo) {
    allow(0, 6);
    dropped(offer(contribution(1, 0), 6));
    EXPECT_EQ(not_allowed(OLAF_NOT_ALLOWED_SOURCE), 1u);
    dropped(offer(contribution(0, 0), 6));
    EXPECT_EQ(counters().added, 1u);
}

TEST_F(RoundsAllowed, WhoIsNotInTheListIsNotEvenToldThatSomebodyHasTheRank) {
    allow(0);
    dropped(offer(contribution(0, 0)));
    dropped(offer(contribution(0, 1), path_of(1)));
    EXPECT_EQ(not_allowed(OLAF_NOT_ALLOWED_SOURCE), 1u);
    EXPECT_EQ(not_allowed(OLAF_NOT_ALLOWED_JOB_SOURCE), 0u);
    EXPECT_EQ(counters().received, 1u);
}

class RoundsOfFloatsAllowed : public RoundsOfSome {
  protected:
    RoundsOfFloatsAllowed() : RoundsOfSome(with_allow_list(), of_floats(small_job())) {}
};

TEST_F(RoundsOfFloatsAllowed, AreAddedForNobodyElse) {
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(not_allowed(OLAF_NOT_ALLOWED_SOURCE), 1u);
    EXPECT_EQ(counters().received, 0u);
}

class RoundsStrict : public RoundsOfSome {
  protected:
    RoundsStrict() : RoundsOfSome(strict_queue()) {}
    /// As `olaf job set --member RANK=ADDR` has it.
    void bind(std::uint32_t rank) {
        const auto source = source_of(frame_of(rank), 4);
        olaf_child child{};
        child.member.family = 4;
        child.member.flags = OLAF_MEMBER_REGISTERED;
        std::memcpy(child.member.addr_be, source.data(), source.size());
        queue.write("olaf_children", olaf_child_index(0, rank), child);
    }
};

TEST_F(RoundsStrict, ARankThatNobodyIsBoundToIsNobodys) {
    bind(0);
    dropped(offer(contribution(0, 0)));
    EXPECT_EQ(counters().added, 1u);
    dropped(offer(contribution(1, 0)));
    dropped(offer(sync(1)));
    EXPECT_EQ(not_allowed(OLAF_NOT_ALLOWED_WORKER), 2u);
    EXPECT_EQ(counters().received, 1u);
    bind(1);
    EXPECT_EQ(sent_to(0, offer(contribution(1, 0))).type, OLAF_RESULT);
}

TEST_F(RoundsStrict, ABoundRankIsItsAddressesOnly) {
    bind(0);
    dropped(offer(contribution(0, 0), path_of(1)));
    EXPECT_EQ(not_allowed(OLAF_NOT_ALLOWED_JOB_SOURCE), 1u);
    EXPECT_EQ(counters().received, 0u);
}

} // namespace
} // namespace olaf::test::rounds_refusals_test
