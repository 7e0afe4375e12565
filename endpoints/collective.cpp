// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/collective.hpp>

#include <string>

#include "collective_member.hpp"
#include "collective_threads.hpp"

namespace olaf {

Collective::Collective(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Collective::Collective(Collective &&) noexcept = default;
Collective &Collective::operator=(Collective &&) noexcept = default;
Collective::~Collective() = default;

Result<Collective> Collective::make(const CollectiveOptions &options) {
    if (options.threads == 1) {
        auto member = CollectiveMember::open(options);
        if (!member)
            return std::unexpected(member.error());
        return Collective(std::move(*member));
    }
    auto members = CollectiveThreads::open(options);
    if (!members)
        return std::unexpected(members.error());
    return Collective(std::move(*members));
}

Result<void> Collective::start() {
    return impl_->start();
}
Result<bool> Collective::finish() {
    return impl_->finish({});
}
Result<bool> Collective::finish(std::chrono::nanoseconds timeout) {
    return impl_->finish(timeout);
}
Result<std::uint32_t> Collective::join() {
    return impl_->join();
}
Result<bool> Collective::leave(std::chrono::nanoseconds timeout) {
    return impl_->leave(timeout);
}

Result<Collective::Operation> Collective::allreduce_async(std::span<float> vector,
                                                          Combine combine) {
    const auto number = impl_->add(Impl::Element::f32, vector.data(), vector.size(), combine,
                                   Impl::Part::all);
    if (!number)
        return std::unexpected(number.error());
    return Operation(impl_.get(), *number);
}
Result<Collective::Operation> Collective::follow_async(std::span<float> vector) {
    const auto number = impl_->add(Impl::Element::f32, vector.data(), vector.size(), Combine::sum,
                                   Impl::Part::nothing);
    if (!number)
        return std::unexpected(number.error());
    return Operation(impl_.get(), *number);
}
void Collective::overhear(std::size_t elements) {
    impl_->overhear(elements);
}
bool Collective::take_overheard(std::span<float> vector) {
    return impl_->take_overheard(vector);
}
Result<Collective::Operation> Collective::allreduce_async(std::span<std::int64_t> vector) {
    const auto number = impl_->add(Impl::Element::i64, vector.data(), vector.size(), Combine::sum,
                                   Impl::Part::all);
    if (!number)
        return std::unexpected(number.error());
    return Operation(impl_.get(), *number);
}
Result<Collective::Operation> Collective::allreduce_async(std::span<std::int32_t> vector) {
    const auto number = impl_->add(Impl::Element::i32, vector.data(), vector.size(), Combine::sum,
                                   Impl::Part::all);
    if (!number)
        return std::unexpected(number.error());
    return Operation(impl_.get(), *number);
}

Result<SumReport> Collective::Operation::wait() {
    return impl_->wait(number_, {});
}
Result<SumReport> Collective::Operation::wait_with(const Sleep &sleep) {
    return impl_->wait(number_, sleep);
}
bool Collective::Operation::done() const {
    return impl_->is_done(number_);
}

Result<void> Collective::poll() {
    return impl_->poll();
}
CollectiveStats Collective::stats() const {
    return impl_->stats();
}
std::uint32_t Collective::next_round() const {
    return impl_->next_round();
}
int Collective::fd() const {
    return impl_->fd();
}

} // namespace olaf
