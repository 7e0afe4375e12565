// SPDX-License-Identifier: BSD-2-Clause
#include "memory.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <stdexcept>

#include "search.hpp"

namespace olaf::interleave {
namespace {
constexpr std::size_t literals = 1024; // a power of two
}

void Memory::lay_out(const std::vector<MapShape> &shapes) {
    maps_.clear();
    found_.assign(literals, {});
    bytes_ = 0;
    for (const auto &shape : shapes) {
        const std::size_t stride = (shape.value_bytes + 7) / 8 * 8;
        maps_.push_back({shape, bytes_, stride});
        bytes_ += stride * shape.entries * (shape.kind == MapShape::per_cpu ? most_cpus : 1);
    }
    store_.assign(bytes_ / 8, 0);
    written_.clear();
}

const Memory::Map &Memory::find(const char *name) {
    auto &[literal, map] = found_[reinterpret_cast<std::uintptr_t>(name) % literals];
    if (literal == name)
        return *map;
    const char *plain = name + (*name == '&');
    const auto it = std::ranges::find(maps_, plain, [](const Map &m) { return m.shape.name; });
    if (it == maps_.end())
        throw std::logic_error(std::string("contract.cpp knows no map ") + plain);
    literal = name;
    map = &*it;
    return *map;
}

void *Memory::lookup(const char *name, const void *key, unsigned cpu) {
    const Map &map = find(name);
    std::uint32_t index = 0;
    if (map.shape.kind != MapShape::set)
        std::memcpy(&index, key, sizeof(index));
    else if (!map.shape.has(key))
        return nullptr;
    if (index >= map.shape.entries)
        return nullptr;
    if (map.shape.kind == MapShape::per_cpu)
        index += cpu * map.shape.entries;
    return reinterpret_cast<char *>(store_.data()) + map.offset + index * map.stride;
}

std::string Memory::name_of(std::uint32_t word) const {
    const std::size_t offset = std::size_t{word} * 4;
    for (const auto &map : maps_ | std::views::reverse)
        if (offset >= map.offset) {
            const std::size_t inside = offset - map.offset;
            return map.shape.name + "[" + std::to_string(inside / map.stride) + "]+" +
                   std::to_string(inside % map.stride);
        }
    return "?";
}

void Memory::remember(void *address, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes; done += 8) {
        Written written{static_cast<char *>(address) + done, std::min<std::size_t>(bytes - done, 8), 0};
        std::memcpy(&written.before, written.address, written.bytes);
        written_.push_back(written);
    }
}

void Memory::take_back() {
    for (const auto &written : written_ | std::views::reverse)
        std::memcpy(written.address, &written.before, written.bytes);
    written_.clear();
}

} // namespace olaf::interleave
