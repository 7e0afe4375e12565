// SPDX-License-Identifier: BSD-2-Clause
// Random messages of children, of strange generations, old rounds and repetitions among them: the kernel and the
// model of a node (tests/model/round_node.hpp, written from docs/rounds.md) agree on each step. OLAF_STEPS sets how
// many, OLAF_SEED which.
#include <arpa/inet.h>

#include <bit>
#include <ctime>
#include <map>
#include <random>
#include <set>

#include "rounds_clones.hpp"
#include "rounds_hostile.hpp"
#include "rounds_sessions.hpp"
#include "rounds_wire.hpp"
#include "spells.hpp"

namespace olaf::test::rounds_differential_test {
namespace {

// ---- Random messages of a job's children, and orders about its members, as the model and the kernel get them.

struct Rules {
    const char *name;
    std::uint32_t children, threshold;
    bool any = false;
    std::uint32_t first_round = 0;
    std::set<std::uint32_t> absent = {}; ///< at first
    bool changes = false;                ///< members come, go and give orders
    bool multicast = false;              ///< results leave so
    bool floats = false;                 ///< the frames' lanes; the model adds integers
    std::uint64_t deadline_ns = 0;       ///< so short that every repetition is past it; 0: none
    std::optional<std::uint32_t> pool = {}; ///< so few slots that chunks share them: 2^pool
};

class RoundsMessages : public RoundsWithClones, public testing::WithParamInterface<Rules> {
  protected:
    RoundsMessages()
        : RoundsWithClones(setup_of(GetParam())),
          model({.children = setup.children,
                 .threshold = setup.threshold,
                 .any = GetParam().any,
                 .max_count = setup.max_count,
                 .pool = static_cast<std::uint8_t>(setup.pool),
                 .deadline_ns = setup.deadline_ns,
                 .absent = GetParam().absent,
                 .multicast = GetParam().multicast,
                 .has_checksum = !GetParam().floats},
                job_generation),
          base(GetParam().first_round), front(std::uint64_t{base} * chunks) {
        auto waiting = job();
        waiting.state = OLAF_JOB_SYNCING; // as the model begins
        waiting.membership.unsettled = 2 * setup.slots;
        waiting.membership.flags =
            OLAF_MEMBERS_YOUNG | (GetParam().absent.empty() ? 0 : OLAF_MEMBERS_FORGOT);
        waiting.membership.away = GetParam().absent.empty() ? 0 : 1;
        for (const auto rank : GetParam().absent)
            for (auto *set : {&waiting.membership.absent[0], &waiting.membership.absent[1], &waiting.tenancy.absent})
                set->word[0] |= 1ull << rank;
        set_job(waiting);
        identities_hold = !GetParam().changes; // results aren't owed to all children then
    }
    static olaf_job_setup setup_of(const Rules &rules) {
        auto setup = small_job();
        setup.children = rules.children;
        setup.threshold = rules.threshold;
        setup.flags = rules.any ? OLAF_JOB_ANY : 0;
        setup.max_count = 1 << 15;
        setup.deadline_ns = rules.deadline_ns;
        setup.pool = rules.pool.value_or(rules.changes ? 5 : 6); // few chunks, behind which a change is over
        setup.slots = 1u << setup.pool;
        if (rules.floats) {
            setup.shape = OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT;
            setup.float_bits = OLAF_DEFAULT_FLOAT_BITS;
            setup.float_headroom = OLAF_MOST_FLOAT_HEADROOM;
        }
        if (rules.multicast) {
            setup.group_family = 4;
            setup.group_hops = 1;
            setup.group_addr_be[0] = htonl(0xef010203);
        }
        return setup;
    }

    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); }
    bool chance(std::uint32_t percent) { return below(100) < percent; }

