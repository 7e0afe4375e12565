// SPDX-License-Identifier: BSD-2-Clause
#include "device_pin.hpp"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>

#include "fd.hpp"
#include "olaf/rounds.h"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr std::uint32_t only = 0; ///< the key of the one entry

Result<void> put_device(const Fd &map, const char *name, std::uint32_t key, std::uint32_t ifindex) {
    if (bpf_map_update_elem(map.get(), &key, &ifindex, BPF_ANY) == 0)
        return {};
    return fail("write map", name, errno,
                errno == EINVAL ? "its device has gone meanwhile: try again" : "");
}

/// A new map of so many devices, one of which is in it. It is pinned last: no pin is ever empty because
/// a command was killed.
Result<void> pin_map(const PinPlace &place, const char *name, std::uint32_t entries, std::uint32_t key,
                     std::uint32_t ifindex) {
    const Fd map(bpf_map_create(BPF_MAP_TYPE_DEVMAP, name, sizeof key, sizeof ifindex, entries, nullptr));
    if (!map)
        return fail("create map", name, errno, errno == EPERM ? "run as root" : "");
    OLAF_TRY(put_device(map, name, key, ifindex));
    if (bpf_obj_pin(map.get(), place.path(name).c_str()) != 0)
        return fail("pin map", place.path(name), errno);
    return {};
}

} // namespace

Presence device_presence(const PinPlace &place) {
    const Fd map(get_pin(place.path(pin::device), BPF_F_RDONLY));
    if (!map)
        return Presence::unknown;
    std::uint32_t ifindex = 0;
    if (bpf_map_lookup_elem(map.get(), &only, &ifindex) == 0)
        return Presence::there;
    return errno == ENOENT ? Presence::gone : Presence::unknown;
}

Result<void> pin_device(const PinPlace &place) {
    if (device_presence(place) == Presence::there)
        return {};
    const auto path = place.path(pin::device);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) // another device had this index
        return fail("unlink", path, errno);
    return pin_map(place, pin::device, 1, only, place.ifindex);
}

Result<void> pin_parents_device(const PinPlace &place, std::uint32_t job_index, std::uint32_t ifindex) {
    const Fd there(get_pin(place.path(pin::parents), 0));
    return there ? put_device(there, pin::parents, job_index, ifindex)
                 : pin_map(place, pin::parents, OLAF_MAX_JOBS, job_index, ifindex);
}

bool is_parents_device(const PinPlace &place, std::uint32_t job_index, std::uint32_t ifindex) {
    const Fd map(get_pin(place.path(pin::parents), BPF_F_RDONLY));
    std::uint32_t pinned = 0;
    return map && bpf_map_lookup_elem(map.get(), &job_index, &pinned) == 0 && pinned == ifindex;
}

} // namespace olaf
