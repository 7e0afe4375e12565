// SPDX-License-Identifier: BSD-2-Clause
// What the way back costs: stamping an ACK, and copying it to the workers of its cluster.
#include <algorithm>
#include <cstring>
#include <optional>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/pkt_cls.h>
#include <olaf/acks.h>
#include <olaf/members.h>

#include "away.hpp"
#include "fold_cases.hpp"
#include "frames.hpp"
#include "queue.hpp"

#include <bench_ack.skel.h>

namespace olaf::bench {

namespace {

constexpr std::uint32_t lanes = 128;
constexpr std::size_t source_at = 14 + 12;
constexpr std::size_t message_at = 14 + 20 + 8;
constexpr std::uint32_t unspec = static_cast<std::uint32_t>(TC_ACT_UNSPEC);
constexpr Mac worker_mac{2, 0, 0, 0, 0, 9};

/// An update's frame, made an ACK of 1 KiB of weights to worker 0 or to all. Its UDP checksum is
/// wrong, and stays so by the same difference: nobody here looks at it.
Frame ack_frame(std::uint32_t worker) {
    Frame frame = olaf_frame(0, worker, lanes);
    std::swap_ranges(&frame[message_at - 8], &frame[message_at - 6], &frame[message_at - 6]);
    frame[message_at - 1] = 1;
    auto *header = reinterpret_cast<olaf_header *>(&frame[message_at]);
    header->type = OLAF_ACK;
    header->flags_be = htons(OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT);
    header->active_clusters_be = 0;
    header->reserved_be = 0;
    header->queue_capacity_be = 0;
    header->queue_length_be = 0;
    return frame;
}

struct Ack {
    Skeleton<bench_ack> front;
    std::optional<Queue> queue{};
    std::optional<Object> back{};
};

std::shared_ptr<Ack> in_front_of(const Frame &frame) {
    auto front = must(open<bench_ack>("ack"));
    for (std::size_t i = 0; i < sizeof front->rodata->was; i++)
        front->rodata->was[i] = frame[message_at + 4 + i];
    must(load(front, "ack"));
    return std::make_shared<Ack>(Ack{.front = std::move(front)});
}

/// The egress program on the queue's maps.
Object load_egress(const Queue &queue, std::uint32_t ifindex) {
    auto back = must(Object::open("egress"));
    auto config = queue.config();
    config.ifindex = ifindex;
    must(back.set("olaf_cfg", config));
    must(back.size_maps(config));
    must(back.share_maps(config, [&](const char *name) { return queue.map_fd(name); }));
    must(back.load());
    return back;
}

/// Each sends to where the ACK comes from.
void enrol(const Queue &queue, const Frame &ack, std::uint32_t workers) {
    for (std::uint32_t worker = 0; worker < workers; worker++) {
        olaf_member member{};
        member.family = 4;
        member.flags = OLAF_MEMBER_REGISTERED;
        member.last_seen_ns = 1;
        member.addr_be[0] = htonl(0x0a000100 + worker);
        std::memcpy(member.local_addr_be, &ack[source_at], sizeof member.local_addr_be[0]);
        member.port_be = htons(40000);
        std::memcpy(member.mac, worker_mac.data(), worker_mac.size());
        must(store(queue.map_fd("olaf_members"),
                   olaf_member_index(0, worker, queue.options().clusters), &member));
    }
    const olaf_roster roster{.end = workers, .pad = 0, .admitted = 0};
    must(store(queue.map_fd("olaf_rosters"), 0, &roster));
}

olaf_ack_counters counters(const Object &back) {
    std::vector<olaf_ack_counters> copies(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    const std::uint32_t zero = 0;
    bpf_map_lookup_elem(back.map_fd("olaf_ack_counters"), &zero, copies.data());
    olaf_ack_counters sum{};
    for (const auto &copy : copies) {
        sum.stamped += copy.stamped;
        sum.copies += copy.copies;
    }
    return sum;
}

} // namespace

FoldCase ack_floor_case() {
    const auto frame = ack_frame(0);
    auto ack = in_front_of(frame);
    const int target = bpf_program__fd(ack->front->progs.nothing);
    must(store(bpf_map__fd(ack->front->maps.target), 0, &target));
    return {.program = bpf_program__fd(ack->front->progs.restore),
            .frame = frame,
            .verdict = unspec,
            .check = [] {},
            .owner = ack};
}

FoldCase ack_case(const std::string &name, std::uint32_t workers) {
    const auto frame = ack_frame(workers == 0 ? 0 : OLAF_EVERY_WORKER);
    auto ack = in_front_of(frame);
    ack->queue = must(Queue::make({.clusters = 9, .capacity = 8, .link_busy = true}));
    const std::uint32_t ifindex = workers != 0 ? away().over_veth : 0;
    // Without copies, one worker vouches for the ACK.
    enrol(*ack->queue, frame, std::max(workers, 1u));
    ack->back = load_egress(*ack->queue, ifindex);
    const int target = ack->back->program_fd("olaf_egress");
    must(store(bpf_map__fd(ack->front->maps.target), 0, &target));
    const int program = bpf_program__fd(ack->front->progs.restore);
    return {.program = program,
            .frame = frame,
            .verdict = unspec,
            .check =
                [=, back = &*ack->back] {
                    must(test_run(program, frame, 100));
                    const auto done = counters(*back);
                    require(done.stamped == 100, name + ": every ACK is stamped");
                    require(done.copies == std::uint64_t{100} * workers,
                            name + ": every copy left");
                },
            .owner = ack};
}

} // namespace olaf::bench
