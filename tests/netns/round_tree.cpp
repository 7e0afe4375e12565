// SPDX-License-Identifier: BSD-2-Clause
#include "round_tree.hpp"

#include <algorithm>
#include <stdexcept>

#include "offloads.hpp"
#include "process.hpp"

namespace olaf::test {
namespace {

std::string address_of(unsigned node) {
    return "10.0.1." + std::to_string(10 + node);
}

/// That of a node's results.
std::string group_of(unsigned node) {
    return "239.1.2." + std::to_string(10 + node);
}

} // namespace

RoundTree::Host::Host(unsigned number) : netns("node" + std::to_string(number)) {}

RoundTree::RoundTree(std::vector<TreeNode> nodes, TreeFanout fanout)
    : tree_(std::move(nodes)), fanout_(fanout) {
    // A switch that asks who wants what goes by the answers, once there was time for them: 10 ms.
    switch_.ip(fanout == TreeFanout::snooped
                   ? "link add bridge type bridge mcast_snooping 1 mcast_query_response_interval 1\n"
                     "link set bridge type bridge mcast_querier 1\n"
                     "link set bridge up\n"
                   : "link add bridge type bridge mcast_snooping 0\n"
                     "link set bridge up\n");
    plug(workers_, "10.0.0.1");
    for (unsigned node = 0; node < tree_.size(); node++) {
        const auto &host = *nodes_.emplace_back(std::make_unique<Host>(node));
        plug(host.netns, address_of(node));
        // The kernel tells programs the way to a parent only where it forwards.
        host.netns.sysctl("ipv4/ip_forward", "1");
        // A node is no process: its kernel joins the group of its parent.
        if (fanout_ != TreeFanout::ride && node != 0)
            host.netns.ip("address add " + group_of(tree_[node].parent) +
                          "/32 dev eth0 autojoin\n");
    }
}

void RoundTree::plug(const Netns &netns, const std::string &address) {
    const auto port = "port" + std::to_string(port_programs_.size());
    switch_.ip("link add name " + port + " master bridge type veth peer name eth0 netns " +
               netns.name() + "\nlink set " + port + " up\n");
    set_offloads(switch_, port, {});
    set_offloads(netns, "eth0", {});
    // veth wakes its peer after XDP_TX only if an XDP program is there: NAPI alone won't do.
    port_programs_.push_back(std::make_unique<ForeignXdp>(switch_, port));
    netns.ip("link set eth0 up\naddress add " + address + "/16 dev eth0\n");
}

std::vector<unsigned> RoundTree::below(unsigned node) const {
    std::vector<unsigned> found;
    for (unsigned other = 1; other < tree_.size(); other++)
        if (tree_[other].parent == node)
            found.push_back(other);
    return found;
}

unsigned RoundTree::rank_of(unsigned node) const {
    const auto siblings = below(tree_[node].parent);
    return tree_[tree_[node].parent].workers +
           static_cast<unsigned>(std::ranges::find(siblings, node) - siblings.begin());
}

unsigned RoundTree::workers() const {
    unsigned sum = 0;
    for (const auto &node : tree_)
        sum += node.workers;
    return sum;
}

void RoundTree::start(unsigned node, unsigned lanes) {
    std::vector<std::string> attach{"--local", "--round-slots", "64"};
    attach.insert(attach.end(), tree_[node].attach.begin(), tree_[node].attach.end());
    nodes_[node]->olaf.attach(attach);
    set(node, lanes);
}

void RoundTree::set(unsigned node, unsigned lanes) const {
    std::vector<std::string> words{
        "set",         "eth0",
        std::to_string(rounds_job),
        "--lanes",     std::to_string(lanes),
        "--children",  std::to_string(tree_[node].workers + below(node).size()),
        "--format",    format_,
        "--max-count", std::to_string(workers())};
    if (node != 0)
        words.insert(words.end(), {"--parent", address_of(tree_[node].parent), "--rank",
                                   std::to_string(rank_of(node))});
    words.insert(words.end(), tree_[node].set.begin(), tree_[node].set.end());
    for (const unsigned rank : tree_[node].absent)
        words.insert(words.end(), {"--absent", std::to_string(rank)});
    if (fanout_ != TreeFanout::ride) {
        words.insert(words.end(), {"--fanout", "multicast=" + group_of(node)});
        if (node != 0)
            words.insert(words.end(), {"--parent-group", group_of(tree_[node].parent)});
    }
    job(node, words);
}

void RoundTree::set_anew(std::vector<TreeNode> nodes, unsigned lanes) {
    tree_ = std::move(nodes);
    for (unsigned node = 0; node < tree_.size(); node++)
        job(node, {"remove", "eth0", std::to_string(rounds_job)});
    for (unsigned node = 0; node < tree_.size(); node++)
        set(node, lanes);
}

void RoundTree::reset(unsigned node) {
    job(node, {"reset", "eth0", std::to_string(rounds_job)});
}

void RoundTree::job(unsigned node, std::vector<std::string> words) const {
    words.insert(words.begin(), "job");
    if (const auto outcome = nodes_[node]->olaf(words); outcome.status != 0)
        throw std::runtime_error(outcome.err);
}

void RoundTree::lose(unsigned percent) {
    for (std::size_t port = 0; port < port_programs_.size(); port++)
        for (const auto direction : {Losing::sent, Losing::received})
            losing_.push_back(std::make_unique<Losing>(switch_, "port" + std::to_string(port),
                                                       direction, percent));
}

void RoundTree::reorder(unsigned port) {
    constexpr unsigned percent = 20;
    reordering_.push_back(
        std::make_unique<Reordering>(switch_, "port" + std::to_string(port), percent));
}

bool RoundTree::has_reordered() const {
    return std::ranges::all_of(reordering_, [](const auto &each) { return each->held() > 0; });
}

CollectiveOptions RoundTree::options_of(unsigned worker) const {
    CollectiveOptions options;
    unsigned node = 0, rank = worker;
    for (; rank >= tree_.at(node).workers; node++)
        rank -= tree_[node].workers;
    options.node = Address::resolve(address_of(node)).value();
    options.job = rounds_job;
    options.rank = rank;
    options.workers = workers();
    if (fanout_ != TreeFanout::ride)
        options.group = Address::resolve(group_of(node)).value();
    return options;
}

void RoundTree::for_each_worker(const std::function<void(Collective &, unsigned)> &work,
                                const std::function<void(CollectiveOptions &)> &more) const {
    run_workers(
        workers_, workers(),
        [&](CollectiveOptions &options, unsigned worker) {
            options = options_of(worker);
            if (more)
                more(options);
        },
        work);
    expect_books_to_add_up();
}

void RoundTree::expect_books_to_add_up() const {
    for (const auto &node : nodes_)
        expect_jobs_add_up(node->olaf);
}

bool RoundTree::is_wanted(unsigned node) const {
    const auto shown = run({"bridge", "mdb", "show"}, {}, &switch_);
    if (shown.status != 0)
        throw std::runtime_error(shown.err);
    return shown.out.find("grp " + group_of(node) + " ") != std::string::npos;
}

nlohmann::json RoundTree::job(unsigned node) const {
    return nodes_[node]->olaf.status().json.at("jobs").at(0);
}

} // namespace olaf::test
