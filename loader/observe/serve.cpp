// SPDX-License-Identifier: BSD-2-Clause
#include "serve.hpp"

#include <httplib.h>
#include <netdb.h>

#include <algorithm>
#include <cerrno>

#include "loader/host/device.hpp"
#include "loader/text/json.hpp"
#include "metrics.hpp"
#include "olaf/try.hpp"
#include "page.hpp"
#include "status_json.hpp"

namespace olaf {
namespace {

using namespace std::chrono_literals;

/// Rates over less than this are noise; a page asks once a second.
constexpr auto shortest = 500ms;
/// A look as old as this was somebody else's, long ago: its rates would be of no use.
constexpr auto longest = 10s;

} // namespace

Result<std::vector<Attachment>> Queues::attached() const {
    auto all = OLAF_TRY(attachments());
    std::erase_if(all, [&](const Attachment &attachment) {
        return !attachment.alive || !attachment.record.complete ||
               (!devices_.empty() && std::ranges::none_of(devices_, [&](const std::string &name) {
                   if (name == attachment.device)
                       return true;
                   const auto device = find_device(name); // it may be another name of the device's
                   return device && device->ifindex == attachment.place.ifindex;
               }));
    });
    return all;
}

Result<std::vector<Reading>> Queues::read() {
    const auto found = OLAF_TRY(attached());
    std::vector<Reading> readings;
    for (const auto &attachment : found) {
        auto reading = QueueReader(attachment).read_even_lost();
        if (reading)
            readings.push_back(std::move(*reading));
        else if (reading.error().code != ENOENT) // detached just now
            return std::unexpected(reading.error());
    }
    return readings;
}

const Queues::Look &Queues::look(const std::string &key, Reading reading) {
    const auto now = Clock::now();
    const auto [found, fresh] = looks_.try_emplace(key, Look{reading, reading, now});
    auto &look = found->second;
    if (!fresh && now - look.taken >= shortest) {
        look.earlier = now - look.taken > longest ? reading : std::move(look.latest);
        look.latest = std::move(reading);
        look.taken = now;
    }
    return look;
}

Result<nlohmann::ordered_json> Queues::live() {
    const std::scoped_lock lock(mutex_); // before reading: a later look holds later figures
    auto readings = OLAF_TRY(read());
    auto list = nlohmann::ordered_json::array();
    std::map<std::string, Look> kept;
    for (auto &reading : readings) {
        const auto key = reading.identity;
        const auto &now = look(key, std::move(reading));
        list.push_back(live_json(now.latest, rows_between(now.earlier, now.latest)));
        kept.insert(looks_.extract(key));
    }
    looks_ = std::move(kept); // without those that have gone
    return list;
}

Result<std::string> Queues::metrics() {
    const std::scoped_lock lock(mutex_);
    const auto readings = OLAF_TRY(read());
    shown_.choose(readings);
    return olaf::metrics(readings, shown_);
}

namespace {

/// A connection holds a thread until it has got its answer, or patience is at an end: so many may be slow or
/// silent, and a scrape is answered all the same.
constexpr std::size_t threads = 64;
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
    http_->set_keep_alive_max_count(1); // an idle connection would hold its thread
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
            response.set_content(json_text(*json), "application/json");
        else
            refuse(response, json.error());
    });
    http_->Get("/counters.json", [](const Request &, Response &response) {
        response.set_content(json_text(counters_json()), "application/json");
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
