// SPDX-License-Identifier: BSD-2-Clause
// `olaf serve`: metrics for Prometheus and a page for people.
#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <csignal>

#include "commands.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/host.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/signals.hpp"
#include "loader/observe/serve.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// Between two looks for a queue that isn't there yet.
constexpr std::uint64_t look_ns = 200'000'000;

/// Why one of the devices can't be shown; nothing if each has a queue that works. Without devices
/// whatever there is will be shown, which may be nothing.
Result<void> all_there(const ServeOptions &options) {
    for (const auto &device : options.devices)
        if (auto there = live_attachment(device); !there) {
            if (!options.wait)
                there.error().hint += ", olaf serve --wait waits for it";
            return std::unexpected(there.error());
        }
    if (options.wait && options.devices.empty()) {
        const auto all = OLAF_TRY(attachments());
        for (const auto &attachment : all)
            if (attachment.alive && attachment.record.complete)
                return {};
        return fail("find", "a queue", 0, "", "none is attached in this network namespace");
    }
    return {};
}

/// False: a signal came first.
Result<bool> wait_for_queues(const ServeOptions &options, const Signals &signals) {
    std::string told;
    for (;;) {
        auto there = all_there(options);
        if (there)
            return true;
        there.error().hint.clear(); // waiting is what is done about it
        if (const auto text = there.error().message(); text != told) {
            note("olaf: waiting: " + text);
            told = text;
        }
        if (OLAF_TRY(signals.until(monotonic_ns() + look_ns)))
            return false;
    }
}

} // namespace

Result<void> serve(const ServeOptions &options,
                   const std::function<void(const std::string &url)> &started) {
    OLAF_TRY(require_privileges_to_read("read", "the queues of this host"));
    OLAF_TRY(pinned_places());
    // Before the server's threads: they inherit what is held back.
    const auto signals = OLAF_TRY(Signals::hold({SIGINT, SIGTERM, SIGHUP}));
    if (options.wait) {
        const auto there = wait_for_queues(options, signals);
        if (!there || !*there)
            return there ? Result<void>{} : std::unexpected(there.error());
    } else
        OLAF_TRY(all_there(options));
    Queues queues(options.devices, options.top_clusters);
    OLAF_TRY(queues.read());
    const auto server = OLAF_TRY(Server::start(options.bind, options.port, queues));
    const auto host =
        options.bind.find(':') == options.bind.npos ? options.bind : "[" + options.bind + "]";
    started(fmt::format("http://{}:{}/", host, server->port()));
    pollfd ready{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    while (signals.take() == 0)
        if (::poll(&ready, 1, -1) < 0 && errno != EINTR)
            return fail("wait for", "a signal", errno);
    return {};
}

} // namespace olaf
