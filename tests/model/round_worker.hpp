// SPDX-License-Identifier: BSD-2-Clause
// A worker of the simulation: gives numbers that follow from who, which round and which chunk, and
// knows the sum that must come.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "round_simulation.hpp"

namespace olaf::model {

class RoundSimulation::Worker : public RoundVectors {
  public:
    Worker(RoundSimulation &simulation, std::uint32_t number, const RoundChildOptions &options)
        : options_(options), simulation_(&simulation), number_(number) {
        begin();
    }

    /// What a process gives: another one than it gave before it was killed.
    static std::uint64_t value(std::uint64_t incarnation, std::uint32_t round, std::uint32_t chunk) {
        std::uint64_t x = (std::uint64_t{round} << 40) ^ (std::uint64_t{chunk} << 8) ^ incarnation;
        x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15;
        return x ^ (x >> 29);
    }
    /// The same in each of a worker's processes: no member that joins anew changes what others pack by.
    static std::int16_t exponent(std::uint32_t worker, std::uint32_t round, std::uint32_t chunk) {
        return static_cast<std::int16_t>(value(worker, round, chunk) >> 50) - 9000;
    }

    std::optional<std::int16_t> contribute(std::uint32_t round, std::uint32_t chunk,
                                           std::span<std::uint64_t> lanes) override {
        const std::uint32_t lag = simulation_->world_.lag;
        if (lag > 0 && chunk >= lag && !taken_.contains({round, chunk - lag}))
            wrong("packs what depends on a sum that isn't there");
        if (!given_.insert({round, chunk}).second)
            wrong("packs a chunk twice");
        if (taken_.contains({round, chunk}))
            wrong("packs a chunk that is spared");
        if (simulation_->world_.other_exponents && follows(chunk) && missed_.contains({round, chunk - lag}))
            return {};
        const auto told = told_.find({round, chunk - lag});
        pack(round, chunk, follows(chunk) && told != told_.end() ? told->second : std::int16_t{0}, lanes);
        return exponent(number_, round, chunk);
    }

    bool pack_anew(std::uint32_t round, std::uint32_t chunk, std::int16_t exponent,
                   std::span<const float>, std::span<std::uint64_t> lanes) override {
        if (!simulation_->may_be_partial())
            wrong("packs a chunk anew");
        pack(round, chunk, exponent, lanes);
        packed_anew_++;
        return true;
    }

    void take_anew(const RoundResult &result, std::span<const std::uint64_t> lanes) override {
        if (!told_.contains({result.round, result.chunk}))
            wrong("takes anew what it didn't take");
        if (taken_.contains({result.round, result.chunk + simulation_->world_.lag}))
            wrong("takes anew what it needs no more");
        told_[{result.round, result.chunk}] = result.exponent;
        note_sum(result, lanes);
        if (spares_behind(result))
            spare_behind(result.round, result.chunk);
    }

    void miss_anew(std::uint32_t round, std::uint32_t chunk) override {
        if (told_.erase({round, chunk}) == 0)
            wrong("misses anew what it didn't take");
        missed_.insert({round, chunk});
        if (simulation_->world_.spares)
            spare_behind(round, chunk);
    }

    void take(const RoundResult &result, std::span<const std::uint64_t> lanes) override {
        if (!taken_.insert({result.round, result.chunk}).second)
            wrong("takes a chunk twice");
        if (simulation_->first_sum_ == 0)
            simulation_->first_sum_ = simulation_->now_;
        told_[{result.round, result.chunk}] = result.exponent;
        if (simulation_->world_.other_exponents && !is_of_one_exponent(result, lanes))
            wrong("got a sum of what was packed by several exponents");
        if (simulation_->world_.odd_worker && result.round >= simulation_->world_.odd_round)
            wrong("takes a sum of different vectors");
        count_down(result.round);
        if (spares_behind(result))
            spare_behind(result.round, result.chunk);
        note_sum(result, lanes);
        if (simulation_->may_be_partial()) {
            knows_of_its_part(result, lanes);
            return is_the_same(result, lanes[0]);
        }
        std::uint64_t sum = 0, processes = 0;
        std::int16_t highest = INT16_MIN;
        const auto in = simulation_->processes_in(child->session(), result.round);
        for (const auto &[worker, process] : in) {
            sum += value(process, result.round, result.chunk);
            processes += process;
            highest = std::max(highest, exponent(worker, result.round, result.chunk));
        }
        const RoundWorld &world = simulation_->world_;
        if (world.late.empty() && world.leaving.empty() && processes != child->session())
            wrong("is in a session that isn't that of those who are in it");
        if (lanes[0] != sum || lanes[1] != processes || result.exponent != highest ||
            result.partial || result.late || result.count != in.size() ||
            (!world.parted && in.size() != simulation_->members_of(result.round).size()))
            wrong("got a wrong sum of round " + std::to_string(result.round) + ", chunk " +
                  std::to_string(result.chunk));
    }

