// SPDX-License-Identifier: BSD-2-Clause
// Loads the queue into the running kernel once per corner of its configuration: the configuration
// is constant to the verifier, so each corner is another program to it. Attaches nothing.
#include <bpf/bpf.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "loader/datapath/datapath.hpp"
#include "loader/datapath/programs.hpp"
#include "olaf/window.h"

namespace {

constexpr olaf::IpAddress here4{4, {0x0100000a}}, there4{4, {0x0200000a}};
constexpr olaf::IpAddress here6{6, {0x000080fe, 0, 0, 1}}, there6{6, {0x000080fe, 0, 0, 2}};

struct Corner {
    std::string name;
    olaf::DatapathConfig config;
};

std::vector<Corner> deliveries() {
    olaf::DatapathConfig local, forward, upstream4, upstream6;
    for (auto *config : {&local, &forward, &upstream4, &upstream6}) {
        config->ifindex = 2;
        config->queue_capacity = 8;
        config->max_clusters = 16;
        config->drain_ifindex = 4;
    }
    forward.deliver = OLAF_DELIVER_FORWARD;
    upstream4.deliver = upstream6.deliver = OLAF_DELIVER_UPSTREAM;
    forward.egress_ifindex = upstream4.egress_ifindex = 3;
    upstream6.egress_ifindex = upstream6.ifindex; // back out of the same device
    upstream4.source = here4, upstream4.upstream = there4;
    upstream6.source = here6, upstream6.upstream = there6;
    return {
        {"local", local}, {"forward", forward}, {"upstream4", upstream4}, {"upstream6", upstream6}};
}

std::vector<Corner> corners() {
    std::vector<Corner> all;
    for (const std::uint32_t lanes : {16u, 192u, std::uint32_t{OLAF_MAX_LANES}})
        for (const bool everything : {false, true})
            for (auto corner : deliveries()) {
                corner.config.max_lanes = lanes;
                corner.name += ", " + std::to_string(lanes) + " lanes";
                if (everything) {
                    corner.config.skb_mode = corner.config.allow_list = true;
                    corner.config.strict = corner.config.tags_hidden = true;
                    corner.config.verify = corner.config.output_sums = true;
                    corner.config.rate_bps = 1'000'000'000;
                    corner.config.max_segments = 4;
                    corner.name += ", paced, allow list, generic XDP";
                }
                all.push_back(corner);
                corner.config.window =
                    everything ? olaf::Window{true, OLAF_MAX_WINDOW} : olaf::Window{false, 1};
                corner.config.kick_ifindex = 5;
                corner.name += ", window " + olaf::window_text(corner.config.window);
                all.push_back(std::move(corner));
            }
    for (const std::uint32_t lanes : {16u, 192u, std::uint32_t{OLAF_MAX_LANES}})
        for (const bool generic : {false, true}) {
            auto corner = deliveries()[0];
            corner.config.max_lanes = lanes;
            corner.config.skb_mode = generic;
            corner.config.round_slots = 64;
            corner.name += ", " + std::to_string(lanes) + " lanes, rounds" +
                           (generic ? ", generic XDP" : "");
            all.push_back(std::move(corner));
        }
    // The largest tables: what an old kernel's maps and verifier allow of them.
    olaf::DatapathConfig largest;
    largest.max_clusters = OLAF_MAX_SLOTS;
    largest.max_lanes = 16;
    largest.fifo = false;
    all.push_back({"local, " + std::to_string(OLAF_MAX_SLOTS) + " clusters", largest});
    return all;
}

unsigned processed(int program_fd) {
    bpf_prog_info info{};
    __u32 size = sizeof info;
    return bpf_obj_get_info_by_fd(program_fd, &info, &size) == 0 ? info.verified_insns : 0;
}

bool load(const Corner &corner, unsigned &most) {
    const auto config = olaf::make_config(corner.config);
    if (!config) {
        std::printf("%s: %s\n", corner.name.c_str(), config.error().message().c_str());
        return false;
    }
    const auto queue = olaf::Datapath::load(*config);
    if (!queue) {
        std::printf("%s: %s\n", corner.name.c_str(), queue.error().message().c_str());
        return false;
    }
    std::printf("%s: instructions processed:", corner.name.c_str());
    for (const auto &program : olaf::programs) {
        const int fd = queue->program_fd(program.name);
        if (fd < 0 || program.when == olaf::When::driver_tells)
            continue; // no part of it, or the other one of that name is
        const auto figure = processed(fd);
        std::printf(" %s %u", program.name.data(), figure);
        most = std::max(most, figure);
    }
    std::printf("\n");
    return true;
}

} // namespace

/// With an argument: those whose name contains it.
int main(int argc, char **argv) {
    std::size_t refused = 0;
    unsigned most = 0;
    auto all = corners();
    if (argc > 1)
        std::erase_if(all, [&](const Corner &corner) {
            return corner.name.find(argv[1]) == std::string::npos;
        });
    for (const auto &corner : all)
        refused += !load(corner, most);
    std::printf("%zu configurations, %zu refused, at most %u of 1000000 instructions\n", all.size(),
                refused, most);
    return refused == 0 ? 0 : 1;
}
