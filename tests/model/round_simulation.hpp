// SPDX-License-Identifier: BSD-2-Clause
// Workers, nodes and a bad network in virtual time: RoundChild, which is the real one, against
// RoundNode, the model, or RoundRoot, a parameter server's real one. Everything follows from the
// seed.
#pragma once

#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>

#include "endpoints/rounds/child.hpp"
#include "round_node.hpp"
#include "round_server_root.hpp"
#include "round_wire.hpp"

namespace olaf::model {

struct RoundWorld {
    std::uint64_t seed = 0;
    std::uint32_t workers = 2;
    bool tree = false; ///< two nodes below a root, each with half of the workers, the first with an odd one
    bool tall = false; ///< of a tree: two more nodes below each of those two, each with a quarter of the workers
    std::uint8_t pool = 2;
    std::uint8_t second_pool = 2; ///< of the second node of a tree
    double loss = 0, duplication = 0, reordering = 0;
    double damage = 0; ///< of the lanes of a contribution or a result, which a checksum lane tells
    std::uint64_t faults_end = 30'000'000; ///< no faults of links from then on; nanoseconds
    /// Nanoseconds that each link takes, and nobody overtakes; 0: it takes 5 to 15 us, and many do.
    std::uint64_t delay = 0;
    std::vector<std::uint32_t> vectors = {}; ///< chunks of each
    std::uint32_t lag = 0;
    bool spares =
        false; ///< of chunks that follow another one by the lag, half are spared by that one's sum
    /// A sum that is made anew may have another exponent, by which all pack what follows, and spare it or not.
    bool other_exponents = false;
    std::uint64_t pace = 100;    ///< nanoseconds that a worker takes for a message
    std::uint32_t under_way = 1; ///< vectors that a worker has queued at most
    unsigned restarts = 0;
    unsigned deaths = 0;     ///< of workers' processes, which begin anew. All others must, too
    bool later_runs = false; ///< a process that begins anew behind a death is of a later run than all before
    /// Both nodes of a tree are roots at first, and get their parent later.
    bool parted = false;
    unsigned resets = 0;     ///< of a job at a node, which remembers its members
    /// A clock is an hour ahead until the process of the worker, or the node, begins anew.
    bool clocks_ahead = false;
    bool disturbed = false;  ///< restarts and resets come just when somebody joins or leaves
    bool server = false;     ///< the root is a parameter server: libolaf's own
    bool root_stays = false; ///< only the nodes below are restarted
    bool slow_worker = false;
    std::uint64_t slow_pace = 10'000; ///< nanoseconds a message
    bool skips = false; ///< who is behind takes no part in what the others have summed
    std::uint32_t threshold = 0;        ///< of the root
    std::uint32_t lowest_threshold = 0; ///< of nodes that workers of a tree send to
    std::uint64_t deadline_ns = 0;
    BrokenRules broken = {};
    std::set<std::uint32_t> late = {};      ///< workers that are absent at first, and join
    std::set<std::uint32_t> leaving = {}; ///< that leave after their vectors; all else goes on
    std::uint32_t fewer = 0; ///< vectors: so many before the others' last one
    bool multicast = false;      ///< nodes send what is the same for all in one frame
    bool finishes = false;       ///< workers stop after their vectors, with a farewell
    bool finishes_at_once = false; ///< without one: a broken rule
    bool never_again = false;    ///< workers send nothing again
    /// Gives another vector than the others from this round on: of other elements or, in a round with an odd
    /// number, with a chunk more. All must be told.
    std::optional<std::uint32_t> odd_worker = {};
    std::uint32_t odd_round = 0;
    unsigned wider_window = 0;   ///< workers believe in a p that is larger by so much
    bool spares_by_worker = false; ///< not all workers spare the same chunks: a broken rule
};

/// A schedule for a seed, of any kind that must end with exact sums.
RoundWorld random_world(std::uint64_t seed);
/// One in which members join and leave while others go on.
RoundWorld changing_world(std::uint64_t seed);
/// The same below both nodes of a tree.
RoundWorld changing_tree(std::uint64_t seed);
/// These without a node that forgets.
RoundWorld without_restarts(std::uint64_t seed);
RoundWorld tree_without_restarts(std::uint64_t seed);
/// Small windows, much loss, and agreements that are begun anew again and again while members change.
RoundWorld restless_world(std::uint64_t seed);
RoundWorld restless_tree(std::uint64_t seed);
/// One whose root is a parameter server that answers sums.
RoundWorld serving_world(std::uint64_t seed);
/// One whose root goes on without the last worker, or after a deadline.
RoundWorld impatient_world(std::uint64_t seed);
/// The same, where all begin anew again and again, and find other exponents than before.
RoundWorld other_exponents_world(std::uint64_t seed);
/// One whose root goes on without a worker that is so slow that it skips vectors.
RoundWorld skipping_world(std::uint64_t seed);
/// One in which workers are killed and begin anew.
RoundWorld reborn_world(std::uint64_t seed);
/// The same, where all workers begin anew as a later run, one after the other.
RoundWorld later_world(std::uint64_t seed);
/// One in which the workers of two jobs become those of one.
RoundWorld parted_world(std::uint64_t seed);
/// One of whose workers gives another vector than the others.
RoundWorld odd_world(std::uint64_t seed);

/// One on whose links lanes are damaged.
RoundWorld damaged_world(std::uint64_t seed);
/// The same, where nodes go on without some.
RoundWorld impatient_damaged_world(std::uint64_t seed);

class RoundSimulation {
  public:
    explicit RoundSimulation(const RoundWorld &world);
    ~RoundSimulation();
    /// Runs until every worker has every sum. What is wrong, or nothing.
    std::string run();
    /// Of all workers.
    [[nodiscard]] CollectiveStats stats() const;
    /// Vectors that workers took no part in.
    [[nodiscard]] unsigned skipped() const;
    /// Whether workers failed as a Collective does: they can't begin where all have to, or were given
    /// another sum than others.
    [[nodiscard]] bool gave_up() const { return gave_up_; }
    [[nodiscard]] bool told_of_other_sums() const { return told_of_other_sums_; }
    /// Chunks that workers packed by another exponent than before.
    [[nodiscard]] unsigned packed_anew() const;
    /// How often a worker failed as another one had begun anew.
    [[nodiscard]] unsigned told_of_deaths() const { return told_of_deaths_; }
    [[nodiscard]] std::uint64_t now() const { return now_; }
    /// Frames that links have lost.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }
    /// Frames of which links have damaged a lane.
    [[nodiscard]] std::uint64_t damaged() const { return damaged_; }
    /// Results that nodes gathered anew.
    [[nodiscard]] std::uint64_t gathered_anew() const {
        std::uint64_t sum = 0;
        for (const Node &node : nodes_)
            sum += node.node ? node.node->counters().spoilt : 0;
        return sum;
    }
    /// When a worker had its first sum.
    [[nodiscard]] std::uint64_t first_sum() const { return first_sum_; }
    [[nodiscard]] const RoundCounters &at_root() const { return nodes_[0].node->counters(); }

