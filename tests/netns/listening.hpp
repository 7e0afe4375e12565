// SPDX-License-Identifier: BSD-2-Clause
// A queue that somebody looks at: `olaf trace` as a process, and updates for it to see.
#pragma once

#include <filesystem>
#include <vector>

#include "traffic.hpp"

namespace olaf::test {

/// `olaf trace in --json ARGUMENTS`, which listens by the time that it is made.
class Trace {
  public:
    Trace(const Testbed &testbed, const UdpSocket &worker, std::vector<std::string> arguments = {});

    /// Ends it, by SIGINT unless it has ended: what it told of clusters but the marker's.
    std::vector<nlohmann::json> events();

    Process process;
};

/// The cluster whose updates only tell that somebody listens.
inline constexpr std::uint32_t marker_cluster = 14;

/// A directory for a test's files, gone with the object.
class Scratch {
  public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    [[nodiscard]] std::string path(const std::string &name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

/// Runs a script of tests/netns/observe with Debian's own Python, which has its libraries.
Outcome run_script(const std::string &name, std::vector<std::string> arguments,
                   const std::string &input = {}, const Netns *netns = nullptr);

/// `olaf` as nobody, with just those capabilities: ",+bpf".
std::vector<std::string> as_nobody(const std::string &capabilities,
                                   const std::vector<std::string> &arguments);

/// A program that goes on until it is interrupted: that happens once it has printed this text.
Outcome interrupted_after(Process &program, const std::string &text);

/// Every line of the text is an object of docs/schema/NAME.json.
void expect_schema(const std::string &name, const std::string &text);

/// Fields that tshark finds in a capture with Olaf's dissector, a row a packet.
std::vector<std::vector<std::string>> dissect(const std::string &capture,
                                              const std::vector<std::string> &fields);

struct Captured {
    std::int64_t time_ns = 0; ///< the kernel's stamp, CLOCK_REALTIME
    Bytes frame;
};

/// Packet sockets in a namespace: tcpdump's, olaf meter's.
std::ptrdiff_t taps(const Netns &netns);
/// Waits until there are so many. Throws WaitRanOut.
void await_taps(const Netns &netns, std::ptrdiff_t wanted);

/// tcpdump on a device, and what it saw.
class Capture {
  public:
    /// Captures updates from here on; `filter` as tcpdump takes it.
    Capture(const Netns &netns, const std::string &device, const std::string &filter);

    /// Ends tcpdump once it has written that many frames; throws if it lost one.
    std::vector<Captured> end(std::size_t frames);

  private:
    const Scratch scratch_;
    const std::string path_ = scratch_.path("frames");
    Process tcpdump_; ///< last: it ends before its file goes
};

} // namespace olaf::test
