// SPDX-License-Identifier: BSD-2-Clause
// A parameter server at the top of a job: it takes sums, and answers weights (docs/rounds.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <olaf/address.hpp>
#include <olaf/packing.hpp>
#include <olaf/reject.hpp>

namespace olaf {

/// The sum of one chunk's elements over all workers.
struct RoundSum {
    std::uint32_t round = 0;
    std::size_t begin = 0;         ///< the first of the elements, in the weights
    std::span<const float> sum;    ///< of the workers' vectors
    std::uint32_t count = 0;       ///< workers in it
    bool partial = false;          ///< fewer than all (a node's threshold or deadline)
    std::int64_t generated_ns = 0; ///< CLOCK_TAI of the newest
};

/// Changes these elements' weights. What they are then is the answer to all workers. What it throws
/// comes out of receive(), and it is called again with the same sum.
using RoundRule = std::function<void(const RoundSum &sum, std::span<float> weights)>;

/// Job, workers, format, checksum, lanes and ahead as at the workers (olaf::CollectiveOptions).
struct RoundServerOptions {
    /// Where children send to. On a wildcard address each is answered from the one that it asked.
    Address bind = {};
    std::uint32_t job = 0;
    std::uint32_t children = 1; ///< nodes or workers that send here: `olaf job set --parent`
    std::uint32_t workers = 0;  ///< of the whole job
    Format format = Format::i32x2;
    bool checksum = true;
    std::uint16_t lanes = 0; ///< of a frame, the checksum lane included
    std::uint32_t ahead = 64;
    std::uint8_t pool = 6; ///< at most 2^pool chunks under way, at most 17
    /// A worker's name and number of its run (olaf::CollectiveOptions): it serves no other one, and
    /// with number 0 any of that training. Empty: one after the other (rounds.md, "Runs").
    std::string run = {};
    std::uint64_t run_number = 0;
    /// Another training may take the server once all children were silent for so long.
    std::chrono::nanoseconds run_timeout = std::chrono::seconds(60);
    /// Another source may take a child's rank once that child was silent for so long.
    std::chrono::nanoseconds member_timeout = std::chrono::seconds(10);
    int receive_buffer = 4 << 20; ///< bytes; net.core.{r,w}mem_max cap them
    int send_buffer = 4 << 20;
};

struct RoundServerStats {
    std::uint64_t received = 0;   ///< contributions to a sum
    std::uint64_t repeated = 0;   ///< of those: in it already
    std::uint64_t stale = 0;      ///< of those: no longer possible
    std::uint64_t answered = 0;   ///< chunks that the rule answered
    std::uint64_t again = 0;      ///< chunks that were summed anew, and got the same answer
    std::uint64_t agreed = 0;     ///< how often all agreed on where to begin
    std::uint64_t unsent = 0;     ///< messages lost on this host
    std::uint64_t not_finite = 0; ///< elements whose sum isn't; the rule didn't see them
    /// Weights that couldn't be sent as they are: at once more than twice as large as the chunk's
    /// largest, and as all workers' largest elements together.
    std::uint64_t clipped = 0;
    RejectCounts rejected;
};

/// The root of a job, as a process: `olaf::Collective::allreduce` of float32 puts the new weights,
/// and not the sum, in place of each worker's vector. Not thread-safe; nothing moves on but in its
/// calls.
///
/// A chunk has as many weights as a frame has room for. Of at most 2 · `ahead` frames each has room
/// for a lane less, in which workers say by what they have guessed (docs/rounds.md, "Short
/// vectors").
///
/// A rule is called once for each chunk of each round, in any order of chunks, but for each chunk
/// in the order of rounds. What comes again gets the same answer, also when a node below was
/// restarted and its members begin anew. A server that was restarted has forgotten its answers: all
/// begin again with the first chunk of the oldest round that any worker lacks a part of, and its
/// rule sees that round whole. Workers have those chunks for certain where a vector has 2^pool
/// at most (pieces, and `ahead` of them) and one is under way. Else allreduce() may fail at the
/// workers, which then start() again.
///
/// One run has the server at a time. A later run of the same training takes it over at once,
/// another training once the one before has finished or is silent. Either begins with the weights
/// as they are, and with round 0.
///
/// Weights travel with the exponent of their chunk. So a worker's gradients in that chunk are exact
/// to 2^-(29 - ⌈log2 workers⌉) of twice its largest weight (i32x2): finer than float32 can
/// change that weight, with up to 32 workers.
class RoundServer {
  public:
    /// `weights` are those to begin with. Fails if an option is wrong or the socket can't be
    /// opened.
    [[nodiscard]] static Result<RoundServer> make(const RoundServerOptions &options,
                                                  std::vector<float> weights, RoundRule rule);
    RoundServer(RoundServer &&) noexcept;
    RoundServer &operator=(RoundServer &&) noexcept;
    ~RoundServer();

    /// Waits for datagrams, at most `timeout`, and handles one batch of them. Returns how many; 0
    /// if the time was over. Fails only if the socket does.
    [[nodiscard]] Result<std::size_t> receive(std::chrono::nanoseconds timeout);
    /// receive() until asked to stop, which it notices within 100 ms.
    [[nodiscard]] Result<void> serve(const std::stop_token &stop);

    /// Where it listens, with the port it got.
    [[nodiscard]] Result<Address> local_address() const;
    /// For event loops: readable when receive() has something to do.
    [[nodiscard]] int fd() const;
    [[nodiscard]] std::span<const float> weights() const;
    [[nodiscard]] RoundServerStats stats() const;

  private:
    class Impl;
    explicit RoundServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace olaf
