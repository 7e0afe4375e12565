// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <cerrno>
#include <set>

#include "commands.hpp"
#include "loader/host/host.hpp"
#include "loader/host/netns.hpp"
#include "loader/host/notes.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

Result<QueueStatus> read_status(Attachment attachment) {
    auto reading = OLAF_TRY(read_queue(attachment));
    auto host = OLAF_TRY(read_host_state(attachment));
    return QueueStatus{std::move(attachment), std::move(reading), std::move(host)};
}

/// Only that it is there, and why it is dead.
QueueStatus leftover(const Attachment &attachment) {
    HostState host;
    host.dead = attachment.record.complete ? why_dead(attachment) : "an attach or detach was interrupted";
    return {attachment, std::nullopt, std::move(host)};
}

/// Whether it was detached, or is being attached or detached by somebody else just now.
bool is_changing(const Attachment &attachment) {
    const auto now = read_attachment(attachment.place);
    return !now.alive || !now.record.complete;
}

/// The queues of the namespace that this thread visits. One that can't be read is noted: it hides
/// no other.
Result<std::vector<QueueStatus>> status_of_visited(const std::string &netns) {
    const auto found = OLAF_TRY(attachments());
    std::vector<QueueStatus> queues;
    for (const auto &attachment : found) {
        auto status = attachment.alive && attachment.record.complete
                          ? read_status(attachment)
                          : Result<QueueStatus>(leftover(attachment));
        if (status)
            queues.push_back(std::move(*status));
        else if (!is_changing(attachment))
            note(fmt::format("network namespace {}: {}", netns, status.error().message()));
    }
    return queues;
}

} // namespace

QueueVerdict QueueStatus::verdict() const {
    return judge(attachment, reading.value_or(QueueReading{}), host);
}

Result<QueueStatus> status(const std::string &device) {
    OLAF_TRY(require_privileges("read the queue of", device));
    auto attachment = OLAF_TRY(find_attachment(device));
    if (!attachment.record.complete)
        return std::unexpected(live_attachment(device).error());
    return read_status(std::move(attachment));
}

Result<std::vector<QueueStatus>> status_of_all() {
    OLAF_TRY(require_privileges("read", "the queues of this host"));
    const auto all = OLAF_TRY(attachments());
    std::vector<QueueStatus> list;
    for (const auto &attachment : all) {
        auto status = OLAF_TRY(attachment.alive ? read_status(attachment) : leftover(attachment));
        list.push_back(std::move(status));
    }
    return list;
}

Result<std::vector<NamespaceStatus>> status_everywhere() {
    OLAF_TRY(require_privileges_to_change("look for queues in", "every network namespace"));
    std::set<std::uint64_t> with_queues;
    const auto places = OLAF_TRY(pinned_places());
    for (const auto &place : places)
        with_queues.insert(place.netns);
    std::vector<NamespaceStatus> all;
    for (const auto &netns : known_netns()) {
        if (with_queues.erase(netns.inode) == 0)
            continue;
        const auto visit = NetnsVisit::enter(netns);
        auto queues = visit ? status_of_visited(netns.name)
                            : Result<std::vector<QueueStatus>>(std::unexpected(visit.error()));
        if (queues && !queues->empty())
            all.push_back({netns.name, std::move(*queues)});
        else if (!queues && queues.error().code != ENOENT) // that one went just now
            note(queues.error().message());
    }
    for (const auto &place : places)
        if (with_queues.contains(place.netns)) {
            auto left = leftover(read_attachment(place));
            left.host.dead = "nobody is in its network namespace, or it has gone";
            all.push_back(
                {fmt::format("number {}, which nobody is in", place.netns), {std::move(left)}});
        }
    return all;
}

} // namespace olaf
