// SPDX-License-Identifier: BSD-2-Clause
// Jobs on real links, and their workers: threads in one namespace, each with a Collective of its
// own.
//
//   RoundsBed       workers ── in[node]                      a testbed, whatever its way
//   NodeBelowRoot   workers ── in[node]out ── root           the root has this one child
//   RoundTree       workers ┐                                each node is a host with one device;
//                   node 0  ┼ switch                         node 0 is the root
//                   node 1  ┘
//
// Unless a test says more, an element is an integer in a lane of its own, and a frame has 63 of
// them.
#pragma once

#include <atomic>
#include <barrier>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <olaf/collective.hpp>

#include "foreign.hpp"
#include "testbed.hpp"

namespace olaf::test {

inline constexpr std::uint32_t rounds_job = 7;
inline constexpr unsigned job_lanes = 64, in_chunk = job_lanes - 1; ///< the last one is a checksum

/// Elements of a vector that fills so many frames.
constexpr std::size_t elements_of(unsigned chunks) {
    return std::size_t{in_chunk} * chunks;
}

/// Changes what a worker is told.
using Tell = std::function<void(CollectiveOptions &)>;
/// What a worker does after start(). What it throws ends the test as a failure that names the
/// worker.
using Work = std::function<void(Collective &, unsigned worker)>;

/// The workers of a job, wherever its nodes are.
class JobWorkers {
  public:
    virtual ~JobWorkers() = default;
    [[nodiscard]] virtual unsigned workers() const = 0; ///< of the whole job
    [[nodiscard]] virtual const Netns &netns_of_workers() const = 0;
    /// What that worker is told.
    [[nodiscard]] virtual CollectiveOptions options(unsigned worker) const = 0;
    /// The identities of docs/rounds.md hold at every node that isn't detached, once nothing is
    /// under way.
    virtual void expect_books_to_add_up() const = 0;

    /// Runs one thread a worker of the first so many, and then looks at the books.
    void for_each_of(unsigned count, const Work &work, const Tell &more = {}) const;
    void for_each_worker(const Work &work, const Tell &more = {}) const {
        for_each_of(workers(), work, more);
    }
    /// Each worker sums so many vectors, exactly.
    void sum_exactly(unsigned rounds, std::size_t elements, const Tell &more = {}) const;
};

/// One thread for each of these numbers, in a namespace, with a Collective after start(). `options`
/// says of each which node and rank it has.
void run_workers(const Netns &netns, const std::vector<unsigned> &workers,
                 const std::function<CollectiveOptions(unsigned worker)> &options,
                 const Work &work);
/// 0 ... count - 1
std::vector<unsigned> first_ones(unsigned count);

/// A thread of several that wait for each other at a barrier: once it has ended they wait for the rest.
class Together {
  public:
    explicit Together(std::barrier<> &all) : all_(all) {}
    ~Together() { all_.arrive_and_drop(); }
    Together(const Together &) = delete;
    Together &operator=(const Together &) = delete;
    void wait() { all_.arrive_and_wait(); }

  private:
    std::barrier<> &all_;
};

/// Has all workers join a job in vain, and returns their errors.
std::vector<Error> failed_joins(const JobWorkers &job, const Tell &more = {});
/// Whether a worker gave up waiting, not before its timeout of a second by its own clock, and says
/// so with these words.
testing::AssertionResult gave_up(const std::string &error, const std::string &words);

/// The worker's vector of a round, and the sum that all must get.
std::vector<std::int64_t> part_of(unsigned worker, unsigned round, std::size_t elements);
std::vector<std::int64_t> sum_of(unsigned workers, unsigned round, std::size_t elements);
/// Sums one such vector. Throws unless its sum is exact, and all workers are in it.
SumReport sum_round(Collective &collective, unsigned worker, unsigned workers, unsigned round,
                    std::size_t elements);

/// Whatever became of a contribution was counted, and of a result, where all children were in all
/// chunks: the identities of docs/rounds.md, for each job there once nothing is under way.
void expect_jobs_add_up(const OlafCommand &olaf);
/// The same of a job at rest.
void expect_job_identities(const nlohmann::json &job);

struct JobSetting {
    unsigned workers = 4;
    Wiring wiring = {};
    int family = 4;
    /// Workers send to an address behind the node's host, through it.
    bool in_passing = false;
    std::vector<std::string> attach = {}; ///< behind DELIVERY --round-slots 64
    std::vector<std::string> set = {};    ///< behind --children N --lanes 64 --format i64x1
    unsigned slots = 64;
    unsigned lanes = job_lanes;   ///< 0: nobody says it
    const char *format = "i64x1"; ///< "": nobody says it
    std::string group = {};       ///< by which all get results; empty: they ride
    unsigned loss = 0;            ///< of a hundred frames at the workers' device, each way
    unsigned flips = 0;           ///< as many have a flipped bit
    bool local = false;           ///< the queue delivers to this host, whatever the way
    bool starts = true;           ///< with a queue and the job
};

/// A testbed whose queue has a job.
class RoundsBed : public Testbed, public JobWorkers {
  public:
    explicit RoundsBed(JobSetting setting = {});

