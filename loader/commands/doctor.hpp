// SPDX-License-Identifier: BSD-2-Clause
// What `olaf doctor` looks at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loader/host/device.hpp"

namespace olaf {

enum class Verdict {
    good,
    hint, ///< works, but may not be what one wants
    bad,  ///< prevents a native attach, or a queue that is there from doing its work
};

struct Check {
    std::string subject;
    Verdict verdict;
    std::string finding;
    std::string remedy; ///< empty when there is nothing to do
};

std::vector<Check> check_host();
/// With the device that departures are to leave by, if it is known.
std::vector<Check> check_device(const Device &device, const std::optional<Device> &output);
/// That device.
std::vector<Check> check_output(const Device &output);

/// Whether the queue could be in a card that the device belongs to, and in the device itself as an XDP
/// program that is offloaded. `file`: of the card's registers; "": to be found.
std::vector<Check> check_card(const Device &device, const std::string &file);

/// A queue that is on a device: its verdict, as `olaf status` has it; none without a queue.
std::vector<Check> check_verdict(const std::string &device);
/// Its programs, and what they were told of this host.
void check_queue(const Device &device, std::vector<Check> &checks);
/// The device by which its departures leave; nothing: it has none.
std::optional<Device> output_of_queue(const std::string &device);

} // namespace olaf
