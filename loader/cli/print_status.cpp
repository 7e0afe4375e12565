// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "loader/observe/status_json.hpp"
#include "loader/observe/status_text.hpp"
#include "print.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const QueueStatus &status, bool clusters) {
    if (!status.reading)
        return {{"device", status.attachment.device}, {"verdict", verdict_json(status.verdict())}};
    return status_json(status.attachment, *status.reading, status.host, clusters);
}

std::string text_of(const QueueStatus &status, bool clusters) {
    if (!status.reading)
        return verdict_text(status.attachment, status.verdict());
    return status_text(status.attachment, *status.reading, status.host, clusters);
}

} // namespace

void print(const QueueStatus &status, bool clusters, bool json) {
    fmt::print("{}", json ? json_of(status, clusters).dump(2) + "\n" : text_of(status, clusters));
}

void print(const std::vector<QueueStatus> &all, bool clusters, bool json) {
    if (json) {
        auto list = Json::array();
        for (const auto &status : all)
            list.push_back(json_of(status, clusters));
        fmt::print("{}\n", list.dump(2));
        return;
    }
    for (const auto &status : all)
        fmt::print("{}", text_of(status, clusters));
    if (all.empty())
        fmt::print(stderr, "no queue is attached in this network namespace\n");
}

void print(const std::vector<NamespaceStatus> &all, bool clusters, bool json) {
    if (json) {
        auto list = Json::array();
        for (const auto &[netns, queues] : all)
            for (const auto &status : queues) {
                auto object = json_of(status, clusters);
                object["netns"] = netns;
                list.push_back(std::move(object));
            }
        fmt::print("{}\n", list.dump(2));
        return;
    }
    for (const auto &[netns, queues] : all) {
        fmt::print("network namespace {}\n", netns);
        for (const auto &status : queues)
            fmt::print("{}", text_of(status, clusters));
    }
    if (all.empty())
        fmt::print(stderr, "no queue is attached in any network namespace\n");
}

} // namespace olaf
