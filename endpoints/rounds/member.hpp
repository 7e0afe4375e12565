// SPDX-License-Identifier: BSD-2-Clause
// What is behind a Collective: one member of one job, or one for each of several threads.
// collective.cpp sends, receives and waits; vectors.cpp packs and unpacks, and keeps what others
// have summed.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include <olaf/collective.hpp>
#include <olaf/run.h>

#include "endpoints/rounds/child.hpp"
#include "endpoints/rounds/exponent_guess.hpp"
#include "endpoints/rounds/sockets.hpp"
#include "endpoints/wire/receive_batch.hpp"
#include "endpoints/wire/refusal.hpp"
#include "endpoints/wire/send_batch.hpp"

namespace olaf {

/// What has become of a vector. Whoever waits for it holds it, and so does the Collective until
/// then.
struct Collective::Operation::State {
    bool done = false;
    std::optional<Result<SumReport>> report = {}; // once it is done, until it is waited for
};

/// To be used by one thread at a time, but while Sleep says that it sleeps.
class Collective::Impl {
  public:
    using State = Operation::State;
    enum class Element : std::uint8_t { f32, i32, i64 };
    enum class Part : std::uint8_t { all, nothing }; // what of it is added
    using Sleep = Operation::Sleep;

    virtual ~Impl() = default;
    virtual Result<void> start() = 0;
    virtual Result<bool> finish(std::optional<std::chrono::nanoseconds> timeout) = 0;
    virtual Result<std::uint32_t> join() = 0;
    virtual Result<bool> leave(std::chrono::nanoseconds timeout) = 0;
    virtual Result<std::shared_ptr<State>> add(Element element, void *data, std::size_t elements,
                                               Combine combine, Part part) = 0;
    virtual void overhear(std::size_t elements) = 0;
    virtual bool take_overheard(std::span<float> vector) = 0;
    virtual Result<SumReport> wait(State &state, const Sleep &sleep) = 0;
    [[nodiscard]] virtual bool is_done(const State &state) const = 0;
    virtual Result<void> poll() = 0;
    [[nodiscard]] virtual CollectiveStats stats() const = 0;
    [[nodiscard]] virtual std::uint32_t next_round() const = 0;
    [[nodiscard]] virtual int fd() const = 0;

    /// Fails in a process that was forked since this was made.
    [[nodiscard]] Result<void> check_process() const;
    [[nodiscard]] bool is_forked() const;

  private:
    const pid_t process_ = ::getpid();
};

/// How often a wait asks whether it is interrupted.
constexpr auto kLookUpEvery = std::chrono::milliseconds(100);

/// The vector's elements are no sum, nor what they were.
void spoil(Collective::Impl::Element element, void *data, std::size_t elements);
/// Of a vector that is done, once.
Result<SumReport> take_report(Collective::Impl::State &state);

/// Another one for each start() of a worker.
std::uint64_t random_incarnation();

class CollectiveMember final : public Collective::Impl, private RoundVectors {
  public:
    using Clock = std::chrono::steady_clock;

    /// Sends nothing.
    static Result<std::unique_ptr<CollectiveMember>> open(const CollectiveOptions &options);

    Result<void> start() override;
    /// start() as a worker of that incarnation.
    Result<void> start_as(std::uint64_t incarnation);
    /// Behind start_as(): asks once more, as if it hadn't been answered. Sums wait for the answer.
    Result<void> ask_anew();
    /// docs/rounds.md, "Sessions".
    [[nodiscard]] std::uint64_t session() const { return child_->session(); }
    Result<bool> finish(std::optional<std::chrono::nanoseconds> timeout) override;
    Result<std::uint32_t> join() override;
    Result<bool> leave(std::chrono::nanoseconds timeout) override;
    Result<std::shared_ptr<State>> add(Element element, void *data, std::size_t elements,
                                       Combine combine, Part part) override;
    void overhear(std::size_t elements) override;
    bool take_overheard(std::span<float> vector) override;
    Result<SumReport> wait(State &state, const Sleep &sleep) override;
    [[nodiscard]] bool is_done(const State &state) const override { return state.done; }
    Result<void> poll() override;
    [[nodiscard]] CollectiveStats stats() const override;
    [[nodiscard]] std::uint32_t next_round() const override { return child_->next_round(); }
    [[nodiscard]] int fd() const override { return sockets_.fd(); }
    /// How a vector is cut; integers have no lag.
    [[nodiscard]] FloatPieces cut(Element element, std::size_t elements) const;
    /// As add(), of whole pieces of a vector that is cut so.
    Result<std::shared_ptr<State>> add_range(Element element, void *data, std::size_t elements,
                                             Combine combine, Part part, const FloatPieces &whole);

