// SPDX-License-Identifier: BSD-2-Clause
// From the options of `attach` and the host's devices and routes to a queue in full, in the kernel or
// in a card.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attachment.hpp"
#include "loader/card/card.hpp"
#include "loader/datapath/config.hpp"
#include "loader/host/device.hpp"
#include "olaf/result.hpp"
#include "options.hpp"

namespace olaf {

/// A queue that is to be in a card.
struct CardPlan {
    std::string path;           ///< of its registers
    std::optional<CardOwn> own; ///< only updates for these addresses are taken; nothing: all
};

struct Plan {
    Device device;                ///< where updates come in
    std::optional<Device> egress; ///< where they leave; FORWARD, UPSTREAM
    std::string target;           ///< of deliveries, as people write it; "" for local
    DatapathConfig asked;         ///< the queue in human terms: all but drain and mode
    olaf_config config{};         ///< the same as the programs or the card have it
    XdpMode mode = XdpMode::automatic;
    std::string native_obstacle;    ///< why native XDP is out of the question; "": nothing is known
    bool driver_tells_tags = false; ///< the driver answers native programs that ask it for a VLAN tag
    std::vector<olaf_prefix> allow; ///< sources that may send updates; none: not given
    Hardware hardware = Hardware::automatic; ///< as it was asked for
    std::string no_card;            ///< why the queue isn't in a card; "": nobody looked
    std::optional<CardPlan> card;   ///< nothing: the queue is to be in the kernel
    std::vector<std::string> notes; ///< what was decided and is worth knowing
    std::vector<std::string> consequences; ///< what follows for a new queue, once it is there
};

/// A queue in the kernel. With a running queue's record: what the options leave open stays as it is.
/// Fails where an option is out of its range, or the host's devices and routes can't do it.
Result<Plan> make_plan(const AttachOptions &options, const Device &device,
                       const Record *running = nullptr);

/// What --hw comes to: a queue in the card, or in the kernel, which the plan then says why. Fails with
/// the reason where a card is required. `running`: the record of the queue that is there, or null.
Result<void> choose_card(Plan &plan, const AttachOptions &options, const PinPlace &place,
                         const Record *running);

/// What a record keeps of an error: the reason without what was being done. Where there is no card at
/// all it begins with this.
inline constexpr auto no_card = "no card: ";
std::string reason_of(const Error &error);

/// Whether the kernel routes by this device; the FIB answers programs only then.
bool routes_by(const std::string &device, std::uint32_t family);
std::string routing_remedy(const std::string &device, std::uint32_t family);

/// "room for updates of 192 lanes, and MTU 9000 carries 1120 ...", of a queue that was made when the MTU of
/// its devices was smaller; "" of one that has room for what they carry.
std::string outgrown_note(const olaf_config &running, const Device &device, const Device *output);

/// Netfilter's chains that what is forwarded between those devices passes by: "ip nat post".
Result<std::vector<std::string>> chains_passed_by(const std::string &in, const std::string &out,
                                                  bool bridges);
/// What follows from that, in a sentence; "" if there are none.
std::string netfilter_note(const std::vector<std::string> &chains);

/// Which options of a queue were given. What wasn't given is made to fit.
struct Given {
    bool queue = false, clusters = false, lanes = false, workers = false;
};

/// Makes what wasn't given fit; returns what can't: "it has no window of unacknowledged
/// departures". "": all of it can.
std::string fit_to_card(DatapathConfig &asked, const Given &given, const CardCapabilities &can);

/// The same of a rule; "" if the card can follow it.
std::string rule_obstacle(const olaf_rule &rule, const CardCapabilities &can);

} // namespace olaf
