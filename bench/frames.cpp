// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <endian.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include "frames.hpp"

namespace olaf::bench {

namespace {

template <class T> void append(Frame &frame, const T &value) {
    const auto size = frame.size();
    frame.resize(size + sizeof(value));
    std::memcpy(&frame[size], &value, sizeof(value));
}

std::uint16_t ip_checksum(const iphdr &ip) {
    std::array<std::uint16_t, sizeof(iphdr) / 2> words{};
    std::memcpy(words.data(), &ip, sizeof(ip));
    std::uint32_t sum = 0;
    for (const auto word : words)
        sum += word;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

Frame l2_to_l4(const Addresses &addresses, std::uint16_t port, std::size_t udp_payload) {
    Frame frame;
    ethhdr eth{};
    std::memcpy(eth.h_dest, addresses.destination.data(), ETH_ALEN);
    std::memcpy(eth.h_source, addresses.source.data(), ETH_ALEN);
    eth.h_proto = htons(ETH_P_IP);
    append(frame, eth);

    iphdr ip{};
    ip.version = 4;
    ip.ihl = 5;
    ip.ttl = 64;
    ip.protocol = IPPROTO_UDP;
    ip.tot_len = htons(static_cast<std::uint16_t>(sizeof(iphdr) + sizeof(udphdr) + udp_payload));
    std::memcpy(&ip.saddr, addresses.source_ip.data(), 4);
    std::memcpy(&ip.daddr, addresses.destination_ip.data(), 4);
    ip.check = ip_checksum(ip);
    append(frame, ip);

    udphdr udp{}; // no checksum, as the queue itself sends over IPv4
    udp.source = htons(40000);
    udp.dest = htons(port);
    udp.len = htons(static_cast<std::uint16_t>(sizeof(udphdr) + udp_payload));
    append(frame, udp);
    return frame;
}

void append_lanes(Frame &frame, std::uint32_t cluster, std::uint32_t lanes, bool narrow = false) {
    append(frame, htole64(bench_lane_of(narrow, 0) + cluster));
    for (std::uint32_t lane = 1; lane < lanes - 1; ++lane)
        append(frame, htole64(bench_lane_of(narrow, lane)));
    append(frame, htole64(checksum(lanes, narrow) + cluster));
}

} // namespace

std::uint64_t checksum(std::uint32_t lanes, bool narrow) {
    std::uint64_t sum = 0;
    for (std::uint32_t lane = 0; lane < lanes - 1; ++lane)
        sum += (2 * lane + 1) * bench_lane_of(narrow, lane);
    return sum;
}

Frame olaf_frame(std::uint32_t cluster, std::uint32_t worker, std::uint32_t lanes,
                 const Addresses &addresses, bool narrow) {
    Frame frame = l2_to_l4(addresses, OLAF_DEFAULT_PORT, sizeof(olaf_header) + lanes * 8ul);
    olaf_header header{};
    header.magic_be = htons(OLAF_MAGIC);
    header.version = OLAF_VERSION;
    header.type = OLAF_UPDATE;
    const auto format = narrow ? OLAF_FORMAT_I16X4 : OLAF_FORMAT_I32X2;
    header.flags_be =
        htons(static_cast<std::uint16_t>(OLAF_FLAG_CHECKSUM | format << OLAF_FLAG_FORMAT_SHIFT));
    header.lanes_be = htons(static_cast<std::uint16_t>(lanes));
    header.cluster_be = htonl(cluster);
    header.worker_be = htonl(worker);
    header.count_be = htonl(1);
    header.generated_ns_be = htobe64(1'000'000'000);
    header.reward_be = htobe64(10 << OLAF_REWARD_FRACTION_BITS);
    header.model_version_be = htonl(1);
    header.segments_be = htons(1);
    append(frame, header);
    append_lanes(frame, cluster, lanes, narrow);
    return frame;
}

Frame with_udp_checksum(Frame frame) {
    constexpr std::size_t l3 = sizeof(ethhdr), l4 = l3 + sizeof(iphdr);
    auto *udp = reinterpret_cast<udphdr *>(&frame[l4]);
    std::uint64_t sum = htons(IPPROTO_UDP) + udp->len;
    for (std::size_t at = l4 - 8; at < frame.size(); at += 2) { // from the addresses on
        std::uint16_t word = 0;
        std::memcpy(&word, &frame[at], 2);
        sum += word;
    }
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    udp->check = static_cast<std::uint16_t>(~sum);
    return frame;
}

Frame xagg_frame(std::uint32_t idx, std::uint32_t id, std::uint32_t lanes,
                 const Addresses &addresses) {
    Frame frame = l2_to_l4(addresses, BENCH_XAGG_PORT, sizeof(xagg_header) + lanes * 8ul);
    append(frame, xagg_header{.id = id, .idx = idx, .sent_ns = 0});
    append_lanes(frame, idx, lanes);
    return frame;
}

Frame contribution_frame(std::uint32_t job, std::uint32_t generation, std::uint32_t chunks,
                         std::uint16_t shape) {
    Frame frame = olaf_frame(0, 0);
    auto *header = reinterpret_cast<olaf_header *>(&frame[BENCH_L4_END]);
    header->version = OLAF_ROUNDS_VERSION;
    header->type = OLAF_CONTRIBUTION;
    header->flags_be = htons(shape);
    header->cluster_be = htonl(job);
    header->chunk_be = 0;
    header->chunks_be = htonl(chunks);
    header->generation_be = htonl(generation);
    header->exponent_be = 0;
    header->pool = 0;
    header->check = 0;
    std::array<__u64, OLAF_HEADER_WORDS> words;
    std::memcpy(words.data(), header, sizeof(*header));
    header->check = olaf_header_parity(words.data());
    return frame;
}

bench_config config_for(bool xagg, std::uint32_t clusters, std::uint32_t workers,
                        std::uint32_t lanes, bool narrow) {
    return {.xagg = xagg,
            .stamped = false,
            .narrow = narrow,
            .shuffled = false,
            .clusters = clusters,
            .workers = workers,
            .checksum = checksum(lanes, narrow),
            .lanes = lanes,
            .first = 0,
            .stride = clusters > 1 ? 1u : 0u,
            .interval_ns = 0};
}

} // namespace olaf::bench