  private:
    CollectiveMember(const CollectiveOptions &options, const olaf_run &run, std::uint16_t lanes,
                     RoundSockets sockets)
        : options_(options), run_(run), lanes_(lanes), sockets_(std::move(sockets)), batch_(kBatch),
          sending_(kBatch) {
        begin_anew(random_incarnation());
    }

    static constexpr std::size_t kBatch = 32;

    struct Vector {
        std::shared_ptr<State> state = {};
        std::uint32_t round = 0;
        Element element = Element::f32;
        Combine combine = Combine::sum;
        Part part = Part::all;
        void *data = nullptr;
        std::size_t elements = 0;
        std::uint32_t pieces = 0; // of the data
        std::uint32_t lag = 0;    // pieces follow their exponents by so many chunks
        std::size_t each = 0;     // elements of a piece
        std::size_t whole = 0;    // elements of the vector that this is, or a range of
        bool guesses = false;     // data goes along with its exponents (exponent_guess.hpp)
        std::uint32_t agreed = 0; // exponents that are known
        std::uint32_t left = 0;   // chunks without a sum
        std::uint32_t missed = 0;
        std::optional<Error> wrong = {}; // what is wrong with its sum, if anything is
        std::vector<bool> unknown = {};  // pieces whose exponent was missed; empty if none was
        std::vector<std::int16_t> exponents =
            {}; // of each piece, once agreed; empty if it has none
        SumReport report = {};
    };

    // RoundVectors
    std::optional<std::int16_t> contribute(std::uint32_t round, std::uint32_t chunk,
                                           std::span<std::uint64_t> lanes) override;
    [[nodiscard]] std::span<const float> source(std::uint32_t round,
                                                std::uint32_t chunk) const override;
    bool pack_anew(std::uint32_t round, std::uint32_t chunk, std::int16_t exponent,
                   std::span<const float> source, std::span<std::uint64_t> lanes) override;
    void take(const RoundResult &result, std::span<const std::uint64_t> lanes) override;
    void miss(std::uint32_t round, std::uint32_t chunk) override;
    void take_anew(const RoundResult &result, std::span<const std::uint64_t> lanes) override;
    void miss_anew(std::uint32_t round, std::uint32_t chunk) override;
    [[nodiscard]] bool spares(const RoundResult &result, std::span<const std::uint64_t> lanes,
                              std::uint32_t lag) const override;
    [[nodiscard]] bool spares_missed(std::uint32_t round) const override {
        return vectors_[round - vectors_.front().round].guesses;
    }
    void overhear(const RoundResult &result, std::span<const std::uint64_t> lanes) override;
    // Who overhears takes weights of others, in place of sums of its own.
    [[nodiscard]] bool sums_stand_alone() const override { return overheard_ != 0; }
    [[nodiscard]] std::string describe(const VectorIdentity &vector) const override;

    // A vector of others, as far as its sum has come by itself.
    struct Heard {
        std::uint32_t generation = 0;
        Vector vector = {};
        std::vector<bool> chunks = {};
        std::vector<float> sum = {};
        [[nodiscard]] bool is_whole() const { return !sum.empty() && vector.left == 0; }
    };
    Heard *heard_of(const RoundResult &result);
    Heard *newest_heard();

