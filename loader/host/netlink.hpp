// SPDX-License-Identifier: BSD-2-Clause
// A netlink socket of libnl, and its messages, owned.
#pragma once

#include <functional>
#include <memory>

#include "olaf/result.hpp"

struct nl_msg;
struct nl_sock;
struct nlmsghdr;

namespace olaf {

struct MessageFreer {
    void operator()(nl_msg *message) const;
};
using Message = std::unique_ptr<nl_msg, MessageFreer>;

/// A request of that type with its fixed header; nothing when memory is short.
Message make_message(int type, int flags, const void *header, std::size_t length);

class Netlink {
  public:
    /// NETLINK_ROUTE, NETLINK_GENERIC or NETLINK_NETFILTER.
    static Result<Netlink> open(int protocol);

    [[nodiscard]] nl_sock *get() const { return socket_.get(); }

    /// Sends and waits for the acknowledgement: 0 or a negative libnl error.
    int request(Message message);

    /// Sends and hands each answer to the reader; 0 or a negative libnl error.
    int query(Message message, const std::function<void(nlmsghdr *)> &reader);

  private:
    struct Freer {
        void operator()(nl_sock *socket) const;
    };
    std::unique_ptr<nl_sock, Freer> socket_;
};

/// The errno that is nearest to an error of libnl, positive.
int errno_of_netlink(int error);

} // namespace olaf
