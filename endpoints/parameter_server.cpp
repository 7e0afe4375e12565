// SPDX-License-Identifier: BSD-2-Clause
#include "server_impl.hpp"

#include <string>

namespace olaf {

Result<void> ParameterServer::Impl::add_cluster(ClusterSettings settings) {
    const std::uint32_t id = settings.cluster;
    if (clusters_.contains(id))
        return fail("add cluster", std::to_string(id), 0, {}, "it exists already");
    auto cluster = Cluster::make(std::move(settings));
    if (!cluster)
        return std::unexpected(cluster.error());
    const auto acks = Segments::fitting(cluster->weights().size(), Format::f32x2,
                                        lanes_in_mtu(options_.mtu, options_.bind.is_ipv6()));
    if (!acks)
        return std::unexpected(acks.error());
    clusters_.emplace(id, Served{.cluster = std::move(*cluster), .acks = *acks});
    return {};
}

ServerStats ParameterServer::Impl::stats() const {
    ServerStats stats = stats_;
    stats.acks_sent = outbox_.sent();
    stats.acks_unsent = outbox_.unsent();
    return stats;
}

ParameterServer::ParameterServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ParameterServer::ParameterServer(ParameterServer &&) noexcept = default;
ParameterServer &ParameterServer::operator=(ParameterServer &&) noexcept = default;
ParameterServer::~ParameterServer() = default;

Result<ParameterServer> ParameterServer::make(const ServerOptions &options) {
    auto socket = UdpSocket::bound_to(
        options.bind, {.receive = options.receive_buffer, .send = options.send_buffer});
    if (!socket)
        return std::unexpected(socket.error());
    return ParameterServer(std::make_unique<Impl>(options, std::move(*socket)));
}

Result<void> ParameterServer::add_cluster(ClusterSettings settings) {
    return impl_->add_cluster(std::move(settings));
}

Result<std::size_t> ParameterServer::receive(std::chrono::nanoseconds timeout) {
    return impl_->receive(timeout);
}

Result<std::optional<PendingUpdate>> ParameterServer::next(std::chrono::nanoseconds timeout) {
    return impl_->next(timeout);
}

void ParameterServer::finish(bool changed) {
    impl_->finish(changed);
}

Result<void> ParameterServer::serve(std::stop_token stop) {
    while (!stop.stop_requested())
        if (const auto handled = receive(std::chrono::milliseconds(100)); !handled)
            return std::unexpected(handled.error());
    return {};
}

Result<Address> ParameterServer::local_address() const {
    return impl_->socket().local();
}
int ParameterServer::fd() const {
    return impl_->socket().fd();
}
const Cluster *ParameterServer::cluster(std::uint32_t id) const {
    return impl_->cluster(id);
}
ServerStats ParameterServer::stats() const {
    return impl_->stats();
}

} // namespace olaf
