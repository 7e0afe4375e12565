// SPDX-License-Identifier: BSD-2-Clause
// A worker's side of a job (docs/rounds.md), without sockets and clocks: what to send next, and
// what an answer means.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <olaf/collective.hpp>

#include "endpoints/rounds/kept_chunks.hpp"
#include "endpoints/rounds/sending.hpp"
#include "endpoints/wire/round_message.hpp"

namespace olaf {

/// The vectors that a RoundChild sums.
class RoundVectors {
  public:
    virtual ~RoundVectors() = default;
    /// Packs this member's part of a chunk, without the checksum lane; returns its exponent.
    /// Nothing if it has none to give: then it only asks for the sum, which the others may have
    /// without it. Called once for each chunk, in order.
    virtual std::optional<std::int16_t> contribute(std::uint32_t round, std::uint32_t chunk,
                                                   std::span<std::uint64_t> lanes) = 0;
    /// What the chunk `lag` later is made of; nothing if this member has nothing to give. Called
    /// once for each chunk that another one follows from, after contribute().
    [[nodiscard]] virtual std::span<const float> source(std::uint32_t /*round*/,
                                                        std::uint32_t /*chunk*/) const {
        return {};
    }
    /// Packs a chunk by another exponent than before, of its source; false: that doesn't fit. Its
    /// vector may have ended. Lanes as contribute() gets them, all 0.
    virtual bool pack_anew(std::uint32_t /*round*/, std::uint32_t /*chunk*/,
                           std::int16_t /*exponent*/, std::span<const float> /*source*/,
                           std::span<std::uint64_t> /*lanes*/) {
        return false;
    }
    /// The sum. Called once for each chunk, in any order; `lanes` without the checksum lane.
    virtual void take(const RoundResult &result, std::span<const std::uint64_t> lanes) = 0;
    /// Instead: the others went on without this member, and the node doesn't have the sum any more.
    virtual void miss(std::uint32_t round, std::uint32_t chunk) = 0;
    /// A chunk that was taken was agreed on anew. The chunk `lag` later, whose sum isn't there yet,
    /// is of the exponent of this result, or spared by it. As take() but for that.
    virtual void take_anew(const RoundResult & /*result*/,
                           std::span<const std::uint64_t> /*lanes*/) {}
    /// Instead: it was agreed on anew, and nobody tells by which exponent.
    virtual void miss_anew(std::uint32_t /*round*/, std::uint32_t /*chunk*/) {}
    /// Whether a sum means the same whatever sums this member was given before it, as a parameter
    /// server's weights do. Then no member minds that others have another sum of an earlier round.
    [[nodiscard]] virtual bool sums_stand_alone() const { return false; }
    /// Whether nobody contributes to the chunk `lag` later, as this result has its sum already. All
    /// members must find the same, so it follows from the arguments alone. Asked before take().
    [[nodiscard]] virtual bool spares(const RoundResult & /*result*/,
                                      std::span<const std::uint64_t> /*lanes*/,
                                      std::uint32_t /*lag*/) const {
        return false;
    }
    /// A vector in words, for an error: "100 float32".
    [[nodiscard]] virtual std::string describe(const VectorIdentity &vector) const {
        return std::to_string(vector.chunks) + " chunks";
    }
    /// Whether this member, which has just missed a chunk of that round, has no use for the chunk
    /// `lag` later, either.
    [[nodiscard]] virtual bool spares_missed(std::uint32_t /*round*/) const { return false; }
    /// A sum of a vector that wasn't added yet, which the others have without this member. May be
    /// called twice for a chunk, and not for each. `lanes` as above.
    virtual void overhear(const RoundResult & /*result*/,
                          std::span<const std::uint64_t> /*lanes*/) {}
};

struct RoundChildOptions {
    std::uint32_t job = 0;
    std::uint32_t rank = 0;
    std::uint16_t lanes = 0; ///< of every contribution, checksum lane included
    bool adapts = false; ///< it takes the job's lanes, once told, unless a vector was added by then
    Format format = Format::i32x2;
    bool has_checksum = true;
    std::uint32_t workers = 0;     ///< whose contributions make a whole sum; 0: isn't known
    std::uint8_t pool = 16;        ///< at most 2^pool chunks under way
    bool hears_group = false;      ///< results for all are this member's too
    bool gso = false;              ///< what may leave in one piece says so, once the way is proven
    std::uint64_t incarnation = 1; ///< random: another one for each RoundChild
    olaf_run run = {.training = 1, .number = 0}; ///< whose sums these are
};

/// Not thread-safe. Times are of any one clock that never goes back.
class RoundChild {
  public:
    using Time = std::chrono::nanoseconds;
    static constexpr Time kNever = Time::max();

