// SPDX-License-Identifier: BSD-2-Clause
// A network namespace for as long as an object lives, named after the running test and this
// process: olaf-test-PID-TEST-ROLE. What a killed test left is removed by the next run.
#pragma once

#include <memory>
#include <string>

namespace olaf::test {

class Netns {
  public:
    explicit Netns(const std::string &role);
    ~Netns();
    Netns(const Netns &) = delete;
    Netns &operator=(const Netns &) = delete;

    [[nodiscard]] const std::string &name() const { return name_; }
    [[nodiscard]] int fd() const { return fd_; }

    /// Runs `lines`, one `ip` command each; throws if one fails.
    void ip(const std::string &lines) const;
    /// The same with `tc`.
    void tc(const std::string &lines) const;
    /// Writes /proc/sys/net/KEY.
    void sysctl(const std::string &key, const std::string &value) const;
    /// A number of /proc/net/snmp or snmp6: "UdpInCsumErrors", "Udp6InErrors".
    [[nodiscard]] unsigned long snmp(const std::string &counter) const;
    [[nodiscard]] int ifindex(const std::string &device) const;

  private:
    std::string name_;
    int fd_ = -1;
};

/// This thread is in the namespace while it lives. A socket stays in the one it was made in.
class Inside {
  public:
    explicit Inside(const Netns &netns);
    ~Inside();
    Inside(const Inside &) = delete;
    Inside &operator=(const Inside &) = delete;

  private:
    int home_;
};

/// Removes the namespaces of tests whose process is gone. Run once, before the first test.
void remove_leftovers();

} // namespace olaf::test
