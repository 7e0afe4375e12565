// SPDX-License-Identifier: BSD-2-Clause
#include "beside.hpp"

#include <bpf/btf.h>
#include <fmt/format.h>

#include <memory>

#include "loader/host/ethtool.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/xdp_features.hpp"

namespace olaf {
namespace {

struct BtfFreer {
    void operator()(btf *types) const { btf__free(types); }
};

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
    return device.kind == "veth"
               ? fmt::format("ethtool -K PEER txvlan off on {}'s peer", device.name)
               : fmt::format("ethtool -K {} rxvlan off", device.name);
}

void say_tags_unseen(const Device &device, const std::string &why) {
    if (offloads_of(device.name).rx_vlan)
        note(fmt::format(
            "{}: VLAN tags that aren't among a frame's bytes can't be seen{}: updates that "
            "have one leave without it, until {}",
            device.name, why, untagging_remedy(device)));
}

void say_if_driver_is_silent(const Datapath &queue, const Device &device) {
    if ((queue.config().flags & OLAF_CONFIG_SKB_MODE) != 0 || queue.asks_driver())
        return;
    const auto &why = queue.why_silent();
    say_tags_unseen(device,
                    ", because " + (why.empty() ? "the driver doesn't tell native XDP" : why));
}

} // namespace olaf