    RoundMessage some_message() {
        RoundMessage message{.rank = below(setup.children), .time = ++clock};
        message.generation = model.generation();
        if (shares_slots())
            follow();
        if (const auto rank = model.running() ? sessions.asks_again() : std::nullopt) {
            message.rank = *rank;
            return some_question(message, true);
        }
        if (GetParam().changes && some_order(message))
            return message;
        if (!model.running() || below(model.has_misfit() ? 30 : 2000) == 0)
            return some_question(message);
        if (!model.members().contains(message.rank) && !model.members().empty() && chance(50))
            message.rank = some_member();
        message.chunks = chunks;
        if (shares_slots()) {
            put(message, some_position());
        } else {
            message.chunk = below(chunks);
            message.round = base + below(2);
            if (chance(5))
                message.round += below(5) - 2;
        }
        if (chance(2))
            message.generation = chance(50) ? model.generation() - 1 + 2 * below(2) : below(2) * static_cast<std::uint32_t>(random());
        if (chance(5))
            message.time -= below(20);
        message.count = chance(1) ? too_many(message) : 1 + below(3);
        message.vector = one_vector;
        if (below(1000) == 0)
            differ(message);
        message.exponent = static_cast<std::int16_t>(below(65536));
        message.partial = chance(3);
        message.flush = chance(5);
        if (chance(5)) { // a probe
            message.partial = chance(30);
            return message;
        }
        for (int lane = 0; lane < 5; lane++)
            message.lanes.push_back(some_lane());
        if (!GetParam().floats && !chance(3))
            message.lanes.back() = checksum_of(message.lanes);
        message.spoilt = chance(5);
        return message;
    }

    std::uint32_t some_member() {
        return *std::next(model.members().begin(), below(static_cast<std::uint32_t>(model.members().size())));
    }

    /// The message is of another vector, or of a node below of which two members' vectors differ.
    void differ(RoundMessage &message) {
        if (chance(30)) // its identity has the time's place
            message.time = static_cast<std::int64_t>(message.misfit.emplace(random() >> 1));
        else if (chance(30))
            message.chunks++;
        else
            message.vector ^= 1u << below(32);
    }

    /// Where to begin.
    RoundMessage some_question(RoundMessage message, bool again = false) {
        message.kind = RoundMessage::Kind::sync;
        if (shares_slots()) {
            put(message, front - below(2 * setup.slots + 1));
            message.pool = static_cast<std::uint8_t>(below(4));
        } else {
            message.round = base + below(3);
            message.chunk = below(chunks);
            message.pool = static_cast<std::uint8_t>(4 + below(4));
        }
        message.padding = some_padding(model::kSessionLanes);
        again = again || chance(30);
        sessions.ask(message, again);
        if (again)
            message.time = stamps[message.rank];
        else
            stamps[message.rank] = message.time;
        return message;
    }

    // Chunks that share slots go one after the other. A position counts those of all rounds.
    [[nodiscard]] bool shares_slots() const { return setup.slots < chunks; }
    static std::uint32_t round_at(std::uint64_t position) { return static_cast<std::uint32_t>(position / chunks); }
    static std::uint32_t chunk_at(std::uint64_t position) { return static_cast<std::uint32_t>(position % chunks); }
    static void put(RoundMessage &message, std::uint64_t position) {
        message.round = round_at(position);
        message.chunk = chunk_at(position);
    }
    [[nodiscard]] bool is_at_front(const RoundMessage &message) const {
        return message.round == round_at(front) && message.chunk == chunk_at(front);
    }
    /// Mostly where the window lets a sender be that holds all earlier results; else it repeats what was before,
    /// or is so far ahead that an older chunk has the room, or never gets it.
    std::uint64_t some_position() {
        const auto which = below(100);
        if (which < 60)
            return front + below(setup.slots);
        return which < 85 ? front - 1 - below(2 * setup.slots) : front + setup.slots + below(2 * setup.slots);
    }
    /// The first chunk without a result comes next.
    void follow() {
        while (model.done(round_at(front), chunk_at(front)) != nullptr)
            front++;
        base = round_at(front);
    }
    /// Where all begin anew.
    void begin_at(const RoundMessage &place) {
        const auto rounds = static_cast<std::int32_t>(place.round - round_at(front));
        front += static_cast<std::uint64_t>(std::int64_t{rounds} * chunks) + place.chunk - chunk_at(front);
    }
    /// Time passes: the next round begins, whatever became of this one.
    void next_round() {
        if (shares_slots() && std::exchange(front_before, front) == front)
            front += chunks;
        base++;
    }

