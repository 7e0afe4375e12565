// SPDX-License-Identifier: BSD-2-Clause
// A contender of the stream benchmark together with what sends to it and what it sends to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/network.hpp"
#include "setting.hpp"

namespace olaf::bench {

/// Counts since the start, read while everything runs.
struct Figures {
    std::uint64_t offered = 0;            ///< updates that were sent to the contender
    std::uint64_t taken = 0;              ///< that it took
    std::uint64_t waiting = 0;            ///< folded, not yet sent
    std::uint64_t dropped = 0;            ///< taken, and dropped by decision
    std::uint64_t superseded = 0;         ///< of these: replaced by a newer one of their worker
    std::uint64_t departed = 0;           ///< updates in what it sent
    std::uint64_t frames = 0;             ///< that arrived at the far end
    std::uint64_t arrived = 0;            ///< updates in them
    std::uint64_t wrong = 0;              ///< frames with an inexact sum
    std::uint64_t repeated = 0;           ///< segments sent again, by TCP
    std::vector<std::uint64_t> shares{};  ///< of `offered`, by generator; empty: not told apart
    std::vector<std::uint64_t> latency{}; ///< frames by bench_bucket(); empty if not stamped
    std::vector<std::uint64_t> folds{};   ///< frames by the updates in them; empty if not stamped
};

class Contender {
  public:
    virtual ~Contender() = default;
    virtual void start() = 0;
    /// What was sent before it returns has arrived or is lost.
    virtual void stop() = 0;
    [[nodiscard]] virtual Figures figures() const = 0;
    /// Each cluster's age up to now; empty if there is nothing that measures it.
    [[nodiscard]] virtual std::vector<bench_age> ages() const { return {}; }
    /// After each slice: `input` updates/s came, `output` frames/s left. True if that is not the
    /// ratio wanted: settings were changed.
    virtual bool calibrate(double input, double output) {
        (void)input, (void)output;
        return false;
    }
    /// Nanoseconds that threads of this process have run for the contender; NAPI's are not in it.
    [[nodiscard]] virtual std::uint64_t thread_ns() const { return 0; }
    /// Does each update that it took arrive, but for those that wait?
    [[nodiscard]] virtual bool forwards() const { return true; }
    /// "copy" or "zero-copy" where there is a choice.
    [[nodiscard]] virtual const char *mode() const { return ""; }
};

/// Ends the program, with the names there are, if there is none of that name.
std::unique_ptr<Contender> make_contender(const Network &network, const Setting &setting);

std::unique_ptr<Contender> make_drop(const Network &network, const Setting &setting);
std::unique_ptr<Contender> make_forward(const Network &network, const Setting &setting);
std::unique_ptr<Contender> make_xagg(const Network &network, const Setting &setting);
std::unique_ptr<Contender> make_least(const Network &network, const Setting &setting);
std::unique_ptr<Contender> make_olaf(const Network &network, const Setting &setting);
std::unique_ptr<Contender> make_udp(const Network &network, const Setting &setting);
std::unique_ptr<Contender> make_af_xdp(const Network &network, const Setting &setting);
std::unique_ptr<Contender> make_tcp(const Network &network, const Setting &setting);

} // namespace olaf::bench
