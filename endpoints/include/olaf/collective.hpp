// SPDX-License-Identifier: BSD-2-Clause
// Sums vectors with the other workers of a job, inside a host with Olaf (docs/rounds.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <olaf/address.hpp>
#include <olaf/packing.hpp>
#include <olaf/reject.hpp>

namespace olaf {

/// All but the rank must be the same at all workers, and as `olaf job set` has it.
struct CollectiveOptions {
    Address node = {}; ///< of the host that adds
    /// The multicast group that results come to, where the job has --fanout multicast=GROUP, and
    /// the node's port; unspecified: they come to this worker alone. A worker that isn't in the
    /// job's group asks for each result by itself, which is slow.
    Address group = {};
    std::uint32_t job = 0;  ///< not OLAF_EVERY_WORKER
    std::uint32_t rank = 0; ///< at that host, 0 ... 255
    /// Of the whole job, all hosts together, those included that come later. A sum of more is an
    /// error, at each worker that gets it.
    std::uint32_t workers = 0;
    /// The training's name: the same at all workers, and another one for each training (rounds.md,
    /// "Runs"). Who knows it may take part: where strangers can reach the node, let it be one that
    /// nobody guesses. Empty: what torchrun or Slurm has named (TORCHELASTIC_RUN_ID, SLURM_JOB_ID);
    /// if neither has, there is no Collective.
    std::string run = {};
    /// Higher at each further start of the same training, which then takes the job over from the
    /// starts before. 0: the launcher's count of restarts, where the name is the launcher's.
    std::uint64_t run_number = 0;
    /// f32x2: the node adds floats themselves, in a job of --format f32. Then a chunk needs no
    /// exponent.
    Format format = Format::i32x2;
    bool checksum = true; ///< end-to-end checksum lane; f32x2 never has one
    /// IP MTU in bytes of the way to the node; 0: that of the device by which it is reached.
    std::size_t mtu = 0;
    /// Of a frame, the checksum lane included. 0: the job's, which the node tells at start().
    /// Whoever sums before it has started must say them, or have the job's by chance: then it is
    /// what the MTU has room for.
    std::uint16_t lanes = 0;
    /// How many chunks ahead of its data a chunk's exponent travels (floats as integers only). A
    /// vector of more chunks than this takes so many frames more; a shorter one twice as many.
    std::uint32_t ahead = 64;
    /// Floats as integers, in vectors of at most 2 · `ahead` chunks: how many bits of an element
    /// may be lost, down to the 24 of a float32. Then the data travels along with the exponents,
    /// packed by those of the last vector of that length. Where the largest elements have changed
    /// by less, a vector takes half the frames, and one round trip, not two. 0: no bits, and two
    /// round trips.
    unsigned guess_bits = 2;
    /// Threads that sum, each a range of every vector's chunks in a job of its own: `job`, job + 1,
    /// ... All are to be set alike. Worth it for vectors of megabytes, where CPUs are free. Then
    /// vectors move on by themselves, and join(), leave() and overhear() aren't there.
    unsigned threads = 1;
    /// How long no sum may come before a call asks who isn't there. It fails a second later, and
    /// names that member, or the node. At the first start() each member that comes counts as well.
    std::chrono::nanoseconds timeout = std::chrono::seconds(30);
    /// Asked about every 100 ms while a call waits, if there is one: true makes the call fail, and
    /// the job is to begin anew.
    std::function<bool()> interrupted = {};
    /// Frames that are sent together are handed to the kernel in one piece, which it or the NIC
    /// cuts (UDP_SEGMENT, Linux 4.18). start() tries whether such frames get to the node; where
    /// they don't, each is sent by itself.
    bool gso = true;
    /// How long a call may wait in all for room in the socket's buffer.
    std::chrono::nanoseconds send_patience = std::chrono::milliseconds(100);
    /// Kernel buffers in bytes; without CAP_NET_ADMIN net.core.{r,w}mem_max cap them.
    int receive_buffer = 4 << 20;
    int send_buffer = 4 << 20;
};

/// What becomes of the workers' vectors.
enum class Combine : std::uint8_t {
    sum,
    mean, ///< the sum divided by the number of workers in it; where few were late, by fewer
};

/// Elements of a vector that lie in a row.
struct ElementRange {
    std::size_t first = 0;
    std::size_t count = 0;
    friend bool operator==(const ElementRange &, const ElementRange &) = default;
};

/// What became of one vector.
struct SumReport {
    std::uint32_t chunks = 0;      ///< messages that it took
    std::uint32_t spared = 0;      ///< messages that it didn't need (CollectiveOptions::guess_bits)
    std::uint32_t least_count = 0; ///< workers in the sum, where the fewest are
    std::uint32_t partial = 0;     ///< chunks without all workers (threshold, deadline)
    std::uint32_t late = 0;        ///< chunks without this worker's part
    std::uint64_t not_finite =
        0; ///< elements that are NaN: some worker's chunk had inf or NaN; f32x2: element
    std::size_t left_out = 0; ///< elements whose sum is without this worker's part
    /// Where those are, in no order. Who keeps its part of them may add it to its next vector.
    std::vector<ElementRange> left_out_at = {};
};

struct CollectiveStats {
    std::uint64_t sent = 0;     ///< contributions, first sendings
    std::uint64_t repeated = 0; ///< contributions sent again
    std::uint64_t joined = 0;   ///< messages handed to the kernel in one piece with others
    std::uint64_t unsent = 0;   ///< messages lost on this host
    std::uint64_t results = 0;  ///< chunks summed
    std::uint64_t spared = 0;   ///< chunks that needn't be sent (CollectiveOptions::guess_bits)
    std::uint64_t partial = 0;  ///< of those: without all workers
    std::uint64_t late = 0;     ///< of those: without this worker's part
    std::uint64_t missed = 0;   ///< chunks whose sum this worker will never get
    std::uint64_t agreed = 0;   ///< how often all had to agree on where to begin
    std::uint64_t unasked = 0;  ///< answers that came twice, or too late
    RejectCounts rejected;

