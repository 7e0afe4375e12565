// SPDX-License-Identifier: BSD-2-Clause
// Trainings whose trees are changed while they sum (docs/fleet.md, "Changing a plan"), in virtual
// time: libolaf's RoundChild at the workers, the model of a node, and a model of the agents and of
// the control that moves them. Every rule that must always hold is checked as it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "endpoints/rounds/child.hpp"
#include "round_node.hpp"

namespace olaf::model::replan {

/// What a wrong control does. Each must be found.
enum class WrongControl {
    none,
    one_wire_id,             ///< (1) the new plan's jobs have the old one's id
    goes_back,               ///< (2) workers take an older plan again
    hold_without_epoch,      ///< (3) a hold says its round, and not of which plan
    commits_before_held,     ///< (4) one member hasn't held
    members_at_once,         ///< (5) members change without a hold
    floats_at_once,          ///< (6) another tree for sums of floats without a hold
    commits_before_prepared, ///< (7) and gives up the plan when an agent fails
    two_halves,              ///< (10) sums that lack members move at once, without a hold
    never_retires,           ///< (18) jobs of old plans stay
};

struct World {
    std::uint64_t seed = 0;
    std::uint32_t workers = 4;
    std::uint8_t pool = 2; ///< p
    double loss = 0, duplication = 0, reordering = 0;
    std::uint32_t lag = 0, under_way = 1;
    std::vector<std::uint32_t> vectors = {}; ///< chunks of each
    unsigned moves = 3;
    unsigned joins = 0, leaves = 0;
    bool same_shape = false; ///< only other hosts in the same tree
    bool floats = false;     ///< sums depend on the tree
    double threshold = 0;    ///< the share of the root's children that complete a chunk; 0: all
    bool nodes_die = false, agents_fail = false, leaders_die = false;
    bool retires_early = false; ///< old jobs go at the commit, while some still use them
    WrongControl wrong = WrongControl::none;
};

class Simulation {
  public:
    explicit Simulation(const World &world);
    ~Simulation();
    /// "" or what went wrong.
    std::string run();

    [[nodiscard]] std::uint64_t commits() const { return commits_; }
    [[nodiscard]] std::uint64_t boundaries() const { return boundaries_; }
    [[nodiscard]] std::uint64_t abandoned() const { return abandoned_; }
    /// Chunks that some took from one tree and some from another.
    [[nodiscard]] std::uint64_t crossed() const { return crossed_; }
    /// Sums that lacked a member, as a threshold allows.
    [[nodiscard]] std::uint64_t partial() const { return partial_; }
    /// Whether the training ended with an error, as it may where a threshold's root dies.
    [[nodiscard]] bool failed() const { return failed_; }