    /// One contribution more than there is room for in its chunk, or as many as a message can say.
    std::uint32_t too_many(const RoundMessage &message) {
        if (chance(50))
            return UINT16_MAX;
        const auto *open = model.open(message.round, message.chunk);
        return setup.max_count + 1 - (open != nullptr ? open->sum.count : 0);
    }

    /// A question that is as long as a contribution, now and then.
    std::uint16_t some_padding(std::uint16_t least) { return chance(30) ? setup.lanes : least; }

    std::uint64_t some_lane() {
        if (!GetParam().floats)
            return random();
        const auto part = [this] { return std::uint64_t{below(1 << 21)} - (1 << 20); };
        return part() + (part() << 32);
    }

    /// Makes it one, now and then.
    bool some_order(RoundMessage &message) {
        using Action = RoundMessage::Action;
        struct Often {
            Action action;
            std::uint32_t in; ///< one of so many messages
        };
        // In few slots a change is soon over: so that somebody is away nevertheless.
        const Often all[] = {{Action::join, shares_slots() ? 150u : 60u},
                             {Action::leave, shares_slots() ? 400u : 1500u},
                             {Action::seth, 1000},  {Action::fbcast, 1500},
                             {Action::halt, 2000},  {Action::resume, 60},
                             {Action::reset, 4000}};
        for (const auto &[action, in] : all) {
            if (below(in) != 0)
                continue;
            message.kind = RoundMessage::Kind::order;
            message.action = action;
            message.round = base + below(3);
            message.padding = some_padding(action == Action::join ? model::kSessionLanes : std::uint16_t{0});
            if (chance(10))
                message.generation = chance(50) ? 0 : model.generation() - 1 + 2 * below(2);
            if (action == Action::seth)
                message.missing = chance(50) ? setup.children : below(setup.children + 2);
            // Mostly who isn't there; now and then a member that has lost everything, or the same again.
            const bool again = model.members().contains(message.rank) && !chance(3);
            if (action == Action::join && again)
                message.time = joins[message.rank];
            else if (action == Action::join)
                joins[message.rank] = message.time;
            if (action == Action::join)
                sessions.join(message, !again);
            return true;
        }
        return false;
    }

    /// Results in the longest line, or a few more.
    [[nodiscard]] std::uint32_t longest_line() const {
        std::uint32_t longest = 0;
        const auto now = job();
        for (const auto &line : now.line)
            longest = std::max(longest, line.tail - line.head);
        return longest;
    }

    [[nodiscard]] JobMessage on_wire(const RoundMessage &message) const {
        return test::on_wire(setup, message, GetParam().floats);
    }

    std::mt19937_64 random{seed()};
    RoundNode model;
    std::uint32_t base;
    std::uint64_t front, front_before = 0; ///< positions
    std::int64_t clock = 1'000'000;
    std::map<std::uint32_t, std::int64_t> stamps, joins;
    model::Run newest_run{.training = 1, .number = 1000};
    Sessions sessions{random, newest_run};
    /// Messages, by what they were and what was answered first.
    std::map<std::tuple<RoundMessage::Kind, RoundMessage::Action, RoundMessage::Status>, std::uint64_t> seen;
};

// ---- The steps of the differential test: each message meets the kernel and the model, and the answers agree.

class RoundsDifferentialSteps : public RoundsMessages {
  protected:
    /// What the model's answer says, of what the kernel's may.
    void expect_same(const RoundMessage &want, JobMessage got) {
        auto expected = on_wire(with_time_kept(want, got));
        if (want.stale) { // what it echoes beside the chunk means nothing
            expected.generated_ns = got.generated_ns;
            expected.exponent = got.exponent;
        }
        if (want.misfit && !want.lanes.empty()) { // they mean nothing
            EXPECT_EQ(got.lanes.size(), setup.lanes);
            expected.lanes = got.lanes;
        }
        EXPECT_EQ(expected, got);
    }

