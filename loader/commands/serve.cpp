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
#include "loader/observe/server.hpp"

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
        const auto all = attachments();
        if (!all)
            return std::unexpected(all.error());
        for (const auto &attachment : *all)
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
        const auto interrupted = signals.until(monotonic_ns() + look_ns);
        if (!interrupted)
            return std::unexpected(interrupted.error());
        if (*interrupted)
            return false;
    }
}

} // namespace

Result<void> serve(const ServeOptions &options,
                   const std::function<void(const std::string &url)> &started) {
    if (auto good = require_privileges_to_read("read", "the queues of this host"); !good)
        return good;
    if (const auto places = pinned_places(); !places)
        return std::unexpected(places.error());
    // Before the server's threads: they inherit what is held back.
    const auto signals = Signals::hold({SIGINT, SIGTERM, SIGHUP});
    if (!signals)
        return std::unexpected(signals.error());
    if (options.wait) {
        const auto there = wait_for_queues(options, *signals);
        if (!there || !*there)
            return there ? Result<void>{} : std::unexpected(there.error());
    } else if (auto there = all_there(options); !there)
        return there;
    Queues queues(options.devices, options.top_clusters);
    if (const auto readable = queues.read(); !readable)
        return std::unexpected(readable.error());
    const auto server = Server::start(options.bind, options.port, queues);
    if (!server)
        return std::unexpected(server.error());
    const auto host =
        options.bind.find(':') == options.bind.npos ? options.bind : "[" + options.bind + "]";
    started(fmt::format("http://{}:{}/", host, (*server)->port()));
    pollfd ready{.fd = signals->fd(), .events = POLLIN, .revents = 0};
    while (signals->take() == 0)
        if (::poll(&ready, 1, -1) < 0 && errno != EINTR)
            return fail("wait for", "a signal", errno);
    return {};
}

} // namespace olaf