    /// `vectors` must live longer.
    RoundChild(const RoundChildOptions &options, RoundVectors &vectors)
        : options_(options), vectors_(&vectors) {}

    /// Queues the next vector, of `chunks` > 0 chunks, and returns its round. Chunk c >= lag is
    /// packed only once chunk c - lag of the same vector was taken, and unless that one spares it.
    std::uint32_t add(std::uint32_t chunks, std::uint32_t lag, std::int64_t generated_ns,
                      const VectorKind &kind = {});
    /// Queues the farewell (docs/rounds.md, "Finishing") as a vector of one chunk. Nothing may be
    /// added after it.
    std::uint32_t add_farewell(std::int64_t generated_ns, const VectorKind &kind = {});
    /// Takes no part in the next vector, of `chunks` chunks, and doesn't get its sum: nothing is
    /// sent. The others must have that sum without this member. Precondition: is_idle().
    void skip(std::uint32_t chunks);
    /// How many of the next vectors the others are known to have summed already.
    [[nodiscard]] std::size_t behind() const;
    /// The round that the next add() returns.
    [[nodiscard]] std::uint32_t next_round() const { return next_round_; }
    /// Asks where to begin even if there is nothing to send yet.
    void start() { starting_ = true; }
    /// Asks once more, as if it hadn't been answered. Precondition: is_running(), and nothing was
    /// added.
    void ask_anew() {
        session_ = 0;
        ask();
    }
    /// Instead, before anything is added: joins members that are summing already. The first round
    /// is theirs to say: nothing may be added until is_running().
    void join() { joins_ = starting_ = true; }
    /// Goes on below another node, under another job's id and rank there: asks it where to begin, with
    /// what was contributed so far. All members of the session must move to the same tree; each may
    /// do so at its own time. Of what they contributed at most 2 P chunks are sent anew.
    void move(std::uint32_t job, std::uint32_t rank);
    /// The same between two vectors, where the members change too: all who are in the new tree, those
    /// that were in the old one and others, begin a session of their own in that round. Precondition:
    /// is_idle(), and next_round() is that round or nothing was ever added.
    void move(std::uint32_t job, std::uint32_t rank, std::uint32_t round);
    /// Takes this member out, while others go on. Precondition: is_idle(). Nothing may be added
    /// after it.
    void leave();
    /// That a RESET must name to count: the job's, by the node's last answer; 0: it isn't known.
    [[nodiscard]] std::uint32_t told_generation() const { return told_generation_; }
    /// Whether nobody needs this one any more after leave().
    [[nodiscard]] bool has_left() const { return state_ == State::left; }
    /// Of every contribution.
    [[nodiscard]] std::uint16_t lanes() const { return options_.lanes; }
    /// Whether all members have agreed and this one may contribute.
    [[nodiscard]] bool is_running() const { return state_ == State::running; }
    /// Whether it has never asked: nothing was sent yet.
    [[nodiscard]] bool is_strange() const { return state_ == State::strange; }
    /// Whether every chunk of every vector that was added has been summed, or missed.
    [[nodiscard]] bool is_idle() const;

    /// Asks the node once more when this one may contribute, in a message as long as a
    /// contribution, until an answer comes that is as long.
    void prove_way();
    /// Whether frames of that length are known to reach the node, and to come back.
    [[nodiscard]] bool is_way_proven() const { return !proof_; }
    /// Whether short questions are answered again and again, and none of that length is.
    [[nodiscard]] bool is_way_too_narrow() const;
    /// Nothing leaves in one piece with others from now on: this host can't cut such pieces.
    void stop_gso() { gso_ = options_.gso = false; }

