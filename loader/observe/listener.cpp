// SPDX-License-Identifier: BSD-2-Clause
#include "listener.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <thread>

#include "loader/datapath/snapshot.hpp"
#include "loader/host/clock.hpp"
#include "olaf/try.hpp"

namespace olaf {
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