    /// A result that rides, or leaves in a clone: whoever it is for, it must be the sum of its chunk. One for
    /// all goes to their group, and everybody's part is in it.
    void expect_right(const ReceivedJobMessage &received) {
        const JobMessage &got = received.message;
        const bool is_for_all = got.rank == OLAF_EVERY_WORKER;
        const auto known = sums.find({got.generation, got.round, got.chunk});
        ASSERT_NE(known, sums.end()) << "no such sum";
        auto [expected, in, had, added, partial] = known->second;
        expected.rank = got.rank;
        expected.pool = got.pool;
        const auto *held = model.done(got.round, got.chunk);
        ASSERT_NE(held, nullptr) << "this chunk isn't done";
        expected.partial = held->sum.partial;
        if (held->sum.misfit) { // whatever was added: the chunk has no sum
            expected = held->sum;
            expected.kind = RoundMessage::Kind::result;
            expected.rank = got.rank;
            expected.generation = model.generation();
            expected.pool = got.pool;
        }
        EXPECT_EQ(is_for_all, (received.frame.bytes[0] & 1) != 0) << "a MAC address of all";
        if (is_for_all) {
            EXPECT_TRUE(GetParam().multicast);
            EXPECT_TRUE(GetParam().changes || in.size() == setup.children) << "one is LATE";
            EXPECT_EQ(held->in, in);
            for_all += held->deliveries;
        } else if (!GetParam().multicast) { // there, who asks isn't taken out of those that one frame is for
            EXPECT_TRUE(known->second.had.insert(got.rank).second) << "twice";
        }
        if (!GetParam().changes && !held->sum.misfit) { // then it follows from what was added
            EXPECT_EQ(expected.partial,
                      known->second.partial ||
                          added < (GetParam().any ? setup.threshold : setup.children));
        }
        expected.late = !is_for_all && !in.contains(got.rank);
        expect_same(expected, got);
    }

    /// The contribution was added: so is it here.
    void remember(const RoundMessage &message) {
        auto &[sum, in, had, added, partial] = sums[{message.generation, message.round, message.chunk}];
        partial = partial || message.partial;
        in.insert(message.rank);
        if (added++ == 0) {
            sum = message;
            sum.kind = RoundMessage::Kind::result;
        } else {
            sum.count += message.count;
            sum.partial = sum.partial || message.partial;
            sum.time = std::max(sum.time, message.time);
            sum.exponent = std::max(sum.exponent, message.exponent);
            for (std::size_t i = 0; i < sum.lanes.size(); i++)
                sum.lanes[i] += message.lanes[i];
        }
    }

    /// Nobody waits for the rank in that chunk.
    [[nodiscard]] bool is_in(const RoundMessage &message) const {
        const auto holds = [&](const auto *buffer) { return buffer != nullptr && buffer->in.contains(message.rank); };
        return holds(model.open(message.round, message.chunk)) || holds(model.done(message.round, message.chunk));
    }
    /// The sender of the probe has nothing to give.
    void remember_abstention(const RoundMessage &message) {
        auto &chunk = sums[{message.generation, message.round, message.chunk}];
        chunk.in.insert(message.rank);
        chunk.partial = true;
        abstained++;
    }

