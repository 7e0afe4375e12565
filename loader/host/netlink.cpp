// SPDX-License-Identifier: BSD-2-Clause
#include "netlink.hpp"

#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <cerrno>
#include <cstdlib>

namespace olaf {
namespace {

int read_valid(nl_msg *message, void *reader) {
    (*static_cast<const std::function<void(nlmsghdr *)> *>(reader))(nlmsg_hdr(message));
    return NL_OK;
}

} // namespace

void MessageFreer::operator()(nl_msg *message) const {
    nlmsg_free(message);
}
void Netlink::Freer::operator()(nl_sock *socket) const {
    nl_socket_free(socket);
}

Message make_message(int type, int flags, const void *header, std::size_t length) {
    Message message(nlmsg_alloc_simple(type, flags));
    if (message)
        nlmsg_append(message.get(), const_cast<void *>(header), length, NLMSG_ALIGNTO);
    return message;
}

Result<Netlink> Netlink::open(int protocol) {
    Netlink netlink;
    netlink.socket_.reset(nl_socket_alloc());
    if (!netlink.socket_)
        return fail("open", "a netlink socket", ENOMEM);
    if (const int error = nl_connect(netlink.get(), protocol); error < 0)
        return fail("open", "a netlink socket", errno_of_netlink(error));
    return netlink;
}

int Netlink::request(Message message) {
    return message ? nl_send_sync(get(), message.release()) : -NLE_NOMEM;
}

int Netlink::query(Message message, const std::function<void(nlmsghdr *)> &reader) {
    if (!message)
        return -NLE_NOMEM;
    nl_socket_modify_cb(get(), NL_CB_VALID, NL_CB_CUSTOM, read_valid,
                        const_cast<std::function<void(nlmsghdr *)> *>(&reader));
    int error = nl_send_auto(get(), message.get());
    if (error >= 0)
        error = nl_recvmsgs_default(get());
    // The acknowledgement follows the answer of a request that is no dump.
    if (error >= 0 && !(nlmsg_hdr(message.get())->nlmsg_flags & NLM_F_DUMP))
        error = nl_wait_for_ack(get());
    nl_socket_modify_cb(get(), NL_CB_VALID, NL_CB_DEFAULT, nullptr, nullptr);
    return error < 0 ? error : 0;
}

int errno_of_netlink(int error) {
    switch (std::abs(error)) {
    case NLE_SUCCESS:
        return 0;
    case NLE_PERM:
        return EPERM;
    case NLE_NOACCESS:
        return EACCES;
    case NLE_EXIST:
        return EEXIST;
    case NLE_OBJ_NOTFOUND:
        return ENOENT;
    case NLE_NODEV:
        return ENODEV;
    case NLE_NOMEM:
        return ENOMEM;
    case NLE_OPNOTSUPP:
        return EOPNOTSUPP;
    case NLE_BUSY:
        return EBUSY;
    case NLE_AF_NOSUPPORT:
        return EAFNOSUPPORT;
    case NLE_INVAL:
        return EINVAL;
    case NLE_RANGE:
        return ERANGE;
    case NLE_NOADDR:
        return EADDRNOTAVAIL;
    default:
        return EIO;
    }
}

} // namespace olaf
