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

class Capture {
  public:
    /// Captures updates from here on; `filter` as tcpdump takes it.
    Capture(const Netns &netns, const std::string &device, const std::string &filter);
    ~Capture();
    Capture(const Capture &) = delete;
    Capture &operator=(const Capture &) = delete;

    /// Ends tcpdump; throws if it lost a frame.
    std::vector<Captured> end();

  private:
    std::string path_;
    std::unique_ptr<Process> tcpdump_;
};

} // namespace olaf::test
