// SPDX-License-Identifier: BSD-2-Clause
#include "queues.hpp"

#include <algorithm>
#include <cerrno>

#include "live_json.hpp"
#include "metrics.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

using namespace std::chrono_literals;

/// Rates over less than this are noise; a page asks once a second.
constexpr auto shortest = 500ms;
/// A look as old as this was somebody else's, long ago: its rates would be of no use.
constexpr auto longest = 10s;

} // namespace

Result<std::vector<Attachment>> Queues::attached() const {
    auto all = OLAF_TRY(attachments());
    std::erase_if(all, [&](const Attachment &attachment) {
        return !attachment.alive || !attachment.record.complete ||
               (!devices_.empty() &&
                std::ranges::find(devices_, attachment.device) == devices_.end());
    });
    return all;
}

Result<std::vector<Reading>> Queues::read() {
    const auto found = OLAF_TRY(attached());
    std::vector<Reading> readings;
    for (const auto &attachment : found) {
        auto reading = QueueReader(attachment).read_even_lost();
        if (reading)
            readings.push_back(std::move(*reading));
        else if (reading.error().code != ENOENT) // detached just now
            return std::unexpected(reading.error());
    }
    return readings;
}

const Queues::Look &Queues::look(const std::string &key, Reading reading) {
    const auto now = Clock::now();
    const auto [found, fresh] = looks_.try_emplace(key, Look{reading, reading, now});
    auto &look = found->second;
    if (!fresh && now - look.taken >= shortest) {
        look.earlier = now - look.taken > longest ? reading : std::move(look.latest);
        look.latest = std::move(reading);
        look.taken = now;
    }
    return look;
}

Result<nlohmann::ordered_json> Queues::live() {
    const std::scoped_lock lock(mutex_); // before reading: a later look holds later figures
    auto readings = OLAF_TRY(read());
    auto list = nlohmann::ordered_json::array();
    std::map<std::string, Look> kept;
    for (auto &reading : readings) {
        const auto key = reading.identity;
        const auto &now = look(key, std::move(reading));
        list.push_back(live_json(now.latest, rows_between(now.earlier, now.latest)));
        kept.insert(looks_.extract(key));
    }
    looks_ = std::move(kept); // without those that have gone
    return list;
}

Result<std::string> Queues::metrics() {
    const std::scoped_lock lock(mutex_);
    const auto readings = OLAF_TRY(read());
    shown_.choose(readings);
    return olaf::metrics(readings, shown_);
}

} // namespace olaf
