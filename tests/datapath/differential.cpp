// SPDX-License-Identifier: BSD-2-Clause
#include "differential.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace olaf::test {

namespace {

constexpr std::uint64_t far = UINT64_MAX / 2;
constexpr std::uint64_t any_time = 10'000'000'000; // on the model's clock

model::Config to_model(const olaf_config &config) {
    return {.queue_capacity = config.queue_capacity,
            .ns_per_byte_q24 = config.ns_per_byte_q24,
            .drain_interval_ns = config.drain_interval_ns,
            .activity_window_ns = config.activity_window_ns,
            .frame_overhead = config.frame_overhead};
}

/// Headers and message: enough to see what is wrong.
std::string beginning(std::span<const std::uint8_t> bytes) {
    return hex(bytes.first(std::min<std::size_t>(bytes.size(), 160))) + " (" +
           std::to_string(bytes.size()) + " bytes)";
}

template <class A, class B>
void check(std::ostream &out, const char *what, const A &kernel, const B &model) {
    if (kernel != model)
        out << what << ": kernel " << +kernel << ", model " << +model << "\n";
}

void check_entry(std::ostream &out, const Waiting &kernel, const model::Entry &entry) {
    const auto &model = entry.update;
    const auto &pending = kernel.pending;
    check(out, "state", kernel.place.state, std::uint32_t{OLAF_PLACE_WAITING});
    check(out, "cluster", pending.cluster, model.cluster);
    check(out, "segment", pending.segment, model.segment);
    check(out, "segments", pending.segments, model.segments);
    check(out, "worker", pending.worker, model.worker);
    check(out, "sequence", pending.sequence, model.sequence);
    check(out, "count", pending.count, model.count);
    check(out, "generated_ns", pending.generated_ns, model.generated_ns);
    check(out, "reward", pending.reward, model.reward);
    check(out, "model_version", pending.model_version, model.model_version);
    if (kernel.lanes != model.lanes)
        out << "lanes differ\n";
    if (kernel.headers != model.headers.bytes)
        out << "headers: kernel " << hex(kernel.headers) << ", model "
            << hex(model.headers.bytes) << "\n";
}

/// Kind and detail of the event that tells it.
int told_as(model::Action action) {
    switch (action) {
    case model::Action::appended:
        return OLAF_EVENT_ARRIVAL << 8 | OLAF_JOINED_APPENDED;
    case model::Action::aggregated:
        return OLAF_EVENT_ARRIVAL << 8 | OLAF_JOINED_AGGREGATED;
    case model::Action::replaced:
        return OLAF_EVENT_ARRIVAL << 8 | OLAF_JOINED_REPLACED;
    case model::Action::full:
        return OLAF_EVENT_DROP << 8 | OLAF_DROPPED_FULL;
    case model::Action::reward:
        return OLAF_EVENT_DROP << 8 | OLAF_DROPPED_REWARD;
    case model::Action::sealed:
        return OLAF_EVENT_DROP << 8 | OLAF_DROPPED_SEALED;
    case model::Action::misfit:
        return OLAF_EVENT_DROP << 8 | OLAF_DROPPED_MISFIT;
    case model::Action::refused:
        return OLAF_EVENT_DROP << 8 | OLAF_DROPPED_NOT_ALLOWED;
    case model::Action::damaged:
        return OLAF_EVENT_DROP << 8 | OLAF_DROPPED_MALFORMED;
    case model::Action::passed_through:
        break;
    }
    return -1;
}

/// How long a frame can become: to the end of its last buffer. The runner's buffers are pages.
std::size_t room_of(const Frame &frame, std::size_t linear) {
    const auto first = linear == 0 ? linear_limit : linear;
    if (frame.size() <= first)
        return linear_limit;
    constexpr std::size_t page = 4096;
    return first + (frame.size() - first + page - 1) / page * page;
}

} // namespace

model::Update to_model(const Update &update, const Frame &frame) {
    model::Update out{.cluster = update.cluster,
                      .worker = update.worker,
                      .sequence = update.sequence,
                      .count = update.count,
                      .generated_ns = update.generated_ns,
                      .reward = update.reward,
                      .model_version = update.model_version,
                      .segment = update.segment,
                      .segments = update.segments,
                      .shape = {update.wire_lanes(), update.format, update.checksum},
                      .lanes = {},
                      .headers = {{frame.bytes.begin(),
                                   frame.bytes.begin() + static_cast<long>(frame.message)},
                                  frame.l3,
                                  frame.l4,
                                  frame.family}};
    for (std::size_t i = 0; i < update.wire_lanes(); i++)
        out.lanes.push_back(get_le64(frame.bytes, frame.message + 48 + 8 * i));
    const auto sum = get_be(frame.bytes, frame.l4 + 6, 2);
    out.damaged = sum != 0 && sum != udp_checksum(frame.bytes, frame.l3, frame.l4);
    return out;
}

