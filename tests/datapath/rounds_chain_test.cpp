// SPDX-License-Identifier: BSD-2-Clause
// Two nodes in a chain, with workers at both: what the lower one sends up is lost, doubled and overtaken before the
// upper one gets it, and so is what comes down. Workers of the lower one come and go meanwhile, and give orders;
// some frames are of nobody in the chain. Each node and its model (tests/model) agree on each step.
#include <array>
#include <ctime>
#include <random>
#include <utility>

#include "rounds_clones.hpp"
#include "rounds_hostile.hpp"
#include "rounds_sessions.hpp"
#include "rounds_tree.hpp"
#include "rounds_wire.hpp"

namespace olaf::test::rounds_chain_test {
namespace {

// ---- The upper one of two nodes in a chain, and how far the workers of a node are.

// From so many steps on each rare event is met, whatever the seed.
constexpr std::uint64_t a_long_run = 300'000;
constexpr std::uint32_t upper_generation = 900, workers_above = own_rank, pool = 3;
constexpr std::uint64_t never_overdue = UINT64_MAX / 2; // however slow the machine is

olaf_job_setup of_many_chunks(olaf_job_setup setup) {
    setup.pool = pool;
    setup.slots = 1u << pool;
    setup.max_count = 1 << 15;
    return setup;
}

/// The lower node: enough workers that some may come and go.
constexpr std::uint32_t workers_below = 3;

olaf_job_setup lower_job(int family) {
    auto setup = of_many_chunks(below_a_parent(family));
    setup.children = setup.threshold = workers_below;
    return setup;
}

olaf_job_setup upper_job() {
    auto setup = of_many_chunks(small_job());
    setup.children = setup.threshold = workers_above + 1;
    return setup;
}

/// The root, as RoundsTest has it.
class Upper : public RoundsTest {
  public:
    explicit Upper(const Testbed &net) : RoundsTest(upper_job(), config_in(net)) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        waiting.generation = upper_generation;
        waiting.membership.unsettled = 2 * setup.slots;
        waiting.membership.flags = OLAF_MEMBERS_YOUNG;
        set_job(waiting);
    }
    void TestBody() override {}
    void expect_books() { TearDown(); }
    using RoundsTest::counters, RoundsTest::job, RoundsTest::offer, RoundsTest::owed, RoundsTest::queue,
        RoundsTest::setup, RoundsTest::slot;
};

/// How far the rounds of a node's workers are: the first one of each chunk without a result.
struct Front {
    std::array<std::uint32_t, chunks> round{};
    void go_on(const RoundNode &model) {
        for (std::uint32_t chunk = 0; chunk < chunks; chunk++)
            while (model.done(round[chunk], chunk) != nullptr)
                round[chunk]++;
    }
    /// What a worker is told it has missed it doesn't ask for again.
    void note(const RoundMessage &message, const RoundNode::Out &out) {
        if (message.kind == RoundMessage::Kind::contribution && !out.empty() && out[0].message.stale &&
            message.generation == out[0].message.generation && message.round == round[message.chunk])
            round[message.chunk]++;
    }
};

// ---- What arrives at two nodes in a chain: random messages and orders of workers, and what is under way between the nodes.

class RoundsChainMessages : public RoundsTree {
  protected:
    using Kind = RoundMessage::Kind;

