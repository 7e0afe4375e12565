// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/collective.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <string>
#include <utility>

#include <olaf/clock.hpp>
#include <olaf/rounds.h>
#include <olaf/segments.hpp>
#include <olaf/try.hpp>

#include "endpoints/rounds/member.hpp"
#include "endpoints/rounds/run.hpp"
#include "endpoints/wire/block_exponent.hpp"

namespace olaf {
namespace {

Result<void> check(const CollectiveOptions &options) {
    const auto refuse = [&](std::string reason) {
        return fail("take part in", "job " + std::to_string(options.job), 0, {}, std::move(reason));
    };
    if (options.job == OLAF_EVERY_WORKER)
        return refuse("that id is nobody's");
    if (options.rank >= OLAF_RANKS)
        return refuse("ranks are 0 to " + std::to_string(OLAF_RANKS - 1));
    if (options.workers == 0)
        return refuse("say how many workers it has");
    if (options.workers > OLAF_LIMIT_MAX_COUNT)
        return refuse("it has " + std::to_string(OLAF_LIMIT_MAX_COUNT) + " workers at most");
    if (options.ahead == 0)
        return refuse("exponents must travel ahead by at least one chunk");
    if (options.format == Format::f32x2)
        return {};
    return validate({.format = options.format, .max_count = options.workers});
}

// A guess may lose the bits that a float32 doesn't have.
unsigned bits_to_lose(const CollectiveOptions &options) {
    constexpr int kFloatBits = 24;
    if (options.workers == 0 || options.format == Format::f32x2)
        return 0;
    const int bits = bits_of_block(options.format, options.workers);
    return static_cast<unsigned>(std::max(0, bits - kFloatBits));
}

// The checksum of a sum of floats isn't the sum of their checksums: f32x2 has none.
CollectiveOptions completed(CollectiveOptions options) {
    options.checksum = options.checksum && options.format != Format::f32x2;
    options.guess_bits = std::min(options.guess_bits, bits_to_lose(options));
    return options;
}

// The most lanes of a frame: the room of the MTU, and of a node that adds floats.
std::size_t room_of(const CollectiveOptions &options) {
    const std::size_t room = lanes_in_mtu(options.mtu, options.node.is_ipv6());
    return options.format == Format::f32x2
               ? std::min<std::size_t>(room, OLAF_MAX_LANES / OLAF_FLOAT_LANES)
               : room;
}

constexpr std::size_t kUsualMtu = 1500; // of Ethernet
// How often a start() that fails says so, and how long it waits for each answer.
constexpr unsigned kTakesBack = 3;
constexpr auto kAnswerWithin = std::chrono::milliseconds(20);
// A member that waited in vain gives the others this long to say that they are there.
constexpr auto kRollCall = std::chrono::seconds(1);

} // namespace

std::uint64_t random_incarnation() {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
}

Result<std::unique_ptr<CollectiveMember>> CollectiveMember::open(const CollectiveOptions &given) {
    CollectiveOptions options = completed(given);
    OLAF_TRY(check(options));
    const olaf_run run = OLAF_TRY(
        run_of_process(options.run, options.run_number, "job " + std::to_string(options.job)));
    RoundSockets sockets = OLAF_TRY(
        RoundSockets::open(options.node, options.group,
                           {.receive = options.receive_buffer, .send = options.send_buffer}));
    if (options.mtu == 0)
        options.mtu = OLAF_TRY(sockets.node().mtu());
    const std::size_t room = room_of(options);
    const std::size_t lanes = options.lanes == 0 ? room : options.lanes;
    if (lanes > room || lanes < (options.checksum ? 2U : 1U))
        return fail("take part in", "job " + std::to_string(options.job), 0,
                    "lower the lanes or raise the MTU",
                    "a frame has room for " + std::to_string(room) + " lanes");
    return std::unique_ptr<CollectiveMember>(
        new CollectiveMember(options, run, static_cast<std::uint16_t>(lanes), std::move(sockets)));
}

// ---- sending and receiving ----

void CollectiveMember::begin_anew(std::uint64_t incarnation) {
    RoundVectors &vectors = *this;
    before_ = child_ ? stats() : CollectiveStats{};
    child_.emplace(RoundChildOptions{.job = options_.job,
                                     .rank = options_.rank,
                                     .lanes = lanes_,
                                     .adapts = options_.lanes == 0,
                                     .format = options_.format,
                                     .has_checksum = options_.checksum,
                                     .workers = options_.workers,
                                     .hears_group = options_.group.family() != AF_UNSPEC,
                                     .gso = options_.gso,
                                     .incarnation = incarnation,
                                     .run = run_},
                   vectors);
    broken_.reset();
    refusal_.reset();
    joined_at_.reset();
    has_ended_ = false;
}

CollectiveStats CollectiveMember::stats() const {
    CollectiveStats sum = before_;
    sum += child_->stats();
    return sum;
}

// Whether frames of this member wait in its own host, or may have left it since the last question:
// then their answers are still under way.
bool CollectiveMember::host_holds_unsent() {
    const bool holds = sockets_.node().holds_unsent();
    return std::exchange(held_unsent_, holds) || holds;
}

// All that the child has to send now; `again`: what is overdue, too.
Result<void> CollectiveMember::send_all(bool again) {
    const std::int64_t tai = tai_now_ns();
    for (bool full = true; full;) {
        while (!sending_.is_full()) {
            const auto time = now(); // one for both: what is overdue by it has been asked for
            if (again && child_->is_overdue(time) && host_holds_unsent())
                child_->is_held_up(time);
            const auto sending = child_->next(time, tai, again);
            if (!sending)
                break;
            // Repetitions come first. What is packed from here on waits for this loop, and the
            // answers to it for the next poll(): neither is late.
            again = again && sending->again;
            sending_.add(sending->header, sending->lanes, sending->joins);
        }
        full = sending_.is_full();
        const auto sent = sending_.send(sockets_.node(), options_.send_patience);
        before_.unsent += sent.unsent;
        before_.joined += sent.joined;
        if (sent.cannot_cut)
            child_->stop_gso();
        if (sent.last_errno == EPERM || sent.last_errno == EACCES)
            refusal_ = Refusal{.code = sent.last_errno};
        if (sent.last_errno == EMSGSIZE)
            return give_up("its frames are too long", EMSGSIZE,
                           "lower the mtu to that of the interface, at every worker");
    }
    return {};
}

// Whoever gives up has asked where to begin before, and what refuses that is told. The stream of
// contributions is sent as if nothing was heard.
void CollectiveMember::hear_refusals(bool hears) {
    if (std::exchange(hears_refusals_, hears) != hears)
        sockets_.node().hear_refusals(hears);
}

// What the way carries, if it was said to be less than the job's frames. Whoever says so may lie.
std::optional<std::size_t> CollectiveMember::narrow_way() const {
    const auto told = sockets_.node().told_mtu();
    return told && *told < packet_of_lanes(lanes_, options_.node.is_ipv6()) ? told : std::nullopt;
}

// One batch of each socket at most. Returns the size of the fuller one.
Result<std::size_t> CollectiveMember::receive() {
    const std::size_t own = OLAF_TRY(receive_from(sockets_.node()));
    // A node may just be restarting. So what refuses is told at the timeout, and ends no wait.
    if (own == 0)
        if (const auto newest = sockets_.node().refusal(); newest && newest->code != EMSGSIZE)
            refusal_ = newest;
    const UdpSocket *group = sockets_.group();
    return group == nullptr ? own : std::max(own, OLAF_TRY(receive_from(*group)));
}

Result<std::size_t> CollectiveMember::receive_from(const UdpSocket &socket) {
    const std::size_t received = OLAF_TRY(batch_.receive(socket));
    for (std::size_t message = 0; message < received; message++) {
        if (batch_.cut_off(message)) {
            before_.rejected.add(Reject::wrong_length);
            continue;
        }
        const auto bytes = batch_.bytes(message);
        const std::size_t lanes =
            bytes.size() < sizeof(olaf_header)
                ? 0
                : (bytes.size() - sizeof(olaf_header)) / sizeof(std::uint64_t);
        const auto taken = child_->take(bytes, batch_.lanes(message, lanes), now());
        if (taken) {
            refusal_.reset();
            other_version_.reset();
        } else if (taken.error() == Reject::wrong_version) {
            other_version_ = version_of(bytes);
        }
    }
    return received;
}

Result<void> CollectiveMember::poll() {
    for (std::size_t i = 0; i < kMostBatches; i++) {
        if (broken_)
            return std::unexpected(*broken_);
        const auto received = receive();
        if (!received)
            return give_up(received.error().message());
        // A worker that didn't run for a while mostly finds overdue results in its socket.
        const bool is_empty = *received < batch_.size();
        hear_refusals(!child_->is_running());
        OLAF_TRY(send_all(is_empty));
        while (!vectors_.empty() && vectors_.front().left == 0) {
            Vector &vector = vectors_.front();
            if (has_joined_nobody(vector))
                return give_up(
                    "this worker joined a job that hasn't started: no other one sums in it", 0,
                    "set the job anew (olaf job remove, olaf job set), and start() at every "
                    "worker; join() is for a job that is running");
            if (vector.wrong)
                end(vector, std::unexpected(*vector.wrong));
            else if (vector.missed == 0)
                end(vector, vector.report);
            else
                end(vector, fail("sum vectors of", "job " + std::to_string(options_.job), 0,
                                 "lengthen the job's deadline, or raise its threshold or pool",
                                 std::to_string(vector.missed) +
                                     " chunks were summed without this worker, too long ago"));
            joined_at_.reset();
            vectors_.pop_front();
        }
        if (child_->failure())
            return give_up(child_->failure()->reason, 0, child_->failure()->hint);
        if (is_empty)
            break;
    }
    return {};
}

// The job can't go on: every vector under way fails, and so does every call until start().
Result<void> CollectiveMember::give_up(std::string what, int code, std::string hint) {
    broken_ = Error{.operation = "sum vectors of",
                    .object = "job " + std::to_string(options_.job) + " at " + options_.node.text(),
                    .code = code,
                    .reason = std::move(what),
                    .hint = std::move(hint)};
    for (Vector &vector : vectors_)
        end(vector, std::unexpected(*broken_));
    vectors_.clear();
    return std::unexpected(*broken_);
}

void CollectiveMember::end(Vector &vector, Result<SumReport> report) {
    if (!report)
        spoil(vector.element, vector.data, vector.elements);
    vector.state->report = std::move(report);
    vector.state->done = true;
}

// ---- waiting: for members, for sums, and until nobody needs this one any more ----

// What to do when the time is over. Where all members have agreed and no sum has come since, the
// node drops contributions, or frames with lanes don't get through.
std::string CollectiveMember::remedy(const Waiting &waiting) const {
    if (other_version_)
        return "install the same release of Olaf at the node and at every worker";
    if (const auto mtu = narrow_way())
        return "set the job with --lanes " +
               std::to_string(lanes_in_mtu(*mtu, options_.node.is_ipv6())) +
               ": the way is said to carry IP packets of " + std::to_string(*mtu) +
               " bytes; then start() again, at every worker";
    if (refusal_)
        return remedy_of(*refusal_, options_.job, options_.node) + "; then start() again";
    const auto &stats = child_->stats();
    const bool never = stats.sent != 0 && stats.results == 0 && !child_->is_strange();
    if (!never && !child_->all_are_there())
        return waiting.hint;
    const auto bytes = packet_of_lanes(lanes_, options_.node.is_ipv6());
    return "see that every worker sums; if so, that the job isn't halted and has " +
           std::to_string(lanes_) +
           " lanes (olaf job list DEV), and that the way carries IP packets of " +
           std::to_string(bytes) + " bytes, or lower the mtu at every worker; then " + waiting.hint;
}

std::string CollectiveMember::versions() const {
    return other_version_
               ? "; the node speaks version " + std::to_string(*other_version_) +
                     " of the protocol, this process version " + std::to_string(OLAF_ROUNDS_VERSION)
               : "";
}

// While a rank's process is known, a node hears no other process of that rank.
std::string CollectiveMember::rank_is_taken() const {
    return "if another process had this rank within the queue's --member-timeout, ";
}

// Polls and waits until `done()`; fails when nothing moved forward for too long. While it sleeps,
// other threads may add vectors, wait, and begin anew.
Result<void> CollectiveMember::progress_until(const std::function<bool()> &done,
                                              const Waiting &waiting) {
    const RoundChild::Time began = now();
    RoundChild::Time looked_up = began;
    RoundChild::Time called = RoundChild::kNever; // when the roll call since the last sum began
    for (;;) {
        if (done())
            return {};
        OLAF_TRY(poll());
        if (done())
            return {};
        const RoundChild::Time time = now();
        const RoundChild::Time since = std::max(began, child_->last_progress());
        if (since > called)
            called = RoundChild::kNever;
        const bool calls = called != RoundChild::kNever;
        const RoundChild::Time patience = calls ? called + kRollCall : since + waiting.timeout;
        if (time >= patience) {
            if (calls || !child_->ask_who_is_missing())
                return give_up("nothing came for " +
                                   std::to_string((time - began) / std::chrono::milliseconds(1)) +
                                   " ms; missing: " + child_->missing(time) +
                                   (refusal_ ? "; " + in_words(*refusal_) : "") + versions(),
                               ETIMEDOUT, remedy(waiting));
            called = time;
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
        begin_anew(random_incarnation());
    return agree();
}

Result<void> CollectiveMember::start_as(std::uint64_t incarnation) {
    if (!vectors_.empty())
        static_cast<void>(give_up("the job began anew"));
    begin_anew(incarnation);
    return agree();
}

Result<void> CollectiveMember::ask_anew() {
    child_->ask_anew();
    return send_all(false);
}

Result<void> CollectiveMember::agree() {
    child_->start();
    const std::string hint = "see that the job is set there and its parent, if it has one, answers "
                             "(olaf job list DEV, olaf doctor); " +
                             rank_is_taken() + "release the job (olaf job release DEV " +
                             std::to_string(options_.job) +
                             "); then start() again, at every worker";
    if (auto all = progress_until([this] { return child_->is_running(); },
                                  {.timeout = options_.timeout, .hint = hint.c_str()});
        !all) {
        if (!child_->is_refused()) // else it asked nothing that counts
            take_question_back();
        return all;
    }
    return take_shape();
}

// Else the others could agree with this start(), which is over, and fail as soon as the next one
// asks. Whoever is still there asks anew. If this is lost, or no answer has told the job's
// generation, they fail so. A generation that has moved on meanwhile is told in the answer.
void CollectiveMember::take_question_back() {
    std::uint32_t named = 0;
    for (unsigned i = 0; i < kTakesBack && child_->told_generation() != named; i++) {
        named = child_->told_generation();
        send_reset(named);
        const auto answered = sockets_.readable_within(kAnswerWithin);
        if (!answered || !*answered || !receive())
            return;
    }
}

void CollectiveMember::send_reset(std::uint32_t generation) {
    olaf_header header = encode(JobSync{.action = OLAF_CONTROL_RESET,
                                        .job = options_.job,
                                        .rank = options_.rank,
                                        .stamp = tai_now_ns(),
                                        .generation = generation});
    iovec part = {.iov_base = &header, .iov_len = sizeof(header)};
    mmsghdr message = {.msg_hdr = {.msg_name = nullptr,
                                   .msg_namelen = 0,
                                   .msg_iov = &part,
                                   .msg_iovlen = 1,
                                   .msg_control = nullptr,
                                   .msg_controllen = 0,
                                   .msg_flags = 0},
                       .msg_len = 0};
    static_cast<void>(sockets_.node().send(&message, 1, std::chrono::nanoseconds(0)));
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

// A switch between two wider devices drops long frames and says nothing.
Result<void> CollectiveMember::prove_way(std::size_t bytes) {
    child_->prove_way();
    OLAF_TRY(
        progress_until([this] { return child_->is_way_proven() || child_->is_way_too_narrow(); },
                       {.timeout = options_.timeout}));
    if (child_->is_way_proven())
        return {};
    const std::size_t mtu = narrow_way().value_or(kUsualMtu);
    return give_up(
        "IP packets of " + std::to_string(bytes) +
            " bytes, as the job's contributions are, don't get to the node and back; short "
            "ones do",
        EMSGSIZE,
        "raise the MTU of what is between this worker and the node, or set the job with "
        "fewer --lanes (" +
            std::to_string(lanes_in_mtu(mtu, options_.node.is_ipv6())) + " fit an MTU of " +
            std::to_string(mtu) + "); then start() again, at every worker");
}

Result<std::uint32_t> CollectiveMember::join() {
    if (!vectors_.empty())
        static_cast<void>(give_up("the job began anew"));
    begin_anew(random_incarnation());
    child_->join();
    const std::string hint =
        "if the job hasn't started, start() at every worker in place of join(); " +
        rank_is_taken() + "take it out (olaf job leave DEV " + std::to_string(options_.job) + " " +
        std::to_string(options_.rank) + "); then join() again";
    OLAF_TRY(progress_until([this] { return child_->is_running(); },
                            {.timeout = options_.timeout, .hint = hint.c_str()}));
    OLAF_TRY(take_shape());
    joined_at_ = child_->next_round();
    return *joined_at_;
}

// Rounds count from 0, and a joining begins with the next one: so a member of a job in which others
// have summed joins it later than in round 1, or sums with them in that round.
bool CollectiveMember::has_joined_nobody(const Vector &vector) const {
    return joined_at_ && vector.round == *joined_at_ && *joined_at_ <= 1 && options_.workers > 1 &&
           vector.missed == 0 && vector.report.least_count == 1 && vector.report.partial == 0;
}

Result<SumReport> take_report(Collective::Impl::State &state) {
    if (!state.report)
        return fail("wait for a sum", {}, 0, {}, "it was waited for already");
    return *std::exchange(state.report, std::nullopt);
}

Result<SumReport> CollectiveMember::wait(State &state, const Sleep &sleep) {
    // A vector that failed is done, too.
    static_cast<void>(
        progress_until([&] { return state.done; }, {.timeout = options_.timeout, .sleep = sleep}));
    return take_report(state);
}

// docs/rounds.md, "Members".
Result<bool> CollectiveMember::leave(std::chrono::nanoseconds timeout) {
    if (broken_)
        return std::unexpected(*broken_);
    const auto all_ended = [this] { return vectors_.empty(); };
    OLAF_TRY(progress_until(all_ended, {.timeout = options_.timeout}));
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
    OLAF_TRY(progress_until(all_ended, patience));
    bool known = true;
    if (!child_->is_strange()) {
        const auto operation = add_farewell();
        OLAF_TRY(progress_until(all_ended, patience));
        // A farewell that was missed, or lacks a member, says nothing about all. In a job that
        // takes any contributions only the count tells that a member is missing.
        const auto farewell = take_report(*operation);
        known = farewell && farewell->partial == 0 && farewell->least_count >= options_.workers;
    }
    end_with("finished", "start() again, at every worker");
    return known;
}

// ---- what is public ----

Collective::Collective(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Collective::Collective(Collective &&) noexcept = default;
Collective &Collective::operator=(Collective &&) noexcept = default;
Collective::~Collective() {
    // Its locks and threads are those of the process that forked. Nothing of them can be ended
    // here.
    if (impl_ && impl_->is_forked())
        static_cast<void>(impl_.release());
}

bool Collective::Impl::is_forked() const {
    return ::getpid() != process_;
}

Result<void> Collective::Impl::check_process() const {
    if (!is_forked())
        return {};
    return fail("use a Collective", "made by process " + std::to_string(process_), 0,
                "make one here, with a rank of its own", "this process was forked from it");
}

Result<Collective> Collective::make(const CollectiveOptions &options) {
    if (options.threads == 1)
        return Collective(OLAF_TRY(CollectiveMember::open(options)));
    return Collective(OLAF_TRY(open_threads(options)));
}

Result<void> Collective::start() {
    OLAF_TRY(impl_->check_process());
    return impl_->start();
}
Result<bool> Collective::finish() {
    OLAF_TRY(impl_->check_process());
    return impl_->finish({});
}
Result<bool> Collective::finish(std::chrono::nanoseconds timeout) {
    OLAF_TRY(impl_->check_process());
    return impl_->finish(timeout);
}
Result<std::uint32_t> Collective::join() {
    OLAF_TRY(impl_->check_process());
    return impl_->join();
}
Result<bool> Collective::leave(std::chrono::nanoseconds timeout) {
    OLAF_TRY(impl_->check_process());
    return impl_->leave(timeout);
}

Result<Collective::Operation> Collective::allreduce_async(std::span<float> vector,
                                                          Combine combine) {
    OLAF_TRY(impl_->check_process());
    return Operation(impl_.get(), OLAF_TRY(impl_->add(Impl::Element::f32, vector.data(),
                                                      vector.size(), combine, Impl::Part::all)));
}
Result<Collective::Operation> Collective::allreduce_async(std::span<std::int64_t> vector) {
    OLAF_TRY(impl_->check_process());
    return Operation(impl_.get(),
                     OLAF_TRY(impl_->add(Impl::Element::i64, vector.data(), vector.size(),
                                         Combine::sum, Impl::Part::all)));
}
Result<Collective::Operation> Collective::allreduce_async(std::span<std::int32_t> vector) {
    OLAF_TRY(impl_->check_process());
    return Operation(impl_.get(),
                     OLAF_TRY(impl_->add(Impl::Element::i32, vector.data(), vector.size(),
                                         Combine::sum, Impl::Part::all)));
}
Result<Collective::Operation> Collective::follow_async(std::span<float> vector) {
    OLAF_TRY(impl_->check_process());
    return Operation(impl_.get(),
                     OLAF_TRY(impl_->add(Impl::Element::f32, vector.data(), vector.size(),
                                         Combine::sum, Impl::Part::nothing)));
}
void Collective::overhear(std::size_t elements) {
    if (!impl_->is_forked())
        impl_->overhear(elements);
}
bool Collective::take_overheard(std::span<float> vector) {
    return !impl_->is_forked() && impl_->take_overheard(vector);
}

Result<SumReport> Collective::Operation::wait() {
    OLAF_TRY(impl_->check_process());
    return impl_->wait(*state_, {});
}
Result<SumReport> Collective::Operation::wait_with(const Sleep &sleep) {
    OLAF_TRY(impl_->check_process());
    return impl_->wait(*state_, sleep);
}
bool Collective::Operation::done() const {
    return impl_->is_forked() || impl_->is_done(*state_);
}

Result<void> Collective::poll() {
    OLAF_TRY(impl_->check_process());
    return impl_->poll();
}
CollectiveStats Collective::stats() const {
    return impl_->is_forked() ? CollectiveStats{} : impl_->stats();
}
std::uint32_t Collective::next_round() const {
    return impl_->is_forked() ? 0 : impl_->next_round();
}
int Collective::fd() const {
    return impl_->fd();
}

} // namespace olaf
