// SPDX-License-Identifier: BSD-2-Clause
// tcpdump on a device, for as long as an object lives, and what it saw.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "netns.hpp"
#include "process.hpp"
#include "wire.hpp"

namespace olaf::test {

struct Captured {
    std::int64_t time_ns = 0; ///< the kernel's stamp, CLOCK_REALTIME
    Bytes frame;
};

/// Packet sockets in a namespace: tcpdump's, olaf meter's.
std::ptrdiff_t taps(const Netns &netns);
/// Waits until there are so many. Throws WaitRanOut.
void await_taps(const Netns &netns, std::ptrdiff_t wanted);

class Capture {
  public:
    /// Captures updates from here on; `filter` as tcpdump takes it.
    Capture(const Netns &netns, const std::string &device, const std::string &filter);
    ~Capture();
    Capture(const Capture &) = delete;
    Capture &operator=(const Capture &) = delete;

    /// Ends tcpdump once it has written that many frames; throws if it lost one.
    std::vector<Captured> end(std::size_t frames);

  private:
    std::string path_;
    std::unique_ptr<Process> tcpdump_;
};

} // namespace olaf::test
