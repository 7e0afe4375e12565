// SPDX-License-Identifier: BSD-2-Clause
#include "round_simulation.hpp"

#include <algorithm>

#include "round_worker.hpp"

namespace olaf::model {
namespace {

constexpr std::uint32_t kJob = 7;
constexpr std::uint16_t kLanes = 5; // one more than SYNC has, and the last is the checksum
constexpr RoundShape kShape = {.job = kJob, .format = Format::i64x1};

} // namespace

RoundSimulation::RoundSimulation(const RoundWorld &world) : world_(world), random_(world.seed) {
    make_nodes();
    for (std::uint32_t i = 0; i < world.workers; i++) {
        workers_.push_back(std::make_unique<Worker>(*this, i,
                                                    RoundChildOptions{.job = kJob,
                                                                      .rank = rank_of(i),
                                                                      .lanes = kLanes,
                                                                      .format = kShape.format,
                                                                      .has_checksum = true,
                                                                      .pool = 16,
                                                                      .hears_group = world.multicast}));
        workers_.back()->pace = world.pace;
        const bool late = world.late.contains(i);
        if (late)
            workers_.back()->comes_late();
        push({.at = between(0, late ? kFaultsEnd / 10 : 200'000),
              .what = Event::What::wake,
              .whom = i});
    }
    if (world.slow_worker)
        workers_.back()->pace = world.slow_pace;
    plan_disturbances();
    plan_deaths();
}

RoundSimulation::~RoundSimulation() = default;

void RoundSimulation::make_nodes() {
    RoundSetup root = {.children = world_.tree ? 2 : world_.workers,
                             .threshold = world_.threshold,
                             .pool = world_.pool,
                             .deadline_ns = world_.deadline_ns,
                             .multicast = world_.multicast,
                             .has_checksum = true};
    nodes_.push_back({.setup = root, .first_child = world_.tree ? 1U : 0U, .of_nodes = world_.tree});
    for (std::uint32_t i = 0; world_.tall && i < 2; i++)
        nodes_.push_back({.setup = {.children = 2, .pool = world_.pool, .rank_at_parent = i, .has_checksum = true},
                          .first_child = first_lowest() + 2 * i,
                          .of_nodes = true});
    for (std::uint32_t i = 0; world_.tree && i < lowest_nodes(); i++) {
        const RoundSetup setup = {
            .children = std::min(first_part(), world_.workers - i * first_part()),
            .threshold = world_.lowest_threshold,
            .pool = i == 0 ? world_.pool : world_.second_pool,
            .rank_at_parent = world_.parted ? std::nullopt : std::optional(i % 2),
            .multicast = world_.multicast,
            .has_checksum = true};
        nodes_.push_back({.setup = setup,
                          .first_child = i * first_part(),
                          .parent = world_.tall ? 1 + i / 2 : 0});
    }
    for (const std::uint32_t worker : world_.late)
        nodes_[node_of(worker)].setup.absent.insert(rank_of(worker));
    for (std::uint32_t i = 0; i < nodes_.size(); i++)
        restart(i);
}

// A node that forgot waits for all that it was set up with, for who has left too: such a node stays.
void RoundSimulation::plan_disturbances() {
    for (std::uint32_t i = world_.root_stays ? 1 : 0; i < nodes_.size(); i++)
        if (std::ranges::none_of(world_.leaving,
                                 [&](std::uint32_t worker) { return node_of(worker) == i; }))
            may_restart_.push_back(i);
    if (may_restart_.empty())
        world_.restarts = 0;
    if (world_.disturbed)
        return;
    for (unsigned i = 0; i < world_.restarts; i++)
        push({.at = between(0, kFaultsEnd / (1 + between(0, 100))),
              .what = Event::What::restart,
              .whom = may_restart_[between(0, may_restart_.size() - 1)]});
    for (unsigned i = 0; i < world_.resets; i++)
        push({.at = between(0, kFaultsEnd / (1 + between(0, 10))),
              .what = Event::What::reset,
              .whom = static_cast<std::uint32_t>(between(0, nodes_.size() - 1))});
}

// Two may be killed at once.
void RoundSimulation::plan_deaths() {
    std::uint64_t at = 0;
    for (std::uint32_t i = 1; world_.parted && i < nodes_.size(); i++)
        push({.at = kFaultsEnd / 2 + between(0, 1'000'000), .what = Event::What::parent, .whom = i});
    for (unsigned i = 0; i < world_.deaths; i++) {
        if (i == 0 || chance() < 0.7)
            at = between(0, kFaultsEnd / (1 + between(0, 3)));
        push({.at = at + between(0, 100'000),
              .what = Event::What::death,
              .whom = static_cast<std::uint32_t>(between(0, world_.workers - 1))});
    }
}

// Its job is set anew.
void RoundSimulation::get_parent(std::uint32_t number) {
    nodes_[number].setup.rank_at_parent = number - 1;
    restart(number);
}

// Whoever looks after the process starts it again soon, or takes its time.
void RoundSimulation::die(std::uint32_t number) {
    Worker &worker = *workers_[number];
    if (worker.gone())
        return;
    worker.die();
    push({.at = now_ + between(0, chance() < 0.2 ? 10'000'000 : 500'000),
          .what = Event::What::birth,
          .whom = number});
}

// Within the time that some chunks take.
void RoundSimulation::disturb() {
    Event event = {.at = now_ + between(0, 200'000)};
    if (disturbed_.restarts < world_.restarts && chance() < 0.5) {
        disturbed_.restarts++;
        event.what = Event::What::restart;
        event.whom = may_restart_[between(0, may_restart_.size() - 1)];
    } else if (disturbed_.resets < world_.resets) {
        disturbed_.resets++;
        event.what = Event::What::reset;
        event.whom = static_cast<std::uint32_t>(between(0, nodes_.size() - 1));
    } else {
        return;
    }
    push(std::move(event));
}

// It has forgotten everything.
void RoundSimulation::restart(std::uint32_t number) {
    Node &node = nodes_[number];
    node.begun++;
    const auto generation = static_cast<std::uint32_t>(between(1, UINT32_MAX));
    if (number == 0 && world_.server)
        node.server = std::make_unique<RoundServerRoot>(
            RoundServerOptions{.job = kJob,
                               .children = node.setup.children,
                               .workers = world_.workers,
                               .format = kShape.format,
                               .lanes = kLanes,
                               .pool = world_.pool},
            generation);
    else
        node.node = std::make_unique<RoundNode>(node.setup, generation, world_.broken);
}

void RoundSimulation::push(Event event) {
    event.order = order_++;
    events_.push(std::move(event));
}

// Flips one bit of a lane, but not of CONTROL, which a UDP checksum protects. Each kind of hop has a lane and bits of its
// own: so one flip never cancels another.
void RoundSimulation::damage(Event &event) {
    using Kind = RoundMessage::Kind;
    const bool is_result = event.message.kind == Kind::result;
    if (event.message.lanes.empty() || (event.message.kind != Kind::contribution && !is_result))
        return;
    const bool is_between_nodes =
        event.what == Event::What::to_node && (is_result || nodes_[event.whom].of_nodes);
    const unsigned hop = (is_result ? 2 : 0) + (is_between_nodes ? 1 : 0);
    event.message.lanes[hop] ^= std::uint64_t{1} << (16 * hop + between(0, 15));
    damaged_++;
}

// Over a link, which may lose, double, delay and damage.
void RoundSimulation::transmit(Event event) {
    const bool bad = now_ < world_.faults_end;
    if (bad && chance() < world_.loss) {
        lost_++;
        return;
    }
    if (bad && world_.damage > 0 && chance() < world_.damage)
        damage(event);
    event.at = now_ + (world_.delay > 0 ? world_.delay : between(5'000, 15'000));
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
            transmit({.what = Event::What::to_node,
                      .whom = nodes_[node].parent,
                      .message = sent.message});
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
        return; // it wakes when it is done with what it sends
    worker.queue_vectors();
    if (worker.gone())
        return;
    const RoundChild::Time time(static_cast<std::int64_t>(now_));
    const std::uint64_t repeated = worker.child->stats().repeated;
    if (const auto sending = worker.child->next(time, tai_of(worker.lives()))) {
        worker.busy_until = now_ + worker.pace;
        const bool again = worker.child->stats().repeated > repeated;
        auto message = from_bytes(to_bytes(sending->header, sending->lanes));
        if (!message)
            wrong_ = "a worker sends what isn't a message";
        else if (!(again && world_.never_again))
            transmit({.what = Event::What::to_node,
                      .whom = node_of(number),
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
        Node &node = nodes_[event.whom];
        if (world_.disturbed && event.message.kind == RoundMessage::Kind::order && chance() < 0.4)
            disturb();
        if (node.server)
            wrong_ += node.server->arrive(event.message, out);
        else
            node.node->arrive(now_, tai_of(node.begun), event.message, out);
        from_node(event.whom, out);
        if (node.node && !node.node->conserves())
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
        const bool was_in_session = worker.child->session() != 0;
        static_cast<void>(worker.child->take(bytes, message.lanes,
                                            RoundChild::Time(static_cast<std::int64_t>(now_))));
        if (was_in_session && worker.child->session() == 0) // it had no sum yet, so it goes on
            told_of_deaths_++;
        note_session(event.whom);
        if (worker.child->failure() && worker.may_join_anew())
            worker.comes_late();
        else if (worker.child->failure())
            fails(event.whom);
        const auto &rejected = worker.child->stats().rejected;
        if (rejected.total() > (world_.damage > 0 ? rejected[Reject::wrong_checksum] : 0))
            wrong_ = "a worker rejects a message";
        if (worker.child->is_way_too_narrow())
            wrong_ = "a worker takes loss for a way that is too narrow";
        return wake(event.whom);
    }
    case Event::What::wake:
        return wake(event.whom);
    case Event::What::restart:
        return restart(event.whom);
    case Event::What::reset:
        return nodes_[event.whom].node->reset();
    case Event::What::death:
        deaths_++;
        newest_run_ += world_.later_runs ? 1 : 0;
        return die(event.whom);
    case Event::What::parent:
        return get_parent(event.whom);
    case Event::What::birth:
        workers_[event.whom]->begin_anew();
        return wake(event.whom);
    }
}

// Where a vector differs from the others', both are named. Who is told that another one, or a later run, has begun does
// so, too.
void RoundSimulation::fails(std::uint32_t number) {
    const std::string text = workers_[number]->child->failure()->message();
    const auto says = [&](const char *what) { return text.find(what) != std::string::npos; };
    if (may_begin_anew() &&
        (says(" has begun anew (its process was restarted") || says("a later run of this training"))) {
        told_of_deaths_++;
        return die(number);
    }
    // Others may have summed much without a worker, or may have done so while a node forgot.
    if (is_impatient() && world_.resets > 0 &&
        (says("or the others have summed too much without one") ||
         (world_.restarts > 0 && says(" has begun anew"))))
        gave_up_ = true;
    else if (may_be_partial() && says(" the one that other members have: all began anew"))
        told_of_other_sums_ = gave_up_ = true;
    else if (!world_.odd_worker || !says(" gives "))
        wrong_ = text;
}

// No two processes of a rank are ever in one session, but those that have joined it.
void RoundSimulation::note_session(std::uint32_t number) {
    const Worker &worker = *workers_[number];
    if (worker.child->session() == 0)
        return;
    const auto [life, is_new] =
        lives_[worker.child->session()].try_emplace(number, worker.incarnation());
    if (!is_new && life->second != worker.incarnation() && !worker.is_late())
        wrong_ = "worker " + std::to_string(number) +
                 " has begun anew, and is in the session that it was in before";
    life->second = worker.incarnation();
}

std::map<std::uint32_t, std::uint64_t> RoundSimulation::processes_in(std::uint64_t session,
                                                                     std::uint32_t round) const {
    const auto lives = lives_.find(session);
    if (lives == lives_.end())
        return {};
    auto in = lives->second;
    std::erase_if(in, [&](const auto &each) { return !workers_[each.first]->is_in(round); });
    return in;
}

std::vector<std::uint32_t> RoundSimulation::members_of(std::uint32_t round) const {
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < workers_.size(); i++)
        if (workers_[i]->is_in(round))
            members.push_back(i);
    return members;
}

// Whether all are in one session.
bool RoundSimulation::all_agree() const {
    const std::uint64_t session = workers_[0]->child->session();
    return std::ranges::all_of(
        workers_, [&](const auto &worker) { return worker->child->session() == session; });
}

bool RoundSimulation::done() const {
    if (world_.parted && !all_agree())
        return false;
    const bool some_have_finished = std::ranges::any_of(
        workers_, [](const auto &worker) { return worker->has_finished(); });
    return deaths_ == world_.deaths && std::ranges::all_of(workers_, [&](const auto &worker) {
               return worker->done() || (some_have_finished && worker->waits_for_a_session());
           });
}

bool RoundSimulation::all_gone() const {
    return std::ranges::all_of(workers_, [](const auto &worker) { return worker->gone(); });
}

std::string RoundSimulation::unfinished() {
    // Past a deadline who has finished may have left others that need it.
    gave_up_ = is_impatient() && std::ranges::any_of(workers_, [](const auto &worker) {
                   return worker->has_finished();
               });
    if (gave_up_)
        return {};
    std::string text = "not done:";
    for (const auto &worker : workers_)
        if (!worker->done())
            text += " [" +
                    worker->child->missing(RoundChild::Time(static_cast<std::int64_t>(now_))) + "]";
    return text;
}

// Who has finished in one generation holds the same sums, whatever became of the generations before.
std::string RoundSimulation::differing() const {
    for (const auto &one : workers_)
        for (const auto &other : workers_)
            if (one != other && one->has_finished() && other->has_finished() &&
                one->child->generation() == other->child->generation() && one->differs(*other))
                return "two that have finished hold different sums of one round";
    return {};
}

// Until everybody has gone, as far as it comes to that: who waits for a farewell while a node is restarted
// may wait for who has gone.
void RoundSimulation::let_all_leave() {
    const std::uint64_t end = now_ + 1'000'000'000;
    while (!events_.empty() && wrong_.empty() && !all_gone() && now_ < end) {
        const Event event = events_.top();
        events_.pop();
        now_ = event.at;
        handle(event);
    }
}

std::string RoundSimulation::run() {
    while (!events_.empty() && wrong_.empty() && !gave_up_ && !done()) {
        const Event event = events_.top();
        events_.pop();
        now_ = event.at;
        if (now_ > kMustBeDone)
            return unfinished();
        handle(event);
    }
    if (gave_up_)
        return {};
    if (wrong_.empty() && !done())
        return unfinished();
    if (may_begin_anew() && !world_.finishes && wrong_.empty() && !all_agree())
        wrong_ = "all have their sums, of different sessions";
    if (!world_.finishes || world_.finishes_at_once)
        return wrong_;
    let_all_leave();
    if (wrong_.empty())
        wrong_ = differing();
    return wrong_.empty() && nodes_[0].server && all_gone() ? nodes_[0].server->half_seen() : wrong_;
}

} // namespace olaf::model
