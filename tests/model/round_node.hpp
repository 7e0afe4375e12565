// SPDX-License-Identifier: BSD-2-Clause
// A plain model of the node that docs/rounds.md describes: one job, one thread, nothing fast. It is
// written from that page. Times are nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "round_message.hpp"

namespace olaf::model {

/// Is round `a` before round `b`? Rounds wrap around.
inline bool is_before(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) < 0;
}

struct RoundSetup {
    std::uint32_t children = 1;
    std::uint32_t threshold = 0; ///< 0: all children
    bool any = false;
    std::uint32_t max_count = 256;
    std::uint8_t pool = 0;                            ///< p
    std::optional<std::uint32_t> rank_at_parent = {}; ///< none: this is the root
    std::uint64_t deadline_ns = 0;
    std::set<std::uint32_t> absent = {}; ///< no members at first
    Run run = {}; ///< only this one may have the job: its training's alias; number 0: any
    std::uint64_t member_timeout_ns = UINT64_MAX; ///< who is silent for so long isn't there
    bool multicast = false; ///< a result that is the same for all leaves in one frame
    bool has_checksum = false; ///< the last lane is one
};

/// Rules that can be broken, to show that tests notice.
struct BrokenRules {
    bool never_sends_up_again = false;
    bool parents_are_not_asked = false;
    bool sync_does_not_stop = false;
    bool duplicates_are_added = false;
    bool duplicates_are_not_answered = false;
    bool generations_do_not_matter = false;
    bool begins_where_the_last_one_asks = false;
    bool parents_stale_is_ignored = false;
    bool nobody_may_abstain = false;
    bool stale_echoes_nothing = false;
    bool pool_is_not_agreed_upwards = false;
    bool joiners_open_chunks = false;
    bool what_was_forgotten_does_not_matter = false;
    bool joins_begin_at_once = false; ///< in a round that has begun
    bool changes_are_over_soon = false; ///< once P chunks were opened
    bool who_leaves_a_stopped_job_is_not_missed = false;
    bool vectors_do_not_matter = false;
    bool nobodys_part_is_missed = false; ///< sums without who has left pass for whole ones
    bool sessions_do_not_matter = false; ///< all go on with whoever has begun anew
    bool who_is_new_is_not_told_upwards = false;
    bool two_sessions_do_not_matter = false;
    bool incarnations_are_not_compared = false; ///< who has no session has begun anew
    bool newest_stamp_is_not_told = false;      ///< OLD doesn't say what a question must be newer than
    bool joiners_are_told_no_session = false;
    bool what_a_member_was_not_told_does_not_matter = false; ///< where the others began without it
    bool older_runs_come_back = false;  ///< whoever asks takes the job from another run of its training
    bool damaged_sums_stay = false;
    bool who_gave_before_is_late = false; ///< in the parent's result of what is gathered anew
    bool anybody_may_give_again = false;  ///< to what is gathered anew
    bool operator==(const BrokenRules &) const = default;
};

struct RoundCounters {
    std::uint64_t received = 0, added = 0, duplicate = 0, late = 0, stale = 0, ahead = 0;
    std::uint64_t halted = 0, probes = 0, completed = 0, partial = 0, riding = 0, copied = 0;
    std::uint64_t misfit = 0; ///< of those that are complete: vectors differed
    std::uint64_t repeated = 0, undelivered = 0, up_sent = 0, up_again = 0, syncs = 0;
    std::uint64_t up_asked = 0;
    std::uint64_t spoilt = 0; ///< results that were damaged, and were gathered anew
    std::uint64_t unheard = 0; ///< agreements in which members without a session were in the others'
    std::uint64_t stopped = 0; ///< how often the members had to begin anew
    std::uint64_t controls = 0;
    std::uint64_t settled = 0; ///< changes of the members that were over
    std::uint64_t deliveries = 0; ///< results that members were owed when their chunk was complete
    std::uint64_t no_room = 0;    ///< contributions that would bring a sum above max_count
    std::uint64_t multicast = 0;  ///< frames for all
    std::uint64_t by_multicast = 0; ///< deliveries that these were
};

/// A message that leaves.
struct RoundSent {
    bool up = false;      ///< to the parent, else to a child:
    std::uint32_t to = 0; ///< its rank
    bool to_all = false;  ///< to all of them, instead
    RoundMessage message;
};

class RoundNode {
  public:
    enum class BufferState { free, open, up, done };
    struct Buffer {
        BufferState state = BufferState::free;
        RoundMessage sum = {}; ///< lanes and what else is added up
        std::set<std::uint32_t> in = {}, owed = {};
        std::set<std::uint32_t> given = {}; ///< who was in what went up first
        std::uint32_t added = 0;
        std::size_t deliveries = 0; ///< members that were owed it when it was done
        std::uint64_t opened = 0, went_up = 0, first_up = 0;
        bool is_sealed = false; ///< the next repetition completes it
    };
    using Out = std::vector<RoundSent>;

