// SPDX-License-Identifier: BSD-2-Clause
#include "events.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <thread>

#include "loader/datapath/snapshot.hpp"
#include "loader/host/clock.hpp"
#include "loader/text/human.hpp"
#include "loader/text/json.hpp"
#include "olaf/try.hpp"
#include "rows.hpp"

namespace olaf {

bool Event::has_update() const {
    // A refused message of a job has none either: an update's count is 1 at least.
    const bool of_a_job = record.detail == OLAF_DROPPED_NOT_ALLOWED && record.count == 0;
    return record.kind != OLAF_EVENT_LOSS &&
           !(record.kind == OLAF_EVENT_DROP &&
             (record.detail == OLAF_DROPPED_MALFORMED || of_a_job));
}

std::int64_t Event::tai_ns() const {
    return static_cast<std::int64_t>(record.time_ns) + record.tai_offset_ns;
}

std::optional<std::int64_t> Event::age_ns() const {
    if (!has_update())
        return {};
    // Any 64 bits may stand in a message: the difference wraps, it doesn't overflow.
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(tai_ns()) - record.generated_ns);
}

std::optional<std::uint64_t> Event::engine_age_ns() const {
    if (record.kind != OLAF_EVENT_DEPARTURE)
        return {};
    return record.time_ns - std::min(record.arrived_ns, record.time_ns);
}

std::optional<std::uint64_t> Event::wait_ns() const {
    if (record.kind != OLAF_EVENT_DEPARTURE)
        return {};
    return record.time_ns - std::min(record.first_arrived_ns, record.time_ns);
}

std::optional<Event> read_event(const void *data, std::size_t bytes) {
    Event event{};
    if (bytes < sizeof event.record)
        return {};
    std::memcpy(&event.record, data, sizeof event.record);
    const auto captured =
        std::min<std::size_t>(event.record.captured_bytes, bytes - sizeof event.record);
    event.frame = {static_cast<const std::uint8_t *>(data) + sizeof event.record, captured};
    return event;
}

bool passes(const EventFilter &filter, const Event &event) {
    const auto &record = event.record;
    const bool about_update = event.has_update();
    if (!filter.clusters.empty() &&
        !(about_update && std::ranges::any_of(filter.clusters, [&](const Range &range) {
              return record.cluster >= range.first && record.cluster <= range.last;
          })))
        return false;
    if (!filter.workers.empty() &&
        !(about_update && std::ranges::find(filter.workers, record.worker) != filter.workers.end()))
        return false;
    if (!filter.actions.empty() && std::ranges::none_of(filter.actions, [&](const auto &name) {
            return name == kind_name(record) || name == action_name(record);
        }))
        return false;
    if (filter.min_age_ns) {
        const auto age = event.age_ns();
        return age && *age >= static_cast<std::int64_t>(*filter.min_age_ns);
    }
    return true;
}

std::vector<std::string> doubts(const EventFilter &filter, std::uint32_t max_clusters) {
    std::vector<std::string> found;
    for (const auto &range : filter.clusters)
        if (range.first >= max_clusters)
            found.push_back(fmt::format(
                "cluster {} is beyond the queue's limit, 0 ... {}: all that can be told of it is "
                "drop not_allowed:cluster",
                range.first == range.last ? std::to_string(range.first)
                                          : fmt::format("{}-{}", range.first, range.last),
                max_clusters - 1));
    const bool of_updates =
        !filter.clusters.empty() || !filter.workers.empty() || filter.min_age_ns.has_value();
    if (of_updates && !filter.actions.empty() &&
        std::ranges::none_of(filter.actions, names_updates))
        found.emplace_back("no event can match: losses and malformed messages have no cluster, "
                           "worker or age to filter by");
    return found;
}

