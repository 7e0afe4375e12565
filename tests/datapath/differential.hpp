// SPDX-License-Identifier: BSD-2-Clause
// The kernel's queue and the model of it, side by side: the same frames into both.
#pragma once

#include <functional>
#include <map>
#include <random>

#include "harness.hpp"
#include "listener.hpp"
#include "tests/model/model.hpp"

namespace olaf::test {

/// An update as the model takes it.
model::Update to_model(const Update &update, const Frame &frame);

/// What one arrival should do to the frame that brought it.
struct Expected {
    std::uint32_t verdict = 0;
    Bytes bytes; ///< of the frame afterwards, when it goes anywhere
    model::Action action{};
    std::optional<model::Update> departure; ///< that left in it, or passed
};

class Differential {
  public:
    explicit Differential(const DatapathConfig &config);

    void set_rule(std::uint32_t cluster, const olaf_rule &rule);

    /// One arrival, on a busy or a free link, with a token under way or overdue, `linear` bytes of it
    /// in its first buffer (0: as much as fits). Returns what differs between kernel and model, empty
    /// when nothing does.
    std::string step(const Update &update, const Frame &frame, bool link_free, bool token_late,
                     std::size_t linear = 0);

    /// Ticks of the drain until nothing waits. Returns what differs.
    std::string drain();

    /// Compares every counter, entry and place, and the identities.
    [[nodiscard]] std::string compare_state();

    [[nodiscard]] const std::map<std::string, std::uint64_t> &coverage() const { return seen_; }
    [[nodiscard]] const model::Queue &model() const { return model_; }
    [[nodiscard]] const Harness &kernel() const { return kernel_; }

  private:
    Expected expect(const Update &update, const Frame &frame, bool token_late, std::size_t linear);
    void check_told(std::ostream &out, const Update &update, const Frame &frame, const Ran &ran,
                    const Expected &expected);
    void check_times(std::ostream &out, const Waiting &kernel, const model::Update &model);
    [[nodiscard]] Bytes token(const Frame &frame, std::uint32_t generation) const;

    Harness kernel_;
    Listener listener_{kernel_};
    model::Queue model_;
    std::uint32_t generation_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t newest_ns_ = 0;                     ///< of all arrivals so far, by the kernel's clock
    std::map<std::uint64_t, std::uint64_t> arrived_; ///< when a step's update arrived, by that clock
    std::map<std::string, std::uint64_t> seen_; ///< how often each thing happened
};

} // namespace olaf::test
