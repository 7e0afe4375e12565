// SPDX-License-Identifier: BSD-2-Clause
#include "find.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "loader/host/ethtool.hpp"

namespace olaf {
namespace {

constexpr auto xilinx = "0x10ee";
constexpr auto opennic_driver = "onic";
/// The one that OpenNIC's boxes are in.
constexpr auto resource = "resource2";

std::unexpected<Error> none(const std::string &device, std::string reason) {
    return fail("find a card behind", device, ENXIO,
                "--card FILE names the file of its registers", std::move(reason));
}

} // namespace

Result<std::string> card_on_bus(const std::string &device, const std::string &driver,
                                const std::string &bus, const std::string &pci) {
    const auto folder = pci + "/" + bus;
    std::error_code error;
    if (bus.empty() || !std::filesystem::is_directory(folder, error))
        return none(device, fmt::format("it is no PCI device (its driver is {})",
                                        driver.empty() ? "unnamed" : driver));
    std::string vendor;
    std::ifstream(folder + "/vendor") >> vendor;
    if (vendor != xilinx || driver != opennic_driver)
        return none(device, fmt::format("it isn't OpenNIC's: its driver is {}, of PCI vendor {}",
                                        driver, vendor.empty() ? "unknown" : vendor));
    auto path = folder + "/" + resource;
    if (!std::filesystem::exists(path, error))
        return none(device, fmt::format("its PCI device has no {}", resource));
    return path;
}

Result<std::string> find_card(const Device &device, const std::string &named) {
    if (!named.empty()) {
        std::error_code error;
        auto path = std::filesystem::canonical(named, error);
        if (error)
            return fail("find the card", named, error.value(), "name the file of its registers");
        return path.native();
    }
    const auto driver = driver_of(device.name);
    return card_on_bus(device.name, driver.name, driver.bus, "/sys/bus/pci/devices");
}

bool is_locked_down() {
    std::ifstream file("/sys/kernel/security/lockdown");
    std::string line;
    return std::getline(file, line) && line.find("[none]") == line.npos;
}

} // namespace olaf