    struct Sending {
        olaf_header header;
        std::span<const std::uint64_t> lanes; ///< as long as nothing is taken
        bool again = false;                   ///< a contribution that was sent before
        bool joins = false; ///< may leave in one piece with its neighbours (UDP_SEGMENT)
    };
    /// A message to be sent to the node now. To be asked again until there is none.
    /// `tai_ns`: CLOCK_TAI. `again`: false while answers may have arrived that weren't taken yet;
    /// then nothing is sent a second time.
    [[nodiscard]] std::optional<Sending> next(Time now, std::int64_t tai_ns, bool again = true);
    /// When next() has something even if nothing arrives; kNever if it hasn't.
    [[nodiscard]] Time wakes_at() const;

    /// Whether the oldest chunk is to be sent again as nothing has come for it.
    [[nodiscard]] bool is_overdue(Time now) const { return overdue_at() <= now; }
    /// This host's kernel still has some of what was sent, in the queue of a device or at a veth's
    /// far end, or just had it. So a link or a CPU is late, and silence doesn't mean loss: the
    /// oldest chunk waits on. (TCP's retransmissions look at the same, skb_still_in_host_queue() in
    /// Linux.)
    void is_held_up(Time now) { held_up_ = now; }

    /// Takes in a message of the node's, and says why if it's none.
    Decoded<void> take(std::span<const std::byte> message, std::span<const std::uint64_t> lanes,
                       Time now);

    /// What can't be mended: nothing is sent and taken any more.
    [[nodiscard]] const std::optional<Error> &failure() const { return failure_; }
    /// Whether that is because the node has no such member: it is another run's.
    [[nodiscard]] bool is_refused() const { return refused_; }
    /// What is waited for, for a person: "rank 3 hasn't asked yet".
    [[nodiscard]] std::string missing(Time now) const;
    /// To be called when nothing has come for too long: asks where to begin, so that the node's
    /// answer names who isn't there. All who are there ask too, and go on if it was nothing. False:
    /// there is nothing to ask, or missing() says who it is.
    bool ask_who_is_missing();
    /// When a sum last came. Until all have agreed for the first time: when another member came.
    [[nodiscard]] Time last_progress() const { return last_progress_; }
    /// Whether all members have agreed where to begin since the last sum came.
    [[nodiscard]] bool all_are_there() const { return all_there_; }
    /// All but `unsent` and `joined`, of which a RoundChild knows nothing.
    [[nodiscard]] const CollectiveStats &stats() const { return stats_; }
    /// p, as agreed.
    [[nodiscard]] std::uint8_t pool() const { return pool_; }
    /// Of the results that it takes. Another one: all began anew.
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    /// docs/rounds.md, "Sessions"; 0: none yet.
    [[nodiscard]] std::uint64_t session() const { return session_; }

  private:
    using Position = KeptChunks::Position;
    static constexpr Position kNowhere = std::numeric_limits<Position>::max();
    static constexpr Time kAskAtMostEvery = std::chrono::milliseconds(5);
    static constexpr Time kAskAtLeastEvery = std::chrono::milliseconds(50);
    /// Some driver may never say that a frame has left.
    static constexpr Time kHeldUpAtMost = std::chrono::seconds(1);
    static constexpr unsigned kLostInPieces = 3; // chunks in a row
    enum class State : std::uint8_t { strange, asking, running, left };

    // A vector whose chunks haven't all been packed.
    struct Waiting {
        std::uint32_t round, chunks, lag, next;
        std::int64_t generated_ns;
        VectorKind kind = {};
        bool farewell = false;
        std::vector<bool> spared = {}; // chunks that an earlier one brought; empty if none is
    };
    // Where a chunk is: of which round, and which of its chunks.
    struct Place {
        std::uint32_t round, chunk;
    };
    // That frames as long as a contribution get through: long and short questions in turn. With
    // gso, the first ones are pairs of long ones, each in one piece.
    struct Proof {
        unsigned sent = 0;
        bool half = false; // the second one of a pair is to follow
        unsigned short_answers = 0;
        Time at{0}; // when to send the next one
    };

