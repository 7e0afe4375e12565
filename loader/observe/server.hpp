// SPDX-License-Identifier: BSD-2-Clause
// The HTTP server of `olaf serve`: GET / (the page), /live.json, /metrics.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "queues.hpp"

namespace httplib {
class Server;
}

namespace olaf {

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
