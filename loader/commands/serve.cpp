// SPDX-License-Identifier: BSD-2-Clause
// `olaf serve`: metrics for Prometheus and a page for people.
#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <csignal>

#include "commands.hpp"
#include "loader/host/signals.hpp"
#include "loader/observe/server.hpp"

namespace olaf {

Result<void> serve(const ServeOptions &options,
                   const std::function<void(const std::string &url)> &started) {
    // Before the server's threads: they inherit what is held back.
    const auto signals = Signals::hold({SIGINT, SIGTERM, SIGHUP});
    if (!signals)
        return std::unexpected(signals.error());
    Queues queues(options.devices);
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
