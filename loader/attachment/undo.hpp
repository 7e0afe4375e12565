// SPDX-License-Identifier: BSD-2-Clause
// Steps to take back, last first, unless all went well.
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace olaf {

class Undo {
  public:
    Undo() = default;
    Undo(Undo &&) = delete;
    ~Undo() {
        while (!steps_.empty()) {
            auto step = std::move(steps_.back());
            steps_.pop_back();
            step();
        }
    }

    void add(std::function<void()> step) { steps_.push_back(std::move(step)); }
    void dismiss() { steps_.clear(); }
    /// Takes over what another would have taken back.
    void adopt(Undo &other) {
        for (auto &step : other.steps_)
            steps_.push_back(std::move(step));
        other.steps_.clear();
    }

  private:
    std::vector<std::function<void()>> steps_;
};

} // namespace olaf