namespace {

using Json = nlohmann::ordered_json;

std::string action_and_cause(const olaf_event &event) {
    const auto cause = cause_name(event);
    return cause.empty() ? std::string(action_name(event))
                         : fmt::format("{}:{}", action_name(event), cause);
}

/// Seconds of CLOCK_TAI, to the nanosecond.
std::string moment(std::int64_t tai_ns) {
    constexpr std::int64_t second = 1'000'000'000;
    return fmt::format("{}.{:09}s", tai_ns / second, tai_ns % second);
}

/// Of an age that is negative where the worker's clock is ahead.
std::string signed_duration(std::int64_t ns) {
    return (ns < 0 ? "-" : "") + human_duration(std::abs(static_cast<double>(ns)));
}

template <class T> Json optional_json(const std::optional<T> &value) {
    return value ? Json(*value) : Json(nullptr);
}

} // namespace

std::string event_text(const Event &event) {
    const auto &record = event.record;
    auto text = fmt::format("{} {:<9} {:<10}", moment(event.tai_ns()), kind_name(record),
                            action_and_cause(record));
    if (record.kind == OLAF_EVENT_LOSS)
        return text + fmt::format(" frames {} updates {}", record.frames, record.count);
    if (event.has_update())
        text += fmt::format(" cluster {} segment {} worker {} sequence {} updates {} version {} "
                            "age by generation {}",
                            record.cluster, record.segment, record.worker, record.sequence,
                            record.count, record.model_version, signed_duration(*event.age_ns()));
    if (const auto wait = event.wait_ns())
        text += fmt::format(" by arrival {} waited {}",
                            human_duration(static_cast<double>(*event.engine_age_ns())),
                            human_duration(static_cast<double>(*wait)));
    return text + fmt::format(" queue {} frame {}B", record.queue_length, record.frame_bytes);
}

std::string event_json(const Event &event) {
    const auto &record = event.record;
    const bool update = event.has_update();
    const auto field = [&](auto value) { return update ? Json(value) : Json(nullptr); };
    const auto cause = cause_name(record);
    const bool loss = record.kind == OLAF_EVENT_LOSS;
    const bool departure = record.kind == OLAF_EVENT_DEPARTURE;
    return json_text(Json{{"event", kind_name(record)},
                {"action", action_name(record)},
                {"cause", cause.empty() ? Json(nullptr) : Json(cause)},
                {"time_ns", record.time_ns},
                {"tai_ns", event.tai_ns()},
                {"cluster", field(record.cluster)},
                {"segment", field(record.segment)},
                {"worker", field(record.worker)},
                {"sequence", field(record.sequence)},
                {"count", record.count},
                {"frames", loss ? Json(record.frames) : Json(nullptr)},
                {"model_version", field(record.model_version)},
                {"generated_ns", field(record.generated_ns)},
                {"age_ns", optional_json(event.age_ns())},
                {"first_arrived_ns", departure ? Json(record.first_arrived_ns) : Json(nullptr)},
                {"arrived_ns", departure ? Json(record.arrived_ns) : Json(nullptr)},
                {"engine_age_ns", optional_json(event.engine_age_ns())},
                {"wait_ns", optional_json(event.wait_ns())},
                {"queue_length", record.queue_length},
                {"frame_bytes", record.frame_bytes},
                {"cpu", record.cpu},
                {"sampled", record.sampled}});
}

std::string event_comment(const Event &event) {
    const auto &record = event.record;
    auto text = fmt::format("olaf {}: {}", kind_name(record), action_and_cause(record));
    if (event.has_update())
        text +=
            fmt::format(", cluster {}, worker {}, updates {}, age by generation {}", record.cluster,
                        record.worker, record.count, signed_duration(*event.age_ns()));
    if (const auto wait = event.wait_ns())
        text += fmt::format(", waited {}", human_duration(static_cast<double>(*wait)));
    return text + fmt::format(", queue {}", record.queue_length);
}

std::string missed_text(std::uint64_t events) {
    return fmt::format("missed {} events: more happened than could be read", events);
}

std::string missed_json(std::uint64_t events) {
    return json_text(Json{{"event", "missed"}, {"count", events}});
}

namespace {

constexpr std::uint32_t first_key = 0;

Result<olaf_listen> read_listen(int fd) {
    olaf_listen listen{};
    if (bpf_map_lookup_elem(fd, &first_key, &listen) != 0)
        return fail("read map", "olaf_listen", errno);
    return listen;
}

} // namespace

