// SPDX-License-Identifier: BSD-2-Clause
#include "testbed.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <tuple>
#include <unordered_map>

namespace olaf::test {
namespace {

using Words = std::unordered_map<std::string, std::string>;

/// Puts values in the place of @NAME@.
std::string fill(std::string text, const Words &words) {
    for (const auto &[name, value] : words)
        for (std::size_t at; (at = text.find("@" + name + "@")) != text.npos;)
            text.replace(at, name.size() + 2, value);
    return text;
}

} // namespace

std::string text(const Mac &mac) {
    char out[18];
    std::snprintf(out, sizeof out, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
                  mac[4], mac[5]);
    return out;
}

const char *name_of(Way way) {
    constexpr const char *names[] = {"Local",    "Bridged",   "Routed",
                                     "OneArmed", "Upstream4", "Upstream6"};
    return names[static_cast<int>(way)];
}

Place place_under_test() {
    const char *said = std::getenv("OLAF_TEST_PLACE");
    const std::string place = said != nullptr ? said : "";
    return place == "card" ? Place::card : place == "nics" ? Place::nics : Place::kernel;
}

Testbed::Testbed(const Wiring &asked) : wiring(asked) {
    if (wiring.way != Way::local)
        server_.emplace("server");
    if (wiring.way == Way::one_armed)
        wire_switch();
    else if (wiring.place == Place::nics)
        wire_nics();
    else
        wire();
    wiring.way == Way::local || wiring.way == Way::bridged ? address_flat() : address_routed();
    worker.await_links();
    host.await_links();
    for (const auto *other : {&server_, &switch_})
        if (*other)
            (*other)->await_links();
    if (card)
        card->netns().await_links();
}

void Testbed::wire() {
    // A bridge's host says nothing of its own on its links: a frame of its that a dead link refuses
    // would shut the queue's gate before an update is lost.
    if (wiring.way == Way::bridged)
        host.sysctl("ipv6/conf/default/disable_ipv6", "1");
    const Words words = {
        {"mtu", std::to_string(wiring.mtu)}, {"queues", std::to_string(wiring.queues)},
        {"worker_mac", text(worker_mac)},    {"in_mac", text(server_ ? in_mac : server_mac)},
        {"out_mtu", std::to_string(wiring.out_mtu != 0 ? wiring.out_mtu : wiring.mtu)},
        {"out_mac", text(out_mac)},          {"server_mac", text(server_mac)},
        {"worker", worker.name()},           {"server", server().name()}};
    if (wiring.place == Place::card)
        wire_card(fill("@in_mac@", words));
    else
        host.ip(fill("link add name in address @in_mac@ mtu @mtu@ numtxqueues @queues@ numrxqueues "
                     "@queues@ type veth peer name eth0 address @worker_mac@ mtu @mtu@ numtxqueues "
                     "@queues@ numrxqueues @queues@ netns @worker@\n",
                     words));
    if (server_)
        host.ip(fill("link add name out address @out_mac@ mtu @out_mtu@ type veth "
                     "peer name eth0 address @server_mac@ mtu @out_mtu@ netns @server@\n",
                     words));
    set_offloads(worker, "eth0", wiring.worker);
    set_offloads(host, "in", {});
    if (server_) {
        set_offloads(host, "out", {});
        set_offloads(*server_, "eth0", {});
        host.ip("link set out up\n");
    }
    host.ip("link set in up\n");
    if (card)
        card->start();
}

/// The devices on both sides of the card, which cuts nothing: TCP has to.
void Testbed::wire_card(const std::string &in_mac) {
    const auto &between = card.emplace().netns();
    const Words words = {
        {"mtu", std::to_string(wiring.mtu)}, {"worker_mac", text(worker_mac)},
        {"in_mac", in_mac},                  {"w", CardProcess::worker_side},
        {"s", CardProcess::server_side},     {"worker", worker.name()},
        {"host", host.name()},               {"queues", std::to_string(wiring.queues)}};
    between.ip(
        fill("link add name @w@ mtu @mtu@ type veth peer name eth0 address @worker_mac@ "
             "mtu @mtu@ gso_max_segs 1 numtxqueues @queues@ numrxqueues @queues@ netns @worker@\n"
             "link add name @s@ mtu @mtu@ type veth peer name in address @in_mac@ "
             "mtu @mtu@ gso_max_segs 1 netns @host@\n"
             "link set @w@ up\n"
             "link set @s@ up\n",
             words));
}

namespace {

/// What is to stand over the NIC of that place, in the words of `ip link add`: OLAF_TEST_OVER_IN and
/// OLAF_TEST_OVER_OUT; "": nothing.
std::string kind_over(std::string_view device) {
    const char *kind = device == "in"    ? std::getenv("OLAF_TEST_OVER_IN")
                       : device == "out" ? std::getenv("OLAF_TEST_OVER_OUT")
                                         : nullptr;
    return kind != nullptr ? kind : "";
}

bool is_vlan(std::string_view kind) {
    return kind.starts_with("vlan");
}

/// What is over a NIC at the other end of that device's.
std::string vlan_over(std::string_view device) {
    auto kind = kind_over(device);
    return is_vlan(kind) ? kind : "";
}

/// While it lives, a NIC that comes up has a queue that keeps a burst. Debian's fq_codel drops what waits for
/// long: behind an emulated CPU, much of a burst.
class KeepsBursts {
  public:
    KeepsBursts() {
        std::ifstream(setting) >> usual_;
        std::ofstream(setting) << "pfifo_fast";
    }
    ~KeepsBursts() { std::ofstream(setting) << usual_; }
    KeepsBursts(const KeepsBursts &) = delete;
    KeepsBursts &operator=(const KeepsBursts &) = delete;

