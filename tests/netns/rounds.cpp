// SPDX-License-Identifier: BSD-2-Clause
#include "rounds.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "process.hpp"

namespace olaf::test {
namespace {

Collective joined_collective(const CollectiveOptions &options) {
    auto collective = Collective::make(options);
    if (!collective)
        throw std::runtime_error(collective.error().message());
    if (const auto started = collective->start(); !started)
        throw std::runtime_error(started.error().message());
    return std::move(*collective);
}

CollectiveOptions tell(CollectiveOptions options, const Tell &more) {
    if (more)
        more(options);
    return options;
}

Format format_named(const std::string &name) {
    return name == "i64x1" ? Format::i64x1 : name == "f32" ? Format::f32x2 : Format::i32x2;
}

} // namespace

// ---- workers and sums ----

std::vector<unsigned> first_ones(unsigned count) {
    std::vector<unsigned> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0u);
    return numbers;
}

void run_workers(const Netns &netns, const std::vector<unsigned> &workers,
                 const std::function<CollectiveOptions(unsigned)> &options, const Work &work) {
    std::vector<std::jthread> threads;
    for (const unsigned worker : workers)
        threads.emplace_back([&, worker] {
            try {
                const Inside inside(netns);
                auto collective = joined_collective(options(worker));
                work(collective, worker);
            } catch (const std::exception &error) {
                ADD_FAILURE() << "worker " << worker << ": " << error.what();
            }
        });
}

void JobWorkers::for_each_of(unsigned count, const Work &work, const Tell &more) const {
    run_workers(
        netns_of_workers(), first_ones(count),
        [&](unsigned worker) { return tell(options(worker), more); }, work);
    expect_books_to_add_up();
}

void JobWorkers::sum_exactly(unsigned rounds, std::size_t elements, const Tell &more) const {
    for_each_worker(
        [&](Collective &collective, unsigned worker) {
            for (unsigned round = 0; round < rounds; round++)
                sum_round(collective, worker, workers(), round, elements);
        },
        more);
}

std::vector<Error> failed_joins(const JobWorkers &job, const Tell &more) {
    std::mutex lock;
    std::vector<Error> errors;
    {
        std::vector<std::jthread> threads;
        for (const unsigned worker : first_ones(job.workers()))
            threads.emplace_back([&, worker] {
                const Inside inside(job.netns_of_workers());
                const auto started =
                    Collective::make(tell(job.options(worker), more)).value().start();
                ASSERT_FALSE(started) << "worker " << worker;
                const std::scoped_lock held(lock);
                errors.push_back(started.error());
            });
    }
    return errors;
}

testing::AssertionResult gave_up(const std::string &error, const std::string &words) {
    const std::string before = "nothing came for ";
    const auto at = error.find(before);
    if (at == std::string::npos || std::stol(error.substr(at + before.size())) < 1000)
        return testing::AssertionFailure() << "no wait of a second: " << error;
    return says(error, words);
}

std::vector<std::int64_t> part_of(unsigned worker, unsigned round, std::size_t elements) {
    std::vector<std::int64_t> part(elements);
    for (std::size_t i = 0; i < elements; i++)
        part[i] = static_cast<std::int64_t>((worker + 1) * 0x9e3779b97f4a7c15ull * (i + 1) + round);
    return part;
}

std::vector<std::int64_t> sum_of(unsigned workers, unsigned round, std::size_t elements) {
    std::vector<std::int64_t> sum(elements);
    for (unsigned worker = 0; worker < workers; worker++) {
        const auto part = part_of(worker, round, elements);
        for (std::size_t i = 0; i < elements; i++)
            sum[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[i]) +
                                               static_cast<std::uint64_t>(part[i]));
    }
    return sum;
}

