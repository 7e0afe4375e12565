// SPDX-License-Identifier: BSD-2-Clause
#include "scenario.hpp"

namespace olaf::interleave {
namespace {

class QueueTrial : public Trial {
  public:
    QueueTrial(const Scenario &scenario, const Programs &programs, const Programs &replacing)
        : scenario_(scenario), host_(scenario.config, programs, replacing) {}

    void begin() override {
        host_.power_on();
        for (std::uint32_t cluster = 0; cluster < scenario_.config.max_clusters; cluster++)
            host_.rule(cluster, OLAF_POLICY_AGGREGATE);
        scenario_.begin(host_);
        host_.keep();
    }
    void begin_again() override { host_.begin_again(); }
    std::vector<std::function<void()>> cpus() override {
        std::vector<std::function<void()>> result;
        for (const auto &act : scenario_.cpus)
            result.emplace_back([this, &act] { act(host_); });
        return result;
    }
    std::uint64_t settle() override { return host_.settle(scenario_.token_may_be_lost); }

  private:
    const Scenario &scenario_;
    Host host_;
};

} // namespace

Report explore(const Scenario &scenario, const Programs &programs, const Programs &replacing,
               std::uint64_t most) {
    QueueTrial trial(scenario, programs, replacing);
    return explore(trial, scenario.preemptions, most);
}

} // namespace olaf::interleave