    RoundsChainMessages() : RoundsTree(lower_job(GetParam())) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING;
        waiting.parent_generation = 0;
        waiting.membership.unsettled = 2 * setup.slots;
        waiting.membership.flags = OLAF_MEMBERS_YOUNG;
        set_job(waiting);
        front_low.round.fill(0xfffffff0);
        front_high.round.fill(0xfffffff0);
        identities_hold = false; // members change: a result isn't owed to all children
    }

    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); }
    bool chance(std::uint32_t percent) { return below(100) < percent; }

    /// Of a worker's; the ranks are those of its node.
    RoundMessage some_message(const RoundNode &model, Front &front, std::uint32_t workers,
                              std::map<std::uint32_t, std::int64_t> &stamps, Sessions &sessions) {
        RoundMessage message{.rank = below(workers), .time = ++clock};
        message.generation = model.generation();
        const auto unheard = model.running() ? sessions.asks_again() : std::nullopt;
        message.rank = unheard.value_or(message.rank);
        if (unheard || !model.running() || below(model.has_misfit() ? 30 : 3000) == 0) {
            message.kind = Kind::sync;
            // Most were told of the generation in which the members contributed last.
            message.generation = chance(90) ? model.generation() - (model.running() ? 0 : 1) : below(3);
            message.round = std::ranges::min(front.round, {}, [](std::uint32_t round) {
                return static_cast<std::int32_t>(round);
            });
            message.pool = pool;
            message.padding = model::kSessionLanes;
            const bool again =
                unheard || (stamps.contains(message.rank) && !sessions.is_silent(message.rank) &&
                            chance(model.running() ? 50 : 90));
            sessions.ask(message, again);
            if (again)
                message.time = stamps[message.rank];
            else
                stamps[message.rank] = message.time;
            return message;
        }
        front.go_on(model);
        message.chunk = below(chunks);
        message.chunks = chunks;
        message.round = front.round[message.chunk];
        // No worker is in a round before it has the last one's result, but at the root one may have got ahead.
        const auto *last = model.done(message.round - 1, message.chunk);
        const bool finds_damage = last != nullptr && !last->sum.lanes.empty() &&
                                  last->sum.lanes.back() != checksum_of(last->sum.lanes) && chance(80);
        if (finds_damage)
            message.round--;
        else if (chance(10))
            message.round += below(&model == &high ? 4 : 3) - 2;
        if (chance(2))
            message.generation += below(3) - 1;
        message.count = 1 + below(3);
        message.vector = one_vector + (below(250) == 0 ? 1 : 0);
        message.exponent = static_cast<std::int16_t>(below(65536));
        message.partial = chance(3);
        message.flush = chance(5);
        if (chance(5)) { // a probe
            message.partial = chance(30);
            return message;
        }
        for (std::uint32_t lane = 0; lane < setup.lanes; lane++)
            message.lanes.push_back(random());
        message.lanes.back() = checksum_of(message.lanes);
        message.spoilt = finds_damage || chance(5);
        return message;
    }

    /// An order of a worker's at the lower node, now and then.
    std::optional<RoundMessage> some_order() {
        using Action = RoundMessage::Action;
        struct Often {
            Action action;
            std::uint32_t in; ///< one of so many messages
        };
        constexpr Often all[] = {{Action::join, 80},  {Action::leave, 150},  {Action::seth, 600}, {Action::fbcast, 600},
                                 {Action::halt, 2000}, {Action::resume, 60}, {Action::reset, 3000}};
        for (const auto &[action, in] : all) {
            if (below(in) != 0)
                continue;
            RoundMessage order{.kind = Kind::order, .rank = below(workers_below), .time = ++clock, .action = action};
            order.generation = low.generation() - (chance(10) ? 1 : 0);
            order.round = *std::ranges::max_element(front_low.round, [](std::uint32_t a, std::uint32_t b) {
                return static_cast<std::int32_t>(a - b) < 0;
            }) + below(2);
            const bool is_member = low.members().contains(order.rank);
            const bool joins_anew = action == Action::join && (!is_member || chance(3));
            const bool goes = is_member && (joins_anew || action == Action::leave);
            // One of all rounds stays: no node below another can begin anew in a round of no member's. Who has
            // left asks again.
            auto others = low.elders();
            others.erase(order.rank);
            if (goes && (others.empty() || (action == Action::leave && !chance(30))))
                return {};
            if (action == Action::join && !joins_anew)
                order.time = joins[order.rank]; // the same again
            else if (action == Action::join)
                joins[order.rank] = order.time;
            if (action == Action::join) {
                order.padding = model::kSessionLanes;
                sessions_low.join(order, joins_anew);
            }
            left[order.rank] += goes ? 1 : 0;
            if (action == Action::seth)
                order.missing = chance(60) ? workers_below : below(workers_below + 2);
            return order;
        }
        return {};
    }

    /// One of those under way, the order of which doesn't matter; lost or doubled now and then.
    template <class T> std::optional<T> arrives(std::vector<T> &way) {
        if (way.empty())
            return {};
        const auto which = way.begin() + below(static_cast<std::uint32_t>(way.size()));
        const T message = *which;
        if (!chance(10))
            way.erase(which);
        if (way.size() > 40)
            way.erase(way.begin());
        return chance(10) ? std::nullopt : std::optional(message);
    }

    /// A lane of a contribution or a result is damaged on its way, now and then. CONTROL has a UDP checksum.
    template <class T> T some_damage(T message) {
        bool is_control;
        if constexpr (requires { message.kind; })
            is_control = message.kind != Kind::contribution;
        else
            is_control = message.type == OLAF_CONTROL;
        if (!is_control && !message.lanes.empty() && chance(5))
            message.lanes[below(static_cast<std::uint32_t>(message.lanes.size()))] ^= 1ull << below(64);
        return message;
    }

    std::mt19937_64 random{seed()};
    RoundNode low{{.children = workers_below,
                   .max_count = 1 << 15,
                   .pool = pool,
                   .rank_at_parent = own_rank,
                   .has_checksum = true},
                  job_generation};
    RoundNode high{{.children = workers_above + 1, .max_count = 1 << 15, .pool = pool, .has_checksum = true},
                   upper_generation};
    Front front_low, front_high;
    std::map<std::uint32_t, std::int64_t> stamps_low, stamps_high, joins;
    model::Run newest_run{.training = 1, .number = 1000};
    Sessions sessions_low{random, newest_run}, sessions_high{random, newest_run};
    std::array<std::uint64_t, workers_below> left{}; ///< how often each went
    std::vector<RoundMessage> up;
    std::vector<JobMessage> down;
    std::int64_t clock = 1'000'000;
};