    CollectiveStats &operator+=(const CollectiveStats &other) {
        sent += other.sent;
        repeated += other.repeated;
        joined += other.joined;
        unsent += other.unsent;
        results += other.results;
        spared += other.spared;
        partial += other.partial;
        late += other.late;
        missed += other.missed;
        agreed += other.agreed;
        unasked += other.unasked;
        rejected += other.rejected;
        return *this;
    }
};

/// One worker's end of a job. Not thread-safe; nothing moves on but in its calls.
///
/// Floats are summed as integers with a block exponent: that of the chunk's largest element at
/// any worker, on which the workers agree with the chunks before it, or which they have guessed. So
/// the sum is the same at all workers, whatever the order. An element's error is at most workers ·
/// 2^-b of the chunk's largest element, with b = 30 - ⌈log2 workers⌉ (i32x2), or up to guess_bits
/// less, though not less than 24. At the end the sum is rounded to a float32, by half a unit of its
/// last place, 2^-24 of it at most. So in all an error is at most workers · (2^-b + 2^-24) of the
/// chunk's largest element. From three workers on that is below the bound of float32's own
/// additions of elements as large as that one; with two it is up to an eighth above. Much smaller
/// elements in the same chunk lose more than with float32. A chunk in which any worker has inf or
/// NaN is NaN throughout, for all.
///
/// With f32x2 the node adds them, in fixed point of the job's --float-bits s: an element's error is
/// at most workers · 2^-(s + 1), and half a unit of the sum's last place. An element that any
/// worker has as inf or NaN, or beyond the job's range, is NaN, and only that one. Integers can't
/// be summed then.
///
/// Workers that begin together call start(), sum vectors, and call finish() after the last one. A
/// worker that comes while the others sum calls join() in place of start(). One that goes while the
/// others go on calls leave() in place of finish(). After an error the job is to begin anew: go
/// back to the same step and call start(), at every worker. A worker that begins anew while the
/// others go on, because its process was restarted or called start() again, is never summed with
/// their old vectors: their next sum fails and names its rank. The destructor only closes the
/// socket: it sends nothing and doesn't wait. If a node is restarted right then, workers that still
/// lack sums can't get them without this one.
///
/// In a process that was forked since, every call fails: the other process has this rank.
class Collective {
  public:
    class Impl; ///< libolaf's own
    /// Fails if an option is wrong, nothing says which run this is, or the socket can't be opened.
    /// Sends nothing.
    [[nodiscard]] static Result<Collective> make(const CollectiveOptions &options);

    Collective(Collective &&) noexcept;
    Collective &operator=(Collective &&) noexcept;
    ~Collective();

    /// Waits until all workers have asked where to begin. Those that were summing must call start()
    /// again for that. Fails after options.timeout without news, and says who is missing. Fails at
    /// once if the job has another shape than options say, or frames that the way to the node has
    /// no room for, or if this rank is no member, or another run has the job. Vectors under way are
    /// given up.
    [[nodiscard]] Result<void> start();
    /// Waits until no other worker can need this one, even if a node is restarted: until all
    /// workers have all their sums, and have called finish(), too. Waits for vectors under way
    /// first. False if that can't be known, because a threshold or deadline left a worker out of
    /// it, or another one has begun anew. Fails after `timeout` without news (default:
    /// options.timeout) and says who is missing; this worker then has all its sums, but another may
    /// not. After it, only start() is possible.
    [[nodiscard]] Result<bool> finish();
    [[nodiscard]] Result<bool> finish(std::chrono::nanoseconds timeout);

    /// In place of start(): joins workers that are summing already, under a rank that is free
    /// (`olaf job set --absent`, or its member has left), or in place of a member that is lost.
    /// Returns the round of the next vector, which is how many the others have summed before it;
    /// they may have begun later ones by then. Fails after options.timeout without an answer, as
    /// in a job that its members haven't started. A worker that comes alone into a job where
    /// no vector was summed yet fails with its first vector: such a job needs start(), at every
    /// worker.
    [[nodiscard]] Result<std::uint32_t> join();
    /// In place of finish(): leaves while the others go on. From the next vector on they sum
    /// without this worker. Waits for vectors under way first, then until nobody can need what it
    /// contributed, even if a node is restarted. False if that isn't known after `timeout`, because
    /// the others have paused; nothing waits for this worker even so. After it, only join() is
    /// possible. Where all workers leave, the job has no member left to start(): set it anew.
    [[nodiscard]] Result<bool> leave(std::chrono::nanoseconds timeout);