    void start();
    void attach_queue();
    /// olaf job set in 7 …
    [[nodiscard]] virtual std::vector<std::string> set_command() const;
    void set() const { must(olaf(set_command())); }
    /// The job is set anew, for so many workers.
    void set_anew(unsigned workers);
    /// olaf job WORD in 7 MORE…
    void order(const std::string &word, const std::vector<std::string> &more = {}) const;
    [[nodiscard]] nlohmann::json job() const { return olaf.status().json.at("jobs").at(0); }
    /// From now on.
    void lose(unsigned percent);

    [[nodiscard]] unsigned workers() const override { return setting_.workers; }
    [[nodiscard]] const Netns &netns_of_workers() const override { return Testbed::worker; }
    [[nodiscard]] CollectiveOptions options(unsigned rank) const override;
    void expect_books_to_add_up() const override;

  protected:
    /// Where workers send to.
    [[nodiscard]] std::string node() const;
    JobSetting setting_;
    std::vector<std::unique_ptr<Losing>> losing_;
    std::unique_ptr<Flipping> flipping_;
};

/// Where workers send to the node's host, that forwards nothing, and nobody told it the parent's
/// MAC address. Else it is a router, which knows it if `server_known`.
class NodeBelowRoot : public RoundsBed {
  public:
    explicit NodeBelowRoot(JobSetting setting = {});

    [[nodiscard]] std::vector<std::string> set_command() const override;
    [[nodiscard]] const OlafCommand &root() const { return root_; }
    [[nodiscard]] nlohmann::json root_job() const { return root_.status().json.at("jobs").at(0); }
    void expect_books_to_add_up() const override;

  private:
    // veth wakes its peer after XDP_TX only if an XDP program is there: the root's answers need it.
    ForeignXdp wakes_{host, "out"};
    OlafCommand root_{server(), "eth0"};
};

/// A node's place in the tree. Its children are its workers first, then the nodes below it.
struct TreeNode {
    unsigned parent;                   ///< of the nodes named before it; of node 0 nothing is read
    unsigned workers;                  ///< that contribute to it directly
    std::vector<unsigned> absent = {}; ///< ranks of those that aren't members yet
    std::vector<std::string> attach = {},
                             set = {}; ///< what else `olaf attach` and `olaf job set` are told
};

/// How results travel in a tree.
enum class TreeFanout {
    ride,
    flooded, ///< each node has a multicast group, whose frames the switch sends to every port
    snooped, ///< the switch sends them where IGMP says
};

/// Workers are 10.0.0.1, each with a port of its own, and count through all nodes' workers in
/// order. Node i is 10.0.1.(10 + i). Nobody's MAC address is given: hosts ask for them.
class RoundTree : public JobWorkers {
  public:
    /// With all nodes attached and their jobs set.
    explicit RoundTree(std::vector<TreeNode> nodes, TreeFanout fanout = TreeFanout::ride,
                       const char *format = "i64x1");

    void start(unsigned node);
    void stop(unsigned node) { nodes_[node]->olaf.detach(); }
    /// The nodes get other workers: their jobs are set anew.
    void set_anew(std::vector<TreeNode> nodes);
    /// All below the node must agree anew where to begin.
    void reset(unsigned node);
    /// From now on every link loses that many in a hundred, each way.
    void lose(unsigned percent);
    /// From now on frames overtake each other on the way from the switch to the workers, to a node.
    void reorder_to_workers() { reorder(0); }
    void reorder_to_node(unsigned node) { reorder(1 + node); }
    /// Whether each of these ways has held some up.
    [[nodiscard]] bool has_reordered() const;

    [[nodiscard]] unsigned nodes() const { return static_cast<unsigned>(tree_.size()); }
    [[nodiscard]] unsigned workers() const override;
    [[nodiscard]] const Netns &netns_of_workers() const override { return workers_; }
    [[nodiscard]] CollectiveOptions options(unsigned worker) const override;
    [[nodiscard]] nlohmann::json job(unsigned node) const;
    void expect_books_to_add_up() const override;
    /// Whether the switch knows that somebody wants the node's results.
    [[nodiscard]] bool is_wanted(unsigned node) const;

  private:
    struct Host {
        explicit Host(unsigned number) : netns("node" + std::to_string(number)) {}
        Netns netns;
        OlafCommand olaf{netns, "eth0"}; ///< last: it detaches before the device goes
    };
    void set(unsigned node) const;
    /// olaf job WORDS, of that node
    void job(unsigned node, std::vector<std::string> words) const;
    void reorder(unsigned port);
    void plug(const Netns &netns, const std::string &address);
    [[nodiscard]] std::vector<unsigned> below(unsigned node) const;
    [[nodiscard]] unsigned rank_of(unsigned node) const; ///< at its parent

