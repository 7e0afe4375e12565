// SPDX-License-Identifier: BSD-2-Clause
// The card's registers as a file that other processes map, in the place of a PCI device's BAR.
//
// Nobody is told of a store to a mapped file. So the file is an image, and FENCE is what is watched: once
// its number is another, all words that aren't as they were left are written to the model, in the order
// that olaf/registers.h promises, and the image is renewed. FENCED is its last word to be. Between two
// fences nothing changes but what others write.
//
// Who writes: other processes any word, this one all words, but only between a FENCE that it has seen and
// its FENCED, when the others wait. The load of FENCE and the store of FENCED order the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model.hpp"

namespace olaf::card {

class Registers {
  public:
    /// Makes the file, or takes the place of an olaf-card that has ended: the registers are the
    /// model's then, and MAGIC comes last. `meanwhile` is called every few registers, which take the
    /// model's time. Throws std::runtime_error, also if another process has the file.
    Registers(const std::string &file, Model &model, std::function<void()> meanwhile);
    /// All ones, as of a card that is gone.
    ~Registers();
    Registers(const Registers &) = delete;
    Registers &operator=(const Registers &) = delete;

    /// Does what was asked for by FENCE, if something was. Returns whether.
    ///
    /// Who overwrites MAGIC has pulled the card: the file is left alone from then on.
    bool serve();

  private:
    [[nodiscard]] std::uint32_t load(std::uint32_t offset) const;
    void store(std::uint32_t offset, std::uint32_t value);
    [[nodiscard]] bool changed(std::uint32_t offset) const;
    void apply(std::uint32_t offset);
    void apply_rules();
    bool order(std::uint32_t offset);
    void renew(std::uint32_t offset);
    void renew_counters(bool all);
    void renew_rule(std::uint32_t cluster);
    void renew_page();
    void breathe();

    Model &model_;
    std::function<void()> meanwhile_;
    unsigned accesses_ = 0;
    int fd_ = -1;
    volatile std::uint32_t *words_ = nullptr;
    std::vector<std::uint32_t> left_; ///< as this process left them
    std::uint32_t clusters_ = 0, slots_ = 0;
};

} // namespace olaf::card