// ---- The steps of two nodes in a chain, and of their models.

class RoundsChainSteps : public RoundsChainMessages {
  protected:
    /// What a node's frames carry, of what the model's may: the same answer, or any results that are owed.
    template <class Node>
    std::vector<JobMessage> answers(Node &node, const RoundNode &model, const Ran &ran, const RoundNode::Out &out,
                                    bool rides) {
        if (ran.verdict == XDP_DROP) {
            EXPECT_TRUE(rides) << "no answer where there must be one";
            return {};
        }
        if (ran.verdict == XDP_PASS) {
            EXPECT_TRUE(rides) << "an order where there must be an answer";
            return clones(node, model, ran);
        }
        const auto received = sent_back(ran);
        if (!received)
            return {};
        const auto &got = received->message;
        expect_protected(*received);
        if (rides && got.type == OLAF_RESULT && !(got.flags & OLAF_FLAG_STALE))
            expect_owed(node.setup, model, got);
        else
            expect_same(node.setup, out, got);
        return {got};
    }

    /// Those whom no frame comes for get theirs by an order.
    template <class Node> std::vector<JobMessage> clones(Node &node, const RoundNode &model, const Ran &order) {
        std::vector<JobMessage> all;
        for (const auto &clone : clones_of(order, node.queue, net, far, [&] { return node.counters(); })) {
            const auto received = sent_back(clone);
            if (!received)
                continue;
            SCOPED_TRACE("clone for " + std::to_string(received->message.rank));
            expect_owed(node.setup, model, received->message);
            all.push_back(received->message);
        }
        copied += all.size();
        return all;
    }

    static void expect_owed(const olaf_job_setup &setup, const RoundNode &model, const JobMessage &got) {
        const auto *done = model.done(got.round, got.chunk);
        ASSERT_TRUE(done != nullptr) << "this chunk isn't done";
        auto want = done->sum;
        want.kind = Kind::result;
        want.rank = got.rank;
        want.generation = model.generation();
        want.pool = got.pool;
        want.late = done->sum.late || !done->in.contains(got.rank);
        EXPECT_EQ(on_wire(setup, want), got);
    }