SumReport sum_round(Collective &collective, unsigned worker, unsigned workers, unsigned round,
                    std::size_t elements) {
    auto vector = part_of(worker, round, elements);
    const auto report = collective.allreduce(std::span(vector));
    if (!report)
        throw std::runtime_error(report.error().message());
    const auto expected = sum_of(workers, round, elements);
    if (const auto wrong = std::ranges::mismatch(vector, expected); wrong.in1 != vector.end())
        throw std::runtime_error("round " + std::to_string(round) + ", element " +
                                 std::to_string(wrong.in1 - vector.begin()) + " is " +
                                 std::to_string(*wrong.in1) + ", not " +
                                 std::to_string(*wrong.in2));
    EXPECT_EQ(report->partial + report->late, 0u) << "round " << round;
    return *report;
}

// ---- a job's books ----

namespace {

std::uint64_t number(const nlohmann::json &job, const char *group, const char *key) {
    return job.at(group).at(key).get<std::uint64_t>();
}

bool contributions_add_up(const nlohmann::json &job) {
    std::uint64_t sum = 0;
    for (const char *fate : {"added", "duplicate", "late", "stale", "ahead", "halted"})
        sum += number(job, "contributions", fate);
    return sum == number(job, "contributions", "received");
}

bool results_add_up(const nlohmann::json &job) {
    const auto children = job.at("children").get<std::uint64_t>();
    return children * number(job, "chunks", "completed") ==
           number(job, "results", "riding") + number(job, "results", "copied") +
               children * number(job, "results", "multicast") +
               number(job, "results", "undelivered");
}

/// Without threshold, deadline, and members that come or go.
bool is_of_all(const nlohmann::json &job) {
    return job.at("threshold") == job.at("children") && job.at("deadline_ns").is_null() &&
           job.at("absent").empty() && job.at("controls") == 0 && job.at("silent") == 0;
}

} // namespace

void expect_jobs_add_up(const OlafCommand &olaf) {
    const auto add_up = [](const Status &status) {
        return std::ranges::all_of(status.json.at("jobs"), [](const nlohmann::json &job) {
            return contributions_add_up(job) && (!is_of_all(job) || results_add_up(job));
        });
    };
    try {
        static_cast<void>(olaf.await(add_up));
    } catch (const std::exception &error) {
        ADD_FAILURE() << error.what();
    }
}

void expect_job_identities(const nlohmann::json &job) {
    EXPECT_TRUE(contributions_add_up(job) && results_add_up(job)) << job.dump(1);
}

// ---- one node ----

void RoundsBed::expect_books_to_add_up() const {
    if (olaf.attached())
        expect_jobs_add_up(olaf);
}

RoundsBed::RoundsBed(JobSetting setting) : Testbed(setting.wiring), setting_(std::move(setting)) {
    if (wiring.way == Way::bridged) { // a bridge has no address in the testbed, and a node needs one
        host.sysctl("ipv6/conf/bridge/disable_ipv6", "0");
        host.ip("address add 10.0.2.9/16 dev bridge\n"
                "address add fd00:0:0:2::9/32 dev bridge nodad\n");
    }
    lose(setting_.loss);
    if (setting_.flips != 0)
        flipping_ = std::make_unique<Flipping>(Testbed::worker, "eth0", setting_.flips);
    if (setting_.starts)
        start();
}

void RoundsBed::start() {
    attach_queue();
    set();
}

void RoundsBed::attach_queue() {
    const auto words = joined({"--round-slots", std::to_string(setting_.slots)}, setting_.attach);
    setting_.local ? olaf.attach(joined({"--local"}, words)) : attach(words);
}

std::vector<std::string> RoundsBed::set_command() const {
    std::vector<std::string> words{"job",        "set",
                                   "in",         std::to_string(rounds_job),
                                   "--children", std::to_string(setting_.workers)};
    if (setting_.lanes != 0)
        words.insert(words.end(), {"--lanes", std::to_string(setting_.lanes)});
    if (*setting_.format != '\0')
        words.insert(words.end(), {"--format", setting_.format});
    if (!setting_.group.empty())
        words.insert(words.end(), {"--fanout", "multicast=" + setting_.group});
    return joined(words, setting_.set);
}

