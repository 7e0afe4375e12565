// SPDX-License-Identifier: BSD-2-Clause
#include "endpoints/wire/refusal.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include <netdb.h>
#include <sys/socket.h>

namespace olaf {
namespace {

// Without the port, which an ICMP hasn't.
std::string host_of(const Address &address) {
    std::array<char, NI_MAXHOST> host{};
    if (getnameinfo(address.data(), address.size(), host.data(), host.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
        return "an unknown host";
    return host.data();
}

std::string words_of(int code) {
    return std::generic_category().message(code);
}

std::string describe_own(int code) {
    if (code == EPERM)
        return "a firewall on this host refuses what is sent (EPERM)";
    if (code == EACCES)
        return "a route of this host prohibits what is sent (EACCES)";
    return "this host can't send there: " + words_of(code);
}

} // namespace

std::string in_words(const Refusal &refusal) {
    if (refusal.from.family() == AF_UNSPEC)
        return describe_own(refusal.code);
    const auto came = [&](const std::string &means, const std::string &icmp) {
        return means + ": ICMP " + icmp + " came from " + host_of(refusal.from);
    };
    if (refusal.is_prohibited)
        return came("a firewall on the way refuses it", "administratively prohibited");
    switch (refusal.code) {
    case ECONNREFUSED:
        return came("nothing listens at that address and port", "port unreachable");
    case EHOSTUNREACH:
    case EHOSTDOWN:
        return came("nobody has that address", "host unreachable");
    case ENETUNREACH:
        return came("no way leads there", "network unreachable");
    default:
        return came("what is sent doesn't arrive", "error (" + words_of(refusal.code) + ")");
    }
}

std::string remedy_of(const Refusal &refusal, std::uint32_t job, const Address &node) {
    const std::string there = node.text();
    if (refusal.from.family() == AF_UNSPEC)
        return "let UDP to " + there + " leave this host (nft list ruleset, ip route get " +
               host_of(node) + ")";
    if (refusal.is_prohibited)
        return "let UDP to " + there + " pass there";
    if (refusal.code == ECONNREFUSED)
        return "see that a queue with job " + std::to_string(job) + " is attached at " + there +
               " (olaf job list DEV, at the node), to the device that the frames come in by; or "
               "give the "
               "node's right address and port";
    return "see that " + there + " is the node's address, that it is up and the way to it, too";
}

} // namespace olaf
