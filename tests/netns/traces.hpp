// SPDX-License-Identifier: BSD-2-Clause
// What a queue puts into a namespace and into the kernel, so that tests can see it go.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "netns.hpp"

namespace olaf::test {

/// Devices, qdiscs, filters, programs on hooks, offloads and pins of a namespace, as text.
std::string traces(const Netns &netns);

/// Where the queue of a device has its pins (loader/host/bpffs.hpp).
std::string pin_directory(const Netns &netns, const std::string &device);

/// Programs attached in a namespace, XDP and TC, and their maps, by id.
struct KernelObjects {
    std::set<std::uint32_t> programs, maps;
};
KernelObjects kernel_objects(const Netns &netns);

/// Waits until the kernel has freed them all. Throws WaitRanOut.
void await_freed(const KernelObjects &objects);

/// How often they have run, while somebody holds count_runs().
std::uint64_t run_count(const KernelObjects &objects);

/// As long as it lives, the kernel counts runs of programs.
class CountRuns {
  public:
    CountRuns();
    ~CountRuns();
    CountRuns(const CountRuns &) = delete;
    CountRuns &operator=(const CountRuns &) = delete;

  private:
    int fd_;
};

/// Somebody else's filter on a device, which lets everything on to the next one, for as long as
/// it lives.
class ForeignFilter {
  public:
    enum class Side { ingress, egress };
    ForeignFilter(const Netns &netns, const std::string &device, Side side, unsigned priority);
    ~ForeignFilter();
    ForeignFilter(const ForeignFilter &) = delete;
    ForeignFilter &operator=(const ForeignFilter &) = delete;

    /// How often it has run, while somebody counts runs.
    [[nodiscard]] std::uint64_t runs() const;
    /// Whether it is still on the device.
    [[nodiscard]] bool attached() const;

  private:
    const Netns &netns_;
    int ifindex_, program_;
    Side side_;
    unsigned priority_;
};

/// Somebody else's TCX program on a device, with that verdict, for as long as it lives.
class ForeignTcx {
  public:
    ForeignTcx(const Netns &netns, const std::string &device, ForeignFilter::Side side,
               int verdict);
    ~ForeignTcx();
    ForeignTcx(const ForeignTcx &) = delete;
    ForeignTcx &operator=(const ForeignTcx &) = delete;

    /// Whether this kernel has TCX at all.
    [[nodiscard]] bool attached() const { return link_ >= 0; }

  private:
    int link_;
};

/// Somebody else's XDP program on a device, for as long as it lives.
class ForeignXdp {
  public:
    ForeignXdp(const Netns &netns, const std::string &device);
    ~ForeignXdp();
    ForeignXdp(const ForeignXdp &) = delete;
    ForeignXdp &operator=(const ForeignXdp &) = delete;

  private:
    int link_;
};

} // namespace olaf::test
