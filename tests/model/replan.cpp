// SPDX-License-Identifier: BSD-2-Clause
#include "replan.hpp"

#include <algorithm>
#include <cmath>

#include "round_wire.hpp"

namespace olaf::model::replan {
namespace {

constexpr std::uint16_t kLanes = 2; // with the checksum lane
constexpr Format kFormat = Format::i64x1;
constexpr std::uint32_t kFirstWireId = 0x40000000;
constexpr std::uint64_t kFaultsEnd = 30'000'000, kMustBeDone = 30'000'000'000;
// A subtree that the root goes on without hears of each chunk that is over by a question of its
// own.
constexpr std::uint64_t kMustBeDoneIfLeftBehind = 300'000'000'000;
// A plan whose agents aren't ready by then is given up; so is a hold in vain.
constexpr std::uint64_t kPreparingEnds = 40'000'000, kHoldingEnds = 200'000'000;
constexpr std::uint32_t kFurtherVectors = 400; // that those who are done sum with the others

constexpr unsigned kMemberBits = 16; // more than any world's workers

std::uint64_t value(std::uint32_t worker, std::uint32_t round, std::uint32_t chunk) {
    std::uint64_t x = (std::uint64_t{round} << 40) ^ (std::uint64_t{chunk} << 8) ^ worker;
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15;
    // A sum tells its members by its low bits: each once, or others are wrong, too.
    return ((x ^ (x >> 29)) << kMemberBits) | (std::uint64_t{1} << worker);
}

} // namespace

class Simulation::Worker : public RoundVectors {
  public:
    Worker(Simulation &simulation, std::uint32_t number)
        : child(RoundChildOptions{.job = kFirstWireId,
                                  .lanes = kLanes,
                                  .format = kFormat,
                                  .pool = 16,
                                  .incarnation = 1 + value(number, 1, 1)},
                *this),
          simulation_(&simulation), number_(number) {}

    std::optional<std::int16_t> contribute(std::uint32_t round, std::uint32_t chunk,
                                           std::span<std::uint64_t> lanes) override {
        lanes[0] = value(number_, round, chunk);
        return 0;
    }
    void take(const RoundResult &result, std::span<const std::uint64_t> lanes) override {
        if (!taken_.insert({result.round, result.chunk}).second)
            simulation_->wrong_ = "a worker takes a chunk twice";
        const auto &members = simulation_->members_of(result.round);
        const auto in = lanes[0] % (std::uint64_t{1} << kMemberBits);
        std::uint64_t sum = 0;
        std::uint32_t count = 0;
        for (const auto member : members)
            if ((in >> member) & 1) {
                sum += value(member, result.round, result.chunk);
                ++count;
            }
        const bool lacks = count < members.size();
        if (lanes[0] != sum || result.count != count || result.partial != lacks ||
            result.late != ((in >> number_ & 1) == 0) || (lacks && !may_lack()))
            simulation_->wrong_ = "rule 3: worker " + std::to_string(number_) +
                                  " got a wrong sum of round " + std::to_string(result.round) +
                                  ", of " + std::to_string(result.count) + " and not " +
                                  std::to_string(members.size());
        simulation_->partial_ += lacks ? 1 : 0;
        simulation_->sums_[{result.round, result.chunk}].insert(in);
        simulation_->taken_in_[{result.round, result.chunk}].insert(epoch);
        has(result.round);
    }
    void miss(std::uint32_t round, std::uint32_t) override {
        if (!may_lack())
            simulation_->wrong_ = "rule 3: a worker misses a sum";
        has(round);
    }

    void queue_vectors() {
        const auto &world = simulation_->world_;
        while (!left && rest_.size() < world.under_way && !(hold && child.next_round() >= *hold) &&
               child.next_round() < world.vectors.size() + kFurtherVectors) {
            const auto round = child.next_round();
            const auto chunks = round < world.vectors.size() ? world.vectors[round] : 1;
            rest_[round] = chunks;
            child.add(chunks, world.lag, simulation_->tai());
        }
    }
    /// Counts what it sends anew because of a move: rule 4.
    void note_sending(const RoundMessage &message) {
        if (message.kind != RoundMessage::Kind::contribution)
            return;
        const auto [sent, is_first] = sent_in_.try_emplace({message.round, message.chunk}, epoch);
        if (is_first || sent->second == epoch)
            return;
        sent->second = epoch;
        if (++sent_anew_[epoch] > 2 * (std::size_t{1} << simulation_->world_.pool))
            simulation_->wrong_ = "rule 4: worker " + std::to_string(number_) + " sends " +
                                  std::to_string(sent_anew_[epoch]) + " chunks anew, P is " +
                                  std::to_string(std::size_t{1} << simulation_->world_.pool);
    }
    [[nodiscard]] bool is_done() const {
        return left || (active && summed >= simulation_->world_.vectors.size());
    }
    [[nodiscard]] Report report() const {
        Report now{.epoch = epoch, .next_round = child.next_round(), .held = {}, .past = past};
        if (hold && child.next_round() == *hold && child.is_idle())
            now.held = hold;
        return now;
    }

