// SPDX-License-Identifier: BSD-2-Clause
// Who listens to a queue: what its programs tell.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "harness.hpp"
#include "olaf/events.h"

namespace olaf::test {

struct Told {
    olaf_event event{};
    Bytes frame;
};

class Listener {
  public:
    explicit Listener(const Harness &queue)
        : listen_(queue.queue().map_fd("olaf_listen")),
          buffer_(ring_buffer__new(queue.queue().map_fd("olaf_events"), take, &told_, nullptr),
                  ring_buffer__free) {
        EXPECT_TRUE(buffer_);
    }
    Listener(const Listener &) = delete;
    Listener &operator=(const Listener &) = delete;

    static constexpr std::uint64_t for_ever = UINT64_MAX;

    /// Writes what to listen to; by default everything, with whole frames.
    void listen(const olaf_listen &wanted = everything()) const {
        const std::uint32_t key = 0;
        ASSERT_EQ(bpf_map_update_elem(listen_, &key, &wanted, BPF_ANY), 0);
    }
    static olaf_listen everything() {
        return {.first_cluster = 0,
                .last_cluster = UINT32_MAX,
                .kinds = (1u << OLAF_EVENT_KINDS) - 1,
                .sample = 1,
                .frame_bytes = OLAF_EVENT_FRAME_MAX,
                .pad = 0,
                .until_ns = for_ever};
    }

    /// What was told since the last call.
    std::vector<Told> told() {
        told_.clear();
        EXPECT_GE(ring_buffer__consume(buffer_.get()), 0);
        return std::move(told_);
    }
    Told told_once() {
        auto all = told();
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? Told{} : all.front();
    }

  private:
    static int take(void *into, void *data, std::size_t size) {
        Told told;
        std::memcpy(&told.event, data, sizeof told.event);
        EXPECT_EQ(size, sizeof told.event + told.event.captured_bytes);
        const auto *frame = static_cast<const std::uint8_t *>(data) + sizeof told.event;
        told.frame.assign(frame, frame + told.event.captured_bytes);
        static_cast<std::vector<Told> *>(into)->push_back(std::move(told));
        return 0;
    }

    int listen_;
    std::vector<Told> told_;
    std::unique_ptr<ring_buffer, void (*)(ring_buffer *)> buffer_;
};

} // namespace olaf::test
