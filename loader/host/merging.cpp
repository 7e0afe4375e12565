// SPDX-License-Identifier: BSD-2-Clause
#include "merging.hpp"

#include <fmt/format.h>
#include <linux/ethtool.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "notes.hpp"
#include "xdp.hpp"

namespace olaf {
namespace {

struct Offload {
    std::string_view feature; ///< the kernel's name
    std::string_view name;    ///< that `ethtool -K` takes
    std::string_view text;
};
constexpr std::array offloads{Offload{"rx-lro", "lro", "LRO"},
                              Offload{"rx-gro-hw", "rx-gro-hw", "rx-gro-hw"}};

/// A command of ethtool with an array at its end.
template <typename T, typename Element> class Request {
  public:
    Request(std::uint32_t command, std::size_t elements)
        : space_((sizeof(T) + elements * sizeof(Element) + 7) / 8) {
        (*this)->cmd = command;
    }
    T *operator->() { return reinterpret_cast<T *>(space_.data()); }
    void *data() { return space_.data(); }

  private:
    std::vector<std::uint64_t> space_;
};

constexpr std::size_t block_bits = 32;

std::size_t count_features(const std::string &device) {
    Request<ethtool_sset_info, std::uint32_t> sizes(ETHTOOL_GSSET_INFO, 1);
    sizes->sset_mask = std::uint64_t{1} << ETH_SS_FEATURES;
    return ethtool(device, sizes.data()) == 0 && sizes->sset_mask != 0 ? sizes->data[0] : 0;
}

/// For each offload its number among the kernel's features; `count` of one that this kernel doesn't have.
std::array<std::size_t, offloads.size()> numbers_of(const std::string &device, std::size_t count) {
    std::array<std::size_t, offloads.size()> numbers;
    numbers.fill(count);
    Request<ethtool_gstrings, char[ETH_GSTRING_LEN]> names(ETHTOOL_GSTRINGS, count);
    names->string_set = ETH_SS_FEATURES;
    names->len = static_cast<std::uint32_t>(count);
    if (ethtool(device, names.data()) != 0)
        return numbers;
    for (std::size_t i = 0; i < count; i++) {
        const auto *name = reinterpret_cast<const char *>(names->data) + i * ETH_GSTRING_LEN;
        for (std::size_t which = 0; which < offloads.size(); which++)
            if (std::string_view(name, ::strnlen(name, ETH_GSTRING_LEN)) == offloads[which].feature)
                numbers[which] = i;
    }
    return numbers;
}

/// 0 or a positive errno.
int switch_on(const std::string &device, std::uint32_t wanted) {
    const auto count = count_features(device);
    const auto numbers = numbers_of(device, count);
    const auto blocks = (count + block_bits - 1) / block_bits;
    Request<ethtool_sfeatures, ethtool_set_features_block> change(ETHTOOL_SFEATURES, blocks);
    change->size = static_cast<std::uint32_t>(blocks);
    for (std::size_t which = 0; which < offloads.size(); which++) {
        const auto at = numbers[which];
        if ((wanted >> which & 1) == 0 || at >= count)
            continue;
        change->features[at / block_bits].valid |= 1U << at % block_bits;
        change->features[at / block_bits].requested |= 1U << at % block_bits;
    }
    return ethtool(device, change.data());
}

} // namespace

Merging merging_of(const std::string &device) {
    const auto count = count_features(device);
    const auto numbers = numbers_of(device, count);
    const auto blocks = (count + block_bits - 1) / block_bits;
    Request<ethtool_gfeatures, ethtool_get_features_block> state(ETHTOOL_GFEATURES, blocks);
    state->size = static_cast<std::uint32_t>(blocks);
    if (count == 0 || ethtool(device, state.data()) != 0)
        return {};
    Merging merging;
    for (std::size_t which = 0; which < offloads.size(); which++) {
        const auto at = numbers[which];
        if (at >= count)
            continue;
        const auto &block = state->features[at / block_bits];
        const auto bit = 1U << at % block_bits;
        merging.on |= (block.active & bit) != 0 ? 1U << which : 0;
        merging.fixed |= (block.available & bit) == 0 || (block.never_changed & bit) != 0 ? 1U << which : 0;
    }
    return merging;
}

std::string merging_text(std::uint32_t set) {
    std::vector<std::string_view> texts;
    for (std::size_t which = 0; which < offloads.size(); which++)
        if ((set >> which & 1) != 0)
            texts.push_back(offloads[which].text);
    return fmt::format("{}", fmt::join(texts, " and "));
}

void restore_merging(const Device &device, std::uint32_t set) {
    const auto wanted = set & ~merging_of(device.name).on;
    if (wanted == 0 || !foreign_xdp(device.ifindex).empty())
        return;
    (void)switch_on(device.name, wanted); // what it did is looked up
    const auto off = wanted & ~merging_of(device.name).on;
    for (std::size_t which = 0; which < offloads.size(); which++)
        if ((off >> which & 1) != 0)
            note(device.name, {fmt::format("{} was on before olaf attach and is off: ethtool -K {} {} on",
                                           offloads[which].text, device.name, offloads[which].name)});
}

} // namespace olaf
