// SPDX-License-Identifier: BSD-2-Clause
// The objects of the table of programs, and how large the configuration makes each map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "olaf/queue.h"
#include "olaf/result.hpp"

struct bpf_object;

namespace olaf {

// How large each map of the queue is, as its configuration says.

/// A map that the objects share by name. A size of 0 stays as the object has it: `value_size` is 0 where
/// the loader neither sizes values nor reads them.
struct MapSize {
    const char *name;
    std::uint32_t max_entries = 0;
    std::uint32_t value_size = 0;
    const char *decided_by = nullptr; ///< the options that decide the size
};

/// Every shared map, with the size that the configuration says, or that of this olaf's struct.
std::vector<MapSize> map_sizes(const olaf_config &config);

/// Whether an existing map is as large as a program of this configuration takes it to be.
Result<void> check_size(const MapSize &want, int fd);

/// Whether the values of an existing map have this olaf's size: the kernel copies as many bytes as the map
/// says to and from the caller's struct.
Result<void> check_value_size(const MapSize &want, int fd);

/// The file of bpf/NAME.bpf.c as clang made it; empty if there is none.
std::span<const std::byte> object_file(std::string_view name);

/// Instructions of a program, all its functions included.
struct Growth {
    std::size_t brought = 0; ///< to the kernel
    std::size_t became = 0;  ///< when the verifier was done with it; 0: the kernel doesn't tell
};

/// Whether a program may have needed more pages while it was loaded than it was brought in. What
/// the kernel puts before the instructions in the first page, and how large pages are, differs by
/// kernel: so none more is allowed. Code that never runs goes before anything is put in, so the
/// program was at no time longer than at the beginning or at the end.
constexpr bool outgrows(const Growth &growth) {
    return growth.became == 0 || growth.became > growth.brought;
}

class Object {
  public:
    /// Reads the file; asks nothing of the kernel.
    static Result<Object> open(std::string_view name);

    Object(Object &&) noexcept;
    Object &operator=(Object &&) noexcept;
    ~Object();

    [[nodiscard]] bpf_object *get() const { return object_.get(); }
    [[nodiscard]] const std::string &name() const { return name_; }

    /// Before load: gives a constant its value, if the object has one of that name. Fails if that
    /// one is of another size.
    template <class T> [[nodiscard]] Result<void> set(std::string_view constant, const T &value) {
        return set(constant, &value, sizeof value);
    }
    /// Before load: every map gets the size that the configuration says.
    [[nodiscard]] Result<void> size_maps(const olaf_config &config);
    /// Before load: uses these maps instead of making its own. Where map_fd() answers -1, it makes
    /// its own.
    [[nodiscard]] Result<void> share_maps(const olaf_config &config,
                                          const std::function<int(const char *name)> &map_fd);
    [[nodiscard]] Result<void> load();

    /// After load: what the kernel made of the programs, in the order of the file.
    [[nodiscard]] std::vector<Growth> growths() const;
    /// Whether it may have moved one of them meanwhile.
    [[nodiscard]] bool has_outgrown() const { return std::ranges::any_of(growths(), outgrows); }

    [[nodiscard]] int program_fd(std::string_view name) const; ///< -1: none of that name
    [[nodiscard]] int map_fd(std::string_view name) const;     ///< -1: none of that name
    /// A variable's value now; 0 if there is none of that name.
    [[nodiscard]] std::uint64_t read_variable(std::string_view name) const;

  private:
    struct Close {
        void operator()(bpf_object *object) const;
    };
    Object(std::string name, bpf_object *object) : name_(std::move(name)), object_(object) {}
    Result<void> set(std::string_view constant, const void *value, std::size_t size);
    std::string name_;
    std::unique_ptr<bpf_object, Close> object_;
};

} // namespace olaf
