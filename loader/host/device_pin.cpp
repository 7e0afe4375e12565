// SPDX-License-Identifier: BSD-2-Clause
#include "device_pin.hpp"

#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>

#include "fd.hpp"

namespace olaf {
namespace {

constexpr std::uint32_t only = 0; ///< the key of the one entry

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
    const Fd map(bpf_map_create(BPF_MAP_TYPE_DEVMAP, pin::device, sizeof only, sizeof place.ifindex, 1,
                                nullptr));
    if (!map)
        return fail("create map", pin::device, errno, errno == EPERM ? "run as root" : "");
    if (bpf_map_update_elem(map.get(), &only, &place.ifindex, BPF_ANY) != 0)
        return fail("write map", pin::device, errno,
                    errno == EINVAL ? "its device has gone meanwhile: try again" : "");
    if (bpf_obj_pin(map.get(), path.c_str()) != 0)
        return fail("pin map", path, errno);
    return {};
}

} // namespace olaf
