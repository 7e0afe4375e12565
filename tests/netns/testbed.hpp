// SPDX-License-Identifier: BSD-2-Clause
// A worker, a host with a queue and a parameter server, wired in each way that Olaf can stand:
//
//   local       worker ── in[host]                      the server is a process on the host
//   bridged     worker ── in[host]out ── server         in and out are ports of one bridge
//   routed      worker ── in[host]out ── server         the host is the router
//   one_armed   worker ┐
//                      switch ── in[host]               the host is a router on a stick
//               server ┘
//   upstream4/6 worker ── in[host]out ── server         workers talk to the host
//
// The queue is in the kernel of the host, or in a card before it:
//
//   card        worker ── w[olaf-card]s ── in[host] ...
//
// In an emulated kernel the links are cables between NICs, of whatever driver (tests/kernels/run --nic).
//
// The worker is 10.0.0.1 and fd00::1, the server 10.0.1.2 and fd00:0:0:1::2, as in packet.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "card_process.hpp"
#include "foreign.hpp"
#include "netns.hpp"
#include "olaf_command.hpp"
#include "packet.hpp"
#include "sockets.hpp"
#include "traces.hpp"

namespace olaf::test {

/// Where the queue is: in the kernel between veths, before a card, or in the kernel between NICs. Tests
/// run with each: OLAF_TEST_PLACE=card or =nics in the environment says which.
enum class Place { kernel, card, nics };
Place place_under_test();

enum class Way { local, bridged, routed, one_armed, upstream4, upstream6 };
const char *name_of(Way way);

/// Names of a suite's cases: what their own name is, a way, an IP version.
inline constexpr auto by_name = [](const auto &info) { return std::string(info.param.name); };
inline constexpr auto by_way = [](const auto &info) { return std::string(name_of(info.param)); };
inline constexpr auto by_family = [](const auto &info) {
    return "Ipv" + std::to_string(info.param);
};

inline constexpr Mac in_mac = {2, 0, 0, 0, 0, 0x01};
inline constexpr Mac out_mac = {2, 0, 0, 0, 0, 0x02};

struct Wiring {
    Way way = Way::local;
    /// In a card slow links are 125 kbit/s, which larger updates keep busy for as long.
    unsigned mtu = place_under_test() == Place::card ? 9000 : 1500;
    unsigned out_mtu = 0; ///< of `out` and the server's device; 0: as the others'
    unsigned queues = 1;      ///< of the worker's device and of the host's `in`
    bool server_known = true; ///< the host has a permanent neighbour entry for the server
    Offloads worker = {};     ///< of the worker's device
    Place place = place_under_test();
};

class Testbed {
  public:
    explicit Testbed(const Wiring &wiring = {});

    const Wiring wiring;
    std::optional<CardProcess> card; ///< with Place::card; it runs
    Netns worker{"worker"};
    Netns host{"host"};

  private:
    std::optional<Netns> server_, switch_;
    std::optional<ForeignXdp> switch_program_;

  public:
    OlafCommand olaf{host, "in"}; ///< last: it detaches before a device goes

    /// Where the parameter server is.
    [[nodiscard]] const Netns &server() const { return server_ ? *server_ : host; }
    /// Device by which updates reach it.
    [[nodiscard]] const char *server_device() const { return server_ ? "eth0" : "in"; }

    /// olaf attach in DELIVERY MORE, into the card if there is one
    void attach(const std::vector<std::string> &more = {});
    [[nodiscard]] std::vector<std::string> delivery() const;

    [[nodiscard]] bool upstream() const {
        return wiring.way == Way::upstream4 || wiring.way == Way::upstream6;
    }
    /// The host's `in` or `out` is gone: a NIC is off its bus, a veth deleted with its other end.
    void unplug(const std::string &device) const;
    /// The host's `out` loses its carrier: a NIC's cable is unplugged, a veth's other end is down.
    void unplug_cable() const;
    void plug_cable() const;
    /// The drain's own device goes "down", or "up".
    void set_drain(const std::string &state) const;
    /// What status says of where the queue is.
    [[nodiscard]] const char *mode() const { return card ? "hw" : "native"; }
    /// So many places, or as many as the card has.
    [[nodiscard]] std::uint32_t places(std::uint32_t wanted) const;
    /// Whether the host acts as a router: one less to live for what it sends on.
    [[nodiscard]] bool routes() const {
        return wiring.way == Way::routed || wiring.way == Way::one_armed;
    }
    [[nodiscard]] static Peer worker_peer(int family, std::uint16_t port = 0);
    [[nodiscard]] static Peer server_peer(int family);
    /// Where a worker sends its updates.
    [[nodiscard]] Peer target(int family) const;
    /// A frame of the worker's to the server; upstream, to the host.
    [[nodiscard]] Path path(int family = 4) const;

  private:
    void wire();
    void wire_card(const std::string &in_mac);
    void wire_nics();
    void wire_switch();
    void address_flat() const;
    void address_routed() const;
};

std::string text(const Mac &mac);

} // namespace olaf::test