    [[nodiscard]] std::size_t window() const { return std::size_t{1} << pool_; }
    [[nodiscard]] std::size_t slot_of(std::uint32_t chunk) const { return chunk & (window() - 1); }
    [[nodiscard]] bool has_next() const { return next_ < kept_.end() || !waiting_.empty(); }
    [[nodiscard]] std::size_t at_once() const { return std::min(window(), congestion_.size()); }
    // The chunk to be sent next. Precondition of this and what follows: has_next().
    struct Next {
        std::uint32_t chunk, chunks, lag;
    };
    [[nodiscard]] Next next_chunk() const;
    // Whether its exponent depends on a result that isn't there.
    [[nodiscard]] bool next_lacks_its_lead() const;
    [[nodiscard]] bool has_room() const;
    [[nodiscard]] bool may_send_next() const;
    [[nodiscard]] bool may_be_spared_next() const;
    bool must_flush();
    // Without the checksum lane.
    template <class Lanes> [[nodiscard]] auto data_of(Lanes &&lanes) const {
        return std::span(lanes).first(lanes.size() - (options_.has_checksum ? 1 : 0));
    }
    void pack_next();
    void pack(KeptChunk &kept);
    void pack_follower(Position position);
    std::vector<bool>::reference is_spared(Position position);
    void spare(Position position);
    void send_after_all(Position position);
    void pass_spared();
    Sending send_next(Time now);
    std::optional<Sending> send_again(Time now);
    [[nodiscard]] bool is_void(Position position, unsigned sendings) const;
    void forget_answered();
    [[nodiscard]] Time overdue_at() const;
    void find_lost(Time now);
    void lose(Position position);
    void learn_order(Position position, Time now);
    void is_overtaken(Position position, Time now);
    void fly(KeptChunk &kept);
    void land(KeptChunk &kept);
    [[nodiscard]] bool may_send_again() const;
    Sending contribution(Position position, Time now, bool flush);
    void drop_old();
    [[nodiscard]] bool is_source_needed() const;

    Decoded<void> take_result(const RoundResult &result, std::span<const std::uint64_t> lanes,
                              Time now);
    Decoded<void> take_stale(const RoundResult &stale);
    void ask_anew(Position position);
    [[nodiscard]] std::optional<VectorIdentity> vector_of(std::uint32_t round) const;
    bool is_one_vector(const KeptChunk &kept, const RoundResult &result);
    void take_misfit(const RoundResult &result);
    void fail_for_vectors(const std::string &who, const VectorIdentity &gives,
                          const VectorIdentity &other, std::uint32_t number);
    [[nodiscard]] bool is_of_this_job(const RoundResult &result) const;
    void learn_times(const KeptChunk &kept, Time now);
    void learn_gso(const KeptChunk &kept);
    void overhear(const RoundResult &result, std::span<const std::uint64_t> lanes);
    void forget_newest();
    void hold(Position position, const RoundResult &result, std::span<const std::uint64_t> lanes,
              Time now);
    void agree_anew(Position position, const RoundResult &result,
                    std::span<const std::uint64_t> data, bool spares);
    void forget_exponent(Position position);
    void note_sum(KeptChunk &kept, const RoundResult &result, std::span<const std::uint64_t> data);
    [[nodiscard]] bool has_sum(Position position) const;
    void fail_for_sum(const KeptChunk &kept, const char *is);
    [[nodiscard]] bool lacks_follower(Position position) const;
    void settle_follower(Position position);
    void move_on();