    /// `generation`: random, not 0.
    RoundNode(const RoundSetup &setup, std::uint32_t generation, const BrokenRules &broken = {});

    /// A well-formed message arrives; appends what leaves.
    void arrive(std::uint64_t now, std::int64_t tai, const RoundMessage &message, Out &out);

    /// `olaf job halt` and so on.
    void halt(bool halted) { halted_ = halted; }
    void reset() { stop(); }
    void release() { end_run(); }
    void flush(std::uint64_t now, Out &out); ///< seals what is open

    [[nodiscard]] const RoundCounters &counters() const { return counters_; }
    [[nodiscard]] bool running() const { return running_; }
    /// That has the job.
    [[nodiscard]] const Run &has_job() const { return run_; }
    [[nodiscard]] bool halted() const { return halted_; }
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    /// Who is a member in new rounds.
    [[nodiscard]] const std::set<std::uint32_t> &members() const { return now_; }
    /// Those of them that are in all rounds: who joined last isn't.
    [[nodiscard]] std::set<std::uint32_t> elders() const {
        std::set<std::uint32_t> both;
        std::ranges::set_intersection(now_, before_, std::inserter(both, both.end()));
        return both;
    }
    /// A chunk that is complete here.
    [[nodiscard]] const Buffer *done(std::uint32_t round, std::uint32_t chunk) const;
    /// One that gathers.
    [[nodiscard]] const Buffer *open(std::uint32_t round, std::uint32_t chunk) const;
    /// Whether two vectors differ in this generation.
    [[nodiscard]] bool has_misfit() const { return misfit_.has_value(); }
    /// The identities of docs/rounds.md.
    [[nodiscard]] bool conserves() const;

  private:
    struct Child {
        std::int64_t stamp = 0;
        std::uint64_t incarnation = 0; // of its newest question
        std::int64_t newest = 0;       // ANY
        std::int64_t joined = 0; // the stamp of the JOIN that it is a member by
        std::uint32_t first_round = 0;
        std::uint64_t heard = 0; // when
        bool known = false;
    };
    using Slot = std::array<Buffer, 2>;

    bool is_root() const { return !setup_.rank_at_parent; }
    std::uint32_t needed() const { return setup_.threshold ? setup_.threshold : setup_.children; }
    const Buffer *find(BufferState state, std::uint32_t round, std::uint32_t chunk) const;
    bool is_of(const Buffer &buffer, const RoundMessage &message) const;
    bool has_place(const Buffer &buffer, const RoundMessage &message) const;
    bool is_newer(const RoundMessage &message, const Buffer &buffer) const;

    void contribution(std::uint64_t now, const RoundMessage &message, Out &out);
    bool in_no_buffer(std::uint64_t now, const RoundMessage &message, Slot &slot, Out &out);
    bool in_buffer(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out);
    bool open(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out);
    bool is_damaged(const RoundMessage &message, const Buffer &buffer) const;
    bool gather_anew(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out);
    bool excludes(const Buffer &buffer, std::uint32_t rank) const;
    bool add(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out);
    bool misfit(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out);
    void note_misfit(const RoundMessage &told);
    bool asked_for(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out);
    bool goes_up_again(std::uint64_t now, Buffer &buffer, Out &out);
    bool duplicate(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out);
    bool complete_if_due(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out);
    bool complete(std::uint64_t now, Buffer &buffer, Out &out);
    bool answer(const RoundMessage &message, Buffer &buffer, Out &out);
    void finish(Buffer &buffer);
    void go_up(std::uint64_t now, Buffer &buffer, Out &out);
    void stale(const RoundMessage &message, Out &out);
    bool no_room();
    RoundMessage result_for(std::uint32_t rank, const Buffer &buffer) const;
    bool is_for_all(const Buffer &buffer) const;
    bool ride(Out &out, std::uint64_t &of_one);
    void parents_result(std::uint64_t now, const RoundMessage &message, Out &out);
    Buffer *choose(const RoundMessage &message, Slot &slot);
    Buffer *buffer_for_parents(const RoundMessage &message);
    bool ask_parent(const RoundMessage &message, Out &out);
    bool ask_parent_again(std::uint64_t now, const RoundMessage &message, Buffer &buffer, Out &out);
    std::uint64_t overdue_after() const;
    void note_turnaround(std::uint64_t now, const Buffer &buffer);

    void sync(std::int64_t tai, const RoundMessage &message, Out &out);
    void new_question(std::int64_t tai, const RoundMessage &message);
    void parents_answer(std::int64_t tai, const RoundMessage &message, Out &out);
    void run(std::uint64_t session);
    void runs_from(std::tuple<std::uint32_t, std::uint32_t> place);
    void begin_by(std::tuple<std::uint32_t, std::uint32_t> place);
    void note_last_run(const RoundMessage &message);
    void mend_last_run();
    bool is_known_here(const RoundMessage &message) const;
    std::uint32_t told_generation(std::uint32_t rank) const;
    RoundMessage answer_to(const RoundMessage &question, RoundMessage::Kind kind) const;
    RoundMessage question_up(const RoundMessage &question) const;
    bool has_asked(std::uint32_t rank) const { return questions_.contains(rank); }
    std::vector<std::uint32_t> unasked() const; // members
    void stop();
    void forget_questions();

