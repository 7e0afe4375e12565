// SPDX-License-Identifier: BSD-2-Clause
#include "way_out.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <vector>

#include "loader/datapath/config.hpp"
#include "loader/datapath/snapshot.hpp"
#include "loader/host/device.hpp"
#include "loader/host/neighbour.hpp"
#include "loader/host/route.hpp"
#include "loader/text/address.hpp"

namespace olaf {
namespace {

constexpr std::uint32_t first_key = 0;

/// What the head of the queue holds, headers included; nothing if that can't be read.
std::optional<std::vector<std::uint64_t>> head_of(const Attachment &attachment) {
    const auto &config = attachment.record.config;
    const auto ring_map = open_map(attachment, "olaf_ring");
    const auto places_map = open_map(attachment, "olaf_places");
    const auto entries_map = open_map(attachment, "olaf_entries");
    if (!ring_map || !places_map || !entries_map)
        return {};
    const auto ring = read_ring(ring_map->get());
    std::vector<olaf_place> places(config.ring_places);
    if (!ring || ring->head == ring->tail ||
        bpf_map_lookup_elem(places_map->get(), &first_key, places.data()) != 0)
        return {};
    std::vector<std::uint64_t> entry((entry_bytes(config.max_lanes) + 7) / 8);
    const auto &place = places[ring->head % places.size()];
    if (bpf_map_lookup_elem(entries_map->get(), &place.entry, entry.data()) != 0)
        return {};
    return entry;
}

/// Destination address in the headers that wait.
IpAddress destination_of(const std::vector<std::uint64_t> &words) {
    const auto *entry = reinterpret_cast<const olaf_entry *>(words.data());
    const auto &pending = entry->pending;
    const std::size_t ip =
        OLAF_MAX_HEADERS - pending.header_bytes % OLAF_MAX_HEADERS + pending.l3_offset;
    IpAddress address{.family = pending.family, .words_be = {}};
    const std::size_t offset = ip + (pending.family == 4 ? 16 : 24);
    const std::size_t bytes = pending.family == 4 ? 4 : 16;
    if (offset + bytes <= OLAF_MAX_HEADERS)
        std::memcpy(address.words_be.data(), entry->headers + offset, bytes);
    return address;
}

/// Where the head goes on the network layer; nothing if it is bridged or stays here.
std::optional<IpAddress> routed_to(const Attachment &attachment) {
    const auto &config = attachment.record.config;
    if (config.deliver == OLAF_DELIVER_UPSTREAM) {
        IpAddress address{.family = config.upstream_family, .words_be = {}};
        std::ranges::copy(config.upstream_addr_be, address.words_be.begin());
        return address;
    }
    const auto head = head_of(attachment);
    if (config.deliver != OLAF_DELIVER_FORWARD || !head)
        return {};
    if (!reinterpret_cast<const olaf_entry *>(head->data())->pending.routed)
        return {};
    return destination_of(*head);
}

} // namespace

std::string output_obstacle(const Attachment &attachment) {
    const auto ifindex = attachment.record.config.egress_ifindex;
    if (attachment.record.config.deliver == OLAF_DELIVER_LOCAL)
        return {};
    return device_obstacle("the output device", ifindex);
}

std::string device_obstacle(const std::string &name, std::uint32_t ifindex) {
    const auto device = find_device(ifindex);
    if (!device)
        return name + " has gone";
    if (!device->up)
        return device->name + " is down";
    return device->carrier ? "" : device->name + " has no carrier";
}

std::string drain_obstacle(const Attachment &attachment) {
    const auto drain = attachment.record.drain(attachment.place.ifindex);
    for (const auto &[name, ifindex] :
         {std::pair{drain.a, drain.ifindex_a}, std::pair{drain.b, drain.ifindex_b}})
        if (const auto device = find_device(ifindex); !device || !device->up)
            return device_obstacle(name, ifindex);
    return "";
}

namespace {

/// That of this host's own parts.
std::string own_obstacle(const Attachment &attachment) {
    return attachment.alive ? drain_obstacle(attachment) : why_dead(attachment);
}

} // namespace

std::string obstacle(const Attachment &attachment) {
    if (const auto output = output_obstacle(attachment); !output.empty())
        return output;
    const auto address = routed_to(attachment);
    const auto device = find_device(attachment.record.config.egress_ifindex);
    if (!address || !device)
        return own_obstacle(attachment);
    const auto gateway = gateway_to(*address, device->ifindex);
    if (!gateway)
        return fmt::format("there is no route to {} by {}", address_text(*address), device->name);
    if (!neighbour_known(*gateway, device->ifindex))
        return fmt::format("the next hop {} doesn't answer on {}", address_text(*gateway),
                           device->name);
    return own_obstacle(attachment);
}

} // namespace olaf