    void step(const RoundMessage &message) {
        RoundNode::Out out;
        const bool was_in = is_in(message);
        const auto before = model.counters();
        const bool was_running = model.running();
        now += 1000;
        model.arrive(now, 0, message, out);
        const auto &after = model.counters();
        if (after.spoilt != before.spoilt)
            sums.erase({message.generation, message.round, message.chunk});
        if (after.added != before.added)
            remember(message);
        else if (message.lanes.empty() && !was_in && is_in(message))
            remember_abstention(message);
        const auto wire = on_wire(message);
        EXPECT_EQ(gate.judge(olaf::test::seen(wire, sender_of(message.rank), setup.shape)), RoundRefusal::none);
        const auto ran = offer(wire);
        if (message.kind != RoundMessage::Kind::contribution)
            sessions.told(message.rank, out.at(0).message, model.has_job());
        if (!was_running && model.running())
            sessions.ran(setup.children);
        seen[{message.kind, message.action, out.empty() ? message.status : out[0].message.status}]++;
        if (message.kind == RoundMessage::Kind::order && message.action == RoundMessage::Action::fbcast)
            await_tick();
        const bool is_told = !out.empty() && out[0].message.is_told_misfit();
        const bool flushes = message.flush || after.misfit != before.misfit;
        const bool rides = out.empty() || after.completed != before.completed ||
                           (model.running() && model.halted()) || after.added != before.added ||
                           after.ahead != before.ahead || out[0].message.round != message.round ||
                           out[0].message.chunk != message.chunk || out[0].to != message.rank;
        told += is_told ? 1 : 0;
        if (after.no_room != before.no_room)
            return dropped(ran);
        if (ran.verdict == XDP_DROP) {
            EXPECT_TRUE(rides && !is_told) << "the sender got no answer";
        } else if (ran.verdict == XDP_PASS) {
            expect_clones(flushes, ran, rides && !is_told);
        } else {
            expect_answer(message, out, ran, rides && !is_told);
        }
        if (message.kind == RoundMessage::Kind::contribution && rides && !is_told && (flushes || ran.verdict != XDP_TX))
            expect_none_waits(flushes);
        if (shares_slots())
            note(message, out, was_running);
    }

    /// What the frame at hand has become.
    void expect_answer(const RoundMessage &message, const RoundNode::Out &out, const Ran &ran, bool rides) {
        ASSERT_STREQ(verdict_name(ran.verdict), "XDP_TX");
        const auto got = parse_job_message(ran.bytes);
        ASSERT_TRUE(got);
        expect_protected(*got);
        if (message.kind == RoundMessage::Kind::order)
            return expect_same(out.at(0).message, got->message);
        if (message.kind == RoundMessage::Kind::sync)
            return expect_same_answer(setup, out.at(0).message, got->message);
        if (rides)
            return expect_right(*got);
        expect_same(out[0].message, got->message);
        if (got->message.type == OLAF_RESULT && !out[0].message.stale && !out[0].message.is_told_misfit())
            sums[{got->message.generation, got->message.round, got->message.chunk}].had.insert(message.rank);
    }

    /// The frame has become an order for TC, as its sender waits or the line is long.
    void expect_clones(bool flushes, const Ran &order, bool rides) {
        EXPECT_TRUE(rides) << "the sender got no answer, but an order came of it";
        EXPECT_TRUE(flushes || longest_line() > setup.slots / 2) << "nobody waits";
        orders[flushes]++;
        for (const auto &clone : clones_of(order)) {
            const auto got = parse_job_message(clone.bytes);
            ASSERT_TRUE(got);
            SCOPED_TRACE("clone for " + std::to_string(got->message.rank));
            expect_right(*got);
            if (got->message.rank == OLAF_EVERY_WORKER)
                continue;
            sent_to(got->message.rank, clone);
            copied++;
        }
    }

    /// A frame that could carry a result carried none, so there is none, or is a FLUSH, behind which none is left.
    /// Other frames look at four results at most, and those of a generation that is over may be the first in line.
    void expect_none_waits(bool flushes) {
        std::uint64_t waiting = 0;
        for (std::uint32_t i = 0; i < std::min(chunks, setup.slots); i++)
            for (const auto held = slot(i); const auto &buffer : held.buffer)
                if (buffer.state == OLAF_ROUND_DONE && buffer.generation == model.generation())
                    waiting += static_cast<std::uint64_t>(std::popcount(buffer.owed.word[0]));
        if (flushes) {
            EXPECT_EQ(waiting, 0u) << "after a FLUSH";
        }
        passed_over += waiting > 0 ? 1u : 0u;
    }

