// SPDX-License-Identifier: BSD-2-Clause
// Loaded datapaths that the tests of one process borrow. To verify the programs takes longest of all
// that a test does, by far in an emulated kernel, so the next test of the same configuration gets them
// again, with every map as it was when they were loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "loader/datapath/datapath.hpp"
#include "loader/host/fd.hpp"

namespace olaf::test {

/// What a map held when its programs were loaded.
class MapImage {
  public:
    /// Of the map with this id. An image holds no descriptor: a queue has a hundred maps.
    explicit MapImage(std::uint32_t id);
    /// Throws std::system_error.
    void restore() const;

  private:
    void copy_array(const Fd &map);
    void copy_table(const Fd &map);
    void restore_table(const Fd &map) const;

    std::uint32_t id_;
    std::uint32_t type_ = 0, flags_ = 0, key_size_ = 0, value_size_ = 0, entries_ = 0;
    std::vector<std::uint8_t> keys_, values_; ///< one after the other
};

struct Loaded {
    Datapath queue;
    bool floats = false;
    std::vector<MapImage> images;
};

struct GiveBack {
    void operator()(Loaded *loaded) const;
};
using Loan = std::unique_ptr<Loaded, GiveBack>;

/// Throws std::runtime_error when it can't be loaded. `prepare` runs once, before the maps' contents are kept.
Loan borrow(const olaf_config &config, bool floats, const std::function<void(const Datapath &)> &prepare);

} // namespace olaf::test
