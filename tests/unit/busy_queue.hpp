// SPDX-License-Identifier: BSD-2-Clause
// A queue's reading as tests make it: all counters 0, or each with a number of its own.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "loader/observe/reading.hpp"
#include "loader/observe/status_json.hpp"

namespace olaf::test {

inline std::string content(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A queue with a window, of one cluster, whose losses are watched; all counters are 0.
inline Reading quiet_queue() {
    Reading reading;
    reading.attachment.device = "in";
    reading.attachment.record.config.queue_capacity = 8;
    reading.attachment.record.config.window = 4;
    reading.snapshot.clusters.resize(1);
    reading.snapshot.window.emplace();
    reading.losses.emplace();
    return reading;
}

/// Adds to a counter, as if it had counted.
inline void count(Reading &reading, const Counter &counter, std::uint64_t times) {
    void *const structs[] = {&reading.snapshot.slots, &reading.snapshot.counters,
                             &reading.snapshot.acks,  &*reading.snapshot.window,
                             &*reading.losses,        &reading.snapshot.levels};
    const auto add = [&](void *start) {
        std::uint64_t value = 0;
        auto *at = static_cast<char *>(start) + counter.offset;
        std::memcpy(&value, at, sizeof value);
        value += times;
        std::memcpy(at, &value, sizeof value);
    };
    add(structs[static_cast<std::size_t>(counter.source)]);
    if (counter.source == Source::slots)
        add(&reading.snapshot.clusters[0]);
}

/// A queue in which every counter has a number of its own.
inline Reading busy_queue() {
    auto reading = quiet_queue();
    for (std::size_t i = 0; i < counters().size(); i++)
        count(reading, counters()[i], 1'000 + 7 * i);
    return reading;
}

inline nlohmann::ordered_json json_of(const Reading &reading) {
    return status_json(reading.attachment, reading, reading.host, true);
}

inline std::uint64_t in_json(const nlohmann::ordered_json &status, const Figure &figure) {
    const auto &object = figure.object.empty() ? status : status.at(std::string(figure.object));
    return object.at(std::string(figure.key)).get<std::uint64_t>();
}

} // namespace olaf::test
