// SPDX-License-Identifier: BSD-2-Clause
// What is behind a Collective: one member of one job (collective_member.hpp), or one for each of several
// threads (collective_threads.hpp).
#pragma once

#include <optional>

#include <olaf/collective.hpp>

namespace olaf {

/// To be used by one thread at a time, but while Sleep says that it sleeps.
class Collective::Impl {
  public:
    enum class Element : std::uint8_t { f32, i32, i64 };
    enum class Part : std::uint8_t { all, nothing }; // what of it is added
    using Sleep = Operation::Sleep;

    virtual ~Impl() = default;
    virtual Result<void> start() = 0;
    virtual Result<bool> finish(std::optional<std::chrono::nanoseconds> timeout) = 0;
    virtual Result<std::uint32_t> join() = 0;
    virtual Result<bool> leave(std::chrono::nanoseconds timeout) = 0;
    /// Returns the operation's number.
    virtual Result<std::uint64_t> add(Element element, void *data, std::size_t elements,
                                      Combine combine, Part part) = 0;
    virtual void overhear(std::size_t elements) = 0;
    virtual bool take_overheard(std::span<float> vector) = 0;
    virtual Result<SumReport> wait(std::uint64_t number, const Sleep &sleep) = 0;
    [[nodiscard]] virtual bool is_done(std::uint64_t number) const = 0;
    virtual Result<void> poll() = 0;
    [[nodiscard]] virtual CollectiveStats stats() const = 0;
    [[nodiscard]] virtual std::uint32_t next_round() const = 0;
    [[nodiscard]] virtual int fd() const = 0;
};

} // namespace olaf
