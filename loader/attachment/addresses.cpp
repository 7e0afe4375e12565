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

std::vector<olaf_prefix> allowed_prefixes(int map_fd) {
    std::vector<olaf_prefix> found;
    olaf_prefix key{}, next{};
    for (int more = bpf_map_get_next_key(map_fd, nullptr, &next); more == 0;
         more = bpf_map_get_next_key(map_fd, &key, &next)) {
        key = next;
        found.push_back(key);
    }
    return found;
}

Result<void> allow(int map_fd, const std::vector<olaf_prefix> &prefixes, Undo *undo) {
    const auto before = allowed_prefixes(map_fd);
    for (const auto &prefix : prefixes) {
        const auto known = [&](const olaf_prefix &other) { return same(other, prefix); };
        if (std::ranges::any_of(before, known))
            continue;
        const std::uint32_t yes = 1;
        if (bpf_map_update_elem(map_fd, &prefix, &yes, BPF_ANY) != 0)
            return fail("allow", prefix_text(prefix), errno,
                        errno == ENOSPC ? "give fewer, wider prefixes" : "");
        if (undo != nullptr)
            undo->add([=] { bpf_map_delete_elem(map_fd, &prefix); });
    }
    return {};
}

Result<void> allow_only(int map_fd, const std::vector<olaf_prefix> &prefixes) {
    for (const auto &prefix : allowed_prefixes(map_fd)) {
        const auto kept = [&](const olaf_prefix &other) { return same(other, prefix); };
        if (std::ranges::none_of(prefixes, kept) && bpf_map_delete_elem(map_fd, &prefix) != 0 &&
            errno != ENOENT)
            return fail("refuse again", prefix_text(prefix), errno);
    }
    return {};
}

namespace {

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

template <class Key> Result<void> make_hold(int fd, const char *name, const std::vector<Key> &own) {
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

Result<OwnAddresses> told_addresses(int addresses_fd, int macs_fd) {
    auto addresses = OLAF_TRY(keys_of<olaf_own_address>(addresses_fd, "olaf_own"));
    auto macs = OLAF_TRY(keys_of<olaf_own_mac>(macs_fd, "olaf_own_macs"));
    return OwnAddresses{std::move(addresses), std::move(macs)};
}

Result<void> tell_addresses(int addresses_fd, int macs_fd, const OwnAddresses &own) {
    OLAF_TRY(make_hold(addresses_fd, "olaf_own", own.addresses));
    return make_hold(macs_fd, "olaf_own_macs", own.macs);
}

Result<void> refresh_addresses(int addresses_fd, int macs_fd, std::uint32_t ifindex) {
    const auto own = OLAF_TRY(host_addresses(ifindex));
    return tell_addresses(addresses_fd, macs_fd, own);
}

Result<void> refresh_addresses(const Attachment &attachment) {
    const auto lock = PinLock::existing(attachment.place);
    if (!lock)
        return {};
    const auto addresses = OLAF_TRY(open_map(attachment, "olaf_own"));
    const auto macs = OLAF_TRY(open_map(attachment, "olaf_own_macs"));
    return refresh_addresses(addresses.get(), macs.get(), attachment.place.ifindex);
}

Result<OwnDifference> own_difference(const Attachment &attachment) {
    const auto addresses = OLAF_TRY(open_map_to_read(attachment, "olaf_own"));
    const auto macs = OLAF_TRY(open_map_to_read(attachment, "olaf_own_macs"));
    const auto told = OLAF_TRY(told_addresses(addresses.get(), macs.get()));
    const auto host = OLAF_TRY(host_addresses(attachment.place.ifindex));
    OwnDifference difference;
    compare(host.addresses, told.addresses, difference);
    compare(host.macs, told.macs, difference);
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
