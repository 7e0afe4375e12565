// SPDX-License-Identifier: BSD-2-Clause
// A tree of nodes on one switch, each a host with a queue on its only device, and a host of
// workers:
//
//   workers ┐                  workers are 10.0.0.1, each with a port of its own
//   node 0  ┼ switch           node i is 10.0.1.(10 + i); node 0 is the root
//   node 1  ┘
//
// Nobody's MAC address is given: hosts ask for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "losing.hpp"
#include "reordering.hpp"
#include "rounds.hpp"

namespace olaf::test {

/// A node's place in the tree. Its children are its workers first, then the nodes below it.
struct TreeNode {
    unsigned parent;  ///< of the nodes named before it; of node 0 nothing is read
    unsigned workers; ///< that contribute to it directly
    std::vector<unsigned> absent = {}; ///< ranks of those that aren't members yet
    std::vector<std::string> attach = {}, set = {}; ///< what else `olaf attach` and `olaf job set` are told
};

/// How results travel in a tree.
enum class TreeFanout {
    ride,
    flooded, ///< each node has a multicast group, whose frames the switch sends to every port
    snooped, ///< the switch sends them where IGMP says
};

class RoundTree {
  public:
    explicit RoundTree(std::vector<TreeNode> nodes, TreeFanout fanout = TreeFanout::ride);

    /// How lanes hold elements, as `olaf job set` says it; i64x1 unless said.
    void sum_in(std::string format) { format_ = std::move(format); }
    /// Attaches the node's queue and sets its job, of that many lanes.
    void start(unsigned node, unsigned lanes);
    void stop(unsigned node) { nodes_[node]->olaf.detach(); }
    /// The nodes, which have started, get other workers: their jobs are set anew.
    void set_anew(std::vector<TreeNode> nodes, unsigned lanes);
    /// All below the node must agree anew where to begin.
    void reset(unsigned node);
    /// From now on every link loses that many in a hundred, each way.
    void lose(unsigned percent);
    /// From now on frames overtake each other on the way from the switch to the workers, to a node.
    void reorder_to_workers() { reorder(0); }
    void reorder_to_node(unsigned node) { reorder(1 + node); }
    /// Whether each of these ways has held some up.
    [[nodiscard]] bool has_reordered() const;

    [[nodiscard]] unsigned workers() const; ///< of all nodes
    [[nodiscard]] const Netns &netns_of_workers() const { return workers_; }
    /// Those of a worker; it counts through all nodes' workers in order.
    [[nodiscard]] CollectiveOptions options_of(unsigned worker) const;
    /// Runs one thread a worker.
    void for_each_worker(const std::function<void(Collective &, unsigned worker)> &work,
                         const std::function<void(CollectiveOptions &)> &more = {}) const;
    [[nodiscard]] nlohmann::json job(unsigned node) const;
    /// At every node, once nothing is under way.
    void expect_books_to_add_up() const;
    /// Whether the switch knows that somebody wants the node's results.
    [[nodiscard]] bool is_wanted(unsigned node) const;

  private:
    struct Host {
        explicit Host(unsigned number);
        Netns netns;
        OlafCommand olaf{netns, "eth0"}; ///< last: it detaches before the device goes
    };
    void set(unsigned node, unsigned lanes) const;
    /// olaf job WORDS, of that node
    void job(unsigned node, std::vector<std::string> words) const;
    void reorder(unsigned port);
    void plug(const Netns &netns, const std::string &address);
    [[nodiscard]] std::vector<unsigned> below(unsigned node) const;
    [[nodiscard]] unsigned rank_of(unsigned node) const; ///< at its parent

    std::vector<TreeNode> tree_;
    const TreeFanout fanout_;
    std::string format_ = "i64x1";
    Netns switch_{"switch"}, workers_{"workers"};
    std::vector<std::unique_ptr<ForeignXdp>> port_programs_;
    std::vector<std::unique_ptr<Losing>> losing_;
    std::vector<std::unique_ptr<Reordering>> reordering_;
    std::vector<std::unique_ptr<Host>> nodes_;
};

} // namespace olaf::test