    // Calls of former names don't compile. The compiler's message tells the new name.
    template <class Job = Collective> Result<std::uint32_t> join_running() {
        static_assert(is_former<Job>, "Collective::join_running() is Collective::join() now");
        return {};
    }
    template <class Job = Collective> Result<bool> depart(std::chrono::nanoseconds) {
        static_assert(is_former<Job>, "Collective::depart() is Collective::leave() now");
        return {};
    }
    template <class Job = Collective> Result<bool> leave() {
        static_assert(is_former<Job>, "Collective::leave() without a timeout, at every worker "
                                      "after the last vector, is Collective::finish() now");
        return {};
    }

    /// A vector under way. Its Collective must live.
    class Operation {
      public:
        struct State; ///< libolaf's own
        /// Waits for the sum; fails as allreduce() does.
        [[nodiscard]] Result<SumReport> wait();
        /// The same for threads that share a Collective, each of whose calls is under one lock.
        /// `lock`, held, is released while this sleeps: std::unique_lock or the like.
        template <class Lock> [[nodiscard]] Result<SumReport> wait(Lock &lock) {
            return wait_with(
                {.before = [&lock] { lock.unlock(); }, .after = [&lock] { lock.lock(); }});
        }
        /// Whether wait() returns at once.
        [[nodiscard]] bool done() const;
        bool operator==(const Operation &) const = default;

      private:
        friend class Collective;
        struct Sleep {
            std::function<void()> before = {}, after = {};
        };
        [[nodiscard]] Result<SumReport> wait_with(const Sleep &sleep);
        Operation(Impl *impl, std::shared_ptr<State> state)
            : impl_(impl), state_(std::move(state)) {}
        Impl *impl_;
        std::shared_ptr<State> state_;
    };

    /// Puts the sum over all workers in place of `vector`, which isn't to be touched until the
    /// operation is done. Several may be under way; they are summed in order. All workers must
    /// give vectors of the same sizes and types, for the same operation, in the same order, and say
    /// the same number of workers. Where two differ nobody gets a sum: the operation fails at every
    /// worker, and its error names both vectors. A vector without elements is a vector, too.
    /// After an error a vector of floats is NaN throughout, and integers are partly sums: to try
    /// again, give a copy that was kept.
    [[nodiscard]] Result<Operation> allreduce_async(std::span<float> vector,
                                                    Combine combine = Combine::sum);
    /// Exact mod 2^64.
    [[nodiscard]] Result<Operation> allreduce_async(std::span<std::int64_t> vector);
    /// Exact. If a sum of the vector doesn't fit into 32 bits the operation fails, at every worker
    /// alike. The next one may succeed, with several threads after start(). Fails with i16x4.
    [[nodiscard]] Result<Operation> allreduce_async(std::span<std::int32_t> vector);

    /// Takes the others' sum and adds nothing: for a worker that has nothing fit to be added, in a
    /// job whose threshold the others reach without it. Otherwise all wait for ever. Like
    /// allreduce_async() it is this worker's part in one vector, which it can't add to any more.
    [[nodiscard]] Result<Operation> follow_async(std::span<float> vector);
    /// From now on keeps the newest sum that the others have without this worker and that came
    /// whole, of so many floats: a node gives all members all results. It takes memory for three
    /// such vectors.
    void overhear(std::size_t elements);
    /// Puts that sum into the vector and goes on behind its round: this worker takes no part in the
    /// rounds before, nor in it, and gets no other sum of theirs. False: none is there that is
    /// newer than what this worker has, or vectors are under way, or `vector` has another size.
    /// What has arrived is seen by poll() and whatever waits.
    [[nodiscard]] bool take_overheard(std::span<float> vector);
    /// The round of the next vector; wraps.
    [[nodiscard]] std::uint32_t next_round() const;

    /// The same as allreduce_async(), and waits.
    [[nodiscard]] Result<SumReport> allreduce(std::span<float> vector, Combine combine) {
        auto operation = allreduce_async(vector, combine);
        if (!operation)
            return std::unexpected(operation.error());
        return operation->wait();
    }
    template <class Element> [[nodiscard]] Result<SumReport> allreduce(std::span<Element> vector) {
        auto operation = allreduce_async(vector);
        if (!operation)
            return std::unexpected(operation.error());
        return operation->wait();
    }

    /// Sends and takes in what there is, without waiting. For workers that compute meanwhile.
    [[nodiscard]] Result<void> poll();
    [[nodiscard]] CollectiveStats stats() const;
    /// For event loops: readable when poll() has something to do.
    [[nodiscard]] int fd() const;

  private:
    template <class> static constexpr bool is_former = false;
    explicit Collective(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace olaf