    [[nodiscard]] bool may_lack() const { return simulation_->world_.threshold > 0; }

    RoundChild child;
    unsigned epoch = 0;
    bool active = false, left = false;
    std::optional<std::uint32_t> hold,
        past; // a round that it doesn't begin; one that it has begun though asked to hold
    std::uint32_t summed = 0;
    std::uint64_t revision = 0; // of the hold, or of its end, that it heard of last
    std::uint64_t busy_until = 0, wakes_at = UINT64_MAX, last_report_at = 0;
    Report reported;

  private:
    // One chunk more of that round.
    void has(std::uint32_t round) {
        --rest_[round];
        while (rest_.contains(summed) && rest_[summed] == 0)
            rest_.erase(summed++);
    }

    Simulation *simulation_;
    std::uint32_t number_;
    std::map<std::uint32_t, std::uint32_t> rest_; // chunks of each vector that aren't there
    std::set<std::pair<std::uint32_t, std::uint32_t>> taken_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned>
        sent_in_; // the newest epoch, of a chunk
    std::map<unsigned, std::size_t> sent_anew_;
};

Simulation::~Simulation() = default;

Simulation::Simulation(const World &world)
    : world_(world), random_(world.seed * 77 + 5), moves_left_(world.moves),
      joins_left_(world.joins), leaves_left_(world.leaves) {
    // Each has room for an old plan, a new one and one that was given up.
    machines_.resize(world_.workers * 4 + 12);
    for (auto &machine : machines_)
        machine.slots = 3ULL << world_.pool;
    std::set<std::uint32_t> members;
    for (std::uint32_t i = 0; i < world_.workers; ++i) {
        workers_.push_back(std::make_unique<Worker>(*this, i));
        workers_[i]->active = true;
        members.insert(i);
    }
    members_from_[0] = members;
    epochs_.push_back(plan(members, false));
    for (std::uint32_t i = 0; i < epochs_[0].jobs.size(); ++i)
        prepare(0, i);
    for (const auto i : members) {
        const auto [job, rank] = epochs_[0].seat[i];
        workers_[i]->child.move(epochs_[0].wire_id, rank);
        push({.what = Event::What::wake, .at = between(0, 200'000), .whom = i});
    }
    push({.what = Event::What::control, .at = between(100'000, 3'000'000)});
}

// ---- plans ----

// A random tree of one to three levels, or that of the last plan, on machines that are alive.
Simulation::Epoch Simulation::plan(const std::set<std::uint32_t> &members, bool same_shape) {
    Epoch made;
    const auto number = static_cast<std::uint32_t>(epochs_.size());
    made.wire_id = kFirstWireId + (world_.wrong == WrongControl::one_wire_id ? 0 : number);
    made.members = members;
    made.shape = number;
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < machines_.size(); ++i)
        if (machines_[i].alive && machines_[i].slots >= 1ULL << world_.pool)
            free.push_back(i);
    std::ranges::shuffle(free, random_);
    const auto place = [&](Job job) {
        if (free.empty()) {
            wrong_ = "rule 11: no machine has slots for a further plan";
            free.push_back(0);
        }
        job.machine = free.back();
        free.pop_back();
        made.jobs.push_back(std::move(job));
    };
    if (same_shape) {
        const Epoch &old = epochs_[epoch_];
        made.seat = old.seat;
        made.shape = old.shape;
        for (const Job &one : old.jobs)
            place({.setup = one.setup,
                   .parent = one.parent,
                   .children = one.children,
                   .of_nodes = one.of_nodes});
        return made;
    }
    std::vector<int> layer(members.begin(), members.end());
    std::ranges::shuffle(layer, random_);
    const auto depth = between(1, 3);
    bool of_nodes = false;
    for (std::uint64_t level = 1;; ++level) {
        std::vector<int> above;
        for (std::size_t at = 0; at < layer.size();) {
            const auto taken = level == depth
                                   ? layer.size()
                                   : std::min<std::size_t>(between(1, 3), layer.size() - at);
            const auto job = static_cast<int>(made.jobs.size());
            const std::vector<int> children(layer.begin() + static_cast<std::ptrdiff_t>(at),
                                            layer.begin() +
                                                static_cast<std::ptrdiff_t>(at + taken));
            place({.setup = {.children = static_cast<std::uint32_t>(taken), .pool = world_.pool},
                   .children = children,
                   .of_nodes = of_nodes});
            for (std::uint32_t rank = 0; rank < children.size(); ++rank)
                if (of_nodes) {
                    auto &child = made.jobs[static_cast<std::size_t>(children[rank])];
                    child.parent = job;
                    child.setup.rank_at_parent = rank;
                } else {
                    made.seat[static_cast<std::uint32_t>(children[rank])] = {job, rank};
                }
            above.push_back(job);
            at += taken;
        }
        layer = std::move(above);
        of_nodes = true;
        if (layer.size() > 1)
            continue;
        auto &root = made.jobs.back().setup;
        root.threshold = root.children;
        if (world_.threshold > 0)
            root.threshold = std::max(
                1U, static_cast<std::uint32_t>(std::floor(world_.threshold * root.children)));
        return made;
    }
}

const std::set<std::uint32_t> &Simulation::members_of(std::uint32_t round) const {
    return std::prev(members_from_.upper_bound(round))->second;
}

// ---- agents ----

void Simulation::prepare(unsigned epoch, std::uint32_t number) {
    Epoch &of = epochs_[epoch];
    Job &job = of.jobs[number];
    Machine &machine = machines_[job.machine];
    if (!machine.alive || of.given_up || job.prepared)
        return;
    const std::tuple place(job.parent < 0 ? SIZE_MAX
                                          : of.jobs[static_cast<std::size_t>(job.parent)].machine,
                           job.setup.rank_at_parent.value_or(0), job.setup.children);
    const auto [known, is_new] = machine.set.try_emplace(of.wire_id, place);
    if (!is_new && known->second != place) {
        wrong_ = "rule 1: a job that is set gets another parent, rank or shape";
        return;
    }
    const auto needed = std::uint64_t{1} << world_.pool;
    if (machine.slots < needed) {
        wrong_ = "rule 11: a machine has no slots for the old and the new plan";
        return;
    }
    machine.slots -= needed;
    job.node =
        std::make_unique<RoundNode>(job.setup, static_cast<std::uint32_t>(between(1, UINT32_MAX)));
    job.prepared = true;
}

void Simulation::remove(unsigned epoch, std::uint32_t number) {
    Job &job = epochs_[epoch].jobs[number];
    if (!job.removed && job.prepared) {
        machines_[job.machine].slots += std::uint64_t{1} << world_.pool;
        machines_[job.machine].set.erase(epochs_[epoch].wire_id);
    }
    job.removed = true;
    job.node.reset();
}

// ---- control ----

void Simulation::tell(std::uint32_t worker, Notice notice, std::uint64_t most_ns) {
    notice.revision = ++revision_;
    push({.what = Event::What::notice,
          .at = now_ + between(1'000, most_ns),
          .whom = worker,
          .notice = notice});
}

bool Simulation::is_broken(unsigned epoch) const {
    return std::ranges::any_of(epochs_[epoch].jobs,
                               [&](const Job &job) { return !machines_[job.machine].alive; });
}

std::uint32_t Simulation::highest_next_round() const {
    std::uint32_t highest = 0;
    for (const auto member : epochs_[epoch_].members)
        if (const auto report = reports_.find(member); report != reports_.end())
            highest = std::max(highest, report->second.next_round);
    return highest;
}

void Simulation::control() {
    if (done())
        return;
    if (world_.leaders_die && now_ >= leader_back_at_ && chance() < 0.1)
        leader_back_at_ =
            now_ + between(1'000'000, 20'000'000); // another one leads then, from the same state
    if (now_ >= leader_back_at_) {
        retire();
        switch (phase_) {
        case Phase::running:
            begin_plan();
            break;
        case Phase::preparing:
            when_preparing();
            break;
        case Phase::holding:
            when_holding();
            break;
        }
    }
    const bool is_busy = phase_ != Phase::running;
    push({.what = Event::What::control,
          .at = now_ + (is_busy ? between(50'000, 500'000) : between(50'000, 8'000'000))});
}

void Simulation::begin_plan() {
    const bool broken = is_broken(epoch_);
    const bool may_lack = epochs_[epoch_].may_lack();
    if (world_.nodes_die && !broken && moves_left_ > 0 && chance() < 0.3) {
        auto &jobs = epochs_[epoch_].jobs;
        machines_[jobs[between(0, jobs.size() - 1)].machine].alive = false;
        return; // seen at the next step
    }
    next_members_ = epochs_[epoch_].members;
    is_boundary_ = false;
    bool same_shape = world_.same_shape || (world_.floats && chance() < 0.5);
    if (!broken && (joins_left_ > 0 || leaves_left_ > 0) && chance() < 0.5) {
        is_boundary_ = true;
        same_shape = false;
        if (leaves_left_ > 0 && next_members_.size() > 2) {
            --leaves_left_;
            next_members_.erase(
                std::next(next_members_.begin(),
                          static_cast<std::ptrdiff_t>(between(0, next_members_.size() - 1))));
        }
        if (joins_left_ > 0) {
            --joins_left_;
            next_members_.insert(static_cast<std::uint32_t>(workers_.size()));
            workers_.push_back(
                std::make_unique<Worker>(*this, static_cast<std::uint32_t>(workers_.size())));
        }
    } else if (broken && epochs_[epoch_].may_halve()) {
        failed_ = true; // rule 7: nobody reads back that the old root's job is gone
        return;
    } else if (broken) {
        // The tree of floats, and of sums that lack members, can't change in the middle.
        same_shape = same_shape || world_.floats || may_lack;
    } else if (moves_left_ > 0) {
        --moves_left_;
        is_boundary_ =
            (world_.floats && !same_shape && world_.wrong != WrongControl::floats_at_once) ||
            (may_lack && world_.wrong != WrongControl::two_halves);
    } else {
        return;
    }
    epochs_.push_back(plan(next_members_, same_shape));
    const auto next = static_cast<unsigned>(epochs_.size() - 1);
    for (std::uint32_t i = 0; i < epochs_[next].jobs.size(); ++i)
        if (!world_.agents_fail || chance() > 0.1)
            push({.what = Event::What::prepare,
                  .at = now_ + between(100'000, 10'000'000),
                  .epoch = next,
                  .whom = i});
    phase_ = Phase::preparing;
    since_ = now_;
}

void Simulation::when_preparing() {
    const auto &next = epochs_.back();
    const bool ready = std::ranges::all_of(next.jobs, [](const Job &job) { return job.prepared; });
    const bool in_vain =
        now_ > since_ + kPreparingEnds || is_broken(static_cast<unsigned>(epochs_.size() - 1));
    if (world_.wrong == WrongControl::commits_before_prepared && epoch_ + 1 < epochs_.size()) {
        if (!is_boundary_ && epoch_ != epochs_.size() - 1)
            commit();
        return;
    }
    if (in_vain && !ready)
        return give_up();
    if (!ready)
        return;
    if (!is_boundary_)
        return commit();
    if (world_.wrong == WrongControl::members_at_once) {
        hold_round_ = highest_next_round();
        return commit();
    }
    phase_ = Phase::holding;
    since_ = now_;
    hold(highest_next_round() + 2);
}

void Simulation::hold(std::uint32_t round) {
    hold_round_ = round;
    for (const auto member : epochs_[epoch_].members)
        tell(member, {.what = Notice::What::hold, .epoch = epoch_, .round = round}, 2'000'000);
}

void Simulation::when_holding() {
    if (is_broken(epoch_) || is_broken(static_cast<unsigned>(epochs_.size() - 1)) ||
        now_ > since_ + kHoldingEnds) {
        for (const auto member : epochs_[epoch_].members)
            tell(member, {.what = Notice::What::withdraw, .epoch = epoch_}, 2'000'000);
        return give_up();
    }
    std::size_t held = 0;
    for (const auto member : epochs_[epoch_].members) {
        const auto &report = reports_[member];
        const bool is_of_this =
            report.epoch == epoch_ || world_.wrong == WrongControl::hold_without_epoch;
        if (is_of_this && report.past && *report.past >= hold_round_)
            return hold(highest_next_round() + 2);
        held += is_of_this && report.held == hold_round_ ? 1 : 0;
        // An agent that was started anew asks again.
        if (report.held != hold_round_ && chance() < 0.2)
            tell(member, {.what = Notice::What::hold, .epoch = epoch_, .round = hold_round_},
                 2'000'000);
    }
    const auto needed = epochs_[epoch_].members.size() -
                        (world_.wrong == WrongControl::commits_before_held ? 1 : 0);
    if (held >= needed)
        commit();
}

// From here on there is no way back. Each hears of it in its own time.
void Simulation::commit() {
    const auto next = static_cast<unsigned>(epochs_.size() - 1);
    Epoch &of = epochs_[next];
    const auto before = epochs_[epoch_].members;
    of.begin = epochs_[epoch_].begin;
    of.begun_by = epochs_[epoch_].begun_by;
    epoch_ = next;
    ++commits_;
    moves_of_partial_ += world_.threshold > 0 && !is_boundary_ ? 1 : 0;
    if (is_boundary_) {
        ++boundaries_;
        of.begin = hold_round_;
        of.begun_by = next;
        members_from_[hold_round_] = of.members;
    }
    phase_ = Phase::running;
    auto all = before;
    all.insert(of.members.begin(), of.members.end());
    for (const auto member : all)
        tell(member, {.what = Notice::What::commit, .epoch = next},
             chance() < 0.1 ? 20'000'000 : 2'000'000);
    if (world_.wrong == WrongControl::commits_before_prepared &&
        !std::ranges::all_of(of.jobs, [](const Job &job) { return job.prepared; }) &&
        world_.agents_fail && chance() < 0.5) {
        epoch_ = next - 1;
        give_up();
        for (const auto member : before)
            tell(member, {.what = Notice::What::commit, .epoch = epoch_}, 2'000'000);
    }
}

// It leaves no trace but its number.
void Simulation::give_up() {
    const auto next = static_cast<unsigned>(epochs_.size() - 1);
    epochs_[next].given_up = true;
    ++abandoned_;
    // Who was to join, or to leave, does so by the next one.
    for (const auto member : next_members_)
        joins_left_ +=
            !epochs_[epoch_].members.contains(member) && !workers_[member]->active ? 1 : 0;
    for (const auto member : epochs_[epoch_].members)
        leaves_left_ += next_members_.contains(member) ? 0 : 1;
    for (std::uint32_t i = 0; i < epochs_[next].jobs.size(); ++i)
        push({.what = Event::What::remove,
              .at = now_ + between(100'000, 5'000'000),
              .epoch = next,
              .whom = i});
    phase_ = Phase::running;
}

void Simulation::retire() {
    if (world_.wrong == WrongControl::never_retires)
        return;
    for (unsigned epoch = 0; epoch < epoch_; ++epoch) {
        Epoch &old = epochs_[epoch];
        if (old.retired || old.given_up)
            continue;
        const bool all_moved = std::ranges::all_of(old.members, [&](std::uint32_t member) {
            return workers_[member]->left ||
                   (reports_.contains(member) && reports_.at(member).epoch > epoch);
        });
        if (!all_moved && !world_.retires_early)
            continue;
        old.retired = true;
        for (std::uint32_t i = 0; i < old.jobs.size(); ++i)
            push({.what = Event::What::remove,
                  .at = now_ + between(10'000, 1'000'000),
                  .epoch = epoch,
                  .whom = i});
    }
}

// ---- workers ----

void Simulation::hear(std::uint32_t number, const Notice &notice) {
    Worker &worker = *workers_[number];
    const bool heeds_epoch = world_.wrong != WrongControl::hold_without_epoch;
    if (notice.what != Notice::What::commit) {
        if (!worker.active || (heeds_epoch && notice.epoch != worker.epoch))
            return;
        // Its agent hands on no state that is older than one it handed on before.
        if (notice.revision < worker.revision)
            return;
        worker.revision = notice.revision;
        worker.past.reset();
        if (notice.what == Notice::What::withdraw)
            worker.hold.reset();
        else if (worker.child.next_round() > notice.round)
            worker.past = notice.round;
        else
            worker.hold = notice.round;
        return wake(number);
    }
    Epoch &of = epochs_[notice.epoch];
    if (worker.left || (worker.active &&
                        (notice.epoch == worker.epoch ||
                         (notice.epoch < worker.epoch && world_.wrong != WrongControl::goes_back &&
                          world_.wrong != WrongControl::commits_before_prepared))))
        return;
    if (worker.active && notice.epoch < worker.epoch)
        wrong_ = "rule 2: worker " + std::to_string(number) + " goes back to an older plan";
    if (!of.members.contains(number)) {
        worker.left = worker.active; // all have all sums before that round
        return;
    }
    const auto [job, rank] = of.seat.at(number);
    if (!worker.active && !of.begin)
        return;
    // Who wasn't in that boundary's plan yet held before its round, or joins with it.
    if (of.begin && (!worker.active || worker.epoch < of.begun_by)) {
        worker.summed = std::max(worker.summed, *of.begin);
        worker.child.move(of.wire_id, rank, *of.begin);
    } else {
        worker.child.move(of.wire_id, rank);
    }
    worker.active = true;
    worker.epoch = notice.epoch;
    worker.hold.reset();
    worker.past.reset();
    wake(number);
}

void Simulation::wake(std::uint32_t number) {
    Worker &worker = *workers_[number];
    if (!worker.active)
        return;
    worker.queue_vectors();
    if (const auto report = worker.report(); report != worker.reported) {
        worker.reported = report;
        worker.last_report_at =
            std::max(worker.last_report_at + 1, now_ + between(10'000, 2'000'000));
        push({.what = Event::What::report,
              .at = worker.last_report_at,
              .whom = number,
              .report = report});
    }
    if (worker.left || now_ < worker.busy_until)
        return; // it wakes when it is done with what it sends
    const RoundChild::Time time(static_cast<std::int64_t>(now_));
    if (const auto sending = worker.child.next(time, tai())) {
        auto message = from_bytes(to_bytes(sending->header, sending->lanes));
        if (!message) {
            wrong_ = "a worker sends what isn't a message";
            return;
        }
        worker.note_sending(*message);
        worker.busy_until = now_ + 100;
        transmit({.what = Event::What::to_node,
                  .epoch = worker.epoch,
                  .whom = static_cast<std::uint32_t>(epochs_[worker.epoch].seat.at(number).first),
                  .message = std::move(*message)});
        return push({.what = Event::What::wake, .at = worker.busy_until, .whom = number});
    }
    const auto next = worker.child.wakes_at();
    if (next == RoundChild::kNever)
        return;
    const auto at = std::max<std::uint64_t>(now_ + 1, static_cast<std::uint64_t>(next.count()));
    if (worker.wakes_at <= now_ || at < worker.wakes_at) {
        worker.wakes_at = at;
        push({.what = Event::What::wake, .at = at, .whom = number});
    }
}

// ---- the network ----

void Simulation::push(Event event) {
    event.order = order_++;
    events_.push(std::move(event));
}

void Simulation::transmit(Event event) {
    const bool bad = now_ < kFaultsEnd;
    if (bad && chance() < world_.loss)
        return;
    event.at = now_ + between(5'000, 15'000);
    if (bad && chance() < world_.reordering)
        event.at += between(0, chance() < 0.05 ? 5'000'000 : 200'000);
    if (bad && chance() < world_.duplication) {
        Event twin = event;
        twin.at += between(0, 50'000);
        push(std::move(twin));
    }
    push(std::move(event));
}

void Simulation::from_node(unsigned epoch, std::uint32_t number,
                           const std::vector<RoundSent> &out) {
    const Job &job = epochs_[epoch].jobs[number];
    for (const RoundSent &sent : out)
        if (sent.up)
            transmit({.what = Event::What::to_node,
                      .epoch = epoch,
                      .whom = static_cast<std::uint32_t>(job.parent),
                      .message = sent.message});
        else
            transmit({.what = job.of_nodes ? Event::What::to_node : Event::What::to_worker,
                      .epoch = epoch,
                      .whom = static_cast<std::uint32_t>(job.children[sent.to]),
                      .message = sent.message});
}

void Simulation::handle(const Event &event) {
    switch (event.what) {
    case Event::What::to_node: {
        Job &job = epochs_[event.epoch].jobs[event.whom];
        if (!job.node || !machines_[job.machine].alive)
            return;
        std::vector<RoundSent> out;
        job.node->arrive(now_, tai(), event.message, out);
        from_node(event.epoch, event.whom, out);
        if (!job.node->conserves())
            wrong_ = "the counters of a node don't add up";
        return;
    }
    case Event::What::to_worker: {
        Worker &worker = *workers_[event.whom];
        if (!worker.active || worker.left)
            return;
        const RoundShape shape{.job = epochs_[event.epoch].wire_id, .format = kFormat};
        static_cast<void>(worker.child.take(to_bytes(shape, event.message), event.message.lanes,
                                            RoundChild::Time(static_cast<std::int64_t>(now_))));
        if (const auto &failure = worker.child.failure()) {
            const auto why = failure->message();
            if (may_fail(why))
                failed_ = true;
            else
                wrong_ = "worker " + std::to_string(event.whom) + " fails: " + why;
        }
        return wake(event.whom);
    }
    case Event::What::wake:
        return wake(event.whom);
    case Event::What::control:
        return control();
    case Event::What::notice:
        return hear(event.whom, event.notice);
    case Event::What::report:
        reports_[event.whom] = event.report;
        return;
    case Event::What::prepare:
        return prepare(event.epoch, event.whom);
    case Event::What::remove:
        return remove(event.epoch, event.whom);
    }
}

// Rule 7: a root that died may have told some a sum that lacks other members than the one that its
// successor tells the rest. Whoever finds that fails, and then all begin anew, as after a restart.
bool Simulation::may_fail(const std::string &why) const {
    return moves_of_partial_ > 0 && world_.wrong == WrongControl::none &&
           (why.find("other members have") != std::string::npos ||
            why.find("summed too much without one of them") != std::string::npos);
}

// Rule 7: two workers have different sums of no more chunks than were under way.
std::string Simulation::differing_sums() const {
    const auto differ = static_cast<std::uint64_t>(
        std::ranges::count_if(sums_, [](const auto &of) { return of.second.size() > 1; }));
    const auto most = moves_of_partial_ * 2 * (std::uint64_t{1} << world_.pool);
    return differ <= most
               ? ""
               : "rule 7: workers have different sums of " + std::to_string(differ) + " chunks";
}

bool Simulation::done() const {
    return failed_ || std::ranges::all_of(workers_, [&](const auto &worker) {
               return worker->is_done() || !worker->active;
           });
}

std::string Simulation::unfinished() const {
    std::string text = "not done:";
    for (std::size_t i = 0; i < workers_.size(); ++i)
        if (workers_[i]->active && !workers_[i]->is_done())
            text += " [" + std::to_string(i) + " by plan " + std::to_string(workers_[i]->epoch) +
                    " of " + std::to_string(epoch_) + ": " +
                    workers_[i]->child.missing(RoundChild::Time(static_cast<std::int64_t>(now_))) +
                    "]";
    return text;
}

// Rule 9: of what was given up no job is left, once its agents had their time.
std::string Simulation::left_behind() {
    while (!events_.empty()) {
        const Event event = events_.top();
        events_.pop();
        now_ = event.at;
        if (event.what == Event::What::remove || event.what == Event::What::prepare)
            handle(event);
    }
    for (const Epoch &of : epochs_)
        for (const Job &job : of.jobs)
            if (of.given_up && job.node)
                return "rule 9: a plan that was given up has a job";
    return {};
}

std::string Simulation::run() {
    while (!events_.empty() && wrong_.empty() && !done()) {
        const Event event = events_.top();
        events_.pop();
        now_ = event.at;
        if (now_ > (world_.threshold > 0 ? kMustBeDoneIfLeftBehind : kMustBeDone))
            return unfinished();
        handle(event);
    }
    if (wrong_.empty() && !done())
        return unfinished();
    for (const auto &[chunk, epochs] : taken_in_) {
        crossed_ += epochs.size() > 1 ? 1 : 0;
        std::set<unsigned> shapes;
        for (const auto epoch : epochs)
            shapes.insert(epochs_[epoch].shape);
        if (world_.floats && shapes.size() > 1)
            return "rule 3: two workers took sums of floats of one chunk from different trees";
    }
    if (wrong_.empty())
        wrong_ = differing_sums();
    return wrong_.empty() ? left_behind() : wrong_;
}

} // namespace olaf::model::replan