    void ask();
    // Parts of missing(): what, who by the last WAIT, and the node.
    [[nodiscard]] std::string lacked() const;
    [[nodiscard]] std::string unasked() const;
    [[nodiscard]] std::string unanswered(Time now) const;
    [[nodiscard]] std::string silence(Time now) const;
    std::optional<Sending> send_sync(Time now, std::int64_t tai_ns);
    std::optional<Sending> send_proof(Time now);
    // Whatever is answered, and how fast, a member asks 200 times a second at most.
    [[nodiscard]] Time until_next_question(unsigned asked) const {
        return std::clamp(timeout_.after(asked - 1), kAskAtMostEvery, kAskAtLeastEvery);
    }
    Sending question(std::uint16_t lanes);
    [[nodiscard]] std::uint16_t long_lanes() const { return std::max(options_.lanes, kSyncLanes); }
    void take_proof(const JobSync &answer, Time now);
    Decoded<void> take_sync(const JobSync &answer, Time now);
    void begin_at(const JobSync &answer);
    void begin_joined(const JobSync &answer);
    void note_missing(const JobSync &wait, Time now);
    void take_gone();
    bool take_before_leaving(const JobSync &answer);
    void take_over(const JobSync &answer);
    void take_other(const JobSync &answer);
    bool needs_nothing();
    bool has_shape(const JobSync &answer);
    [[nodiscard]] Place place_of(Position position) const;
    [[nodiscard]] Position first_lacking() const;
    [[nodiscard]] std::optional<Position> position_of(Place place) const;
    void fail_with(std::string reason, std::string hint);
    void fail_for_good(std::string reason, std::string hint);
    [[nodiscard]] std::string job_name() const { return "job " + std::to_string(options_.job); }

    RoundChildOptions options_;
    RoundVectors *vectors_;
    State state_ = State::strange;
    bool starting_ = false;
    bool joins_ = false;            // it is to JOIN
    bool leaves_ = false;           // it is to LEAVE
    std::uint32_t first_round_ = 0; // that it is a member of
    std::uint32_t generation_ = 0;
    std::uint32_t told_generation_ = 0; // the job's, by the last answer
    std::uint64_t session_ = 0;
    std::uint8_t pool_ = 0;

    std::deque<Waiting> waiting_;
    std::uint32_t next_round_ = 0;
    std::optional<std::uint32_t> newest_round_; // summed by others, and not before next_round_
    KeptChunks kept_;
    Position next_ = 0;    // to be sent next, in this generation
    Position oldest_ = 0;  // that isn't held
    Position flushed_ = 0; // what followed the last FLUSH
    Position newest_ = 0;  // whose result came
    Position passed_ = 0;  // what was sent once before it was overtaken by that
    bool uneven_ = false;  // somebody wasn't in the last sum
    Position lacking_ = 0; // the oldest that wasn't delivered, whatever the generation
    std::size_t most_kept_ = 2;
    std::vector<Position> last_in_slot_{kNowhere}; // of those sent in this generation
    std::uint64_t sendings_ = 0;                   // of all chunks
    std::uint64_t answered_ = 0;                   // the newest of them that has its result
    std::deque<ChunkSending> again_;     // those of chunks that had been sent before, in order
    std::deque<ChunkSending> overtaken_; // by answered ones, in the order of time
    Time last_result_{0};
    Time held_up_{0}; // when this host last had frames of this member's
    Time probed_{0};  // when a chunk was last sent again as nothing came
    // What counts as lost, the oldest first, and how often it had been sent.
    std::set<std::pair<Position, unsigned>> lost_;
    CongestionWindow congestion_;
    std::size_t flying_ = 0; // chunks
    Position limited_ = 0;   // what follows what was sent when the congestion window was last full
    RoundTimeout timeout_;

    JobSync sync_{};                        // what is asked
    std::vector<std::uint64_t> sync_lanes_; // of a long question, and of a short one the first ones
    Time ask_at_{0};                        // when to repeat it
    Time asked_at_ = -kAskAtMostEvery;
    unsigned asked_ = 0;          // how often it was sent
    unsigned too_old_ = 0;        // DONE named a chunk that isn't kept: in a row
    std::optional<JobSync> wait_; // the last WAIT
    // The fewest that a WAIT has named: by JobSync::above and JobSync::anew.
    std::array<std::uint32_t, 4> least_missing_ = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    bool all_there_ = false;     // all_are_there()
    std::optional<Proof> proof_; // as long as it's missing
    bool gso_ = false;           // pieces that this host cuts get to the node
    unsigned lost_in_pieces_ = 0; // learn_gso()

    Time last_heard_ = -Time::max() / 2;
    Time last_progress_{0};
    CollectiveStats stats_;
    std::optional<Error> failure_;
    bool refused_ = false;
};

} // namespace olaf
