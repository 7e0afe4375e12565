// SPDX-License-Identifier: BSD-2-Clause
#include "addresses.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "loader/datapath/config.hpp"
#include "loader/text/address.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

bool same(const olaf_prefix &a, const olaf_prefix &b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

} // namespace

std::vector<olaf_prefix> allowed_prefixes(int fd) {
    std::vector<olaf_prefix> found;
    olaf_prefix key{}, next{};
    for (int more = bpf_map_get_next_key(fd, nullptr, &next); more == 0;
         more = bpf_map_get_next_key(fd, &key, &next)) {
        key = next;
        found.push_back(key);
    }
    return found;
}

Result<void> allow(int fd, const std::vector<olaf_prefix> &prefixes, Undo *undo) {
    const auto before = allowed_prefixes(fd);
    for (const auto &prefix : prefixes) {
        const auto known = [&](const olaf_prefix &other) { return same(other, prefix); };
        if (std::ranges::any_of(before, known))
            continue;
        const std::uint32_t yes = 1;
        if (bpf_map_update_elem(fd, &prefix, &yes, BPF_ANY) != 0)
            return fail("allow", prefix_text(prefix), errno,
                        errno == ENOSPC ? "give fewer, wider prefixes" : "");
        if (undo != nullptr)
            undo->add([=] { bpf_map_delete_elem(fd, &prefix); });
    }
    return {};
}

Result<void> allow_only(int fd, const std::vector<olaf_prefix> &prefixes) {
    for (const auto &prefix : allowed_prefixes(fd)) {
        const auto kept = [&](const olaf_prefix &other) { return same(other, prefix); };
        if (std::ranges::none_of(prefixes, kept) && bpf_map_delete_elem(fd, &prefix) != 0 &&
            errno != ENOENT)
            return fail("refuse again", prefix_text(prefix), errno);
    }
    return {};
}

namespace {

constexpr auto own_map = "olaf_own";
constexpr auto own_macs_map = "olaf_own_macs";

template <class Key> bool holds(const std::vector<Key> &keys, const Key &key) {
    return std::ranges::any_of(
        keys, [&](const Key &other) { return std::memcmp(&other, &key, sizeof key) == 0; });
}

std::string text(const olaf_own_address &own) {
    const bool mapped =
        own.words_be[0] == 0 && own.words_be[1] == 0 && own.words_be[2] == htonl(0xffff);
    IpAddress address{.family = mapped ? 4u : 6u};
    std::memcpy(address.words_be.data(), &own.words_be[mapped ? 3 : 0], mapped ? 4 : 16);
    return "address " + address_text(address);
}

std::string text(const olaf_own_mac &own) {
    const auto &m = own.mac;
    return fmt::format("MAC address {:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", m[0], m[1], m[2],
                       m[3], m[4], m[5]);
}

template <class Key> Result<std::vector<Key>> keys_of(int fd, const char *name) {
    std::vector<Key> keys;
    Key key{};
    int error = bpf_map_get_next_key(fd, nullptr, &key);
    while (error == 0) {
        keys.push_back(key);
        error = bpf_map_get_next_key(fd, &keys.back(), &key);
    }
    if (errno != ENOENT)
        return fail("read map", name, errno);
    return keys;
}

template <class Key> Result<void> set_keys(int fd, const char *name, const std::vector<Key> &own) {
    const auto before = OLAF_TRY(keys_of<Key>(fd, name));
    constexpr std::uint32_t yes = 1;
    for (const auto &key : own)
        if (!holds(before, key) && bpf_map_update_elem(fd, &key, &yes, BPF_ANY) != 0)
            return fail("tell the queue this host's", text(key), errno,
                        errno == E2BIG
                            ? fmt::format("a host with a queue may have {}", OLAF_MOST_OWN)
                            : "");
    for (const auto &key : before)
        if (!holds(own, key) && bpf_map_delete_elem(fd, &key) != 0 && errno != ENOENT)
            return fail("make the queue forget", text(key), errno);
    return {};
}

template <class Key>
void compare(const std::vector<Key> &host, const std::vector<Key> &told, OwnDifference &into) {
    for (const auto &key : host)
        if (!holds(told, key))
            into.unknown.push_back(text(key));
    for (const auto &key : told)
        if (!holds(host, key))
            into.gone.push_back(text(key));
}

} // namespace

Result<void> refresh_addresses(const Datapath &queue, std::uint32_t ifindex) {
    const auto own = OLAF_TRY(host_addresses(ifindex));
    OLAF_TRY(set_keys(queue.map_fd(own_map), own_map, own.addresses));
    return set_keys(queue.map_fd(own_macs_map), own_macs_map, own.macs);
}

Result<void> refresh_running(const Attachment &attachment) {
    const auto lock = PinLock::existing(attachment.place);
    if (!lock)
        return {};
    const auto addresses = OLAF_TRY(open_map(attachment, own_map));
    const auto macs = OLAF_TRY(open_map(attachment, own_macs_map));
    const auto own = OLAF_TRY(host_addresses(attachment.place.ifindex));
    OLAF_TRY(set_keys(addresses.get(), own_map, own.addresses));
    return set_keys(macs.get(), own_macs_map, own.macs);
}

Result<OwnDifference> own_difference(const Attachment &attachment) {
    const auto addresses = OLAF_TRY(open_map_to_read(attachment, own_map));
    const auto macs = OLAF_TRY(open_map_to_read(attachment, own_macs_map));
    const auto told = OLAF_TRY(keys_of<olaf_own_address>(addresses.get(), own_map));
    const auto told_macs = OLAF_TRY(keys_of<olaf_own_mac>(macs.get(), own_macs_map));
    const auto host = OLAF_TRY(host_addresses(attachment.place.ifindex));
    OwnDifference difference;
    compare(host.addresses, told, difference);
    compare(host.macs, told_macs, difference);
    return difference;
}

std::vector<std::string> own_notes(const OwnDifference &difference, const std::string &device) {
    std::vector<std::string> notes;
    notes.reserve(difference.unknown.size() + difference.gone.size());
    for (const auto &what : difference.unknown)
        notes.push_back(fmt::format("{} is new: olaf attach {} --replace takes it in; until then "
                                    "the queue takes it for another host's",
                                    what, device));
    for (const auto &what : difference.gone)
        notes.push_back(fmt::format("{} is gone: olaf attach {} --replace forgets it; until then "
                                    "the queue takes it for this host's",
                                    what, device));
    return notes;
}

} // namespace olaf