    /// Chunks that share slots: where they go on.
    void note(const RoundMessage &message, const RoundNode::Out &out, bool was_running) {
        if (message.kind == RoundMessage::Kind::sync && !was_running && model.running())
            begin_at(out.at(0).message);
        const bool is_over = message.kind == RoundMessage::Kind::contribution && !out.empty() &&
                             out[0].message.stale && message.generation == model.generation();
        if (is_over && is_at_front(message)) // a newer one has taken its room
            front++;
    }

    /// A frame that no worker of the job sends, instead of a good one: nothing comes of it but its count.
    void hostile_step() {
        auto message = some_message();
        if (message.kind != RoundMessage::Kind::contribution || message.lanes.empty() || message.count > 3)
            return;
        auto wire = on_wire(message);
        auto sender = sender_of(message.rank);
        const auto how = static_cast<Hostility>(below(hostilities));
        if ((how == Hostility::others_rank && setup.children < 2) ||
            (how == Hostility::other_port && !is_bound(message.rank)))
            return;
        spoil(how, wire, sender, setup.children);
        const auto refusal = gate.judge(olaf::test::seen(how, wire, sender, setup.shape));
        ASSERT_NE(refusal, RoundRefusal::none) << "hostility " << static_cast<int>(how);
        const auto ran = queue.offer(hostile_frame(how, wire, sender));
        EXPECT_STREQ(verdict_name(ran.verdict), verdict_on(refusal, wire, sender, model.generation()))
            << "hostility " << static_cast<int>(how);
        refused[refusal]++;
        hostile[static_cast<std::size_t>(how)]++;
        EXPECT_EQ(counted(queue.counters(), refusal),
                  refused[refusal] + (refusal == RoundRefusal::count ? model.counters().no_room : 0))
            << "hostility " << static_cast<int>(how);
    }

    /// Each rank is bound before anybody can take it.
    void bind_all() {
        for (std::uint32_t rank = 0; rank < setup.children; rank++)
            if (is_bound(rank))
                bind_for_good(queue, rank);
        for (std::uint32_t rank = 0; rank < setup.children; rank++) {
            RoundMessage hello{.kind = RoundMessage::Kind::sync, .rank = rank, .round = base, .time = ++clock,
                               .padding = model::kSessionLanes};
            stamps[rank] = hello.time;
            sessions.join(hello, true);
            hello.run = newest_run;
            step(hello);
        }
    }

    /// The kernel tells by its tick what was open when a member sealed: what comes next is of another one.
    static void await_tick() {
        const auto now = [] {
            timespec time{};
            clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
            return std::tuple(time.tv_sec, time.tv_nsec);
        };
        for (const auto began = now(); now() == began;)
            continue;
    }

    olaf::model::RoundGate gate{setup.id, setup.children, setup.lanes};
    std::map<RoundRefusal, std::uint64_t> refused;
    std::array<int, hostilities> hostile{}; ///< steps of each kind
    std::uint64_t now = 0;
    struct Sum {
        RoundMessage message;
        std::set<std::uint32_t> in, had; ///< who has got it
        std::uint32_t added = 0;
        bool partial = false; ///< one of them was
    };
    std::uint64_t for_all = 0;           ///< members that frames for all were for
    std::uint64_t copied = 0;            ///< results for one that left in clones
    std::map<bool, std::uint64_t> orders; ///< for TC: of a FLUSH, of a long line
    std::uint64_t abstained = 0;         ///< probes of who had nothing to give
    std::uint64_t told = 0;              ///< contributions answered with the vectors that differ
    std::uint64_t passed_over = 0;       ///< times that a frame carried nothing while a result waited
    /// By generation, round and chunk.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Sum> sums;
};

// ---- Random messages of children, of strange generations, old rounds and repetitions among them: the
// kernel and the model of a node (tests/model/round_node.hpp, written from docs/rounds.md) agree on
// each step. OLAF_STEPS sets how many, OLAF_SEED which.