void RoundsBed::set_anew(unsigned workers) {
    order("remove");
    setting_.workers = workers;
    set();
}

void RoundsBed::order(const std::string &word, const std::vector<std::string> &more) const {
    must(olaf(joined({"job", word, "in", std::to_string(rounds_job)}, more)));
}

void RoundsBed::lose(unsigned percent) {
    for (const auto direction : {Losing::sent, Losing::received})
        if (percent != 0)
            losing_.push_back(
                std::make_unique<Losing>(Testbed::worker, "eth0", direction, percent));
}

std::string RoundsBed::node() const {
    const bool six = setting_.family == 6;
    if (wiring.way == Way::local || setting_.in_passing)
        return server_peer(setting_.family).address;
    if (wiring.way == Way::bridged)
        return six ? "fd00:0:0:2::9" : "10.0.2.9";
    return six ? "fd00::fe" : "10.0.0.254";
}

CollectiveOptions RoundsBed::options(unsigned rank) const {
    CollectiveOptions options;
    options.node = Address::resolve(node()).value();
    options.job = rounds_job;
    options.rank = rank;
    options.workers = setting_.workers;
    options.run = "test";
    options.format = format_named(setting_.format);
    options.lanes = static_cast<std::uint16_t>(setting_.lanes);
    options.gso = setting_.flips == 0; // what is flipped in a piece gets a right UDP checksum
    if (!setting_.group.empty())
        options.group = Address::resolve(setting_.group).value();
    return options;
}

namespace {

/// The node takes its job's messages off the way to the root, or has workers send to its host.
JobSetting below_root(JobSetting setting) {
    setting.wiring.way = setting.in_passing ? Way::routed : Way::upstream4;
    setting.local = !setting.in_passing;
    setting.wiring.server_known &= setting.in_passing;
    setting.starts = false;
    return setting;
}

} // namespace

NodeBelowRoot::NodeBelowRoot(JobSetting setting) : RoundsBed(below_root(std::move(setting))) {
    if (!setting_.in_passing)
        for (const char *key : {"ipv4/ip_forward", "ipv6/conf/all/forwarding"})
            host.sysctl(key, "0");
    root_.attach({"--local", "--round-slots", "64"});
    must(root_({"job", "set", "eth0", std::to_string(rounds_job), "--children", "1", "--lanes",
                std::to_string(setting_.lanes), "--format", setting_.format, "--max-count",
                std::to_string(workers())}));
}

std::vector<std::string> NodeBelowRoot::set_command() const {
    return joined(RoundsBed::set_command(), {"--max-count", std::to_string(workers()), "--parent",
                                             server_peer(setting_.family).address, "--rank", "0"});
}

void NodeBelowRoot::expect_books_to_add_up() const {
    expect_jobs_add_up(olaf);
    expect_jobs_add_up(root_);
}

// ---- a tree of nodes ----

namespace {

std::string address_of(unsigned node) {
    return "10.0.1." + std::to_string(10 + node);
}

/// That of a node's results.
std::string group_of(unsigned node) {
    return "239.1.2." + std::to_string(10 + node);
}

} // namespace