    static void expect_same(const olaf_job_setup &setup, const RoundNode::Out &out, const JobMessage &got) {
        ASSERT_FALSE(out.empty()) << "nothing was to leave, but flags " << got.flags << ", round " << got.round
                                  << ", chunk " << got.chunk << " did for " << got.rank;
        auto want = on_wire(setup, with_time_kept(out[0].message, got));
        if (out[0].message.stale) { // what it echoes beside the chunk means nothing
            want.generated_ns = got.generated_ns;
            want.exponent = got.exponent;
        }
        if (out[0].message.kind == Kind::sync_answer)
            expect_same_answer(setup, out[0].message, got);
        else
            EXPECT_EQ(want, got);
    }

    /// Nothing that is owed stays where whoever contributed last waits.
    template <class Node> static void expect_none_waits(Node &node, const RoundNode &model) {
        for (std::uint32_t i = 0; i < chunks; i++)
            for (const auto held = node.slot(i); const auto &buffer : held.buffer)
                if (buffer.state == OLAF_ROUND_DONE && buffer.generation == model.generation()) {
                    EXPECT_EQ(buffer.owed.word[0], 0u) << "chunk " << i;
                }
    }

    /// Whether the frame of that message may carry any result.
    static bool rides(const RoundMessage &message, const RoundNode::Out &out) {
        if (message.kind == Kind::sync || message.kind == Kind::sync_answer || message.kind == Kind::order)
            return out.empty();
        if (out.empty())
            return true;
        const auto &first = out[0];
        if (first.message.is_told_misfit())
            return false;
        const bool is_its_answer = !first.up && first.to == message.rank && first.message.round == message.round &&
                                   first.message.chunk == message.chunk && message.kind == Kind::contribution;
        return !first.up && !is_its_answer;
    }