class RoundsDifferential : public RoundsDifferentialSteps {
  protected:
    void expect_same_counters() {
        const auto &want = model.counters();
        const auto got = counters();
        if (!GetParam().changes) {
            EXPECT_EQ(want.deliveries, want.completed * setup.children);
        }
        EXPECT_EQ(std::tie(got.received, got.added, got.duplicate, got.late, got.stale, got.ahead,
                           got.probes, got.completed, got.partial, got.misfit, got.syncs, got.halted,
                           got.controls, got.spoilt),
                  std::tie(want.received, want.added, want.duplicate, want.late, want.stale,
                           want.ahead, want.probes, want.completed, want.partial, want.misfit, want.syncs,
                           want.halted, want.controls, want.spoilt));
        EXPECT_EQ(copied, got.copied);
        EXPECT_EQ(want.deliveries, got.riding + copied + for_all + got.undelivered + owed());
        EXPECT_LE(passed_over, 2 * want.stopped);
        if (GetParam().multicast && !GetParam().changes) {
            EXPECT_EQ(for_all, got.multicast * setup.children);
        }
    }
    /// A long stream has a bit of everything.
    void expect_variety(std::uint64_t steps) {
        if (steps < 50'000)
            return;
        const auto &counted = model.counters();
        EXPECT_GT(counted.completed, steps / 100);
        EXPECT_GT(counted.no_room, steps / 5000);
        for (std::size_t how = 0; how < hostilities; how++)
            EXPECT_GT(hostile[how], how == static_cast<std::size_t>(Hostility::others_rank) && setup.children < 2 ? -1 : 50) << "hostility " << how;
        const bool has_whole_sums = GetParam().threshold == GetParam().children;
        EXPECT_EQ(counters().multicast > steps / 200, GetParam().multicast && has_whole_sums);
        for (const auto count : {counted.duplicate, counted.stale, counted.probes, counted.repeated})
            EXPECT_GT(count, steps / 100);
        // Only a chunk that needn't all be in can be done without somebody; one alone completes all at once.
        const bool some_come_late = !has_whole_sums || GetParam().any || GetParam().changes || GetParam().deadline_ns != 0;
        EXPECT_EQ(counted.late > steps / 1000, some_come_late);
        EXPECT_EQ(counted.ahead > 0, setup.children > 1);
        EXPECT_EQ(abstained > steps / 5000, setup.children > 1 && !GetParam().any);
        if (!shares_slots()) { // else a damaged result has soon given way
            EXPECT_EQ(counted.spoilt > 10, !GetParam().floats);
        }
        EXPECT_GT(counted.misfit, 0u);
        EXPECT_GT(told, counted.misfit);
        EXPECT_GT(counted.syncs, 20u);
        if (setup.children > 1) { // one alone goes on with itself
            EXPECT_GT(sessions.over(), 5u);
            EXPECT_GT(sessions.anew(), 10u);
            EXPECT_GT(counted.unheard, 0u);
            EXPECT_GT(sessions.other(), 5u);
        }
        EXPECT_GT(counted.stopped, 10u);
        // What is the same for all leaves in the frame that waits.
        EXPECT_TRUE((GetParam().multicast && has_whole_sums) || orders[true] > steps / 1000);
        EXPECT_TRUE(!shares_slots() || orders[false] > steps / 1000);
        const auto noted = spells_of(queue);
        for (const auto trouble : {OLAF_TROUBLE_MALFORMED, OLAF_TROUBLE_NOT_ALLOWED, OLAF_TROUBLE_BYPASSED})
            EXPECT_TRUE(noted[trouble]) << trouble;
        if (GetParam().changes)
            expect_changes();
    }
    /// Each order, and each answer that there is to it, came.
    void expect_changes() {
        using Action = RoundMessage::Action;
        using Status = RoundMessage::Status;
        const auto count = [&](Action action, Status status) {
            return seen[{RoundMessage::Kind::order, action, status}];
        };
        for (const Action action : {Action::join, Action::leave, Action::seth, Action::fbcast, Action::halt, Action::resume})
            EXPECT_GT(count(action, Status::old), 0u) << static_cast<int>(action);
        for (const Status status : {Status::done, Status::wait})
            for (const Action action : {Action::join, Action::leave})
                EXPECT_GT(count(action, status), 0u)
                    << static_cast<int>(action) << " " << static_cast<int>(status);
        for (const Action action : {Action::seth, Action::fbcast, Action::halt, Action::resume, Action::reset})
            for (const Status status : {Status::done, Status::gone})
                EXPECT_GT(count(action, status), 0u)
                    << static_cast<int>(action) << " " << static_cast<int>(status);
        EXPECT_GT(count(Action::seth, Status::refused), 0u);
        EXPECT_GT((seen[{RoundMessage::Kind::contribution, Action::join, Status::gone}]), 100u);
        EXPECT_GT((seen[{RoundMessage::Kind::sync, Action::join, Status::gone}]), 5u);
        EXPECT_GT(model.counters().halted, 100u);
        EXPECT_GT(model.counters().settled, 20u);
        EXPECT_GT(model.counters().partial, 100u);
    }
};

INSTANTIATE_TEST_SUITE_P(Of, RoundsDifferential,
                         testing::Values(Rules{"ThreeOfThree", 3, 3}, Rules{"TwoOfThree", 3, 2},
                                         Rules{"OneAlone", 1, 1},
                                         Rules{"AnyFour", 3, 4, true},
                                         Rules{"AcrossTheWrap", 5, 5, false, 0xfffffff0},
                                         Rules{"WhoComeAndGo", 4, 4, false, 0, {}, true},
                                         Rules{"WhoComeAndGoAcrossTheWrap", 3, 3, false, 0xffffff00, {1, 2}, true},
                                         Rules{"AnyWhoComeAndGo", 3, 3, true, 0, {2}, true},
                                         Rules{"ByMulticast", 3, 3, false, 0xfffffff0, {}, false, true},
                                         Rules{"TwoOfThreeByMulticast", 3, 2, false, 0, {}, false, true},
                                         Rules{"ByMulticastWhoComeAndGo", 4, 4, false, 0, {1}, true, true},
                                         Rules{"OfFloats", 4, 4, false, 0xfffffff0, {}, false, false, true},
                                         Rules{"OfFloatsWhoComeAndGo", 3, 2, false, 0, {2}, true, false, true},
                                         Rules{"PastADeadline", 3, 3, false, 0, {}, false, false, false, 1},
                                         Rules{"PastADeadlineOfFloats", 4, 4, false, 0xfffffff0, {}, false, false, true, 1},
                                         Rules{.name = "InOneSlot", .children = 3, .threshold = 3, .first_round = 0xfffffff0, .pool = 0},
                                         Rules{.name = "TwoOfThreeInTwoSlots", .children = 3, .threshold = 2, .pool = 1},
                                         Rules{.name = "InOneSlotWhoComeAndGo", .children = 3, .threshold = 3, .changes = true, .pool = 0},
                                         Rules{.name = "OfFloatsInTwoSlots", .children = 4, .threshold = 4, .floats = true, .pool = 1}),
                         [](const auto &info) { return info.param.name; });

TEST_P(RoundsDifferential, KernelAndModelAgreeStepByStep) {
    // A change of members is over after many rounds, unless the next one comes before.
    const auto steps = from_environment("OLAF_STEPS", GetParam().changes ? 200'000 : 100'000);
    bind_all();
    for (std::uint64_t i = 0; i < steps && !HasFailure(); i++) {
        if (i % ((GetParam().changes ? 20 : 30) * setup.children) == 0) // long enough for most to come
            next_round();
        const auto message = some_message();
        SCOPED_TRACE(step_of_seed(i));
        step(message);
        if (chance(5))
            hostile_step();
    }
    expect_same_counters();
    for (const auto refusal : refusals)
        EXPECT_EQ(counted(queue.counters(), refusal),
                  refused[refusal] + (refusal == RoundRefusal::count ? model.counters().no_room : 0));
    expect_variety(steps);
}

} // namespace
} // namespace olaf::test::rounds_differential_test