    void miss(std::uint32_t round, std::uint32_t chunk) override {
        const bool is_farewell = simulation_->world_.finishes && round >= simulation_->world_.vectors.size();
        if (!simulation_->may_be_partial() && !(is_farewell && simulation_->may_begin_anew()))
            wrong("misses a sum");
        if (!taken_.insert({round, chunk}).second)
            wrong("misses what it took");
        missed_.insert({round, chunk});
        count_down(round);
        if (simulation_->world_.spares)
            spare_behind(round, chunk);
    }
    bool spares_missed(std::uint32_t) const override { return simulation_->world_.spares; }
    std::span<const float> source(std::uint32_t, std::uint32_t) const override {
        static constexpr float any = 0;
        return {&any, 1};
    }

    // Follows from the chunk alone, or from its exponent.
    bool spares(const RoundResult &result, std::span<const std::uint64_t>,
                std::uint32_t) const override {
        return spares_behind(result);
    }

    /// Whether both were given a sum of one chunk, and not the same.
    [[nodiscard]] bool differs(const Worker &other) const {
        return std::ranges::any_of(sums_, [&](const auto &sum) {
            const auto theirs = other.sums_.find(sum.first);
            return theirs != other.sums_.end() && theirs->second != sum.second;
        });
    }
    /// Queues as many vectors as may be under way.
    void queue_vectors() {
        const auto &vectors = simulation_->world_.vectors;
        if (is_late_ && !child->is_running() && !first_)
            return;
        if (is_late_ && !first_) { // its first round is what the others' vectors have come to
            first_ = summed_ = child->next_round();
            added_ = summed_;
        }
        if (leaves() && added_ >= its_vectors()) {
            // A Collective has proved the way before its first vector.
            if (child->is_idle() && child->is_running() && child->is_way_proven() && !until_) {
                until_ = child->next_round();
                child->leave();
            }
            return;
        }
        while (simulation_->world_.skips && left_.empty() && child->behind() > 1)
            skip_vector();
        while (left_.size() < simulation_->world_.under_way) {
            // Elsewhere training goes on: who just stops can't help others when a node restarts.
            if (simulation_->world_.finishes && added_ >= vectors.size())
                return bid_farewell();
            if (leaves() && added_ >= its_vectors())
                return;
            const bool odd = is_odd(child->next_round());
            const std::uint32_t chunks = chunks_of_next() + (odd ? child->next_round() % 2 : 0);
            added_++;
            left_[child->next_round()] = chunks_[child->next_round()] = chunks;
            child->add(chunks, simulation_->world_.lag, simulation_->tai(),
                       {.workers = static_cast<std::uint16_t>(simulation_->world_.workers),
                        .content = OLAF_CONTENT_INT64,
                        .last = static_cast<std::uint16_t>(odd ? 2 : 1)});
        }
    }
    /// Vectors that it took no part in.
    [[nodiscard]] unsigned lives() const { return lives_; }
    [[nodiscard]] unsigned skipped() const { return skipped_; }
    /// Chunks that it packed by another exponent than before.
    [[nodiscard]] unsigned packed_anew() const { return packed_anew_; }
    /// Whether this process has ended: nothing is sent and taken any more.
    [[nodiscard]] bool gone() const {
        return is_dead_ || child->has_left() || has_finished();
    }
    /// With its farewell, or it was told that another one has begun anew while it waited for that.
    [[nodiscard]] bool has_finished() const {
        const RoundWorld &world = simulation_->world_;
        return world.finishes && !is_dead_ &&
               summed_ >= world.vectors.size() + (world.finishes_at_once ? 0 : 1);
    }
    /// It has begun anew, and no other one is in a session with it.
    [[nodiscard]] bool waits_for_a_session() const { return !is_dead_ && child->session() == 0; }
    [[nodiscard]] bool done() const {
        if (simulation_->world_.odd_worker)
            return child->failure().has_value();
        if (leaves())
            return child->has_left();
        return !is_dead_ && summed_ >= simulation_->world_.vectors.size() && (!is_late_ || first_);
    }
    /// It joins those that are summing already.
    void comes_late() {
        is_late_ = true;
        first_.reset();
        forget();
        begin();
        child->join();
    }
    /// It was killed, or has failed and does nothing until it is told to begin anew.
    void die() { is_dead_ = true; }
    /// With its first vector.
    void begin_anew() {
        is_dead_ = false;
        added_ = 0;
        summed_ = 0;
        forget();
        begin();
    }
    /// Whether it has joined, or is to.
    [[nodiscard]] bool is_late() const { return is_late_; }
    /// Of the process that there is now.
    [[nodiscard]] std::uint64_t incarnation() const { return options_.incarnation; }
    /// A node that forgot knows nothing of who has joined since it was set up.
    [[nodiscard]] bool may_join_anew() const {
        return is_late_ && simulation_->world_.restarts > 0;
    }
    /// Is its part in the sums of that round?
    [[nodiscard]] bool is_in(std::uint32_t round) const {
        return (!is_late_ || (first_ && round >= *first_)) && (!until_ || round < *until_);
    }