    [[nodiscard]] VectorKind kind_of(const Vector &vector) const;
    Vector &vector_of(std::uint32_t round);
    template <class T> std::span<T> piece(const Vector &vector, std::uint32_t number) const;
    std::size_t elements_of(const Vector &vector, std::uint32_t piece) const;
    std::size_t elements_a_frame(Element element) const;
    // Whether int32 go two a lane, and what they add up to in the last one (docs/rounds.md).
    bool pairs_integers() const { return options_.format == Format::i32x2 && data_lanes() > 1; }
    void is_wrong(Vector &vector, std::string why, std::string hint) const;
    [[nodiscard]] bool has_too_many(const RoundResult &result) const;
    std::size_t data_lanes() const { return lanes_ - (options_.checksum ? 1U : 0U); }
    [[nodiscard]] bool pack_piece(const Vector &vector, std::uint32_t number,
                                  std::span<std::uint64_t> lanes) const;
    std::int16_t pack_exponent(const Vector &vector, std::uint32_t number,
                               std::span<std::uint64_t> lanes) const;
    // Returns whether it has put a piece of the sum into the vector.
    bool unpack(Vector &vector, const RoundResult &result, std::span<const std::uint64_t> lanes);
    void report(Vector &vector, const RoundResult &result, bool has_sum);
    void unpack_piece(Vector &vector, std::uint32_t number, std::span<const std::uint64_t> lanes,
                      std::int16_t packed_by);
    void learn_exponent(Vector &vector, std::uint32_t number, std::int16_t exponent);

    void begin_anew(std::uint64_t incarnation);
    Result<void> agree();
    void take_question_back();
    void send_reset(std::uint32_t generation);
    Result<void> take_shape();
    Result<void> prove_way(std::size_t bytes);
    RoundChild::Time now() const { return Clock::now().time_since_epoch(); }
    void hear_refusals(bool hears);
    std::optional<std::size_t> narrow_way() const;
    bool host_holds_unsent();
    Result<void> send_all(bool again);
    Result<std::size_t> receive();
    Result<std::size_t> receive_from(const UdpSocket &socket);
    // How to wait for something.
    struct Waiting {
        std::chrono::nanoseconds timeout; // without news
        Sleep sleep = {};
        const char *hint = "start() again, at every worker"; // if the time is over
    };
    [[nodiscard]] std::string remedy(const Waiting &waiting) const;
    [[nodiscard]] std::string versions() const;
    [[nodiscard]] std::string rank_is_taken() const;
    Result<void> progress_until(const std::function<bool()> &done, const Waiting &waiting);
    std::shared_ptr<State> add_farewell();
    void end_with(std::string how, std::string hint);
    [[nodiscard]] bool has_joined_nobody(const Vector &vector) const;
    static void end(Vector &vector, Result<SumReport> report);
    Result<void> give_up(std::string what, int code = 0,
                         std::string hint = "start() again, at every worker");

    CollectiveOptions options_;
    olaf_run run_;
    std::uint16_t lanes_;
    RoundSockets sockets_;
    ReceiveBatch batch_;
    SendBatch sending_;
    std::optional<RoundChild> child_;
    std::optional<Error> broken_;
    std::optional<Refusal> refusal_;             // the last one since the node was heard
    std::optional<unsigned> other_version_ = {}; // of the protocol, which the node speaks
    bool hears_refusals_ = false;
    bool held_unsent_ = false; // whether the host had frames of this member's at the last question
    CollectiveStats before_;   // of earlier beginnings, and what the child doesn't count

    std::deque<Vector> vectors_; // under way, in order
    ExponentHistory history_;
    std::size_t overheard_ = 0;              // elements of the vectors that are kept; 0: none is
    std::array<Heard, 3> heard_;             // the newest whole one, and two that aren't yet
    std::int64_t farewell_ = 0;              // the data of that vector
    std::optional<std::uint32_t> joined_at_; // the first round, until its sum has come
    bool has_ended_ = false;                 // by finish() or leave()
};

/// Several members, one of each of options.threads jobs, with a thread each. Sends nothing.
Result<std::unique_ptr<Collective::Impl>> open_threads(const CollectiveOptions &options);

} // namespace olaf