  private:
    class Worker;
    /// A job on a machine.
    struct Job {
        RoundSetup setup = {};
        int parent = -1; ///< an index of its epoch's jobs
        std::vector<int> children = {};
        bool of_nodes = false; ///< its children are jobs, not workers
        std::size_t machine = 0;
        std::unique_ptr<RoundNode> node = {}; ///< null: not set, or removed
        bool prepared = false, removed = false;
    };
    struct Epoch {
        std::uint32_t wire_id = 0;
        std::vector<Job> jobs;
        std::map<std::uint32_t, std::pair<int, std::uint32_t>> seat; ///< of each worker: job, rank
        std::set<std::uint32_t> members;
        std::optional<std::uint32_t>
            begin;             ///< the round of the newest boundary, this one's or an earlier one's
        unsigned begun_by = 0; ///< the epoch of that boundary
        unsigned shape = 0;    ///< equal: the same tree on other machines
        bool retired = false, given_up = false;
        /// Whether a chunk may be complete without one of the root's children, and without half.
        [[nodiscard]] bool may_lack() const {
            return jobs.back().setup.threshold < jobs.back().setup.children;
        }
        [[nodiscard]] bool may_halve() const {
            return 2 * jobs.back().setup.threshold <= jobs.back().setup.children;
        }
    };
    struct Machine {
        std::uint64_t slots = 0; ///< that are free
        bool alive = true;
        /// Of each wire id that is set: parent, rank, children. Rule 1: they never change.
        std::map<std::uint32_t, std::tuple<std::size_t, std::uint32_t, std::uint32_t>> set;
    };
    struct Notice {
        enum class What { commit, hold, withdraw } what = What::commit;
        unsigned epoch = 0;
        std::uint32_t round = 0;
        std::uint64_t revision = 0; ///< of the state that it tells of: later ones are larger
    };
    /// What a worker's agent has written of it.
    struct Report {
        unsigned epoch = 0;
        std::uint32_t next_round = 0;
        std::optional<std::uint32_t> held, past;
        bool operator==(const Report &) const = default;
    };
    struct Event {
        enum class What { to_node, to_worker, wake, control, notice, report, prepare, remove } what;
        std::uint64_t at = 0, order = 0;
        unsigned epoch = 0;
        std::uint32_t whom = 0; ///< a worker, or a job of that epoch
        RoundMessage message = {};
        Notice notice = {};
        Report report = {};
        bool operator>(const Event &other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    enum class Phase { running, preparing, holding };

    double chance() { return std::uniform_real_distribution<>()(random_); }
    std::uint64_t between(std::uint64_t least, std::uint64_t most) {
        return std::uniform_int_distribution<std::uint64_t>(least, most)(random_);
    }
    void push(Event event);
    void transmit(Event event);
    void from_node(unsigned epoch, std::uint32_t job, const std::vector<RoundSent> &out);
    void wake(std::uint32_t worker);
    void handle(const Event &event);
    void hear(std::uint32_t worker, const Notice &notice);
    void tell(std::uint32_t worker, Notice notice, std::uint64_t most_ns);

    // Control, a step at a time. Between two steps its leader may die.
    void control();
    Epoch plan(const std::set<std::uint32_t> &members, bool same_shape);
    void begin_plan();
    void when_preparing();
    void when_holding();
    void hold(std::uint32_t round);
    void commit();
    void give_up();
    void retire();
    [[nodiscard]] bool is_broken(unsigned epoch) const;
    [[nodiscard]] std::uint32_t highest_next_round() const;

    // Agents.
    void prepare(unsigned epoch, std::uint32_t job);
    void remove(unsigned epoch, std::uint32_t job);

    [[nodiscard]] const std::set<std::uint32_t> &members_of(std::uint32_t round) const;
    [[nodiscard]] std::string differing_sums() const;
    [[nodiscard]] bool may_fail(const std::string &why) const;
    [[nodiscard]] bool done() const;
    [[nodiscard]] std::string unfinished() const;
    [[nodiscard]] std::string left_behind();
    [[nodiscard]] std::int64_t tai() const {
        return static_cast<std::int64_t>(now_ + 1'000'000'000);
    }

    World world_;
    std::mt19937_64 random_;
    std::uint64_t now_ = 0, order_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<Epoch> epochs_;
    std::vector<Machine> machines_;
    std::map<std::uint32_t, std::set<std::uint32_t>> members_from_; ///< from which round on
    std::map<std::uint32_t, Report> reports_;
    std::string wrong_;

    Phase phase_ = Phase::running;
    unsigned epoch_ = 0; ///< that is committed
    std::uint32_t hold_round_ = 0;
    std::uint64_t since_ = 0; ///< of this phase
    bool is_boundary_ = false;
    std::set<std::uint32_t> next_members_;
    unsigned moves_left_, joins_left_, leaves_left_;
    std::uint64_t leader_back_at_ = 0;
    std::uint64_t revision_ = 0;

    bool failed_ = false;
    std::uint64_t commits_ = 0, boundaries_ = 0, abandoned_ = 0, crossed_ = 0, partial_ = 0;
    /// Moves in the middle of a vector of trainings whose sums may lack members.
    std::uint64_t moves_of_partial_ = 0;
    /// The sums of each chunk that workers took: the members in them, as bits.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint64_t>> sums_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<unsigned>>
        taken_in_; ///< epochs, of a chunk
};

} // namespace olaf::model::replan