RoundTree::RoundTree(std::vector<TreeNode> nodes, TreeFanout fanout, const char *format)
    : tree_(std::move(nodes)), fanout_(fanout), format_(format) {
    // A switch that asks who wants what goes by the answers, once there was time for them: 10 ms.
    switch_.ip(
        fanout == TreeFanout::snooped
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
    for (unsigned node = 0; node < tree_.size(); node++)
        start(node);
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

void RoundTree::start(unsigned node) {
    nodes_[node]->olaf.attach(joined({"--local", "--round-slots", "64"}, tree_[node].attach));
    set(node);
}

void RoundTree::set(unsigned node) const {
    std::vector<std::string> words{"set",
                                   "eth0",
                                   std::to_string(rounds_job),
                                   "--lanes",
                                   std::to_string(job_lanes),
                                   "--children",
                                   std::to_string(tree_[node].workers + below(node).size()),
                                   "--format",
                                   format_,
                                   "--max-count",
                                   std::to_string(workers())};
    if (node != 0)
        words.insert(words.end(), {"--parent", address_of(tree_[node].parent), "--rank",
                                   std::to_string(rank_of(node))});
    words = joined(words, tree_[node].set);
    for (const unsigned rank : tree_[node].absent)
        words.insert(words.end(), {"--absent", std::to_string(rank)});
    if (fanout_ != TreeFanout::ride) {
        words.insert(words.end(), {"--fanout", "multicast=" + group_of(node)});
        if (node != 0)
            words.insert(words.end(), {"--parent-group", group_of(tree_[node].parent)});
    }
    job(node, words);
}

void RoundTree::set_anew(std::vector<TreeNode> nodes) {
    tree_ = std::move(nodes);
    for (unsigned node = 0; node < tree_.size(); node++)
        job(node, {"remove", "eth0", std::to_string(rounds_job)});
    for (unsigned node = 0; node < tree_.size(); node++)
        set(node);
}

void RoundTree::reset(unsigned node) {
    job(node, {"reset", "eth0", std::to_string(rounds_job)});
}

void RoundTree::job(unsigned node, std::vector<std::string> words) const {
    must(nodes_[node]->olaf(joined({"job"}, std::move(words))));
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

CollectiveOptions RoundTree::options(unsigned worker) const {
    CollectiveOptions options;
    unsigned node = 0, rank = worker;
    for (; rank >= tree_.at(node).workers; node++)
        rank -= tree_[node].workers;
    options.node = Address::resolve(address_of(node)).value();
    options.job = rounds_job;
    options.rank = rank;
    options.workers = workers();
    options.run = "test";
    options.format = format_named(format_);
    options.lanes = job_lanes;
    if (fanout_ != TreeFanout::ride)
        options.group = Address::resolve(group_of(node)).value();
    return options;
}

void RoundTree::expect_books_to_add_up() const {
    for (const auto &node : nodes_)
        if (node->olaf.attached())
            expect_jobs_add_up(node->olaf);
}

bool RoundTree::is_wanted(unsigned node) const {
    const auto shown = run({"bridge", "mdb", "show"}, {}, &switch_);
    must(shown);
    return shown.out.find("grp " + group_of(node) + " ") != std::string::npos;
}

nlohmann::json RoundTree::job(unsigned node) const {
    return nodes_[node]->olaf.status().json.at("jobs").at(0);
}

// ---- workers without end ----

EndlessSums::EndlessSums(const JobWorkers &job, std::size_t elements)
    : thread_([this, &job, elements] {
          job.for_each_worker([&](Collective &collective, unsigned worker) {
              for (unsigned round = 0; goes_on(round); round++) {
                  sum_round(collective, worker, job.workers(), round, elements);
                  if (worker == 0)
                      tell(round + 1);
              }
              agreed_ += collective.stats().agreed;
          });
          tell(over); // also where a worker failed
      }) {}

bool EndlessSums::goes_on(unsigned round) {
    const std::scoped_lock held(lock_);
    begun_ = std::max(begun_, round);
    return round < last_;
}

void EndlessSums::tell(unsigned done) {
    done_ = done;
    done_.notify_all();
}

void EndlessSums::await_more(unsigned rounds) {
    const unsigned began = done_;
    for (unsigned seen = began; seen < began + rounds || seen == over; seen = done_) {
        if (seen == over)
            throw std::runtime_error("the workers have ended");
        done_.wait(seen);
    }
}

unsigned EndlessSums::stop(unsigned after) {
    {
        const std::scoped_lock held(lock_); // so nobody begins a round that another one won't
        if (last_ == over)
            last_ = begun_ + after;
    }
    if (thread_.joinable())
        thread_.join();
    return last_;
}

// ---- members that come and go ----

namespace {

constexpr unsigned bits_each = 12, most_members = 5;

/// Below 2^12, and never 0.
std::uint64_t part_at(std::size_t element, std::uint32_t round) {
    return (element + round) % 4000 + 1;
}

} // namespace

std::vector<std::int64_t> member_part(unsigned worker, std::uint32_t round) {
    std::vector<std::int64_t> vector(member_elements);
    for (std::size_t i = 0; i < member_elements; i++)
        vector[i] = static_cast<std::int64_t>(part_at(i, round) << worker * bits_each);
    return vector;
}

unsigned members_in(const std::vector<std::int64_t> &sum, std::size_t element,
                    std::uint32_t round) {
    unsigned members = 0;
    for (unsigned worker = 0; worker < most_members; worker++) {
        const auto own = static_cast<std::uint64_t>(sum[element]) >> worker * bits_each & 0xfff;
        if (own != 0 && own != part_at(element, round))
            return ~0u;
        members |= (own != 0 ? 1u : 0u) << worker;
    }
    return members;
}

MembersSum sum_as_member(Collective &collective, unsigned worker, bool last) {
    const auto round = collective.next_round();
    auto vector = member_part(worker, round);
    vector.push_back(last ? 1 : 0); // says that it's the last
    const auto report = collective.allreduce(std::span(vector));
    if (!report)
        throw std::runtime_error(report.error().message());
    MembersSum sum{
        .report = *report, .members = members_in(vector, 0, round), .last = vector.back() != 0};
    for (std::size_t i = 0; i < member_elements; i++) {
        const auto members = members_in(vector, i, round);
        EXPECT_NE(members, ~0u) << "round " << round << ", element " << i << ": " << vector[i];
        if (members != sum.members)
            sum.members = 0;
    }
    if (report->partial == 0) {
        EXPECT_EQ(static_cast<unsigned>(std::popcount(sum.members)), report->least_count)
            << "round " << round << ": " << sum.members;
    }
    return sum;
}

std::jthread guest(const JobWorkers &job, unsigned worker, unsigned members_in_sums) {
    const auto come_and_go = [&job, worker, members_in_sums] {
        const Inside inside(job.netns_of_workers());
        auto collective = Collective::make(job.options(worker)).value();
        if (const auto round = collective.join(); !round)
            throw std::runtime_error("joining: " + round.error().message());
        for (unsigned whole = 0; whole < 10;) { // the same sums for all guests
            const auto sum = sum_as_member(collective, worker);
            whole += sum.members == members_in_sums && sum.report.partial == 0 ? 1 : 0;
        }
        if (const auto gone = collective.leave(std::chrono::seconds(20)); !gone)
            throw std::runtime_error("departing: " + gone.error().message());
    };
    return std::jthread([come_and_go, worker] {
        try {
            come_and_go();
        } catch (const std::exception &error) {
            ADD_FAILURE() << "worker " << worker << ": " << error.what();
        }
    });
}

Summing::Summing(const JobWorkers &job, std::vector<unsigned> workers, Tell more)
    : job_(job), workers_(std::move(workers)), running_(static_cast<unsigned>(workers_.size())) {
    for (const unsigned worker : workers_)
        threads_.emplace_back([this, worker, more] {
            try {
                run(worker, more);
            } catch (const std::exception &error) {
                const std::lock_guard held(lock_);
                errors_[worker] = error.what();
            }
            running_--;
            news_++;
            news_.notify_all();
        });
}

void Summing::run(unsigned worker, const Tell &more) {
    const Inside inside(job_.netns_of_workers());
    const bool is_first = worker == workers_.front();
    auto collective = joined_collective(tell(job_.options(worker), more));
    for (bool last = false; !last;) {
        const auto sum = sum_as_member(collective, worker, is_first && stopping_);
        last = sum.last;
        if (is_first) {
            const std::lock_guard held(lock_);
            newest_ = sum.members;
        }
        news_++;
        news_.notify_all();
    }
}

void Summing::await_sum_of(unsigned members) {
    for (unsigned seen = news_;; news_.wait(seen), seen = news_) {
        const std::lock_guard held(lock_);
        if (newest_ == members)
            return;
        if (running_ == 0)
            throw std::runtime_error("all have ended: " +
                                     (errors_.empty() ? "" : errors_.begin()->second));
    }
}

void Summing::stop() {
    stopping_ = true;
    end();
}

void Summing::expect_to_end_well() {
    stop();
    for (const auto &[worker, error] : errors_)
        ADD_FAILURE() << "worker " << worker << ": " << error;
}

// Then the books of the job are to be right, however it went.
void Summing::end() {
    if (threads_.empty())
        return;
    threads_.clear(); // joins them
    job_.expect_books_to_add_up();
}

std::map<unsigned, std::string> Summing::errors() {
    end();
    return errors_;
}

// ---- who runs on which CPU ----

namespace {

void pin(pid_t thread, int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    if (sched_setaffinity(thread, sizeof cpus, &cpus) != 0)
        throw std::runtime_error("cannot pin a thread to CPU " + std::to_string(cpu));
}

/// The kernel's number of the receive queue by which a datagram came to that port.
unsigned napi_of_one(const Netns &netns, std::uint16_t port,
                     const std::function<void()> &send_one) {
    const Inside inside(netns);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    unsigned id = 0;
    socklen_t size = sizeof id;
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const auto most_ms = std::chrono::milliseconds(patience).count();
    bool heard = bind(fd, reinterpret_cast<const sockaddr *>(&any), sizeof any) == 0;
    if (heard) {
        send_one();
        heard = poll(&waiting, 1, static_cast<int>(most_ms)) == 1 &&
                getsockopt(fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &size) == 0;
    }
    close(fd);
    if (!heard)
        throw std::runtime_error("no datagram tells the number of its receive queue");
    return id;
}

/// The kernel thread of that name.
pid_t thread_called(const std::string &name) {
    for (const auto &entry : std::filesystem::directory_iterator("/proc")) {
        std::string comm;
        std::ifstream file(entry.path() / "comm");
        if (std::getline(file, comm) && comm == name)
            return std::stoi(entry.path().filename());
    }
    throw std::runtime_error("no thread is called " + name);
}

} // namespace

std::vector<int> allowed_cpus() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        throw std::runtime_error("sched_getaffinity");
    std::vector<int> found;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            found.push_back(cpu);
    return found;
}

int first_cpu() {
    return allowed_cpus().front();
}

void stay_on(int cpu) {
    pin(0, cpu);
}

void receive_in_thread(const Netns &netns, const std::string &device, int cpu, std::uint16_t port,
                       const std::function<void()> &send_one) {
    const auto napi = napi_of_one(netns, port, send_one);
    const auto done = run({"ip", "netns", "exec", netns.name(), "sh", "-c",
                           "echo 1 > /sys/class/net/" + device + "/threaded"});
    if (done.status != 0)
        throw std::runtime_error(done.err);
    pin(thread_called("napi/" + device + "-" + std::to_string(napi)), cpu);
}

void go_first_on(int cpu) {
    pin(0, cpu);
    const sched_param first{.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        throw std::runtime_error("cannot take a real-time priority");
}

Transmitted transmitted(const Netns &netns, const std::string &device) {
    const auto told = run({"ip", "-n", netns.name(), "-s", "-j", "link", "show", device});
    const auto tx = nlohmann::json::parse(told.out).at(0).at("stats64").at("tx");
    const auto dropped = tx.at("dropped").get<unsigned long>();
    return {.all = tx.at("packets").get<unsigned long>() + dropped, .overflowed = dropped};
}

} // namespace olaf::test
