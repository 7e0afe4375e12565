// SPDX-License-Identifier: BSD-2-Clause
#include "start_pin.hpp"

#include <bpf/bpf.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <numeric>
#include <vector>

namespace olaf {
namespace {

constexpr auto pin_name = "start";
constexpr auto new_pin_name = "start_new";

std::vector<std::uint32_t> keys_of(std::size_t words) {
    std::vector<std::uint32_t> keys(words);
    std::iota(keys.begin(), keys.end(), 0U);
    return keys;
}

} // namespace

Result<std::optional<Start>> read_start(const Attachment &attachment) {
    const auto path = attachment.place.path(pin_name);
    const Fd fd(get_pin(path, BPF_F_RDONLY));
    if (!fd && errno == ENOENT)
        return std::nullopt;
    if (!fd)
        return fail("open", path, errno);
    const auto clusters = attachment.record.config.max_clusters;
    std::vector<std::uint64_t> words(start_words(clusters));
    std::vector<std::uint32_t> keys(words.size());
    auto count = static_cast<std::uint32_t>(words.size());
    std::uint32_t next = 0;
    if (bpf_map_lookup_batch(fd.get(), nullptr, &next, keys.data(), words.data(), &count,
                             nullptr) != 0 &&
        errno != ENOENT)
        return fail("read map", path, errno);
    words.resize(count);
    auto start = start_from(words, clusters);
    if (!start)
        return fail("read", path, 0, "olaf reset starts the figures anew",
                    "written by another version of olaf");
    return start;
}

Result<void> write_start(const Attachment &attachment, const Start &start) {
    auto words = words_of(start);
    auto keys = keys_of(words.size());
    auto count = static_cast<std::uint32_t>(words.size());
    const Fd fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "olaf_start", sizeof(keys[0]), sizeof(words[0]),
                               count, nullptr));
    if (!fd)
        return fail("create map", "olaf_start", errno);
    if (bpf_map_update_batch(fd.get(), keys.data(), words.data(), &count, nullptr) != 0)
        return fail("write map", "olaf_start", errno);
    const auto path = attachment.place.path(pin_name);
    const auto new_path = attachment.place.path(new_pin_name);
    if (::unlink(new_path.c_str()) != 0 && errno != ENOENT) // of an olaf that was killed
        return fail("unlink", new_path, errno);
    if (bpf_obj_pin(fd.get(), new_path.c_str()) != 0)
        return fail("pin map", new_path, errno);
    if (std::rename(new_path.c_str(), path.c_str()) != 0)
        return fail("rename", new_path, errno);
    return {};
}

} // namespace olaf
