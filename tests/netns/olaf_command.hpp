// SPDX-License-Identifier: BSD-2-Clause
// The command `olaf` on one device of one namespace, and what its status says.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "netns.hpp"
#include "process.hpp"

namespace olaf::test {

/// One answer of `olaf status DEV --json`.
struct Status {
    nlohmann::json json;

    /// A counter.
    [[nodiscard]] std::uint64_t operator[](const char *name) const {
        return json.at("counters").at(name).get<std::uint64_t>();
    }
    [[nodiscard]] std::uint64_t queue(const char *name) const {
        return json.at("queue").at(name).get<std::uint64_t>();
    }
    [[nodiscard]] std::uint64_t drain(const char *name) const {
        return json.at("drain").at(name).get<std::uint64_t>();
    }
    /// A card has none.
    [[nodiscard]] bool token_alive() const {
        const auto &drain = json.at("drain");
        return drain.is_object() && drain.at("circulating") == true;
    }
    [[nodiscard]] std::uint64_t dropped() const {
        return (*this)["dropped_full"] + (*this)["dropped_reward"] + (*this)["dropped_sealed"] +
               (*this)["dropped_misfit"];
    }
    /// Departures that no frame could carry, or that the output refused to the drain.
    [[nodiscard]] std::uint64_t failed() const {
        return counted("departures_failed", "unfit") + counted("lost_behind", "drain_send");
    }
    /// Updates that were lost behind the queue, wherever that was.
    [[nodiscard]] std::uint64_t lost_behind() const {
        std::uint64_t sum = 0;
        for (const auto &[place, updates] : json.at("lost_behind_updates").items())
            sum += updates.is_null() ? 0 : updates.get<std::uint64_t>();
        return sum;
    }
    /// A counter of a group; 0 where it is null, for a card can't count it.
    [[nodiscard]] std::uint64_t counted(const char *group, const char *name) const {
        const auto &found = json.at(group);
        return found.is_object() && found.at(name).is_number() ? found.at(name).get<std::uint64_t>() : 0;
    }
};

class OlafCommand {
  public:
    OlafCommand(const Netns &netns, std::string device);
    /// Detaches what is still attached.
    ~OlafCommand();

    /// olaf --netns NAME ARGUMENTS
    [[nodiscard]] std::vector<std::string> command(std::vector<std::string> arguments) const;
    Outcome operator()(std::vector<std::string> arguments) const {
        return run(command(std::move(arguments)));
    }

    /// The same where the kernel seems to tell no layouts (BTF).
    [[nodiscard]] Outcome without_btf(const std::string &arguments) const;

    /// Each throws with the command's own words if it fails.
    void attach(std::vector<std::string> arguments);
    void replace(std::vector<std::string> arguments = {}) const;
    void cluster(std::vector<std::string> arguments) const; ///< set, remove
    void detach();
    [[nodiscard]] Status status() const;

    /// Asks until the answer satisfies; throws WaitRanOut with the last answer.
    Status await(const std::function<bool(const Status &)> &satisfied) const;
    /// Until that many updates were received and none waits.
    Status await_drained(std::uint64_t received) const;

    [[nodiscard]] const std::string &device() const { return device_; }
    [[nodiscard]] bool attached() const { return attached_; }

  private:
    void must(std::vector<std::string> arguments) const;
    const Netns &netns_;
    std::string device_;
    bool attached_ = false;
};

/// What cli.md promises of a status with no packet in flight.
void expect_identities(const Status &status);

} // namespace olaf::test
