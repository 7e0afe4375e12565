// SPDX-License-Identifier: BSD-2-Clause
// What a Collective waits for: members, sums, and that nobody needs it any more.
#include <algorithm>
#include <cerrno>

#include <olaf/clock.hpp>
#include <olaf/segments.hpp>

#include "collective_member.hpp"

namespace olaf {
namespace {

constexpr auto kLookUpEvery = std::chrono::milliseconds(100);
constexpr std::size_t kUsualMtu = 1500; // of Ethernet
/// Who waits in vain gives the others that long to say that they are there.
constexpr auto kRollCall = std::chrono::seconds(1);

} // namespace

// What to do when the time is over. Where questions were answered and no contribution ever was, either
// other workers are late or contributions don't get through: they are longer, and have the job's shape.
std::string CollectiveMember::remedy(const Waiting &waiting) const {
    const auto &stats = child_->stats();
    if (stats.sent == 0 || stats.results != 0 || child_->is_strange())
        return waiting.hint;
    const auto bytes = packet_of_lanes(lanes_, options_.node.is_ipv6());
    return "see that every worker sums; if so, that the job has " + std::to_string(lanes_) +
           " lanes (olaf job list), and that the way carries IP packets of " + std::to_string(bytes) +
           " bytes, or lower the mtu at every worker; then " + waiting.hint;
}

// A node hears nobody else with the rank of a process that was there a while ago.
std::string CollectiveMember::take_out_hint() const {
    return "if another process had this rank within the queue's --member-timeout, take it out (olaf job leave DEV " +
           std::to_string(options_.job) + " " + std::to_string(options_.rank) + ")";
}

// Polls and waits until `done()`; fails when nothing moved forward for too long. While it sleeps,
// other threads may add vectors, wait, and begin anew.
Result<void> CollectiveMember::progress_until(const std::function<bool()> &done,
                                              const Waiting &waiting) {
    const RoundChild::Time began = now();
    RoundChild::Time looked_up = began;
    RoundChild::Time roll_call = RoundChild::kNever; // when the one that goes on ends
    for (;;) {
        if (done())
            return {};
        if (auto polled = poll(); !polled)
            return polled;
        if (done())
            return {};
        const RoundChild::Time time = now();
        if (child_->is_running())
            roll_call = RoundChild::kNever; // all are there
        const RoundChild::Time since = std::max(began, child_->last_progress());
        const bool calls = roll_call != RoundChild::kNever;
        const RoundChild::Time patience = calls ? roll_call : since + waiting.timeout;
        if (time >= patience) {
            if (calls || !child_->ask_who_is_missing())
                return give_up("nothing came for " +
                                   std::to_string((time - began) / std::chrono::milliseconds(1)) +
                                   " ms; missing: " + child_->missing(time),
                               ETIMEDOUT, remedy(waiting));
            roll_call = time + kRollCall;
            continue;
        }
        const RoundChild::Time end =
            std::min(patience - time, std::max(RoundChild::Time(0), child_->wakes_at() - time));
        if (waiting.sleep.before)
            waiting.sleep.before();
        const auto ready = sockets_.readable_within(
            options_.interrupted ? std::min<RoundChild::Time>(end, kLookUpEvery) : end);
        if (waiting.sleep.after)
            waiting.sleep.after();
        if (!ready)
            return give_up(ready.error().message());
        if (options_.interrupted && now() - looked_up >= kLookUpEvery) {
            looked_up = now();
            if (options_.interrupted())
                return give_up("it was interrupted", EINTR);
        }
    }
}

Result<void> CollectiveMember::start() {
    if (!vectors_.empty())
        static_cast<void>(give_up("the job began anew"));
    if (child_->is_running() || broken_)
        begin_anew();
    child_->start();
    const std::string hint = "see that the job is set there and its parent, if it has one, answers (olaf job list, olaf doctor); " + take_out_hint() +
                             "; then start() again";
    if (auto started = progress_until([this] { return child_->is_running(); },
                                     {.timeout = options_.timeout, .hint = hint.c_str()});
        !started)
        return started;
    return take_shape();
}

// The node has told the job's lanes: the way to it must have room for them.
Result<void> CollectiveMember::take_shape() {
    lanes_ = child_->lanes();
    const auto bytes = packet_of_lanes(lanes_, options_.node.is_ipv6());
    if (bytes <= options_.mtu)
        return prove_way(bytes);
    return give_up("contributions of the job's " + std::to_string(lanes_) +
                       " lanes are IP packets of " + std::to_string(bytes) +
                       " bytes, and the way to the node has an MTU of " +
                       std::to_string(options_.mtu),
                   EMSGSIZE,
                   "raise the MTU of the device to the node, or set the job with --lanes " +
                       std::to_string(lanes_in_mtu(options_.mtu, options_.node.is_ipv6())) +
                       "; then start() again, at every worker");
}

// Devices at both ends may be wider than what is between them, which then drops frames and says nothing.
Result<void> CollectiveMember::prove_way(std::size_t bytes) {
    child_->prove_way();
    if (auto proven = progress_until(
            [this] { return child_->is_way_proven() || child_->is_way_too_narrow(); },
            {.timeout = options_.timeout});
        !proven || child_->is_way_proven())
        return proven;
    return give_up("IP packets of " + std::to_string(bytes) +
                       " bytes, as the job's contributions are, don't get to the node and back; short "
                       "ones do",
                   EMSGSIZE,
                   "raise the MTU of what is between this worker and the node, or set the job with "
                   "fewer --lanes (" +
                       std::to_string(lanes_in_mtu(kUsualMtu, options_.node.is_ipv6())) +
                       " fit an MTU of " + std::to_string(kUsualMtu) +
                       "); then start() again, at every worker");
}

Result<std::uint32_t> CollectiveMember::join() {
    if (!vectors_.empty())
        static_cast<void>(give_up("the job began anew"));
    begin_anew();
    child_->join();
    const std::string hint = "if the job hasn't started, start() at every worker in place of join(); " +
                             take_out_hint() + "; then join() again";
    if (auto joined = progress_until([this] { return child_->is_running(); },
                                     {.timeout = options_.timeout, .hint = hint.c_str()});
        !joined)
        return std::unexpected(joined.error());
    if (auto taken = take_shape(); !taken)
        return std::unexpected(taken.error());
    joined_at_ = child_->next_round();
    return *joined_at_;
}

// Rounds count from 0, and a joining begins with the next one: so a member of a job in which others
// have summed joins it later than in round 1, or sums with them in that round.
bool CollectiveMember::has_joined_nobody(const Vector &vector) const {
    return joined_at_ && vector.round == *joined_at_ && *joined_at_ <= 1 && options_.workers > 1 &&
           vector.missed == 0 && vector.report.least_count == 1 && vector.report.partial == 0;
}

bool CollectiveMember::is_done(std::uint64_t number) const {
    return vectors_.empty() || number < vectors_.front().number;
}

Result<SumReport> CollectiveMember::take_ended(std::uint64_t number) {
    const auto ended =
        std::ranges::find(ended_, number, [](const auto &each) { return each.first; });
    if (ended == ended_.end())
        return fail("wait for a sum", {}, 0, {}, "it was waited for already");
    auto report = std::move(ended->second);
    ended_.erase(ended);
    return report;
}

Result<SumReport> CollectiveMember::wait(std::uint64_t number, const Sleep &sleep) {
    // What fails has ended, too.
    static_cast<void>(progress_until([&] { return is_done(number); },
                                     {.timeout = options_.timeout, .sleep = sleep}));
    return take_ended(number);
}

// docs/rounds.md, "Members".
Result<bool> CollectiveMember::leave(std::chrono::nanoseconds timeout) {
    if (broken_)
        return std::unexpected(*broken_);
    const auto all_ended = [this] { return vectors_.empty(); };
    if (auto summed = progress_until(all_ended, {.timeout = options_.timeout}); !summed)
        return std::unexpected(summed.error());
    child_->leave();
    const RoundChild::Time end = now() + timeout;
    const auto over = [&] { return child_->has_left() || now() >= end; };
    if (auto waited = progress_until(over, {.timeout = timeout}); !waited && now() < end)
        return std::unexpected(waited.error());
    const bool known = child_->has_left();
    end_with("left", "join() it again");
    return known;
}

// No further vector is summed.
void CollectiveMember::end_with(std::string how, std::string hint) {
    has_ended_ = true;
    broken_ = Error{.operation = "sum vectors of",
                    .object = "job " + std::to_string(options_.job),
                    .reason = "this worker has " + std::move(how) + " it",
                    .hint = std::move(hint)};
}

// docs/rounds.md, "Finishing".
Result<bool> CollectiveMember::finish(std::optional<std::chrono::nanoseconds> timeout) {
    if (has_ended_)
        return true;
    if (broken_)
        return std::unexpected(*broken_);
    const Waiting patience = {
        .timeout = timeout.value_or(options_.timeout),
        .hint = "if a node was restarted, that member may lack sums; begin anew with all"};
    const auto all_ended = [this] { return vectors_.empty(); };
    if (auto summed = progress_until(all_ended, patience); !summed)
        return std::unexpected(summed.error());
    bool known = true;
    if (!child_->is_strange()) {
        const std::uint64_t number = add_farewell();
        if (auto waited = progress_until(all_ended, patience); !waited) {
            static_cast<void>(take_ended(number));
            return std::unexpected(waited.error());
        }
        // Missed, or without somebody: then it says nothing about all. Of a job that takes any
        // contributions only the count says so.
        const auto farewell = take_ended(number);
        known = farewell && farewell->partial == 0 && farewell->least_count >= options_.workers;
    }
    end_with("finished", "start() again, at every worker");
    return known;
}

} // namespace olaf
