// SPDX-License-Identifier: BSD-2-Clause
// Frames for tests, built so that a test reads like a sentence:
//
//     ipv4().vlan(7).options(8).carrying(Update{.cluster = 3, .lanes = {1, 2}})
//     ipv6().hop_by_hop().carrying(ack({.cluster = 3}))
//     truncated(ipv4().carrying(Update{}), 60)
#pragma once

#include <array>
#include <optional>
#include <string>

#include "olaf/protocol.h"
#include "wire.hpp"

namespace olaf::test {

using Mac = std::array<std::uint8_t, 6>;

inline constexpr Mac server_mac = {2, 0, 0, 0, 0, 0x0b};
inline constexpr Mac worker_mac = {2, 0, 0, 0, 0, 0x0a};

/// An UPDATE, in host order. `lanes` are the data lanes: the checksum lane is added behind them.
struct Update {
    std::uint32_t cluster = 0;
    std::uint32_t worker = 1;
    std::uint32_t sequence = 1;
    std::uint32_t count = 1;
    std::uint64_t generated_ns = 1'000'000;
    std::int64_t reward = 0;
    std::uint32_t model_version = 1;
    std::uint16_t segment = 0;
    std::uint16_t segments = 1;
    olaf_format format = OLAF_FORMAT_I32X2;
    bool checksum = true;
    std::uint16_t extra_flags = 0; ///< OLAF_FLAG_AGGREGATED, or bits without a meaning
    std::vector<std::uint64_t> lanes = {1, 2, 3, 4};

    bool operator==(const Update &) const = default;

    [[nodiscard]] std::uint16_t wire_lanes() const {
        return static_cast<std::uint16_t>(lanes.size() + (checksum ? 1 : 0));
    }
    [[nodiscard]] std::uint16_t flags() const {
        return static_cast<std::uint16_t>(extra_flags | (checksum ? OLAF_FLAG_CHECKSUM : 0) |
                                          format << OLAF_FLAG_FORMAT_SHIFT);
    }
};

/// The server answers with these, in host order.
struct Ack {
    std::uint32_t cluster = 0;
    std::uint32_t worker = OLAF_EVERY_WORKER;
    std::uint32_t sequence = 1;
    std::uint64_t generated_ns = 1'000'000;
    std::uint32_t model_version = 1;
    std::vector<std::uint64_t> lanes = {};
    std::uint16_t state_flags = 0; ///< OLAF_FLAG_STAMPED, OLAF_FLAG_CONGESTED
    std::uint16_t active_clusters = 0;
    std::uint32_t queue_capacity = 0;
    std::uint32_t queue_length = 0;
    std::uint16_t segment = 0;
    std::uint16_t segments = 1;
    std::uint16_t pad = 0;

    bool operator==(const Ack &) const = default;
};

/// What a server answers to an update.
inline Ack ack_of(const Update &update) {
    return {.cluster = update.cluster,
            .worker = update.worker,
            .sequence = update.sequence,
            .generated_ns = update.generated_ns,
            .segment = update.segment,
            .segments = update.segments};
}

/// CONTRIBUTION, RESULT or CONTROL of a job, in host order. Lanes with their checksum lane.
struct JobMessage {
    olaf_message_type type = OLAF_CONTRIBUTION;
    std::uint16_t flags = OLAF_FLAG_CHECKSUM; ///< and the format
    std::uint32_t job = 7;
    std::uint32_t rank = 0;
    std::uint32_t round = 0;
    std::uint32_t count = 1; ///< CONTROL: the action
    std::uint64_t generated_ns = 1'000'000;
    std::uint32_t chunk = 0;
    std::uint32_t chunks = 100; ///< CONTROL: how many haven't asked
    std::uint32_t vector = 0;   ///< CONTRIBUTION, RESULT: workers << 16 | content
    std::uint32_t generation = 1;
    std::int16_t exponent = 0; ///< CONTROL: the status
    std::uint8_t pool = 0;
    std::vector<std::uint64_t> lanes = {};
    std::uint8_t check = 0; ///< 0: it is made right when sent, and was right when received

    bool operator==(const JobMessage &) const = default;
    /// Whether the content has half of count's place.
    [[nodiscard]] bool has_content() const {
        return type == OLAF_CONTRIBUTION || (type == OLAF_RESULT && !(flags & OLAF_FLAG_STALE));
    }
};

/// Σ (2i + 1) · lane_i mod 2^64.
std::uint64_t checksum_lane(std::span<const std::uint64_t> lanes);

/// The bytes behind UDP.
Bytes message(const Update &update);
Bytes message(const Ack &ack);
Bytes message(const JobMessage &message);
/// Makes the check of a job's message right, whose header begins there.
void seal(Bytes &message, std::size_t at = 0);
Bytes control_message();

/// A frame and where its layers begin.
struct Frame {
    Bytes bytes;
    std::size_t l3 = 0;
    std::size_t l4 = 0;
    std::size_t message = 0; ///< olaf_header
    int family = 4;