    std::unique_ptr<RoundChild> child; ///< a process's: another one where it begins anew
    std::uint64_t pace = 100;          ///< nanoseconds a message
    std::uint64_t busy_until = 0;
    std::uint64_t wakes_at = UINT64_MAX; ///< the next wake event

  private:
    void forget() {
        left_.clear();
        taken_.clear();
        given_.clear();
        told_.clear();
        missed_.clear();
        sums_.clear();
    }
    // A process of its own, with another incarnation.
    void begin() {
        options_.incarnation =
            value(simulation_->world_.seed ^ std::uint64_t{0x51ed} << 40, number_, lives_++);
        options_.run = {.training = 1, .number = simulation_->newest_run()};
        child = std::make_unique<RoundChild>(options_, *this);
        prove();
    }
    // In half of the worlds, and even beside contributions. A Collective proves the way before it contributes: so
    // it isn't told to agree anew, whose short answers would count.
    void prove() {
        if (simulation_->world_.seed % 2 != 0 && !simulation_->world_.disturbed && !simulation_->world_.other_exponents)
            child->prove_way();
    }
    [[nodiscard]] std::uint32_t chunks_of_next() const {
        const auto &vectors = simulation_->world_.vectors;
        return added_ < vectors.size() ? vectors[added_] : 1;
    }
    void skip_vector() {
        child->skip(chunks_of_next());
        added_++;
        summed_++;
        skipped_++;
    }
    [[nodiscard]] bool is_odd(std::uint32_t round) const {
        return simulation_->world_.odd_worker == number_ && round >= simulation_->world_.odd_round;
    }
    [[nodiscard]] bool leaves() const { return simulation_->world_.leaving.contains(number_); }
    [[nodiscard]] std::size_t its_vectors() const {
        const RoundWorld &world = simulation_->world_;
        return world.vectors.size() - std::min<std::size_t>(world.fewer, world.vectors.size() - 1);
    }
    // Only with all sums: so whoever holds the farewell's result knows that all have all sums.
    void bid_farewell() {
        if (!done() || added_ > simulation_->world_.vectors.size() ||
            simulation_->world_.finishes_at_once)
            return;
        added_++;
        left_[child->add_farewell(simulation_->tai())] = 1;
    }
    [[nodiscard]] bool spares_behind(const RoundResult &result) const {
        const RoundWorld &world = simulation_->world_;
        const std::uint64_t own = world.spares_by_worker ? number_ : 0;
        if (world.other_exponents)
            return world.spares && result.chunk < world.lag && result.exponent % 2 == 0;
        return world.spares && value(7 + own, result.round, result.chunk) % 2 == 0;
    }
    [[nodiscard]] bool follows(std::uint32_t chunk) const {
        return simulation_->world_.lag > 0 && chunk >= simulation_->world_.lag;
    }
    void pack(std::uint32_t round, std::uint32_t chunk, std::int16_t by,
              std::span<std::uint64_t> lanes) const {
        lanes[0] = value(incarnation(), round, chunk);
        lanes[1] = incarnation();
        lanes[2] = static_cast<std::uint64_t>(std::int64_t{by});
        lanes[3] = lanes[2] * lanes[2];
    }
    // Of n numbers all are the same if n times the sum of their squares is the square of their sum.
    [[nodiscard]] static bool is_of_one_exponent(const RoundResult &result,
                                                 std::span<const std::uint64_t> lanes) {
        return result.count * lanes[3] == lanes[2] * lanes[2];
    }
    // A chunk that tells an exponent gives no sum, unless it brings that of the chunk that follows.
    void note_sum(const RoundResult &result, std::span<const std::uint64_t> lanes) {
        const std::uint32_t lag = simulation_->world_.lag;
        const bool leads = lag > 0 && lag < result.chunks - result.chunk;
        if (result.chunks != kFarewellChunks && (!leads || spares_behind(result)))
            sums_[{result.round, result.chunk}] = {result.count, lanes[0], lanes[2]};
    }
    void spare_behind(std::uint32_t round, std::uint32_t chunk) {
        const std::uint32_t lag = simulation_->world_.lag;
        if (chunk + lag >= chunks_[round])
            return;
        if (!taken_.insert({round, chunk + lag}).second)
            wrong("spares what it took");
        count_down(round);
    }
    void count_down(std::uint32_t round) {
        left_[round]--;
        while (left_.contains(summed_) && left_[summed_] == 0)
            left_.erase(summed_++);
    }
    // Who is in a sum follows from the sum of their incarnations.
    void knows_of_its_part(const RoundResult &result, std::span<const std::uint64_t> lanes) {
        if (result.chunks == kFarewellChunks)
            return;
        const auto count = simulation_->workers_.size();
        for (std::uint32_t set = 0; set < 1U << count; set++) {
            std::uint64_t processes = 0;
            for (std::size_t i = 0; i < count; i++)
                processes += set >> i & 1 ? simulation_->workers_[i]->incarnation() : 0;
            if (processes == lanes[1] && (set >> number_ & 1) == (result.late ? 1U : 0U))
                wrong("is told a lie about its part in a sum");
        }
    }
    // Whatever is in it, all get the same; whole sums even where all began anew.
    void is_the_same(const RoundResult &result, std::uint64_t sum) {
        if (!result.partial) {
            const auto [whole, is_new] =
                simulation_->whole_.try_emplace({result.round, result.chunk}, sum);
            if (!is_new && whole->second != sum)
                wrong("got another whole sum than others");
        }
        const auto [first, is_first] =
            simulation_->sums_.try_emplace({result.generation, result.round, result.chunk}, sum);
        if (!is_first && first->second != sum)
            wrong("got another sum than others");
        const bool members_are_known =
            simulation_->world_.late.empty() && simulation_->world_.leaving.empty();
        if (!result.partial && members_are_known && result.count != simulation_->world_.workers)
            wrong("isn't told that somebody is missing");
    }
    void wrong(const std::string &what) {
        simulation_->wrong_ = "worker " + std::to_string(number_) + " " + what;
    }

    RoundChildOptions options_;
    RoundSimulation *simulation_;
    std::uint32_t number_;
    std::uint32_t lives_ = 0; // so far
    bool is_late_ = false;
    bool is_dead_ = false;
    std::optional<std::uint32_t> first_, until_; // rounds: its first; the first without it
    std::size_t added_ = 0;
    unsigned skipped_ = 0;
    unsigned packed_anew_ = 0;
    std::uint32_t summed_ = 0; // rounds, from the first one on
    std::map<std::uint32_t, std::uint32_t> left_,
        chunks_; // without a sum, and all of them, by round
    std::set<std::pair<std::uint32_t, std::uint32_t>> taken_, given_, missed_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int16_t> told_; // exponents
    // That were given to the vector: count, and lanes.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<std::uint64_t, 3>> sums_;
};

} // namespace olaf::model
