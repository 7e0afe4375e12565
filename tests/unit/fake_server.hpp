// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "loopback.hpp"

namespace olaf::test {

// A worker whose server is a test's own socket.
struct FakeServer {
    RawSocket socket{Address::resolve("127.0.0.1", 0).value()};
    Worker worker;
    Address worker_address;

    explicit FakeServer(WorkerOptions options = {}) : worker(make(std::move(options))) {
        EXPECT_TRUE(worker.join());
        Frame frame;
        worker_address = socket.receive(frame).second;
    }

    Worker make(WorkerOptions options) const {
        options.server = socket.address();
        options.cluster = 4;
        options.worker = 8;
        options.elements = 4;
        return Worker::make(options).value();
    }

    // The next update that the worker sent. Fails after 10 s.
    Update update() const {
        Frame frame;
        const std::size_t size = socket.receive(frame).first;
        const auto update = decode_update(frame.bytes(size));
        EXPECT_TRUE(update);
        return update.value_or(Update{});
    }

    // An ACK with weights of `value`.
    void ack(Ack ack, float value, std::size_t cut = 0) const {
        Frame frame{};
        const std::vector<float> weights(4, value);
        ack.lanes = 2;
        EXPECT_TRUE(pack_weights(weights, std::span(frame.lanes).first(2)));
        if (ack.has_checksum)
            frame.lanes[ack.lanes++] = 12345;
        frame.header = encode(ack);
        socket.send(frame.bytes(message_size(ack.lanes) - cut), worker_address);
    }
};

} // namespace olaf::test
