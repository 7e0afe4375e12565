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

/// Every line of the text is an object of docs/schema/NAME.json.
void expect_schema(const std::string &name, const std::string &text);

/// Fields that tshark finds in a capture with Olaf's dissector, a row a packet.
std::vector<std::vector<std::string>> dissect(const std::string &capture,
                                              const std::vector<std::string> &fields);

} // namespace olaf::test
