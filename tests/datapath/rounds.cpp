// SPDX-License-Identifier: BSD-2-Clause
#include "rounds.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <bit>
#include <numeric>

namespace olaf::test {
RoundsTest::RoundsTest(const olaf_job_setup &given, const DatapathConfig &config)
    : queue(config, olaf_shape_is_floats(given.shape) != 0) {
    begin(given);
}

void RoundsTest::begin(const olaf_job_setup &given) {
    setup = given;
    olaf_job fresh{};
    fresh.setup = given;
    fresh.state = OLAF_JOB_RUNNING;
    fresh.generation = job_generation;
    fresh.pool = given.pool;
    set_job(fresh);
    queue.write("olaf_job_ids", given.id, std::uint32_t{0});
}

void RoundsTest::TearDown() {
    const auto now = counters();
    EXPECT_EQ(now.received,
              now.added + now.duplicate + now.late + now.stale + now.ahead + now.halted);
    if (identities_hold) {
        EXPECT_EQ(setup.children * now.completed,
                  now.riding + now.copied + setup.children * now.multicast + now.undelivered +
                      owed());
    }
}

JobMessage RoundsTest::contribution(std::uint32_t rank, std::uint32_t chunk,
                                    std::uint32_t round) const {
    JobMessage message{.flags = setup.shape, .job = setup.id, .rank = rank, .round = round,
                       .chunk = chunk, .generation = job_generation};
    message.exponent = static_cast<std::int16_t>(rank) - 3;
    message.generated_ns = 1'000'000 + rank;
    for (std::uint64_t i = 0; i + 1 < setup.lanes; i++)
        message.lanes.push_back((1 + rank + 1000ull * chunk + 77ull * round + i) *
                                0x9e3779b97f4a7c15ull);
    message.lanes.push_back(checksum_lane(message.lanes));
    return message;
}

std::vector<std::uint64_t> RoundsTest::sum_of(std::vector<std::uint32_t> ranks, std::uint32_t chunk,
                                              std::uint32_t round) const {
    std::vector<std::uint64_t> sum(setup.lanes);
    for (const auto rank : ranks) {
        const auto lanes = contribution(rank, chunk, round).lanes;
        for (std::size_t i = 0; i < sum.size(); i++)
            sum[i] += lanes[i];
    }
    return sum;
}

void RoundsTest::bind(std::uint32_t rank) {
    auto probe = contribution(rank, 0);
    probe.generation = job().generation;
    probe.round = job().membership.newest_round + 100;
    probe.lanes.clear();
    offer(probe);
}

Path RoundsTest::path_of(std::uint32_t rank, int family) {
    Path path(family);
    path.source(static_cast<std::uint8_t>(10 + rank)).source_port(static_cast<std::uint16_t>(41000 + rank));
    path.from({2, 0, 0, 1, 0, static_cast<std::uint8_t>(rank)});
    return path;
}

std::optional<ReceivedJobMessage> RoundsTest::sent_back(const Ran &ran) {
    EXPECT_STREQ(verdict_name(ran.verdict), "XDP_TX");
    std::string why;
    auto received = parse_job_message(ran.bytes, &why);
    EXPECT_TRUE(received) << why << " " << hex(ran.bytes);
    return received;
}

JobMessage RoundsTest::sent_to(std::uint32_t rank, const Ran &ran, int family) {
    const auto received = sent_back(ran);
    if (!received)
        return {};
    // Exactly the way back: what a frame of that child's would be, turned round.
    const auto there = path_of(rank, family).carrying(JobMessage{}).bytes;
    const auto &here = received->frame;
    EXPECT_EQ(here.family, family);
    EXPECT_EQ(received->port, 41000 + rank);
    EXPECT_EQ(Bytes(here.bytes.begin(), here.bytes.begin() + 6),
              Bytes(there.begin() + 6, there.begin() + 12));
    const std::size_t width = family == 4 ? 4 : 16, at = family == 4 ? 12 : 8;
    const auto address = [&](const Bytes &bytes, std::size_t l3, std::size_t which) {
        const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(l3 + at + which * width);
        return Bytes(begin, begin + static_cast<std::ptrdiff_t>(width));
    };
    EXPECT_EQ(address(here.bytes, here.l3, 1), address(there, 14, 0));
    EXPECT_EQ(address(here.bytes, here.l3, 0), address(there, 14, 1));
    EXPECT_EQ(received->message.rank, rank);
    return received->message;
}

JobMessage RoundsTest::result(std::uint32_t rank, const std::vector<std::uint32_t> &from,
                              std::uint32_t chunk, std::uint32_t round) const {
    auto message = contribution(from.back(), chunk, round);
    message.type = OLAF_RESULT;
    message.rank = rank;
    message.count = static_cast<std::uint32_t>(from.size());
    message.pool = static_cast<std::uint8_t>(setup.pool);
    message.lanes = sum_of(from, chunk, round);
    for (const auto one : from) {
        const auto other = contribution(one, chunk, round);
        message.exponent = std::max(message.exponent, other.exponent);
        message.generated_ns = std::max(message.generated_ns, other.generated_ns);
    }
    return message;
}

olaf_job RoundsTest::job() const {
    return queue.read<olaf_job>("olaf_jobs", 0);
}

void RoundsTest::set_job(const olaf_job &value) {
    queue.write("olaf_jobs", 0, value);
}

olaf_round_slot RoundsTest::slot(std::uint32_t index) const {
    return queue.read<olaf_round_slot>("olaf_round_slots", index);
}

void RoundsTest::set_slot(std::uint32_t index, const olaf_round_slot &value) {
    queue.write("olaf_round_slots", index, value);
}

olaf_job_counters RoundsTest::counters() const {
    const auto cpus = static_cast<std::size_t>(libbpf_num_possible_cpus());
    std::vector<olaf_job_counters> each(cpus);
    const std::uint32_t key = 0;
    EXPECT_EQ(bpf_map_lookup_elem(queue.queue().map_fd("olaf_job_counters"), &key, each.data()), 0);
    olaf_job_counters sum{};
    auto *words = reinterpret_cast<std::uint64_t *>(&sum);
    for (const auto &one : each)
        for (std::size_t i = 0; i < sizeof sum / 8; i++)
            words[i] += reinterpret_cast<const std::uint64_t *>(&one)[i];
    return sum;
}

std::uint64_t RoundsTest::owed() const {
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < setup.slots; i++)
        for (const auto &buffer : slot(setup.first_slot + i).buffer)
            if (buffer.state == OLAF_ROUND_DONE)
                for (const auto word : buffer.owed.word)
                    bits += static_cast<std::uint64_t>(std::popcount(word));
    return bits;
}

} // namespace olaf::test
