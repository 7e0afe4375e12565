// SPDX-License-Identifier: BSD-2-Clause
#include "away.hpp"

#include <optional>

#include <bpf/libbpf.h>

#include "frames.hpp" // first: the skeleton uses its structs
#include "network.hpp"
#include "support.hpp"

#include <bench_drop.skel.h>

namespace olaf::bench {

namespace {

class Devices {
  public:
    Devices() : network_(must(Network::make())), drop_(must(open<bench_drop>("drop"))) {
        must(load(drop_, "drop"));
        sink_.emplace(must(Attached::make(network_.sink, bpf_program__fd(drop_->progs.drop))));
        must(swallow(network_.dut));
        away_ = {.nowhere = static_cast<std::uint32_t>(network_.dut.ifindex),
                 .over_veth = static_cast<std::uint32_t>(network_.out.ifindex)};
    }
    [[nodiscard]] const Away &away() const { return away_; }

  private:
    /// Nothing that is sent by the device gets to it. The filter goes with the namespace.
    Result<void> swallow(const Network::Device &device) const {
        LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = device.ifindex, .attach_point = BPF_TC_EGRESS);
        LIBBPF_OPTS(bpf_tc_opts, filter, .prog_fd = bpf_program__fd(drop_->progs.swallow));
        int error = bpf_tc_hook_create(&hook);
        if (error == 0)
            error = bpf_tc_attach(&hook, &filter);
        if (error != 0)
            return fail("attach TC program to", device.name, -error);
        return {};
    }

    Network network_;
    Skeleton<bench_drop> drop_;
    std::optional<Attached> sink_;
    Away away_;
};

} // namespace

const Away &away() {
    static const Devices devices;
    return devices.away();
}

} // namespace olaf::bench
