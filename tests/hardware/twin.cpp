// SPDX-License-Identifier: BSD-2-Clause
#include "twin.hpp"

#include <utility>

namespace olaf::test {

namespace {

model::Config to_model(const Setting &setting) {
    return {.queue_capacity = setting.queue_capacity,
            .ns_per_byte_q24 = setting.ns_per_byte_q24,
            .drain_interval_ns = setting.drain_interval_ns,
            .activity_window_ns = setting.activity_window_ns,
            .frame_overhead = setting.frame_overhead};
}

/// The side band that a frame is sent with: an update's follows from the headers that it leaves with.
std::uint32_t side_of(std::span<const std::uint8_t> headers, std::size_t udp_checksum) {
    std::uint32_t hash = 2166136261;
    for (std::size_t i = 0; i < headers.size(); i++)
        hash = (hash ^ (i == udp_checksum || i == udp_checksum + 1 ? 0 : headers[i])) * 16777619;
    return hash;
}

Beats with_side(const Bytes &frame, const Judged &judged) {
    const std::span bytes(frame);
    if (judged.kind != Kind::update)
        return {frame, side_of(bytes.first(std::min<std::size_t>(frame.size(), 14)), 99)};
    return {frame, side_of(bytes.first(judged.l4 + 8), judged.l4 + 6)};
}

Beats departure(const model::Update &update) {
    auto frame = model::departing_frame(update);
    const auto side = side_of(std::span(frame).first(update.headers.bytes.size()), update.headers.l4 + 6);
    return {std::move(frame), side};
}

/// The same order as olaf::action_t.
constexpr model::Action actions[] = {model::Action::refused,    model::Action::passed_through,
                                     model::Action::appended,   model::Action::aggregated,
                                     model::Action::replaced,   model::Action::full,
                                     model::Action::reward,     model::Action::sealed,
                                     model::Action::misfit,     model::Action::refused};

/// The slot counter that an action counts in.
constexpr unsigned slot_counters[] = {0,
                                      OLAF_CARD_SLOT_passed_through,
                                      OLAF_CARD_SLOT_appended,
                                      OLAF_CARD_SLOT_aggregated,
                                      OLAF_CARD_SLOT_replaced,
                                      OLAF_CARD_SLOT_dropped_full,
                                      OLAF_CARD_SLOT_dropped_reward,
                                      OLAF_CARD_SLOT_dropped_sealed,
                                      OLAF_CARD_SLOT_dropped_misfit};

} // namespace

std::string beginning(const Beats &frame) {
    std::ostringstream out;
    out << std::hex;
    for (std::size_t i = 0; i < std::min<std::size_t>(frame.bytes.size(), 150); i++)
        out << (frame.bytes[i] < 16 ? "0" : "") << +frame.bytes[i];
    out << std::dec << " (" << frame.bytes.size() << " bytes, side band " << frame.side << ")";
    return out.str();
}

Twin::Twin(const Setting &setting, std::uint64_t seed)
    : card(seed), setting_(setting), model_(to_model(setting)) {
    card.received = [this](Card::Way way, const Beats &frame) { receive(way, frame); };
    card.traced = [this](const Trace &now) { trace(now); };
    begin();
    setup();
}

void Twin::begin() {
    if (setting_.time_from != 0)
        card.set_time(setting_.time_from);
    if (setting_.counters_from != 0)
        card.set_counters(setting_.counters_from);
}

void Twin::fault(const std::string &what) {
    if (faults_.str().size() < 4000)
        faults_ << "cycle " << card.clock() << ": " << what << "\n";
}

void Twin::setup() {
    const auto &asked = setting_.asked;
    card.write(OLAF_REGISTER_CONTROL, 1u | asked.verify << 1 | asked.own_only << 2);
    card.write(OLAF_REGISTER_PORT, asked.port);
    card.write(OLAF_REGISTER_QUEUE_CAPACITY, setting_.queue_capacity);
    card.write(OLAF_REGISTER_MAX_CLUSTERS, asked.max_clusters);
    card.write(OLAF_REGISTER_MAX_SEGMENTS, asked.max_segments);
    card.write(OLAF_REGISTER_MAX_LANES, asked.max_lanes);
    card.write(OLAF_REGISTER_MTU, asked.mtu);
    card.write(OLAF_REGISTER_FRAME_OVERHEAD, setting_.frame_overhead);
    card.write64(OLAF_REGISTER_NS_PER_BYTE_Q24, setting_.ns_per_byte_q24);
    card.write(OLAF_REGISTER_DRAIN_INTERVAL, static_cast<std::uint32_t>(setting_.drain_interval_ns));
    card.write64(OLAF_REGISTER_ACTIVITY_WINDOW, setting_.activity_window_ns);
    for (std::size_t i = 0; i < asked.own.size(); i++)
        card.write(static_cast<std::uint32_t>(OLAF_REGISTER_OWN_0 + 4 * i),
                   __builtin_bswap32(asked.own[i]));
    if (!card.commit())
        fault("the card refused its configuration");
}

void Twin::set_rule(std::uint32_t cluster, const olaf_rule &rule) {
    static constexpr model::Policy policies[] = {model::Policy::olaf, model::Policy::fifo,
                                                 model::Policy::aggregate, model::Policy::newest};
    card.set_rule(cluster, rule);
    rules_[cluster] = rule;
    model_.set_rule(cluster, {policies[rule.policy], rule.max_count, rule.reward_threshold});
}

void Twin::send(const Bytes &frame) {
    const auto judged = judge(frame, setting_.asked);
    undecided_.push_back({with_side(frame, judged), judged});
    card.send(Card::up, undecided_.back().beats);
}

void Twin::send_back(const Bytes &frame) {
    Judged at;
    Beats beats{frame, static_cast<std::uint32_t>(frame.size() * 2654435761u)};
    card.send(Card::down, beats);
    if (back_.empty() && !is_ack(frame, setting_.asked.port, at))
        returning_.push_back(std::move(beats));
    else
        back_.push_back(std::move(beats));
}

void Twin::reset() {
    undecided_.clear();
    passing_.clear();
    departing_.clear();
    back_.clear();
    returning_.clear();
    own_ = {};
    slots_.clear();
    servers_.clear();
    rules_.clear();
    model_ = model::Queue(to_model(setting_));
    sequences_.clear();
    card.reset();
    begin();
    setup();
}

void Twin::trace(const Trace &now) {
    now_ = now.now - origin_;
    if (now.snapshot)
        at_snapshot_ = counts(now_);
    if (now.sampled)
        look_at_ack(now);
    if (now.ignored)
        ignore();
    if (now.decided)
        decide(now);
    if (now.popped)
        pop(now);
    if (now.freed)
        model_.copied();
    if (now.restarts)
        origin_ = now.now;
}

void Twin::ignore() {
    if (undecided_.empty())
        return fault("ignored a frame that nobody sent");
    const auto [beats, judged] = std::move(undecided_.front());
    undecided_.pop_front();
    if (judged.kind == Kind::update)
        return fault("took no notice of an update: " + beginning(beats));
    if (judged.kind == Kind::malformed) {
        own_[OLAF_CARD_malformed + judged.reason]++;
        seen["malformed"]++;
        return;
    }
    own_[OLAF_CARD_bypassed + judged.reason]++;
    seen["bypassed"]++;
    passing_.push_back({beats, 0});
}

void Twin::count_slot(const model::Update &update, unsigned counter, std::uint64_t n) {
    slots_[update.cluster * setting_.asked.max_segments + update.segment][counter] += n;
}

void Twin::look_at_sequence(const model::Update &update) {
    const auto [at, is_first] = sequences_.try_emplace({update.cluster, update.worker}, update.sequence);
    const auto before = std::exchange(at->second, update.sequence);
    const auto ahead = update.sequence - before;
    sequences_wrapped += !is_first && update.sequence < before && ahead < 1u << 31;
}

void Twin::decide(const Trace &now) {
    if (undecided_.empty() || undecided_.front().judged.kind != Kind::update)
        return fault("decided on what is no update");
    const auto [beats, judged] = std::move(undecided_.front());
    undecided_.pop_front();
    const auto update = read_update(beats.bytes, judged);
    look_at_sequence(update);
    const auto rule = rules_.find(update.cluster);
    const auto refused =
        refusal(update, setting_.asked, rule == rules_.end() ? 256 : rule->second.max_count);
    const auto before = model_.counters();
    auto action = model::Action::refused;
    if (refused >= 0) {
        own_[OLAF_CARD_not_allowed + refused]++;
    } else {
        const auto next = model_.pacer.next;
        if (!now.way_clear) // as if the link were busy
            model_.pacer.next = UINT64_MAX;
        action = model_.arrive(now_, update, beats.bytes.size(), 0).action;
        if (!now.way_clear)
            model_.pacer.next = next;
        servers_[update.cluster] = static_cast<std::uint32_t>(get_be(beats.bytes, judged.l3 + 16, 4));
    }
    seen[model::name(action)]++;
    const auto told = now.action < std::size(actions) ? actions[now.action] : action;
    if (now.action == 0 || told != action)
        return fault(std::string("the card says ") + model::name(told) + ", the model " +
                     model::name(action) + " of " + beginning(beats));
    if (action == model::Action::refused)
        return;
    count_decided(update, slot_counters[now.action], before);
    if (action == model::Action::passed_through)
        passing_.push_back({beats, ++order_});
}

void Twin::count_decided(const model::Update &update, unsigned counter, const model::Counters &before) {
    const auto &after = model_.counters();
    count_slot(update, counter, 1);
    count_slot(update, OLAF_CARD_SLOT_updates_superseded,
               after.updates_superseded - before.updates_superseded);
    count_slot(update, OLAF_CARD_SLOT_updates_dropped, after.updates_dropped - before.updates_dropped);
    count_slot(update, OLAF_CARD_SLOT_updates_passed, after.updates_out - before.updates_out);
    own_[OLAF_CARD_updates_passed] += after.updates_out - before.updates_out;
}

void Twin::pop(const Trace &) {
    const auto update = model_.begin_drain(now_);
    if (!update)
        return fault("popped where nothing waits, or nothing is due");
    count_slot(*update, OLAF_CARD_SLOT_departed_drain, 1);
    count_slot(*update, OLAF_CARD_SLOT_updates_departed, update->count);
    departing_.push_back({departure(*update), ++order_});
    seen["departed"]++;
}

void Twin::receive(Card::Way way, const Beats &frame) {
    if (way == Card::down) {
        if (returning_.empty() || returning_.front() != frame)
            fault("on the way back: " + beginning(frame) + "\nexpected " +
                  (returning_.empty() ? "nothing" : beginning(returning_.front())));
        if (!returning_.empty())
            returning_.pop_front();
        return;
    }
    const bool passes = !passing_.empty() && passing_.front().beats == frame;
    const bool departs = !departing_.empty() && departing_.front().beats == frame;
    if (!passes && !departs)
        return fault("left: " + beginning(frame) + "\nexpected to pass: " +
                     (passing_.empty() ? "nothing" : beginning(passing_.front().beats)) + "\nto depart: " +
                     (departing_.empty() ? "nothing" : beginning(departing_.front().beats)));
    auto &own = passes ? passing_ : departing_;
    const auto order = own.front().order;
    own.pop_front();
    departed_frames++;
    // Updates leave in the order in which they were let go.
    for (const auto &others : {std::cref(passing_), std::cref(departing_)})
        for (const auto &other : others.get())
            if (order != 0 && other.order != 0 && other.order < order)
                fault("an update overtook another one");
}

bool Twin::settle(std::uint64_t cycles) {
    const auto until = card.clock() + cycles;
    while (card.clock() < until && differences().empty()) {
        card.cycles(16);
        if (undecided_.empty() && passing_.empty() && departing_.empty() && back_.empty() &&
            returning_.empty() && model_.ring().empty())
            return true;
    }
    return false;
}

} // namespace olaf::test
