// SPDX-License-Identifier: BSD-2-Clause
#include "worker_impl.hpp"

#include <string>

#include <olaf/clock.hpp>

namespace olaf {

Worker::Worker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Worker::Worker(Worker &&) noexcept = default;
Worker &Worker::operator=(Worker &&) noexcept = default;
Worker::~Worker() = default;

Result<Worker> Worker::make(const WorkerOptions &options) {
    if (auto valid = validate(options.packing); !valid)
        return std::unexpected(valid.error());
    if (options.worker == OLAF_EVERY_WORKER)
        return fail("make worker", std::to_string(options.worker), 0, {},
                    "that id means every worker");
    const std::size_t room = lanes_in_mtu(options.mtu, options.server.is_ipv6());
    const std::size_t reserved = options.checksum && room > 0 ? 1 : 0;
    const auto segments =
        Segments::fitting(options.elements, options.packing.format, room - reserved);
    if (!segments)
        return std::unexpected(segments.error());
    auto encoder = Encoder::make(options.packing, options.rounding, options.elements);
    if (!encoder)
        return std::unexpected(encoder.error());
    auto socket = UdpSocket::connected_to(
        options.server, {.receive = options.receive_buffer, .send = options.send_buffer});
    if (!socket)
        return std::unexpected(socket.error());
    return Worker(std::make_unique<Impl>(options, std::move(*socket), *segments, std::move(*encoder)));
}

Result<void> Worker::join() {
    return impl_->join();
}
bool Worker::should_send() {
    return impl_->should_send();
}
Result<PushReport> Worker::push(std::span<const float> gradient, double reward,
                                std::uint32_t model_version,
                                std::optional<std::int64_t> generated_ns) {
    return impl_->push(gradient, reward, model_version, generated_ns.value_or(tai_now_ns()));
}
Result<bool> Worker::poll() {
    return impl_->poll();
}
Result<bool> Worker::wait(std::chrono::nanoseconds timeout) {
    return impl_->wait(timeout);
}
bool Worker::has_weights() const {
    return impl_->replica().complete();
}
std::span<const float> Worker::weights() const {
    return impl_->replica().weights();
}
std::uint32_t Worker::model_version() const {
    return impl_->replica().version();
}
const Feedback &Worker::feedback() const {
    return impl_->feedback();
}
const WorkerStats &Worker::stats() const {
    return impl_->stats();
}
WorkerReport Worker::report() const {
    return impl_->report();
}
int Worker::fd() const {
    return impl_->socket().fd();
}

} // namespace olaf
