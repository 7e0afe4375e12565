// SPDX-License-Identifier: BSD-2-Clause
// A network namespace for as long as an object lives, named after the running test: olaf-test-TEST-ROLE.
#pragma once

#include <cstdint>
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
    /// Frames that the device has received since it was made, whatever became of them.
    [[nodiscard]] std::uint64_t received(const std::string &device) const;
    /// Waits until each device that is up can send. A veth that came up before its peer gets its queue only
    /// later, from a work queue of the kernel; until then the kernel drops all that it is to send, without
    /// an error. Call it once the peers are up. Throws WaitRanOut.
    void await_links() const;

  private:
    std::string name_;
    int fd_ = -1;
};

/// Takes the NIC of that number (tests/kernels/run --nic) off the PCI bus, with its driver.
void unplug_nic(int number);

/// The cable of that NIC is plugged in, or not.
void set_cable(int number, bool plugged_in);

/// Lets the guest in which the test runs stand still for so many seconds, at least two; its NICs announce
/// themselves then, as after a migration. Returns afterwards.
void pause_guest(unsigned seconds);

/// Moves the NIC of that number there, under that name; plugs it in if it was unplugged. When the namespace
/// goes, the kernel takes the NIC back, a little later. Throws WaitRanOut.
void move_nic(int number, const Netns &to, const std::string &name);

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

/// What a test wants of a device, so that nothing depends on defaults.
struct Offloads {
    bool gro = true;          ///< on: the device has NAPI, so that frames may be redirected to it
    bool tx_checksum = false; ///< on: sockets leave the checksum to the device
    bool tx_vlan = false;     ///< on: tags travel beside the frame
};

void set_offloads(const Netns &netns, const std::string &device, const Offloads &offloads);

/// Gives this process, and all that it starts, names of network namespaces and a BPF file system of
/// their own. They go with the last of these processes, however it ends, and no other test and no
/// queue of this host is seen. Throws if the kernel refuses. Call it before any thread is started.
void hide_the_host();

} // namespace olaf::test
