// SPDX-License-Identifier: BSD-2-Clause
// The maps' values, in one piece of memory, each of whose words is known by number.
//
// What a run writes can be taken back: a scenario is set up once and run many times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace olaf::interleave {

/// A map is an array, of the machine or one a CPU; or a set, of which it only counts whether a key is
/// in it; or a hash table with 4-byte values, whose keys are below `entries`.
struct MapShape {
    enum Kind { array, per_cpu, set, hash };
    std::string name;
    std::size_t value_bytes = 0;
    std::uint32_t entries = 1;
    Kind kind = array;
    bool (*has)(const void *key) = nullptr; ///< set
};

class Memory {
  public:
    /// Makes the maps anew, all zero.
    void lay_out(const std::vector<MapShape> &shapes);
    /// As a program finds it: NULL beyond the map's end. An unknown map is an error of the test.
    [[nodiscard]] void *lookup(const char *name, const void *key, unsigned cpu);
    /// A key's place in a hash table holds its value, and then whether the key is there.
    [[nodiscard]] bool is_hash(const char *name) { return find(name).shape.kind == MapShape::hash; }
    template <class Value> Value *at(const char *name, std::uint32_t key = 0, unsigned cpu = 0) {
        return static_cast<Value *>(lookup(name, &key, cpu));
    }
    [[nodiscard]] bool holds(const void *address) const {
        return static_cast<std::size_t>(static_cast<const char *>(address) - base()) < bytes_;
    }
    [[nodiscard]] std::uint32_t word_of(const void *address) const {
        return static_cast<std::uint32_t>((static_cast<const char *>(address) - base()) / 4);
    }
    [[nodiscard]] std::uint32_t words() const { return static_cast<std::uint32_t>(bytes_ / 4); }
    /// Where a word lies, for people: "olaf_slots[1]+12".
    [[nodiscard]] std::string name_of(std::uint32_t word) const;

    /// Something is about to be written, here or in a program's own data.
    void remember(void *address, std::size_t bytes);
    /// What stands now is where every run begins.
    void keep() { written_.clear(); }
    void take_back();

  private:
    struct Map {
        MapShape shape;
        std::size_t offset = 0, stride = 0;
    };
    struct Written {
        void *address;
        std::size_t bytes;
        std::uint64_t before;
    };
    [[nodiscard]] const char *base() const { return reinterpret_cast<const char *>(store_.data()); }
    [[nodiscard]] const Map &find(const char *name);

    std::vector<Map> maps_;
    std::vector<std::uint64_t> store_;
    std::size_t bytes_ = 0;
    std::vector<Written> written_;
    std::vector<std::pair<const char *, const Map *>> found_; // by the literal that names it
};

} // namespace olaf::interleave
