// SPDX-License-Identifier: BSD-2-Clause
#include "round_simulation.hpp"

#include <algorithm>

#include "round_worker.hpp"

namespace olaf::model {
namespace {

constexpr std::uint32_t kJob = 7;
constexpr std::uint16_t kLanes = 2; // one and the checksum
constexpr RoundShape kShape = {.job = kJob, .format = Format::i64x1};

} // namespace

RoundWorld random_world(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto upto = [&](std::uint32_t most) {
        return static_cast<std::uint32_t>(random() % (most + 1));
    };
    constexpr double kLosses[] = {0, 0.01, 0.05, 0.2};
    RoundWorld world = {.seed = seed, .workers = 2 + upto(2), .tree = upto(2) == 0};
    world.pool = static_cast<std::uint8_t>(upto(4));
    world.second_pool = upto(1) ? world.pool : static_cast<std::uint8_t>(upto(4));
    world.workers = world.tree ? 4 : world.workers;
    world.loss = kLosses[upto(3)];
    world.duplication = upto(1) ? 0.05 : 0;
    world.reordering = upto(1) ? 0.1 : 0;
    world.restarts = upto(1) ? upto(3) : 0;
    world.slow_worker = upto(3) == 0;
    world.under_way = 1 + upto(3);
    world.lag = upto(2) ? 0 : 1 + upto(8);
    const std::uint32_t rounds = 1 + upto(5);
    const bool small = upto(2) > 0;
    for (std::uint32_t round = 0; round < rounds; round++)
        world.vectors.push_back(1 + upto(small ? 5 : upto(9) == 0 ? 199 : 40));
    return world;
}

RoundWorld impatient_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.restarts = 0;
    if (seed % 2 == 0)
        world.threshold = (world.tree ? 2 : world.workers) - 1;
    else
        world.deadline_ns = 1 + 100'000 * (seed % 7);
    return world;
}

RoundWorld skipping_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.tree = false;
    world.restarts = 0;
    world.threshold = world.workers - 1;
    world.slow_worker = world.skips = true;
    world.slow_pace = 300'000;
    world.vectors = std::vector<std::uint32_t>(20 + seed % 20, 1 + seed % 5);
    return world;
}

RoundWorld changing_world(std::uint64_t seed) {
    RoundWorld world = random_world(seed);
    world.tree = false;
    world.workers = 3 + static_cast<std::uint32_t>(seed % 3);
    world.late = 1 + static_cast<std::uint32_t>(seed / 3 % 2);
    // A node that forgot waits for all that it was set up with, for who has departed too.
    world.departing = world.restarts > 0 ? 0 : static_cast<std::uint32_t>(seed / 6 % 2);
    return world;
}