    std::vector<TreeNode> tree_;
    const TreeFanout fanout_;
    const std::string format_;
    Netns switch_{"switch"}, workers_{"workers"};
    std::vector<std::unique_ptr<ForeignXdp>> port_programs_;
    std::vector<std::unique_ptr<Losing>> losing_;
    std::vector<std::unique_ptr<Reordering>> reordering_;
    std::vector<std::unique_ptr<Host>> nodes_;
};

/// Workers that sum without end, exactly, in threads of their own, until all end after the same
/// round.
class EndlessSums {
  public:
    EndlessSums(const JobWorkers &job, std::size_t elements);
    ~EndlessSums() { stop(0); }
    EndlessSums(const EndlessSums &) = delete;
    EndlessSums &operator=(const EndlessSums &) = delete;

    /// Until the first worker has done so many more. Throws if the workers have ended.
    void await_more(unsigned rounds);
    [[nodiscard]] bool running() const { return done_ != over; }
    /// All end after so many rounds more. Returns how many they have done.
    unsigned stop(unsigned after);
    /// Times that workers agreed on where to begin; once they have ended.
    [[nodiscard]] std::uint64_t agreed() const { return agreed_; }

  private:
    static constexpr unsigned over = ~0u;
    [[nodiscard]] bool goes_on(unsigned round);
    void tell(unsigned done);

    std::atomic<unsigned> done_ = 0; ///< rounds of the first worker; `over`: all have ended
    std::atomic<std::uint64_t> agreed_ = 0;
    std::mutex lock_;
    unsigned begun_ = 0, last_ = over; ///< rounds, of any worker; under the lock
    std::jthread thread_;              ///< last: it uses the others
};

// Workers that come and go. Their vectors of a round lie side by side in a sum, which so tells
// whose it is.

inline constexpr unsigned member_chunks = 20;
inline constexpr std::size_t member_elements = elements_of(member_chunks);

/// A worker's vector of a round.
std::vector<std::int64_t> member_part(unsigned worker, std::uint32_t round);
/// Whose parts an element of such a sum holds, a bit each; ~0: it is no sum of such parts.
unsigned members_in(const std::vector<std::int64_t> &sum, std::size_t element, std::uint32_t round);

/// A sum that came.
struct MembersSum {
    SumReport report;
    unsigned members = 0; ///< who is in it, a bit each; 0: not the same ones in each element
    bool last = false;    ///< the first worker stops
};

/// One vector of this worker; throws what went wrong. Records a failure if the sum isn't of
/// anybody's parts, or is of others than its report says.
MembersSum sum_as_member(Collective &collective, unsigned worker, bool last = false);

/// A thread that joins a running job, is in ten whole sums of just those, and leaves.
std::jthread guest(const JobWorkers &job, unsigned worker, unsigned members_in_sums);

/// Workers that sum without end while others come and go. When the first one wants to stop, all see
/// it in the same sum.
class Summing {
  public:
    /// Those workers of a job; the first one says when all stop.
    Summing(const JobWorkers &job, std::vector<unsigned> workers, Tell more = {});
    ~Summing() { stop(); }
    Summing(const Summing &) = delete;
    Summing &operator=(const Summing &) = delete;

    /// Until a sum holds just those, a bit each; throws when all have ended before.
    void await_sum_of(unsigned members);
    /// Ends all after the same sum, unless they have failed.
    void stop();
    /// The same, and none has failed.
    void expect_to_end_well();
    /// Waits for the end of all, and returns what each failed with, or nothing of those that
    /// didn't.
    std::map<unsigned, std::string> errors();

  private:
    void run(unsigned worker, const Tell &more);
    void end();
    const JobWorkers &job_;
    const std::vector<unsigned> workers_;
    std::atomic<bool> stopping_ = false;
    std::atomic<unsigned> news_ = 0; ///< sums and ends so far
    std::atomic<unsigned> running_;
    std::mutex lock_;
    unsigned newest_ = 0; ///< whose parts are in the newest sum
    std::map<unsigned, std::string> errors_;
    std::vector<std::jthread> threads_; ///< last: they use the others
};

// A device whose frames a kernel thread receives: as a node that others on its CPU keep from
// running.

/// The CPUs that this process may run on, and the first one of them.
std::vector<int> allowed_cpus();
int first_cpu();

/// Has a thread of that CPU receive what comes to the device, which has one receive queue; it goes
/// with the device. `send_one` lets a datagram come by it, to that UDP port. Throws if it can't.
void receive_in_thread(const Netns &netns, const std::string &device, int cpu, std::uint16_t port,
                       const std::function<void()> &send_one);

/// The calling thread runs on that CPU alone.
void stay_on(int cpu);

/// The calling thread runs on that CPU, before all that has no real-time priority.
void go_first_on(int cpu);

/// Frames that were given to a device to send.
struct Transmitted {
    unsigned long all = 0;
    unsigned long overflowed = 0; ///< of those: dropped, as the other end's ring was full
};
Transmitted transmitted(const Netns &netns, const std::string &device);

} // namespace olaf::test
