// SPDX-License-Identifier: BSD-2-Clause
#include "server.hpp"

#include <httplib.h>
#include <netdb.h>

#include <cerrno>

#include "live_json.hpp"
#include "olaf/try.hpp"
#include "page.hpp"

namespace olaf {
namespace {

constexpr std::size_t threads = 4;
constexpr time_t patience_s = 5; // with a client that sends or reads slowly
constexpr std::size_t longest_request = 4096;

/// The page brings all that it needs, and asks nobody but us.
constexpr auto content_policy = "default-src 'none'; script-src 'unsafe-inline'; "
                                "style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
                                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void refuse(httplib::Response &response, const Error &error) {
    response.status = 503;
    response.set_content("olaf: " + error.message() + "\n", "text/plain; charset=utf-8");
}

/// Whether the text is an address, or a name of one.
Result<void> resolves(const std::string &address) {
    addrinfo *found = nullptr;
    const int error = ::getaddrinfo(address.c_str(), nullptr, nullptr, &found);
    if (error != 0)
        return fail("listen on", "'" + address + "'", 0, "give --bind an address of this host",
                    ::gai_strerror(error));
    ::freeaddrinfo(found);
    return {};
}

std::string hint_for(int code) {
    switch (code) {
    case EADDRINUSE:
        return "choose another with --port";
    case EADDRNOTAVAIL:
        return "give --bind an address of this host; ip address shows them";
    case EACCES:
        return "choose a port above 1023 with --port";
    default:
        return "";
    }
}

} // namespace

Server::Server(Queues &queues) : queues_(queues), http_(std::make_unique<httplib::Server>()) {
    http_->new_task_queue = [] { return new httplib::ThreadPool(threads); };
    http_->set_read_timeout(patience_s);
    http_->set_write_timeout(patience_s);
    http_->set_payload_max_length(longest_request);
    // The library's default, SO_REUSEPORT, lets another process share the port and get half of the
    // requests.
    http_->set_socket_options([](int socket) {
        const int yes = 1;
        ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    http_->set_default_headers({{"X-Content-Type-Options", "nosniff"},
                                {"Referrer-Policy", "no-referrer"},
                                {"Cache-Control", "no-store"},
                                {"Content-Security-Policy", content_policy}});
    route();
}

void Server::route() {
    using httplib::Request, httplib::Response;
    http_->Get("/", [](const Request &, Response &response) {
        if (live_page.empty()) {
            response.status = 404;
            response.set_content("This olaf was built without the live page (OLAF_PAGE=OFF). "
                                 "/metrics, /live.json and /counters.json are here.\n",
                                 "text/plain; charset=utf-8");
        } else
            response.set_content(live_page.data(), live_page.size(), "text/html; charset=utf-8");
    });
    http_->Get("/live.json", [this](const Request &, Response &response) {
        if (const auto json = queues_.live())
            response.set_content(json->dump(), "application/json");
        else
            refuse(response, json.error());
    });
    http_->Get("/counters.json", [](const Request &, Response &response) {
        response.set_content(counters_json().dump(), "application/json");
    });
    http_->Get("/metrics", [this](const Request &, Response &response) {
        if (const auto text = queues_.metrics())
            response.set_content(*text, "text/plain; version=0.0.4; charset=utf-8");
        else
            refuse(response, text.error());
    });
}

Result<std::unique_ptr<Server>> Server::start(const std::string &address, std::uint16_t port,
                                              Queues &queues) {
    std::unique_ptr<Server> self(new Server(queues));
    OLAF_TRY(resolves(address));
    errno = 0;
    const int bound = port == 0 ? self->http_->bind_to_any_port(address)
                      : self->http_->bind_to_port(address, port) ? port
                                                                 : -1;
    if (bound <= 0)
        return fail("listen on", address + ", port " + std::to_string(port), errno,
                    hint_for(errno));
    self->port_ = static_cast<std::uint16_t>(bound);
    self->thread_ = std::jthread([server = self.get()] { server->http_->listen_after_bind(); });
    // stop() only stops a server that runs.
    while (!self->http_->is_running())
        std::this_thread::yield();
    return self;
}

Server::~Server() {
    http_->stop();
}

} // namespace olaf