Differential::Differential(const DatapathConfig &config)
    : kernel_(config), model_(to_model(kernel_.config())) {
    listener_.listen();
}

void Differential::set_rule(std::uint32_t cluster, const olaf_rule &rule) {
    static constexpr model::Policy policies[] = {model::Policy::olaf, model::Policy::fifo,
                                                 model::Policy::aggregate, model::Policy::newest};
    kernel_.set_rule(cluster, rule);
    model_.set_rule(cluster, {policies[rule.policy], rule.max_count, rule.reward_threshold});
}

Bytes Differential::token(const Frame &frame, std::uint32_t generation) const {
    Bytes bytes = frame.bytes;
    set_be(bytes, 12, 0x0800, 2);
    std::memcpy(&bytes[14], &kernel_.config().token_secret, 8);
    std::memcpy(&bytes[22], &generation, 4);
    return bytes;
}

Expected Differential::expect(const Update &update, const Frame &frame, bool token_late,
                              std::size_t linear) {
    // A frame that is needed as the token carries no departure.
    const bool token_needed = token_late && !model_.ring().empty();
    auto arriving = to_model(update, frame);
    arriving.first_arrived = arriving.arrived = ++steps_;
    auto outcome = model_.arrive(any_time, arriving, frame.size(),
                                 token_needed ? 0 : room_of(frame, linear));
    seen_[model::name(outcome.action)]++;
    if (outcome.action == model::Action::refused)
        return {XDP_DROP, {}, outcome.action, {}};
    if (outcome.action == model::Action::passed_through)
        return {XDP_PASS, frame.bytes, outcome.action, arriving};
    if (outcome.departure) {
        seen_["departed"]++;
        return {XDP_PASS, model::departing_frame(*outcome.departure), outcome.action,
                outcome.departure};
    }
    if (token_late && !model_.ring().empty()) {
        seen_["token"]++;
        return {XDP_PASS, token(frame, ++generation_), outcome.action, {}};
    }
    return {XDP_DROP, {}, outcome.action, {}};
}

/// What a listener is told of an arrival: what became of it, and then what left in its frame.
void Differential::check_told(std::ostream &out, const Update &update, const Frame &frame,
                              const Ran &ran, const Expected &expected) {
    const bool passed = expected.action == model::Action::passed_through;
    const auto all = listener_.told();
    if (all.size() != (passed ? 1 : expected.departure ? 2 : 1)) {
        out << all.size() << " events\n";
        return;
    }
    const auto check_one = [&](const Told &told, auto kind, const auto &of, const Bytes &bytes) {
        check(out, "event", told.event.kind << 8 | told.event.detail, kind);
        check(out, "its cluster", told.event.cluster, of.cluster);
        check(out, "its worker", told.event.worker, of.worker);
        check(out, "its sequence", told.event.sequence, of.sequence);
        check(out, "its count", told.event.count, of.count);
        check(out, "its bytes", told.event.frame_bytes, bytes.size());
        if (!std::ranges::equal(told.frame, std::span(bytes).first(std::min<std::size_t>(
                                                bytes.size(), OLAF_EVENT_FRAME_MAX))))
            out << "an event with another frame\n";
    };
    // Nothing is told of an update whose header may be another one's, unless it is refused before.
    auto of = update;
    if (expected.action == model::Action::damaged)
        of = {.worker = 0, .sequence = 0, .count = 0};
    else if (expected.action == model::Action::refused) {
        of.worker = static_cast<std::uint32_t>(get_be(frame.bytes, frame.message + 12, 4));
        of.sequence = static_cast<std::uint32_t>(get_be(frame.bytes, frame.message + 16, 4));
    }
    if (!passed)
        check_one(all.front(), told_as(expected.action), of, frame.bytes);
    if (!expected.departure)
        return;
    const auto &left = all.back();
    check_one(left, OLAF_EVENT_DEPARTURE << 8 | (passed ? OLAF_LEFT_PASSED : OLAF_LEFT_RIDING),
              *expected.departure, ran.bytes);
    const auto slot = expected.departure->cluster * kernel_.config().max_segments +
                      expected.departure->segment;
    check(out, "the moment", left.event.time_ns, kernel_.aom(slot).last_ns);
    if (passed) {
        check(out, "its arrival", left.event.arrived_ns, left.event.time_ns);
    } else {
        check(out, "its arrival", left.event.arrived_ns, arrived_.at(expected.departure->arrived));
        check(out, "its first", left.event.first_arrived_ns,
              arrived_.at(expected.departure->first_arrived));
    }
}

