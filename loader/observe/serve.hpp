// SPDX-License-Identifier: BSD-2-Clause
// `olaf serve`: the queues that it shows, and the HTTP server.
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "metrics.hpp"
#include "rows.hpp"

namespace httplib {
class Server;
}

namespace olaf {

// The queues that `olaf serve` shows, found anew each time: they come and go.

/// Reads when it is asked, and only then: nobody looking costs nothing. Any thread may ask.
class Queues {
  public:
    /// Only these devices; none: every queue of this network namespace. Metrics of so many clusters
    /// of a queue at most; nothing: of each.
    Queues(std::vector<std::string> devices, std::optional<std::uint32_t> top_clusters)
        : devices_(std::move(devices)), shown_(top_clusters) {}

    /// Each as it is now.
    Result<std::vector<Reading>> read();

    /// Each since the look before, which several readers of the page share: an array of
    /// docs/schema/live.json.
    Result<nlohmann::ordered_json> live();

    /// Each for Prometheus.
    Result<std::string> metrics();

  private:
    using Clock = std::chrono::steady_clock;
    /// Two looks at one attachment, apart enough to tell rates.
    struct Look {
        Reading earlier, latest;
        Clock::time_point taken;
    };
    Result<std::vector<Attachment>> attached() const;
    const Look &look(const std::string &key, Reading reading);

    const std::vector<std::string> devices_;
    std::mutex mutex_;                  ///< guards the rest
    std::map<std::string, Look> looks_; ///< by identity
    ShownClusters shown_;
};

// The HTTP server of `olaf serve`: GET / (the page), /live.json, /metrics.

/// Answers on threads of its own for as long as it lives.
class Server {
  public:
    /// Listens there; port 0 takes a free one.
    static Result<std::unique_ptr<Server>> start(const std::string &address, std::uint16_t port,
                                                 Queues &queues);
    ~Server();

    [[nodiscard]] std::uint16_t port() const { return port_; }

  private:
    explicit Server(Queues &queues);
    void route();
    Queues &queues_;
    std::unique_ptr<httplib::Server> http_;
    std::uint16_t port_ = 0;
    std::jthread thread_;
};

} // namespace olaf
