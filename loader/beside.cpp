// SPDX-License-Identifier: BSD-2-Clause
#include "beside.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include <beside.skel.h>

#include "bpf_log.hpp"
#include "ethtool.hpp"
#include "record.hpp"
#include "xdp_features.hpp"

namespace olaf {
namespace {

struct BesideCloser {
    void operator()(beside *skeleton) const { beside__destroy(skeleton); }
};
struct BtfFreer {
    void operator()(btf *types) const { btf__free(types); }
};
struct LinkCloser {
    void operator()(bpf_link *link) const { bpf_link__destroy(link); }
};

Result<void> leave_notes(const Datapath &queue, const PinPlace &place) {
    const auto path = place.path(pin::beside);
    if (::access(path.c_str(), F_OK) == 0)
        return {};
    const QuietBpfLog quiet; // it may well fail, and is done without then
    const std::unique_ptr<beside, BesideCloser> skeleton(beside__open());
    if (!skeleton)
        return fail("open", "the program that notes VLAN tags", errno);
    skeleton->rodata->olaf_beside_ifindex = place.ifindex;
    skeleton->rodata->olaf_beside_netns = static_cast<std::uint32_t>(place.netns);
    if (const int error = bpf_map__reuse_fd(skeleton->maps.olaf_beside, queue.map_fd("olaf_beside"));
        error != 0)
        return fail("share map", "olaf_beside", -error);
    if (const int error = beside__load(skeleton.get()); error != 0)
        return fail("load", "the program that notes VLAN tags", -error,
                    "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_TRACEPOINTS");
    const std::unique_ptr<bpf_link, LinkCloser> link(
        bpf_program__attach(skeleton->progs.olaf_beside_note));
    if (!link)
        return fail("attach to", "the tracepoint netif_receive_skb", errno);
    if (bpf_obj_pin(bpf_link__fd(link.get()), path.c_str()) != 0)
        return fail("pin", path, errno);
    return {};
}

void say(const Device &device, const std::string &why) {
    fmt::print(stderr,
               "{}: VLAN tags that aren't among a frame's bytes can't be seen{}: updates that have "
               "one leave without it, until {}\n",
               device.name, why, untagging_remedy(device));
}

} // namespace

bool driver_tells_tags(const Device &device) {
    const auto features = xdp_features(device.ifindex);
    if (!features || !features->vlan_tag)
        return false;
    // The question is a kernel function: libbpf finds it in the kernel's BTF, or loads nothing.
    const std::unique_ptr<btf, BtfFreer> kernel(btf__load_vmlinux_btf());
    return kernel != nullptr;
}

std::string untagging_remedy(const Device &device) {
    return device.kind == "veth" ? fmt::format("ethtool -K PEER txvlan off on {}'s peer", device.name)
                                 : fmt::format("ethtool -K {} rxvlan off", device.name);
}

void look_beside_or_say(const Datapath &queue, const PinPlace &place, const Device &device) {
    const bool may_be_hidden = offloads_of(device.name).rx_vlan;
    if ((queue.config().flags & OLAF_CONFIG_SKB_MODE) != 0) {
        if (auto done = leave_notes(queue, place); !done && may_be_hidden)
            say(device, fmt::format(" ({})", done.error().message()));
    } else if (!queue.asks_driver() && may_be_hidden) {
        say(device, ", because the driver doesn't tell native XDP");
    }
}

} // namespace olaf
