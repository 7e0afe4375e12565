// SPDX-License-Identifier: BSD-2-Clause
// The root of a job (docs/rounds.md), without sockets and clocks: sums what children contribute,
// and lets a function of its user answer.
#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <olaf/round_server.hpp>
#include <olaf/rounds.h>
#include <olaf/run.h>

#include "endpoints/wire/round_message.hpp"

namespace olaf {

/// What is known of a chunk's sum.
struct RoundTotal {
    std::uint32_t round = 0, chunk = 0, chunks = 0;
    VectorKind kind = {};
    std::uint32_t count = 0;
    std::int64_t generated_ns = 0; ///< the newest
    std::int16_t exponent = INT16_MIN;
    bool partial = false;
    std::optional<VectorIdentity> misfit = {}; ///< a vector that differs: there is no sum
};

class RoundRootUser {
  public:
    virtual ~RoundRootUser() = default;
    /// The vector that may be summed in place of one that may not; nothing: it may.
    [[nodiscard]] virtual std::optional<VectorIdentity>
    wants(const VectorIdentity &vector) const = 0;
    /// Puts the answer in place of the sum, and may change its exponent. `lanes` without the
    /// checksum.
    virtual void answer(RoundTotal &total, std::span<std::uint64_t> lanes) = 0;
    virtual void send(std::uint32_t rank, const olaf_header &header,
                      std::span<const std::uint64_t> lanes) = 0;
    /// Sends to whoever's message is being taken in. It may be a stranger to that rank.
    virtual void reply(std::uint32_t rank, const olaf_header &header,
                       std::span<const std::uint64_t> lanes) {
        send(rank, header, lanes);
    }
    /// Whether the rank is that of whoever's message is being taken in, from now on if it was free.
    virtual bool admit(std::uint32_t /*rank*/) { return true; }
    /// Whether it is already.
    [[nodiscard]] virtual bool knows(std::uint32_t /*rank*/) const { return true; }
    /// Another run has the root from now on: all ranks are free, and rounds begin with 0.
    virtual void begin_run() {}
};

/// Not thread-safe.
class RoundRoot {
  public:
    using Time = std::chrono::nanoseconds;

    /// `generation`: random, not 0. `user` must live longer. `only`: the run that it serves, with
    /// its training's alias; its number may be 0: any; none: any run.
    RoundRoot(const RoundServerOptions &options, std::uint32_t generation, RoundRootUser &user,
              const olaf_run &only = {});

    /// Takes in a message of a child's, and says why if it's none. Times are of any one clock that
    /// never goes back.
    Decoded<void> contribution(const RoundContribution &message,
                               std::span<const std::uint64_t> lanes, Time now = {});
    Decoded<void> sync(const JobSync &message, Time now = {});

    [[nodiscard]] const RoundServerStats &stats() const { return stats_; }

  private:
    enum class State : std::uint8_t { free, open, done };
    struct Buffer {
        State state = State::free;
        RoundTotal total = {};
        std::bitset<OLAF_RANKS> in = {};
        std::vector<std::uint64_t> lanes = {};
    };
    // The last answers of a session, whatever became of generations: a sum that is made anew gets
    // the same.
    struct Answer {
        bool given = false;
        RoundTotal total = {};
        std::vector<std::uint64_t> lanes = {};
    };
    struct Slot {
        std::array<Buffer, 2> buffers = {};
        std::array<Answer, 2> answers = {};
    };

    [[nodiscard]] Decoded<void> check(const RoundContribution &message,
                                      std::span<const std::uint64_t> lanes) const;
    void in_buffer(Buffer &buffer, Slot &slot, const RoundContribution &message,
                   std::span<const std::uint64_t> lanes);
    void in_no_buffer(Slot &slot, const RoundContribution &message,
                      std::span<const std::uint64_t> lanes);
    bool is_one_vector(RoundTotal &total, const RoundContribution &message);
    void complete(Buffer &buffer, Slot &slot);
    void answer_all(Buffer &buffer);
    void result(std::uint32_t rank, const RoundTotal &total, std::span<const std::uint64_t> lanes);
    void stale(const RoundContribution &message);
    void stop();
    void note(const JobSync &message);
    [[nodiscard]] bool is_over() const;
    void run();
    [[nodiscard]] olaf_control_status judge(const JobSync &message);
    [[nodiscard]] olaf_run_verdict verdict(const olaf_run &asks) const;
    [[nodiscard]] bool may_ask(const olaf_run &run, Time now) const;
    [[nodiscard]] bool is_there(std::uint32_t rank, Time now) const;
    void begin_run(const olaf_run &run);
    void forget_answers();
    void refuse(const JobSync &message, Time now);
    [[nodiscard]] JobSync answer_to(const JobSync &message, olaf_control_status status) const;
    void answer_sync(const JobSync &message, olaf_control_status status);
    void name_other(JobSync &answer) const;
    [[nodiscard]] bool is_lost(std::uint32_t rank) const;

    // What a child said of its session when it last asked: docs/rounds.md, "Sessions".
    struct Asked {
        std::int64_t stamp = 0;
        std::uint64_t incarnation = 0;
        std::uint64_t session = 0;
        bool anew = false;
    };

    RoundServerOptions options_;
    RoundRootUser *user_;
    bool running_ = false;
    std::uint32_t generation_;
    std::uint8_t pool_;
    olaf_run only_;
    olaf_run run_ = {};     // who has it, or had it last
    bool finished_ = false; // nobody has it: all have said farewell, and none has asked since
    // When a rank of that run was last heard.
    std::array<std::optional<Time>, OLAF_RANKS> heard_ = {};
    bool has_answered_ = false; // that run
    std::bitset<OLAF_RANKS> asked_ = {};
    std::array<Asked, OLAF_RANKS> children_ = {};
    std::uint64_t session_ = 0;                 // of all, while it runs
    std::optional<std::uint32_t> culprit_ = {}; // the first that asked anew since it was stopped
    std::optional<std::uint32_t> replaced_ =
        {}; // the first whose process isn't that of session_ now
    std::optional<std::pair<std::uint32_t, std::uint32_t>> begin_ = {}; // round and chunk
    std::optional<RoundTotal> misfit_ = {}; // of this generation: nobody can go on
    std::vector<Slot> slots_;
    RoundServerStats stats_;
};

} // namespace olaf
