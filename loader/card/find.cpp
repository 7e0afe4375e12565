// SPDX-License-Identifier: BSD-2-Clause
#include "find.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "loader/host/device.hpp"
#include "olaf/try.hpp"

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

namespace {

using Path = std::array<char, PATH_MAX>;

} // namespace

std::optional<std::string> card_of(const PinPlace &place) {
    const Fd map(get_pin(place.path(pin::card), BPF_F_RDONLY));
    constexpr std::uint32_t key = 0;
    Path path{};
    if (!map || bpf_map_lookup_elem(map.get(), &key, path.data()) != 0)
        return {};
    path.back() = '\0';
    return std::string(path.data());
}

Result<void> remember_card(const PinPlace &place, const std::string &path) {
    if (card_of(place) == path)
        return {};
    if (path.size() >= PATH_MAX)
        return fail("remember the card", path, ENAMETOOLONG);
    const Fd map(
        bpf_map_create(BPF_MAP_TYPE_ARRAY, pin::card, sizeof(std::uint32_t), PATH_MAX, 1, nullptr));
    if (!map)
        return fail("create map", pin::card, errno);
    constexpr std::uint32_t key = 0;
    Path value{};
    path.copy(value.data(), value.size() - 1);
    if (bpf_map_update_elem(map.get(), &key, value.data(), BPF_ANY) != 0)
        return fail("write map", pin::card, errno);
    if (bpf_obj_pin(map.get(), place.path(pin::card).c_str()) != 0)
        return fail("pin map", place.path(pin::card), errno,
                    errno == EEXIST ? "olaf detach first: its queue is in another card" : "");
    return {};
}

Result<void> forget_card(const PinPlace &place) {
    if (::unlink(place.path(pin::card).c_str()) != 0 && errno != ENOENT)
        return fail("unlink", place.path(pin::card), errno);
    return {};
}

Result<void> check_card_free(const PinPlace &place, const std::string &path) {
    const auto places = OLAF_TRY(pinned_places());
    for (const auto &other : places)
        if ((other.netns != place.netns || other.ifindex != place.ifindex) &&
            card_of(other) == path)
            return fail("use the card", path, EBUSY, "olaf status --all shows it; detach it first",
                        fmt::format("the queue of interface {} of network namespace {} is in it",
                                    other.ifindex, other.netns));
    return {};
}

} // namespace olaf