    /// A child's message, at the lower node.
    void step_low(const RoundMessage &message) {
        const auto wire = on_wire(setup, message);
        EXPECT_EQ(gate_low.judge(seen(wire, sender_of(message.rank), setup.shape)), RoundRefusal::none);
        const auto ran = offer(wire, GetParam());
        RoundNode::Out out;
        const auto before = low.counters();
        const bool was_running = low.running(), was_halted = low.halted();
        low.arrive(now, static_cast<std::int64_t>(job().stamp), message, out);
        if (message.kind == Kind::order) {
            orders[{message.action, out.at(0).message.status}]++;
            sessions_low.told(message.rank, out[0].message, low.has_job());
            if (message.action == RoundMessage::Action::fbcast)
                await_clock();
        }
        const bool may_ride = rides(message, out) || low.counters().added != before.added ||
                              low.counters().ahead != before.ahead ||
                              (message.kind == Kind::contribution && was_running && was_halted);
        front_low.note(message, out);
        note_answer(sessions_low, out, workers_below, !was_running && low.running());
        const bool goes_up = !out.empty() && out[0].up;
        const auto got = answers(*this, low, ran, out, may_ride && !goes_up);
        if (message.kind == Kind::contribution) {
            newest_flushes = message.flush;
            if (message.flush && may_ride && !goes_up)
                expect_none_waits(*this, low);
        }
        if (was_running && !low.running())
            up.clear(), down.clear(); // so that the next generation isn't all of the last one's
        if (!got.empty() && goes_up)
            up.push_back(out[0].message);
        if (message.kind == Kind::contribution)
            never_overdue_now();
    }
    /// What arrives at the upper one.
    void step_high(const RoundMessage &message) {
        const auto wire = on_wire(upper.setup, message);
        EXPECT_EQ(gate_high.judge(seen(wire, sender_of(message.rank), upper.setup.shape)), RoundRefusal::none);
        const auto ran = upper.offer(wire);
        RoundNode::Out out;
        const auto before = high.counters();
        const bool was_running = high.running();
        high.arrive(now, 0, message, out);
        note_answer(sessions_high, out, workers_above, !was_running && high.running());
        const bool may_ride = rides(message, out) || high.counters().added != before.added ||
                              high.counters().completed != before.completed;
        if (message.rank != own_rank)
            front_high.note(message, out);
        for (const auto &got : answers(upper, high, ran, out, may_ride))
            if ((got.type == OLAF_CONTROL ? message.rank : got.rank) == own_rank) // it may name another
                down.push_back(got);
        if (message.kind == Kind::contribution && message.flush && may_ride)
            expect_none_waits(upper, high);
    }
    /// Whom the node has told about sessions, and whether its job has begun to run.
    void note_answer(Sessions &sessions, const RoundNode::Out &out, std::uint32_t workers, bool ran) {
        if (ran)
            sessions.ran(workers);
        if (out.empty() || out[0].up || out[0].message.kind != Kind::sync_answer)
            return;
        const auto &answers = out[0].message.above || &sessions == &sessions_high ? high : low;
        sessions.told(out[0].to, out[0].message, answers.has_job());
    }
    /// What comes down to the lower one.
    void step_down(const JobMessage &message) {
        const auto ran = tell(message);
        RoundNode::Out out;
        low.arrive(now, static_cast<std::int64_t>(job().stamp), from_wire(message), out);
        const bool began = message.type == OLAF_CONTROL && !out.empty() &&
                           out[0].message.status == RoundMessage::Status::done;
        note_answer(sessions_low, out, workers_below, began);
        answers(*this, low, ran, out, message.type == OLAF_RESULT || out.empty());
        if (message.type == OLAF_RESULT && newest_flushes)
            expect_none_waits(*this, low);
        if (began)
            front_low.round.fill(message.round), front_high.round.fill(message.round);
    }
    static RoundMessage from_wire(const JobMessage &wire) {
        RoundMessage message{.kind = wire.type == OLAF_RESULT ? Kind::result : Kind::sync_answer,
                             .rank = wire.rank, .round = wire.round, .count = wire.count, .chunk = wire.chunk,
                             .chunks = wire.chunks, .vector = wire.vector, .generation = wire.generation,
                             .time = static_cast<std::int64_t>(wire.generated_ns), .exponent = wire.exponent,
                             .pool = wire.pool, .lanes = wire.lanes};
        message.partial = (wire.flags & OLAF_FLAG_PARTIAL) != 0;
        message.late = (wire.flags & OLAF_FLAG_LATE) != 0;
        message.stale = wire.type == OLAF_RESULT && (wire.flags & OLAF_FLAG_STALE) != 0;
        if (wire.type == OLAF_RESULT && (wire.flags & OLAF_FLAG_MISFIT))
            message.misfit = wire.generated_ns;
        if (wire.type == OLAF_CONTROL) {
            message.status = static_cast<RoundMessage::Status>(wire.exponent);
            message.missing = wire.chunks;
            message.padding = static_cast<std::uint16_t>(wire.lanes.size());
            message.session = wire.lanes.at(OLAF_SYNC_SESSION);
            message.run = {.training = wire.lanes.at(OLAF_SYNC_TRAINING), .number = wire.lanes.at(OLAF_SYNC_RUN)};
            message.anew = (wire.flags & OLAF_FLAG_ANEW) != 0;
            message.above = (wire.flags & OLAF_FLAG_ABOVE) != 0;
        }
        return message;
    }

