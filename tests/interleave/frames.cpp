// SPDX-License-Identifier: BSD-2-Clause
#include "frames.hpp"

#include <arpa/inet.h>

#include <bit>
#include <cstring>
#include <map>

#include "../datapath/packet.hpp"

namespace olaf::interleave {
namespace {

constexpr std::size_t message_offset = 14 + 20 + 8;
constexpr unsigned apart = 20; // the second lane's bits, so that no sum of lanes is another's

test::Bytes make_update(unsigned update, std::uint32_t cluster) {
    test::Update message;
    message.cluster = cluster;
    message.worker = update;
    message.sequence = update + 1;
    message.generated_ns = 1'000 + update;
    message.format = OLAF_FORMAT_I64X1;
    message.lanes = {1ull << update, 1ull << (update + apart)};
    return test::ipv4().target(static_cast<std::uint8_t>(server_of(cluster))).carrying(message).bytes;
}

test::Bytes make_ack(unsigned update, std::uint32_t cluster) {
    test::Ack message;
    message.cluster = cluster;
    message.worker = update;
    message.sequence = update + 1;
    message.generated_ns = 1'000 + update;
    return test::ipv4()
        .back()
        .source(static_cast<std::uint8_t>(server_of(cluster)))
        .target(1)
        .source_port(OLAF_DEFAULT_PORT)
        .port(40000)
        .without_udp_checksum()
        .carrying(message)
        .bytes;
}

template <class Make>
std::span<const std::uint8_t> made_once(std::map<std::pair<unsigned, std::uint32_t>, test::Bytes> &all,
                                        unsigned update, std::uint32_t cluster, Make make) {
    auto &bytes = all[{update, cluster}];
    if (bytes.empty())
        bytes = make(update, cluster);
    return bytes;
}

} // namespace

std::span<const std::uint8_t> update_frame(unsigned update, std::uint32_t cluster) {
    static std::map<std::pair<unsigned, std::uint32_t>, test::Bytes> all;
    return made_once(all, update, cluster, make_update);
}

std::span<const std::uint8_t> damaged_frame(unsigned update, std::uint32_t cluster) {
    static std::map<std::pair<unsigned, std::uint32_t>, test::Bytes> all;
    return made_once(all, update, cluster, [](auto of, auto in) {
        auto bytes = make_update(of, in);
        bytes[message_offset + sizeof(olaf_header) + 5] ^= 1;
        return bytes;
    });
}

std::span<const std::uint8_t> ack_frame(unsigned update, std::uint32_t cluster) {
    static std::map<std::pair<unsigned, std::uint32_t>, test::Bytes> all;
    return made_once(all, update, cluster, make_ack);
}

bool is_update(std::span<const std::uint8_t> frame) {
    return frame.size() == message_offset + sizeof(olaf_header) + 3 * sizeof(std::uint64_t);
}

Departed read_departed(std::span<const std::uint8_t> frame) {
    olaf_header header;
    std::uint64_t lanes[3];
    std::memcpy(&header, frame.data() + message_offset, sizeof(header));
    std::memcpy(lanes, frame.data() + message_offset + sizeof(header), sizeof(lanes));
    const std::uint32_t count = ntohl(header.count_be);
    return {count, lanes[0],
            lanes[1] == lanes[0] << apart && lanes[2] == lanes[0] + 3 * lanes[1] &&
                count == static_cast<std::uint32_t>(std::popcount(lanes[0]))};
}

} // namespace olaf::interleave