void Listener::Free::operator()(ring_buffer *buffer) const {
    ring_buffer__free(buffer);
}

Result<std::unique_ptr<Listener>> Listener::start(const Attachment &attachment,
                                                  const Interest &interest, Handler handler) {
    std::unique_ptr<Listener> self(new Listener(attachment));
    self->handler_ = std::move(handler);
    self->request_ = {.first_cluster = interest.first_cluster,
                      .last_cluster = interest.last_cluster,
                      .kinds = interest.kinds,
                      .sample = interest.sample,
                      .frame_bytes = interest.frame_bytes,
                      .pad = 0,
                      .until_ns = 0};
    OLAF_TRY(self->open(attachment));
    if (auto ours = self->wait_for_lease(); !ours)
        return std::unexpected(fail("listen to the events of", attachment.device, ours.error().code,
                                    "end the other olaf trace or report first",
                                    ours.error().reason));
    self->lost_before_ = OLAF_TRY(self->lost());
    self->started_ns_ = monotonic_ns();
    // The lease is written last, so that programs never act on half a request.
    OLAF_TRY(self->write(0));
    OLAF_TRY(self->renew());
    return self;
}

Result<void> Listener::open(const Attachment &attachment) {
    for (const auto &[fd, name] : {std::pair{&listen_, "olaf_listen"},
                                   {&counters_, "olaf_counters"},
                                   {&events_, "olaf_events"}}) {
        *fd = OLAF_TRY(open_map(attachment, name));
    }
    buffer_.reset(ring_buffer__new(events_.get(), &Listener::handle, this, nullptr));
    if (!buffer_)
        return fail("map", "olaf_events", errno);
    return {};
}

Result<void> Listener::wait_for_lease() {
    auto listen = OLAF_TRY(read_listen(listen_.get()));
    // One that was killed leaves its lease behind; one that lives renews it.
    const auto left_behind = listen.until_ns;
    while (listen.until_ns > monotonic_ns()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        listen = OLAF_TRY(read_listen(listen_.get()));
        if (listen.until_ns > left_behind)
            return fail("listen", "", EBUSY, "", "somebody else does");
    }
    return {};
}

Result<void> Listener::write(std::uint64_t until_ns) {
    request_.until_ns = until_ns;
    if (bpf_map_update_elem(listen_.get(), &first_key, &request_, BPF_ANY) != 0)
        return fail("write map", "olaf_listen", errno);
    return {};
}

Listener::~Listener() {
    stop();
}

void Listener::stop() {
    if (renewed_ns_ == 0)
        return;
    (void)write(0); // else the lease ends by itself
    renewed_ns_ = 0;
}

int Listener::fd() const {
    return ring_buffer__epoll_fd(buffer_.get());
}

Result<void> Listener::renew() {
    const auto now = monotonic_ns();
    if (renewed_ns_ != 0 && now - renewed_ns_ < static_cast<std::uint64_t>(renewal.count()))
        return {};
    OLAF_TRY(watch_.check());
    renewed_ns_ = now;
    return write(now + OLAF_LISTEN_LEASE_NS);
}

Result<void> Listener::consume() {
    const int taken = ring_buffer__consume(buffer_.get());
    if (taken < 0 && taken != -ECANCELED)
        return fail("read", "olaf_events", -taken);
    return {};
}

int Listener::handle(void *self, void *data, std::size_t bytes) {
    auto &listener = *static_cast<Listener *>(self);
    const auto event = read_event(data, bytes);
    // What an earlier listener left unread isn't ours.
    if (!event || event->record.time_ns < listener.started_ns_)
        return 0;
    return listener.handler_(*event) ? 0 : -ECANCELED;
}

Result<std::uint64_t> Listener::lost() const {
    return OLAF_TRY(read_counters(counters_.get())).events_lost;
}

Result<std::uint64_t> Listener::missed() const {
    return OLAF_TRY(lost()) - lost_before_;
}

} // namespace olaf