    // Sessions. Of the questions since the job was stopped.
    struct Question {
        std::uint64_t incarnation = 0, session = 0;
        bool anew = false; // it has no session, or a member below it has none
    };
    bool is_in_session(std::uint32_t rank) const;
    std::vector<std::uint32_t> in_session() const;  // members
    std::vector<std::uint32_t> begun_anew() const; // members
    std::uint64_t incarnations() const;
    bool is_over() const;
    bool is_lost(std::uint32_t rank) const;
    void note_session(const RoundMessage &message);
    void tell_newest(std::int64_t stamp, RoundMessage &answer) const;
    void tell_over(std::uint32_t rank, RoundMessage &answer) const;

    // Runs.
    bool admit(std::uint64_t now, const RoundMessage &message, Out &out);
    std::optional<Run> set_for_another_than(const Run &asks) const;
    std::optional<Run> barred_by(std::uint64_t now, const RoundMessage &message) const;
    std::vector<std::uint32_t> there(std::uint64_t now) const;
    void take_job(const Run &run);
    void end_run();
    void begin_membership();

    // Members.
    void order(const RoundMessage &message, Out &out);
    void is_old(const RoundMessage &message, Out &out);
    RoundMessage::Status judge(const RoundMessage &message);
    RoundMessage::Status join(const RoundMessage &message);
    RoundMessage::Status become_member(std::uint32_t rank, std::int64_t stamp);
    RoundMessage::Status leave(const RoundMessage &message);
    void goes(std::uint32_t rank, std::uint32_t since, bool loses_its_part);
    void change(bool left, bool doubtful);
    void opened(std::uint32_t round);
    void gone(const RoundMessage &message, Out &out);
    const std::set<std::uint32_t> &members_of(std::uint32_t round) const;
    bool is_joining(std::uint32_t rank) const;
    bool lacks(const Buffer &buffer) const;
    bool is_enough(const Buffer &buffer) const;
    bool is_partial(const Buffer &buffer) const;

    RoundSetup setup_;
    BrokenRules broken_;
    RoundCounters counters_;
    bool halted_ = false;
    std::optional<RoundMessage> misfit_ = {}; // of this generation: what all are told

    bool running_ = false;
    std::uint32_t generation_;
    std::uint64_t session_ = 0;                     // of all members, while it runs
    std::map<std::uint32_t, Question> questions_;   // the newest of each rank, of members and others
    std::vector<std::uint64_t> named_;              // sessions, each once
    /// The first rank that asked without a session, and whether it is one of a node above.
    std::optional<std::pair<std::uint32_t, bool>> first_anew_;
    std::optional<std::uint32_t> replaced_; // the first whose process isn't that of session_ any more
    std::optional<std::tuple<std::uint32_t, std::uint32_t>> next_; // lowest that was asked for
    // The generation in which the members contributed last.
    struct LastRun {
        std::uint32_t generation;
        std::optional<std::tuple<std::uint32_t, std::uint32_t>> begin; // none: it is forgotten
        bool partial = false;                                          // a sum lacks a member's part
    };
    std::optional<LastRun> last_run_;
    bool missed_ = false;             // a member names another one
    bool begin_is_forgotten_ = false; // though that matters
    std::uint8_t pool_;                                            // smallest
    std::uint32_t parent_generation_ = 0;
    std::int64_t stamp_ = 0;       // of its own question to the parent
    std::uint32_t asked_last_ = 0; // who asked last
    std::uint64_t newest_answered_ = 0; // when what has its result went up
    std::uint64_t turnaround_ = 0;
    bool flushing_ = false; // the newest contribution had FLUSH
    bool flush_ = false;    // the frame at hand has FLUSH, or brings an error that all must hear

    Run run_ = {};
    std::set<std::uint32_t> in_run_; // who has asked in it
    bool was_taken_ = false;         // by any run

    std::set<std::uint32_t> now_, before_; // members: in new rounds; before the last joining's first
    std::uint32_t first_round_ = 0;        // of the last joining
    std::optional<std::uint32_t> newest_round_ = {};
    std::uint32_t unsettled_ = 0; // chunks to be opened until a change is over
    std::uint32_t since_ = 0;     // of these rounds and later, unless it is young
    bool young_ = true, left_ = false, doubtful_ = false;
    bool forgot_ = false; // who was absent may have joined before this node forgot

    std::vector<Child> children_;
    std::vector<Slot> slots_;
    std::deque<Buffer *> line_;
};

} // namespace olaf::model
