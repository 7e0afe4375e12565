// SPDX-License-Identifier: BSD-2-Clause
// The end-to-end benchmark's network: a namespace of its own with two veth pairs,
//
//   gen ──▶ dut   the device under test, native XDP
//   out ──▶ sink  where it sends what leaves it
//
// The namespace has no name and belongs to this process: however the process
// ends, kill -9 included, the kernel removes it and the host never sees it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <olaf/result.hpp>

namespace olaf::bench {

class Network {
  public:
    struct Device {
        const char *name;
        int ifindex;
    };

    struct Options {
        unsigned mtu = 1500;
        unsigned queues = 1; ///< of each device: CPU c delivers into queue c
    };

    /// Moves this process into a fresh namespace and builds the pairs there.
    static Result<Network> make(const Options &options);
    static Result<Network> make() { return make({}); }

    Device gen, dut, out, sink;
};

/// Native XDP on `device`, for as long as the object lives.
class Attached {
  public:
    static Result<Attached> make(const Network::Device &device, int program);
    Attached(Attached &&other) noexcept : ifindex_(std::exchange(other.ifindex_, 0)) {}
    Attached &operator=(Attached &&) = delete;
    ~Attached();

    /// Another program in its place, with no frame lost between the two.
    Result<void> replace(int program);

  private:
    explicit Attached(int ifindex) : ifindex_(ifindex) {}
    int ifindex_;
};

struct DeviceCounters {
    std::uint64_t received = 0; ///< frames that reached the device, XDP's among them
    std::uint64_t dropped = 0;  ///< on the way into it
};

Result<DeviceCounters> counters(const Network::Device &device);

/// Runs `command` in the shell, in this process's namespace.
Result<void> shell(const std::string &command);

} // namespace olaf::bench