RoundSimulation::RoundSimulation(const RoundWorld &world) : world_(world), random_(world.seed) {
    make_nodes();
    for (std::uint32_t i = 0; i < world.workers; i++) {
        const std::uint32_t rank = world.tree ? i % 2 : i;
        workers_.push_back(std::make_unique<Worker>(*this, i,
                                                    RoundChildOptions{.job = kJob,
                                                                      .rank = rank,
                                                                      .lanes = kLanes,
                                                                      .format = kShape.format,
                                                                      .has_checksum = true,
                                                                      .pool = 16,
                                                                      .hears_group = world.multicast}));
        const bool late = i + world.late >= world.workers;
        if (late)
            workers_.back()->comes_late();
        push({.at = between(0, late ? kFaultsEnd / 10 : 200'000),
              .what = Event::What::wake,
              .whom = i});
    }
    if (world.slow_worker)
        workers_.back()->pace = world.slow_pace;
    for (unsigned i = 0; i < world.restarts; i++)
        push({.at = between(0, kFaultsEnd / (1 + between(0, 100))),
              .what = Event::What::restart,
              .whom = static_cast<std::uint32_t>(between(0, nodes_.size() - 1))});
}

RoundSimulation::~RoundSimulation() = default;

void RoundSimulation::make_nodes() {
    RoundSetup root = {.children = world_.tree ? 2 : world_.workers,
                             .threshold = world_.threshold,
                             .pool = world_.pool,
                             .deadline_ns = world_.deadline_ns,
                             .multicast = world_.multicast};
    for (std::uint32_t i = 0; i < world_.late; i++)
        root.absent.insert(world_.workers - 1 - i);
    nodes_.push_back({.node = fresh(root),
                      .setup = root,
                      .first_child = world_.tree ? 1U : 0U,
                      .of_nodes = world_.tree});
    for (std::uint32_t i = 0; world_.tree && i < 2; i++) {
        const RoundSetup setup = {
            .children = 2,
            .pool = i == 0 ? world_.pool : world_.second_pool,
            .rank_at_parent = i,
            .multicast = world_.multicast};
        nodes_.push_back({.node = fresh(setup), .setup = setup, .first_child = 2 * i});
    }
}

std::unique_ptr<RoundNode> RoundSimulation::fresh(const RoundSetup &setup) {
    return std::make_unique<RoundNode>(setup, static_cast<std::uint32_t>(between(1, UINT32_MAX)),
                                       world_.broken);
}

void RoundSimulation::push(Event event) {
    event.order = order_++;
    events_.push(std::move(event));
}

// Over a link, which may lose, double and delay.
void RoundSimulation::transmit(Event event) {
    const bool bad = now_ < kFaultsEnd;
    if (bad && chance() < world_.loss)
        return;
    event.at = now_ + between(5'000, 15'000);
    if (bad && chance() < world_.reordering)
        event.at += between(0, chance() < 0.05 ? 5'000'000 : 200'000);
    if (bad && chance() < world_.duplication) {
        Event twin = event;
        twin.at += between(0, chance() < 0.1 ? 5'000'000 : 50'000);
        push(std::move(twin));
    }
    push(std::move(event));
}

void RoundSimulation::from_node(std::uint32_t node, const std::vector<RoundSent> &out) {
    for (const RoundSent &sent : out) {
        if (sent.up) {
            transmit({.what = Event::What::to_node, .whom = 0, .message = sent.message});
        } else if (sent.to_all) { // the network copies it for all that are in the group, members or not
            for (std::uint32_t rank = 0; rank < nodes_[node].setup.children; rank++)
                to_child(node, rank, sent.message);
        } else {
            to_child(node, sent.to, sent.message);
        }
    }
}

void RoundSimulation::to_child(std::uint32_t node, std::uint32_t rank,
                               const RoundMessage &message) {
    transmit({.what = nodes_[node].of_nodes ? Event::What::to_node : Event::What::to_worker,
              .whom = nodes_[node].first_child + rank,
              .message = message});
}

void RoundSimulation::wake(std::uint32_t number) {
    Worker &worker = *workers_[number];
    if (now_ < worker.busy_until)
        return push({.at = worker.busy_until, .what = Event::What::wake, .whom = number});
    worker.queue_vectors();
    if (worker.gone())
        return;
    const RoundChild::Time time(static_cast<std::int64_t>(now_));
    const std::uint64_t repeated = worker.child->stats().repeated;
    if (const auto sending = worker.child->next(time, tai())) {
        worker.busy_until = now_ + worker.pace;
        const bool again = worker.child->stats().repeated > repeated;
        auto message = from_bytes(to_bytes(sending->header, sending->lanes));
        if (!message)
            wrong_ = "a worker sends what isn't a message";
        else if (!(again && world_.never_again))
            transmit({.what = Event::What::to_node,
                      .whom = world_.tree ? 1 + number / 2 : 0,
                      .message = std::move(*message)});
        return push({.at = worker.busy_until, .what = Event::What::wake, .whom = number});
    }
    const RoundChild::Time next = worker.child->wakes_at();
    if (next == RoundChild::kNever)
        return;
    const std::uint64_t at =
        std::max<std::uint64_t>(now_ + 1, static_cast<std::uint64_t>(next.count()));
    if (worker.wakes_at <= now_ || at < worker.wakes_at) {
        worker.wakes_at = at;
        push({.at = at, .what = Event::What::wake, .whom = number});
    }
}

void RoundSimulation::handle(const Event &event) {
    switch (event.what) {
    case Event::What::to_node: {
        std::vector<RoundSent> out;
        nodes_[event.whom].node->arrive(now_, tai(), event.message, out);
        from_node(event.whom, out);
        if (!nodes_[event.whom].node->conserves())
            wrong_ = "the counters of node " + std::to_string(event.whom) + " don't add up";
        return;
    }
    case Event::What::to_worker: {
        Worker &worker = *workers_[event.whom];
        if (worker.gone())
            return;
        RoundMessage message = event.message;
        if (message.kind == RoundMessage::Kind::sync_answer)
            message.pool = static_cast<std::uint8_t>(message.pool + world_.wider_window);
        const auto bytes = to_bytes(kShape, message);
        static_cast<void>(worker.child->take(bytes, message.lanes,
                                            RoundChild::Time(static_cast<std::int64_t>(now_))));
        if (worker.child->failure() && worker.may_join_anew())
            worker.comes_late();
        else if (worker.child->failure())
            wrong_ = worker.child->failure()->message();
        if (worker.child->stats().rejected.total() > 0)
            wrong_ = "a worker rejects a message";
        return wake(event.whom);
    }
    case Event::What::wake:
        return wake(event.whom);
    case Event::What::restart:
        nodes_[event.whom].node = fresh(nodes_[event.whom].setup);
        return;
    }
}

std::vector<std::uint32_t> RoundSimulation::members_of(std::uint32_t round) const {
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < workers_.size(); i++)
        if (workers_[i]->is_in(round))
            members.push_back(i);
    return members;
}

bool RoundSimulation::done() const {
    return std::ranges::all_of(workers_, [](const auto &worker) { return worker->done(); });
}

std::string RoundSimulation::unfinished() const {
    std::string text = "not done:";
    for (const auto &worker : workers_)
        if (!worker->done())
            text += " [" +
                    worker->child->missing(RoundChild::Time(static_cast<std::int64_t>(now_))) + "]";
    return text;
}

std::string RoundSimulation::run() {
    while (!events_.empty() && wrong_.empty() && !done()) {
        const Event event = events_.top();
        events_.pop();
        now_ = event.at;
        if (now_ > kMustBeDone)
            return unfinished();
        handle(event);
    }
    if (wrong_.empty() && !done())
        return unfinished();
    return wrong_;
}

unsigned RoundSimulation::skipped() const {
    unsigned sum = 0;
    for (const auto &worker : workers_)
        sum += worker->skipped();
    return sum;
}

RoundChildStats RoundSimulation::stats() const {
    RoundChildStats sum;
    for (const auto &worker : workers_) {
        const RoundChildStats &stats = worker->child->stats();
        sum.sent += stats.sent;
        sum.repeated += stats.repeated;
        sum.results += stats.results;
        sum.asked += stats.asked;
        sum.unasked += stats.unasked;
    }
    return sum;
}

} // namespace olaf::model
