// SPDX-License-Identifier: BSD-2-Clause
// The mean reward a server sees: a moving average over those of
// the last updates, and when it first reached the target.
#pragma once

#include <deque>
#include <optional>

namespace olaf::training {

class LearningCurve {
  public:
    explicit LearningCurve(float target, unsigned window = 20) : target_(target), window_(window) {}

    /// An update standing for `count` updates with this mean reward arrived.
    void add(double seconds, float mean_reward, unsigned count) {
        entries_.push_back({mean_reward, count});
        sum_ += static_cast<double>(mean_reward) * count;
        updates_ += count;
        while (updates_ - entries_.front().count >= window_)
            forget_oldest();
        if (!reached_ && updates_ >= window_ && mean() >= target_)
            reached_ = seconds;
    }

    /// 0 before the first update.
    [[nodiscard]] double mean() const {
        return updates_ == 0 ? 0 : sum_ / static_cast<double>(updates_);
    }

    /// When the mean of a full window first reached the target.
    [[nodiscard]] std::optional<double> reached() const { return reached_; }

  private:
    struct Entry {
        float mean_reward;
        unsigned count;
    };

    void forget_oldest() {
        const Entry oldest = entries_.front();
        entries_.pop_front();
        sum_ -= static_cast<double>(oldest.mean_reward) * oldest.count;
        updates_ -= oldest.count;
    }

    float target_;
    unsigned window_;
    std::deque<Entry> entries_;
    double sum_ = 0;
    unsigned updates_ = 0;
    std::optional<double> reached_;
};

} // namespace olaf::training
