// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/memory.hpp"
#include "loader/attachment/own_addresses.hpp"
#include "loader/attachment/way_out.hpp"
#include "loader/host/host.hpp"
#include "loader/observe/status_json.hpp"
#include "loader/observe/status_text.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

/// Everything about one queue.
struct Status {
    QueueReading reading;
    HostState host;
};

Result<Status> read_status(const Attachment &attachment) {
    auto reading = read_queue(attachment);
    if (!reading)
        return std::unexpected(reading.error());
    auto own = own_difference(attachment);
    if (!own)
        return std::unexpected(own.error());
    return Status{std::move(*reading),
                  {map_memory(attachment.place), std::move(*own), output_obstacle(attachment)}};
}

Json json_of(const Attachment &attachment, const Status &status, bool clusters) {
    auto json = status_json(attachment, status.reading, clusters);
    json["memory_bytes"] = status.host.memory_bytes;
    json["own_addresses"] = {{"unknown", status.host.own.unknown}, {"gone", status.host.own.gone}};
    return json;
}

std::string text_of(const Attachment &attachment, const Status &status, bool clusters) {
    return status_text(attachment, status.reading, status.host, clusters);
}

Result<void> print_one(const StatusOptions &options, bool as_json) {
    const auto attachment = find_attachment(options.device);
    if (!attachment)
        return std::unexpected(attachment.error());
    if (!attachment->record.complete)
        return std::unexpected(live_attachment(options.device).error());
    const auto status = read_status(*attachment);
    if (!status)
        return std::unexpected(status.error());
    fmt::print("{}", as_json ? json_of(*attachment, *status, options.clusters).dump(2) + "\n"
                             : text_of(*attachment, *status, options.clusters));
    if (!attachment->alive) // the counters are right all the same
        return std::unexpected(live_attachment(options.device).error());
    return {};
}

Result<void> print_all(const StatusOptions &options, bool as_json) {
    const auto all = attachments();
    if (!all)
        return std::unexpected(all.error());
    Json list = Json::array();
    for (const auto &attachment : *all) {
        if (!attachment.alive) {
            list.push_back({{"device", attachment.device}});
            if (!as_json)
                fmt::print("{}: a leftover; olaf detach {} removes it\n", attachment.device,
                           attachment.device);
            continue;
        }
        const auto status = read_status(attachment);
        if (!status)
            return std::unexpected(status.error());
        if (as_json)
            list.push_back(json_of(attachment, *status, options.clusters));
        else
            fmt::print("{}", text_of(attachment, *status, options.clusters));
    }
    if (as_json)
        fmt::print("{}\n", list.dump(2));
    else if (all->empty())
        fmt::print(stderr, "no queue is attached in this network namespace\n");
    return {};
}

} // namespace

Result<void> status(const StatusOptions &options, const GlobalOptions &global) {
    if (auto good = require_privileges("read the queue of", options.device); !good)
        return good;
    return options.device.empty() ? print_all(options, global.json)
                                  : print_one(options, global.json);
}

} // namespace olaf