    /// What is opened from now on is opened later than what was ordered.
    static void await_clock() {
        const auto now = [] {
            timespec time{};
            clock_gettime(CLOCK_MONOTONIC, &time);
            return std::tuple(time.tv_sec, time.tv_nsec);
        };
        for (const auto began = now(); now() == began;)
            continue;
    }
    /// Each order, and each answer that there is to it, came.
    void expect_orders() {
        using Action = RoundMessage::Action;
        using Status = RoundMessage::Status;
        for (const auto &[action, status] :
             {std::pair(Action::join, Status::done), std::pair(Action::join, Status::wait),
              std::pair(Action::leave, Status::done), std::pair(Action::leave, Status::wait),
              std::pair(Action::seth, Status::done), std::pair(Action::seth, Status::gone),
              std::pair(Action::seth, Status::refused), std::pair(Action::fbcast, Status::done),
              std::pair(Action::fbcast, Status::gone), std::pair(Action::halt, Status::done),
              std::pair(Action::resume, Status::done), std::pair(Action::reset, Status::done),
              std::pair(Action::join, Status::old), std::pair(Action::leave, Status::old),
              std::pair(Action::resume, Status::old)})
            EXPECT_GT((orders[{action, status}]), 0u) << static_cast<int>(action) << " " << static_cast<int>(status);
        EXPECT_GT(low.counters().settled, 5u);
        EXPECT_GT(low.counters().misfit, 5u);
        EXPECT_GT(high.counters().misfit, low.counters().misfit);
        EXPECT_GT(low.counters().halted, 20u);
        EXPECT_GT(low.counters().partial, 50u);
        EXPECT_GT(high.counters().partial, 50u);
        for (const auto times : left)
            EXPECT_GT(times, 0u);
    }

    /// Some began anew at either node, and some weren't answered the first time.
    void expect_sessions() {
        for (const auto count : {sessions_low.over(), sessions_low.over_above(), sessions_low.anew(),
                                 sessions_low.anew_above(), sessions_low.other(), sessions_low.other_above(),
                                 sessions_high.over(), sessions_high.anew(), sessions_high.other()})
            EXPECT_GT(count, 3u);
        EXPECT_GT(high.counters().unheard, 5u);
    }

    void set_up_ns(std::uint64_t ns) {
        for (std::uint32_t i = 0; i < chunks; i++) {
            auto changed = slot(i);
            for (auto &buffer : changed.buffer)
                if (buffer.state == OLAF_ROUND_UP || buffer.state == OLAF_ROUND_OPEN)
                    buffer.up_ns = ns == never_overdue && buffer.up_ns == 1 ? 1 : ns;
            set_slot(i, changed);
        }
    }
    /// What gathers or has gone up isn't overdue until time passes.
    void never_overdue_now() { set_up_ns(never_overdue); }
    void time_passes() {
        set_up_ns(1);
        now += 1'000'000'000;
    }

    void expect_same_counters(const RoundNode &model, const olaf_job_counters &got, std::uint64_t owed) {
        const auto &want = model.counters();
        EXPECT_EQ(std::tie(got.received, got.added, got.duplicate, got.late, got.stale, got.ahead, got.probes,
                           got.completed, got.partial, got.misfit, got.syncs, got.up_sent, got.up_again, got.up_asked, got.halted,
                           got.controls, got.spoilt),
                  std::tie(want.received, want.added, want.duplicate, want.late, want.stale, want.ahead,
                           want.probes, want.completed, want.partial, want.misfit, want.syncs, want.up_sent, want.up_again, want.up_asked,
                           want.halted, want.controls, want.spoilt));
        EXPECT_EQ(got.silent, 0u);
        EXPECT_EQ(want.deliveries, got.riding + got.copied + got.undelivered + owed);
        EXPECT_TRUE(model.conserves());
    }

    Upper upper{net};
    Capture far{net.far};
    model::RoundGate gate_low{job_id, workers_below, small_job().lanes};
    model::RoundGate gate_high{job_id, workers_above + 1, small_job().lanes};
    bool newest_flushes = false; ///< of the lower node's contributions
    std::uint64_t copied = 0;    ///< results that left in clones
    std::map<std::pair<RoundMessage::Action, RoundMessage::Status>, std::uint64_t> orders; ///< and their answers
    std::uint64_t now = 1'000'000'000;
};

// ---- Frames that nobody of a chain sends: to either node as if from its children, to the lower one as if from its parent.