  private:
    class Worker;
    struct Node {
        std::unique_ptr<RoundNode> node = {};
        std::unique_ptr<RoundServerRoot> server = {}; // instead
        RoundSetup setup;
        std::uint32_t first_child = 0; // worker, or node
        std::uint32_t parent = 0;      // node
        bool of_nodes = false;
        unsigned begun = 0; // times
    };
    struct Event {
        enum class What { to_node, to_worker, wake, restart, reset, death, birth, parent };
        std::uint64_t at = 0;
        std::uint64_t order = 0;
        What what = What::wake;
        std::uint32_t whom = 0;
        RoundMessage message = {};
        bool operator>(const Event &other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    static constexpr std::uint64_t kFaultsEnd = 30'000'000;
    static constexpr std::uint64_t kMustBeDone = kFaultsEnd + 20'000'000'000;

    double chance() { return std::uniform_real_distribution<>()(random_); }
    std::uint64_t between(std::uint64_t least, std::uint64_t most) {
        return std::uniform_int_distribution<std::uint64_t>(least, most)(random_);
    }
    void make_nodes();
    void plan_disturbances();
    void plan_deaths();
    void die(std::uint32_t worker);
    void get_parent(std::uint32_t node);
    bool all_agree() const;
    void disturb();
    void restart(std::uint32_t node);
    void transmit(Event event);
    void damage(Event &event);
    void push(Event event);
    void handle(const Event &event);
    void from_node(std::uint32_t node, const std::vector<RoundSent> &out);
    void to_child(std::uint32_t node, std::uint32_t rank, const RoundMessage &message);
    void wake(std::uint32_t worker);
    bool done() const;
    bool all_gone() const;
    void let_all_leave();
    bool may_be_partial() const {
        // A node that forgot doesn't know whose part others have; nor what who has left was in, if all begin anew.
        const bool forgets =
            world_.restarts + world_.resets > 0 && !(world_.late.empty() && world_.leaving.empty());
        return is_impatient() || forgets;
    }
    bool is_impatient() const {
        return world_.threshold != 0 || world_.lowest_threshold != 0 || world_.deadline_ns != 0;
    }
    void note_session(std::uint32_t worker);
    std::uint64_t newest_run() const { return newest_run_; }
    bool may_begin_anew() const { return world_.deaths > 0 || world_.parted; }
    /// Who is in the sums of a round of a session, and by which process.
    std::map<std::uint32_t, std::uint64_t> processes_in(std::uint64_t session,
                                                        std::uint32_t round) const;
    /// Who is in the sums of a round, as far as nobody fell out of it.
    std::vector<std::uint32_t> members_of(std::uint32_t round) const;
    /// Nodes that workers send to, and the first of them.
    std::uint32_t lowest_nodes() const { return world_.tall ? 4 : world_.tree ? 2 : 1; }
    std::uint32_t first_lowest() const { return lowest_nodes() - 1; }
    /// Workers of the first of them.
    std::uint32_t first_part() const {
        return (world_.workers + lowest_nodes() - 1) / lowest_nodes();
    }
    /// The node that a worker sends to, and its rank there.
    std::uint32_t node_of(std::uint32_t worker) const {
        return first_lowest() + worker / first_part();
    }
    std::uint32_t rank_of(std::uint32_t worker) const { return worker % first_part(); }
    std::string unfinished();
    std::string differing() const;
    void fails(std::uint32_t worker);
    std::int64_t tai() const { return static_cast<std::int64_t>(now_ + 1'000'000'000); }
    /// By the clock of whoever has begun so many times.
    std::int64_t tai_of(unsigned begun) const {
        return tai() + (world_.clocks_ahead && begun <= 1 ? 3'600'000'000'000 : 0);
    }

    RoundWorld world_;
    std::mt19937_64 random_;
    std::uint64_t now_ = 0;
    std::uint64_t first_sum_ = 0;
    std::uint64_t lost_ = 0, damaged_ = 0;
    std::uint64_t order_ = 0;
    std::vector<Node> nodes_; // the root first
    std::vector<std::uint32_t> may_restart_; // of these
    std::vector<std::unique_ptr<Worker>> workers_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    struct {
        unsigned restarts = 0, resets = 0;
    } disturbed_; // so far
    unsigned deaths_ = 0; // so far
    std::uint64_t newest_run_ = 1;
    unsigned told_of_deaths_ = 0;
    std::string wrong_;
    bool gave_up_ = false, told_of_other_sums_ = false;
    // By session: the incarnation of each worker that is in it.
    std::map<std::uint64_t, std::map<std::uint32_t, std::uint64_t>> lives_;
    // Generation, round and chunk.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> sums_;
    // Round and chunk: sums that weren't PARTIAL.
    std::map<std::tuple<std::uint32_t, std::uint32_t>, std::uint64_t> whole_;
};

} // namespace olaf::model