    [[nodiscard]] std::size_t size() const { return bytes.size(); }
};

/// L2 to L4 of a frame.
class Path {
  public:
    explicit Path(int family) : family_(family) {}

    Path &from(Mac mac) { return source_mac_ = mac, *this; }
    Path &to(Mac mac) { return target_mac_ = mac, *this; }
    Path &vlan(std::uint16_t id) { return tags_.push_back({0x8100, id}), *this; }
    Path &service_vlan(std::uint16_t id) { return tags_.push_back({0x88a8, id}), *this; }
    /// IPv4 options, a multiple of 4 up to 40 bytes: NOPs, and an end of list.
    Path &options(std::uint8_t bytes) { return options_ = bytes, *this; }
    Path &hop_by_hop(std::uint8_t bytes = 8) { return extensions_.push_back({0, bytes}), *this; }
    Path &routing(std::uint8_t bytes = 8) { return extensions_.push_back({43, bytes}), *this; }
    Path &destination_options(std::uint8_t bytes = 8) {
        return extensions_.push_back({60, bytes}), *this;
    }
    Path &source(std::uint8_t host) { return source_host_ = host, *this; }
    Path &target(std::uint8_t host) { return target_host_ = host, *this; }
    Path &port(std::uint16_t port) { return target_port_ = port, *this; }
    Path &source_port(std::uint16_t port) { return source_port_ = port, *this; }
    /// From the servers' network to the workers'.
    Path &back() { return back_ = true, *this; }
    /// Within the servers' network.
    Path &among_servers() { return among_servers_ = true, *this; }
    Path &ttl(std::uint8_t ttl) { return ttl_ = ttl, *this; }
    Path &id(std::uint16_t id) { return id_ = id, *this; }
    Path &tos(std::uint8_t tos) { return tos_ = tos, *this; }
    /// IPv4: send a zero UDP checksum.
    Path &without_udp_checksum() { return udp_checksum_ = false, *this; }

    [[nodiscard]] Frame carrying(const Bytes &payload) const;
    [[nodiscard]] Frame carrying(const Update &update) const { return carrying(message(update)); }
    [[nodiscard]] Frame carrying(const Ack &ack) const { return carrying(message(ack)); }
    [[nodiscard]] Frame carrying(const JobMessage &job) const { return carrying(message(job)); }

    [[nodiscard]] int family() const { return family_; }

  private:
    struct Tag {
        std::uint16_t ethertype, id;
    };
    struct Extension {
        std::uint8_t protocol, bytes;
    };
    [[nodiscard]] bool source_is_server() const { return back_ || among_servers_; }
    void put_ethernet(Bytes &out) const;
    void put_ipv4(Bytes &out, std::size_t udp_bytes) const;
    void put_ipv6(Bytes &out, std::size_t udp_bytes) const;

    int family_;
    Mac source_mac_ = worker_mac, target_mac_ = server_mac;
    std::vector<Tag> tags_;
    std::vector<Extension> extensions_;
    std::uint8_t options_ = 0, source_host_ = 1, target_host_ = 2, ttl_ = 64, tos_ = 0;
    std::uint16_t source_port_ = 40000, target_port_ = OLAF_DEFAULT_PORT, id_ = 0x1234;
    bool udp_checksum_ = true, back_ = false, among_servers_ = false;
};

inline Path ipv4() { return Path(4); }
inline Path ipv6() { return Path(6); }

/// The way back: from the server's port to a worker's.
inline Path answer(Path path) {
    return path.back().source(2).target(1).source_port(OLAF_DEFAULT_PORT).port(40000).from(
        server_mac).to(worker_mac);
}

// ---- damage, by name -------------------------------------------------------------------

Frame truncated(Frame frame, std::size_t bytes);
/// Writes a field and leaves every checksum as it was.
Frame with(Frame frame, std::size_t at, std::uint64_t value, int width);
/// Writes a field, then makes the IPv4 header checksum right again.
Frame with_ip(Frame frame, std::size_t at_in_l3, std::uint64_t value, int width);
/// Makes the checksums of IPv4 and UDP right again.
Frame summed(Frame frame);

// ---- reading what comes out --------------------------------------------------------------

/// A frame that holds a well-formed UPDATE for the default port, taken apart.
struct Received {
    Frame frame;
    Update update;
};

/// Nothing, and the reason in `why`, unless every length, checksum and field is right.
std::optional<Received> parse_update(Bytes bytes, std::string *why = nullptr);

/// A frame that holds a well-formed ACK from the default port, taken apart.
struct ReceivedAck {
    Frame frame;
    Ack ack;
};

std::optional<ReceivedAck> parse_ack(Bytes bytes, std::string *why = nullptr);

/// A frame that holds a well-formed message of a job from the default port, taken apart.
struct ReceivedJobMessage {
    Frame frame;
    JobMessage message;
    std::uint16_t port = 0; ///< UDP port that it goes to
};

std::optional<ReceivedJobMessage> parse_job_message(Bytes bytes, std::string *why = nullptr);

std::string hex(std::span<const std::uint8_t> bytes);

} // namespace olaf::test