class RoundsChain : public RoundsChainSteps {
  protected:
    /// What a node has refused, and how often each hostility was tried.
    struct Refused {
        std::map<RoundRefusal, std::uint64_t> by_reason;
        std::array<std::uint64_t, hostilities> tried{};
    };
    /// Spoilt results of the parent's.
    enum class Forgery { other_port, other_host, too_few_lanes, no_lanes, other_format, chunk_beyond, other_job };
    static constexpr std::size_t forgeries = static_cast<std::size_t>(Forgery::other_job) + 1;

    /// Each rank is bound before anybody can take it. The lower node is a child of the upper one.
    void bind_all() {
        const RoundMessage hello{.kind = Kind::sync, .round = front_low.round[0], .time = 1,
                                 .padding = model::kSessionLanes};
        for (auto message = hello; message.rank < setup.children; message.rank++) {
            if (is_bound(message.rank))
                bind_for_good(queue, message.rank, GetParam());
            sessions_low.join(message, true);
            message.run = newest_run;
            step_low(message);
        }
        for (auto message = hello; message.rank < upper.setup.children; message.rank++) {
            if (is_bound(message.rank))
                bind_for_good(upper.queue, message.rank);
            sessions_high.join(message, true);
            message.run = newest_run;
            step_high(message);
        }
    }

    void hostile_step() {
        const auto where = below(3);
        if (where == 0)
            forge_child(*this, some_message(low, front_low, workers_below, stamps_low, sessions_low), gate_low, at_low, GetParam());
        else if (where == 1)
            forge_child(upper, some_message(high, front_high, workers_above + 1, stamps_high, sessions_high), gate_high, at_high, 4);
        else
            forge_parent();
    }

    /// A frame that none of the node's children sends, instead of a good one: nothing comes of it but its count.
    template <class Node>
    void forge_child(Node &node, const RoundMessage &message, model::RoundGate &gate, Refused &refused, int family) {
        const auto how = static_cast<Hostility>(below(hostilities));
        if (message.kind != Kind::contribution || message.lanes.empty() ||
            (how == Hostility::other_port && !is_bound(message.rank)))
            return;
        SCOPED_TRACE("hostility " + std::to_string(static_cast<int>(how)));
        auto wire = on_wire(node.setup, message);
        auto sender = sender_of(message.rank);
        spoil(how, wire, sender, node.setup.children);
        const auto refusal = gate.judge(seen(how, wire, sender, node.setup.shape));
        ASSERT_NE(refusal, RoundRefusal::none);
        expect_refused(node, node.queue.offer(hostile_frame(how, wire, sender, family)), refusal, refused,
                       verdict_on(refusal, wire, sender, node.job().generation));
        refused.tried[static_cast<std::size_t>(how)]++;
    }

    /// A result that is under way to the lower node, with other lanes, as somebody else makes it.
    void forge_parent() {
        if (down.empty())
            return;
        auto forged = down[below(static_cast<std::uint32_t>(down.size()))];
        if (forged.type != OLAF_RESULT || forged.lanes.empty())
            return;
        const auto how = static_cast<Forgery>(below(forgeries));
        SCOPED_TRACE("forgery " + std::to_string(static_cast<int>(how)));
        for (auto &lane : forged.lanes)
            lane = ~lane;
        auto path = RoundsTree::down();
        const auto refusal = spoil_result(how, forged, path);
        expect_refused(*this, queue.offer(path.carrying(forged)), refusal, at_low,
                       refusal == RoundRefusal::no_job ? "XDP_PASS" : "XDP_DROP");
        forged_results[static_cast<std::size_t>(how)]++;
    }
    static RoundRefusal spoil_result(Forgery how, JobMessage &forged, Path &path) {
        switch (how) {
        case Forgery::other_port: path.source_port(999); return RoundRefusal::result;
        case Forgery::other_host: path.source(99); return RoundRefusal::result;
        case Forgery::too_few_lanes: forged.lanes.pop_back(); return RoundRefusal::shape;
        case Forgery::no_lanes:
            forged.lanes.clear();
            forged.flags &= static_cast<std::uint16_t>(~OLAF_FLAG_MISFIT);
            return RoundRefusal::shape;
        case Forgery::other_format:
            forged.flags |= OLAF_FORMAT_I16X4 << OLAF_FLAG_FORMAT_SHIFT;
            return RoundRefusal::shape;
        case Forgery::chunk_beyond: forged.chunk = forged.chunks; return RoundRefusal::chunk;
        case Forgery::other_job: forged.job++; return RoundRefusal::no_job;
        }
        return RoundRefusal::none;
    }

