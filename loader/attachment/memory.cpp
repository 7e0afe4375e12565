// SPDX-License-Identifier: BSD-2-Clause
#include "memory.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "loader/datapath/map_sizes.hpp"

namespace olaf {
namespace {

/// A map's "memlock:" in its fdinfo; 0 for a program or a link.
std::uint64_t bytes_of(int fd) {
    std::ifstream file(fmt::format("/proc/self/fdinfo/{}", fd));
    bool map = false;
    std::uint64_t bytes = 0;
    for (std::string key; file >> key; file.ignore(4096, '\n')) {
        map |= key == "map_type:";
        if (key == "memlock:")
            file >> bytes;
    }
    return map ? bytes : 0;
}

} // namespace

std::uint64_t map_memory(const PinPlace &place) {
    std::uint64_t bytes = 0;
    std::error_code gone; // detached in between
    for (const auto &pin : std::filesystem::directory_iterator(place.path(), gone))
        if (const Fd fd(get_pin(pin.path(), BPF_F_RDONLY)); fd)
            bytes += bytes_of(fd.get());
    return bytes;
}

std::uint64_t map_memory(const Datapath &queue) {
    std::uint64_t bytes = 0;
    for (const auto &map : map_sizes({}))
        bytes += bytes_of(queue.map_fd(map.name));
    return bytes;
}

} // namespace olaf