  private:
    static constexpr auto setting = "/proc/sys/net/core/default_qdisc";
    std::string usual_;
};

} // namespace

/// Four NICs at the places of the PCI bus that tests/kernels/run gives them: the worker's, `in`, `out`, the
/// server's. What stands over `in` or `out` has that one as its port; a VLAN has its other end at the next NIC.
void Testbed::wire_nics() {
    const std::tuple<const Netns *, const char *, Mac, std::string> ends[] = {
        {&worker, "eth0", worker_mac, vlan_over("in")},
        {&host, "in", server_ ? in_mac : server_mac, kind_over("in")},
        {server_ ? &host : nullptr, "out", out_mac, kind_over("out")},
        {server_ ? &*server_ : nullptr, "eth0", server_mac, vlan_over("out")}};
    int slot = 0;
    for (const auto &[netns, device, mac, over] : ends) {
        const auto nic = slot++;
        if (netns == nullptr)
            continue;
        const std::string port = over.empty() ? device : "nic" + std::to_string(nic);
        const Words words = {{"device", device}, {"mac", text(mac)}, {"over", over}, {"port", port},
                             {"mtu", std::to_string(wiring.mtu)}};
        set_cable(nic, true);
        move_nic(nic, *netns, port);
        netns->ip("link set " + port + " promisc on\n"); // QEMU's vmxnet3 keeps to the MAC that it began with
        if (is_vlan(over))
            netns->ip(fill("link set @port@ mtu @mtu@\nlink set @port@ up\n"
                           "link add link @port@ name @device@ type @over@\n", words));
        else if (!over.empty())
            netns->ip(fill("link add @device@ address @mac@ type @over@\nlink set @port@ down\n"
                           "link set @port@ mtu @mtu@ master @device@\nlink set @port@ up\n",
                           words));
        std::optional<KeepsBursts> bursts;
        if (nic == 0)
            bursts.emplace();
        netns->ip(fill("link set @device@ address @mac@ mtu @mtu@\nlink set @device@ up\n", words));
    }
}

void Testbed::unplug(const std::string &device) const {
    if (wiring.place == Place::nics)
        unplug_nic(device == "in" ? 1 : 2);
    else
        host.ip("link delete " + device + "\n");
}

void Testbed::unplug_cable() const {
    if (wiring.place == Place::nics)
        set_cable(2, false);
    else
        server().ip("link set eth0 down\n");
}

void Testbed::plug_cable() const {
    if (wiring.place == Place::nics)
        return set_cable(2, true);
    server().ip("link set eth0 up\n");
    if (wiring.way != Way::bridged) // the kernel has forgotten these
        server().ip("address replace fd00:0:0:1::2/64 dev eth0 nodad\n"
                    "route replace default via 10.0.1.254\n"
                    "route replace ::/0 via fd00:0:0:1::fe\n");
}

void Testbed::wire_switch() {
    const auto &hub = switch_.emplace("switch");
    hub.ip("link add bridge type bridge mcast_snooping 0\n"
           "link set bridge up\n");
    const std::tuple<const Netns &, const char *, Mac> hosts[] = {
        {worker, "eth0", worker_mac}, {host, "in", in_mac}, {*server_, "eth0", server_mac}};
    int number = 0;
    for (const auto &[netns, device, mac] : hosts) {
        const auto port = "port" + std::to_string(number++);
        const auto mtu = std::to_string(wiring.mtu);
        if (wiring.place == Place::nics && &netns == &host) {
            const KeepsBursts bursts;
            move_nic(0, hub, port);
            move_nic(1, host, device);
            hub.ip("link set " + port + " mtu " + mtu + " master bridge\nlink set " + port + " up\n");
            host.ip("link set in address " + text(mac) + " mtu " + mtu + "\nlink set in up\n");
            continue;
        }
        hub.ip("link add name " + port + " mtu " + mtu + " master bridge type veth peer name " +
               device + " address " + text(mac) + " mtu " + mtu + " netns " + netns.name() + "\n" +
               "link set " + port + " up\n");
        set_offloads(hub, port, {});
        set_offloads(netns, device, &netns == &worker ? wiring.worker : Offloads{});
        netns.ip(std::string("link set ") + device + " up\n");
    }
    // veth wakes its peer after XDP_TX only if an XDP program is there: NAPI alone won't do.
    if (wiring.place != Place::nics)
        switch_program_.emplace(hub, "port1");
}

/// Worker and server are in one network: the server is the host, or behind a bridge there.
void Testbed::address_flat() const {
    if (server_)
        host.ip("link add bridge type bridge mcast_snooping 0\n"
                "link set in master bridge\n"
                "link set out master bridge\n"
                "link set out type bridge_slave mcast_flood off\n" // nor does the worker's kernel
                "link set bridge up\n");
    worker.ip(fill("link set eth0 up\n"
                   "address add 10.0.0.1/16 dev eth0\n"
                   "address add fd00::1/32 dev eth0 nodad\n"
                   "neighbour add 10.0.1.2 lladdr @mac@ dev eth0 nud permanent\n"
                   "neighbour add fd00:0:0:1::2 lladdr @mac@ dev eth0 nud permanent\n",
                   {{"mac", text(server_mac)}}));
    server().ip(fill("link set @device@ up\n"
                     "address add 10.0.1.2/16 dev @device@\n"
                     "address add fd00:0:0:1::2/32 dev @device@ nodad\n"
                     "neighbour add 10.0.0.1 lladdr @mac@ dev @device@ nud permanent\n"
                     "neighbour add fd00::1 lladdr @mac@ dev @device@ nud permanent\n",
                     {{"mac", text(worker_mac)}, {"device", server_device()}}));
}

void Testbed::address_routed() const {
    const bool stick = wiring.way == Way::one_armed;
    const Words words = {{"out", stick ? "in" : "out"},
                         {"in_mac", text(in_mac)},
                         {"gate_mac", text(stick ? in_mac : out_mac)},
                         {"worker_mac", text(worker_mac)},
                         {"server_mac", text(server_mac)}};
    worker.ip(fill("link set eth0 up\n"
                   "address add 10.0.0.1/24 dev eth0\n"
                   "address add fd00::1/64 dev eth0 nodad\n"
                   "neighbour add 10.0.0.254 lladdr @in_mac@ dev eth0 nud permanent\n"
                   "neighbour add fd00::fe lladdr @in_mac@ dev eth0 nud permanent\n"
                   "route add default via 10.0.0.254\n"
                   "route add ::/0 via fd00::fe\n",
                   words));
    host.sysctl("ipv4/ip_forward", "1");
    host.sysctl("ipv6/conf/all/forwarding", "1");
    host.sysctl("ipv4/conf/all/send_redirects", "0");
    host.sysctl("ipv4/conf/in/send_redirects", "0");
    host.ip(fill("address add 10.0.0.254/24 dev in\n"
                 "address add fd00::fe/64 dev in nodad\n"
                 "address add 10.0.1.254/24 dev @out@\n"
                 "address add fd00:0:0:1::fe/64 dev @out@ nodad\n"
                 "neighbour add 10.0.0.1 lladdr @worker_mac@ dev in nud permanent\n"
                 "neighbour add fd00::1 lladdr @worker_mac@ dev in nud permanent\n",
                 words));
    if (wiring.server_known)
        host.ip(fill("neighbour add 10.0.1.2 lladdr @server_mac@ dev @out@ nud permanent\n"
                     "neighbour add fd00:0:0:1::2 lladdr @server_mac@ dev @out@ nud permanent\n",
                     words));
    server_->ip(fill("link set eth0 up\n"
                     "address add 10.0.1.2/24 dev eth0\n"
                     "address add fd00:0:0:1::2/64 dev eth0 nodad\n"
                     "neighbour add 10.0.1.254 lladdr @gate_mac@ dev eth0 nud permanent\n"
                     "neighbour add fd00:0:0:1::fe lladdr @gate_mac@ dev eth0 nud permanent\n"
                     "route add default via 10.0.1.254\n"
                     "route add ::/0 via fd00:0:0:1::fe\n",
                     words));
}

std::uint32_t Testbed::places(std::uint32_t wanted) const {
    return card ? std::min(wanted, card->read(OLAF_REGISTER_PLACES)) : wanted;
}

std::vector<std::string> Testbed::delivery() const {
    switch (wiring.way) {
    case Way::local:
        return {"--local"};
    case Way::bridged:
    case Way::routed:
        return {"--forward", "out"};
    case Way::one_armed:
        return {"--forward", "in"};
    case Way::upstream4:
        return {"--upstream", "10.0.1.2"};
    case Way::upstream6:
        return {"--upstream", "fd00:0:0:1::2"};
    }
    return {};
}

void Testbed::attach(const std::vector<std::string> &more) {
    auto arguments = delivery();
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (card)
        arguments.insert(arguments.end(), {"--hw", "require", "--card", card->bar()});
    olaf.attach(std::move(arguments));
}

void Testbed::set_drain(const std::string &state) const {
    const auto device = olaf.status().json["drain"]["device"].get<std::string>();
    host.ip("link set " + device + " " + state + "\n");
}

Peer Testbed::worker_peer(int family, std::uint16_t port) {
    return {.address = family == 4 ? "10.0.0.1" : "fd00::1", .port = port};
}

Peer Testbed::server_peer(int family) {
    return {.address = family == 4 ? "10.0.1.2" : "fd00:0:0:1::2"};
}

Peer Testbed::target(int family) const {
    if (upstream())
        return {.address = family == 4 ? "10.0.0.254" : "fd00::fe"};
    return server_peer(family);
}

Path Testbed::path(int family) const {
    auto path = Path(family);
    if (upstream())
        path.target(254); // the host's own address
    return path.from(worker_mac).to(routes() || upstream() ? in_mac : server_mac);
}

} // namespace olaf::test