    template <class Node>
    static void expect_refused(Node &node, const Ran &ran, RoundRefusal refusal, Refused &refused,
                               const char *verdict) {
        EXPECT_STREQ(verdict_name(ran.verdict), verdict);
        refused.by_reason[refusal]++;
        EXPECT_EQ(counted(node.queue.counters(), refusal), refused.by_reason[refusal]);
    }

    /// Nothing else was refused, and a long stream has some of each.
    void expect_refusals(std::uint64_t steps) {
        for (const auto refusal : refusals) {
            EXPECT_EQ(counted(queue.counters(), refusal), at_low.by_reason[refusal]);
            EXPECT_EQ(counted(upper.queue.counters(), refusal), at_high.by_reason[refusal]);
        }
        if (steps < a_long_run)
            return;
        for (std::size_t how = 0; how < hostilities; how++) {
            EXPECT_GT(at_low.tried[how], 20u) << "hostility " << how;
            EXPECT_GT(at_high.tried[how], 20u) << "hostility " << how;
        }
        for (std::size_t how = 0; how < forgeries; how++)
            EXPECT_GT(forged_results[how], 10u) << "forgery " << how;
    }

    Refused at_low, at_high;
    std::array<std::uint64_t, forgeries> forged_results{};
};

// ---- Two nodes in a chain, with workers at both: what the lower one sends up is lost, doubled and overtaken
// before the upper one gets it, and so is what comes down. Workers of the lower one come and go meanwhile, and
// give orders; some frames are of nobody in the chain. Each node and its model (tests/model) agree on each step.
// OLAF_STEPS sets how many, OLAF_SEED which.

INSTANTIATE_TEST_SUITE_P(OfBothFamilies, RoundsChain, both_families, family_name);

TEST_P(RoundsChain, BothNodesAndTheirModelsAgreeStepByStep) {
    const auto steps = from_environment("OLAF_STEPS", a_long_run);
    bind_all();
    for (std::uint64_t i = 0; i < steps && !HasFailure(); i++) {
        SCOPED_TRACE(step_of_seed(i));
        const auto which = below(100);
        if (which < 30) {
            const auto order = some_order();
            step_low(order ? *order : some_message(low, front_low, workers_below, stamps_low, sessions_low));
        } else if (which < 60) {
            step_high(some_message(high, front_high, workers_above, stamps_high, sessions_high));
        } else if (which < 78) {
            if (const auto message = arrives(up))
                step_high(some_damage(*message));
        } else if (which < 96) {
            if (const auto message = arrives(down))
                step_down(some_damage(*message));
        } else {
            time_passes();
        }
        if (chance(8))
            hostile_step();
    }
    expect_same_counters(low, counters(), owed());
    expect_same_counters(high, upper.counters(), upper.owed());
    expect_refusals(steps);
    upper.expect_books();
    if (steps >= a_long_run) {
        EXPECT_GT(low.counters().completed, steps / 200);
        EXPECT_GT(high.counters().completed, steps / 200);
        EXPECT_GT(low.counters().up_again, steps / 500);
        EXPECT_GT(low.counters().up_asked, steps / 500);
        EXPECT_GT(low.counters().stopped, 1u);
        EXPECT_GT(high.counters().stopped, 3u);
        EXPECT_GT(copied, steps / 500);
        EXPECT_GT(low.counters().spoilt, steps / 2000);
        EXPECT_GT(high.counters().spoilt, steps / 5000);
        expect_sessions();
        expect_orders();
    }
}

} // namespace
} // namespace olaf::test::rounds_chain_test
