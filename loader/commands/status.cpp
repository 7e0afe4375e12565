// SPDX-License-Identifier: BSD-2-Clause
#include "commands.hpp"
#include "loader/attachment/memory.hpp"
#include "loader/attachment/own_addresses.hpp"
#include "loader/attachment/way_out.hpp"
#include "loader/host/host.hpp"

namespace olaf {
namespace {

Result<QueueStatus> read_status(Attachment attachment) {
    auto reading = read_queue(attachment);
    if (!reading)
        return std::unexpected(reading.error());
    auto own = own_difference(attachment);
    if (!own)
        return std::unexpected(own.error());
    HostState host{map_memory(attachment.place), std::move(*own), output_obstacle(attachment)};
    return QueueStatus{std::move(attachment), std::move(*reading), std::move(host)};
}

} // namespace

Result<QueueStatus> status(const std::string &device) {
    if (auto good = require_privileges("read the queue of", device); !good)
        return std::unexpected(good.error());
    auto attachment = find_attachment(device);
    if (!attachment)
        return std::unexpected(attachment.error());
    if (!attachment->record.complete)
        return std::unexpected(live_attachment(device).error());
    return read_status(std::move(*attachment));
}

Result<std::vector<QueueStatus>> status_of_all() {
    if (auto good = require_privileges("read", "the queues of this host"); !good)
        return std::unexpected(good.error());
    const auto all = attachments();
    if (!all)
        return std::unexpected(all.error());
    std::vector<QueueStatus> list;
    for (const auto &attachment : *all) {
        auto status =
            attachment.alive ? read_status(attachment) : QueueStatus{attachment, std::nullopt, {}};
        if (!status)
            return std::unexpected(status.error());
        list.push_back(std::move(*status));
    }
    return list;
}

} // namespace olaf