std::string Differential::step(const Update &update, const Frame &frame, bool link_free,
                               bool token_late, std::size_t linear) {
    // A link that has only just become free has saved no credit.
    const auto began = monotonic_ns() - 1;
    const auto due = link_free ? began : far, model_due = link_free ? any_time : far;
    model_.pacer.next = model_due;
    kernel_.set_link(due, token_late ? 0 : far);
    std::size_t waited = model_.ring().size();
    auto expected = expect(update, frame, token_late, linear);
    auto ran = kernel_.offer(frame, {.linear_bytes = linear});

    std::ostringstream out;
    check_told(out, update, frame, ran, expected);
    const auto taken = kernel_.ring().next_departure_ns - due;
    if (monotonic_ns() - began < kernel_.config().drain_interval_ns)
        check(out, "the link's time", taken, model_.pacer.next - model_due);
    if (ran.verdict != expected.verdict)
        out << "verdict: kernel " << verdict_name(ran.verdict) << ", model "
            << verdict_name(expected.verdict) << "\n";
    else if (ran.verdict == XDP_PASS && ran.bytes != expected.bytes)
        out << "frame: kernel " << beginning(ran.bytes) << "\n       model "
            << beginning(expected.bytes) << "\n";
    out << compare_state();
    std::string text = out.str();
    if (!text.empty())
        text = "after " + std::to_string(waited) + " waiting, " + model::name(expected.action) +
               " in the model, link " + (link_free ? "free" : "busy") + ":\n" + text;
    return text;
}

std::string Differential::drain() {
    constexpr int patience = 1000; // ticks: each sends at least one
    seen_["drained"]++;
    for (model_.pacer.next = 0; model_.drain(any_time); model_.pacer.next = 0)
        ;
    for (int ticks = 0; ticks < patience && !kernel_.waiting().empty(); ticks++) {
        kernel_.set_link(0, far);
        run_tc(kernel_.queue().program_fd("olaf_drain_tick"), token({.bytes = Bytes(128)}, generation_));
    }
    std::ostringstream out;
    for (const auto &told : listener_.told())
        if (told.event.kind != OLAF_EVENT_LOSS) // of a lo that is down
            check(out, "event", told.event.kind << 8 | told.event.detail,
                  OLAF_EVENT_DEPARTURE << 8 | OLAF_LEFT_DRAIN);
    return out.str() + compare_state();
}

/// The kernel says when an update came: what is read of it later must be the same.
void Differential::check_times(std::ostream &out, const Waiting &kernel,
                               const model::Update &model) {
    const auto [newest, is_new] = arrived_.try_emplace(model.arrived, kernel.pending.arrived_ns);
    if (is_new && newest->second < newest_ns_)
        out << "it arrived before an earlier one\n";
    newest_ns_ = std::max(newest_ns_, newest->second);
    check(out, "arrived_ns", kernel.pending.arrived_ns, newest->second);
    check(out, "first_arrived_ns", kernel.pending.first_arrived_ns,
          arrived_.at(model.first_arrived));
}

std::string Differential::compare_state() {
    std::ostringstream out;
    const auto kernel = kernel_.totals();
    const auto &model = model_.counters();
    check(out, "received", kernel.received, model.received);
    check(out, "passed_through", kernel.passed_through, model.passed_through);
    check(out, "appended", kernel.appended, model.appended);
    check(out, "aggregated", kernel.aggregated, model.aggregated);
    check(out, "replaced", kernel.replaced, model.replaced);
    check(out, "departed_riding", kernel.departed_riding, model.departed_riding);
    check(out, "departed_drain", kernel.departed_drain, model.departed_drain);
    check(out, "dropped_full", kernel.dropped_full, model.dropped_full);
    check(out, "dropped_reward", kernel.dropped_reward, model.dropped_reward);
    check(out, "dropped_sealed", kernel.dropped_sealed, model.dropped_sealed);
    check(out, "dropped_misfit", kernel.dropped_misfit, model.dropped_misfit);
    check(out, "updates_in", kernel.updates_in, model.updates_in);
    check(out, "updates_out", kernel.updates_out, model.updates_out);
    check(out, "updates_superseded", kernel.updates_superseded, model.updates_superseded);
    check(out, "updates_dropped", kernel.updates_dropped, model.updates_dropped);
    check(out, "malformed", kernel.malformed, model.damaged);

    const auto waiting = kernel_.waiting();
    const auto &ring = model_.ring();
    check(out, "ring length", waiting.size(), ring.size());
    for (std::size_t i = 0; i < std::min(waiting.size(), ring.size()); i++) {
        std::ostringstream entry;
        check_entry(entry, waiting[i], ring[i]);
        check_times(entry, waiting[i], ring[i].update);
        if (!entry.str().empty())
            out << "entry " << i << ": " << entry.str();
    }
    if (!model_.conserves())
        out << "the model itself doesn't conserve updates\n";
    return out.str() + kernel_.broken_identity();
}

} // namespace olaf::test
