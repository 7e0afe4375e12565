// SPDX-License-Identifier: BSD-2-Clause
#include "lent.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include "loader/datapath/programs.hpp"

namespace olaf::test {
namespace {

/// Each holds some megabytes of the kernel's memory, and up to 200 file descriptors.
constexpr std::size_t most_kept = 4;

/// Each configuration has a secret of its own, which means nothing else.
bool is_same(const olaf_config &a, olaf_config b) {
    b.token_secret = a.token_secret;
    return std::memcmp(&a, &b, sizeof a) == 0;
}

void must(int error, const char *what) {
    if (error < 0)
        throw std::system_error(errno, std::generic_category(), what);
}

/// A process may open 1,024 files unless it asks for more: too few for the queues that are kept and two
/// that a test loads for itself.
void allow_more_files() {
    rlimit limit{};
    must(getrlimit(RLIMIT_NOFILE, &limit), "ask how many files may be open");
    limit.rlim_cur = limit.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &limit), "raise how many files may be open");
}

std::list<Loaded> &kept() {
    static std::list<Loaded> all; // the newest last
    return all;
}

bool is_array(std::uint32_t type) {
    return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY;
}
bool is_table(std::uint32_t type) {
    return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_LPM_TRIE;
}

/// Every map that a program of the queue uses; the loader needs to name none of its private ones.
std::vector<MapImage> images_of(const Datapath &queue) {
    std::set<std::uint32_t> ids;
    for (const auto &program : programs) {
        const int fd = queue.program_fd(program.name);
        if (fd < 0)
            continue;
        std::vector<std::uint32_t> its(64);
        bpf_prog_info info{};
        info.nr_map_ids = static_cast<std::uint32_t>(its.size());
        info.map_ids = reinterpret_cast<std::uintptr_t>(its.data());
        std::uint32_t size = sizeof info;
        must(bpf_obj_get_info_by_fd(fd, &info, &size), "ask for a program's maps");
        if (info.nr_map_ids > its.size())
            throw std::runtime_error("a program uses more maps than were asked for");
        ids.insert(its.begin(), its.begin() + info.nr_map_ids);
    }
    std::vector<MapImage> images;
    for (const auto id : ids)
        images.emplace_back(id);
    return images;
}

Fd open_map(std::uint32_t id) {
    Fd map(bpf_map_get_fd_by_id(id));
    must(map.get(), "open a map");
    return map;
}

void drop_events(const Fd &map) {
    const auto drop = [](void *, void *, std::size_t) { return 0; };
    ring_buffer *ring = ring_buffer__new(map.get(), drop, nullptr, nullptr);
    if (ring == nullptr)
        must(-1, "open a ring buffer");
    ring_buffer__consume(ring);
    ring_buffer__free(ring);
}

} // namespace

MapImage::MapImage(std::uint32_t id) : id_(id) {
    const auto map = open_map(id);
    bpf_map_info info{};
    std::uint32_t size = sizeof info;
    must(bpf_obj_get_info_by_fd(map.get(), &info, &size), "ask about a map");
    type_ = info.type, flags_ = info.map_flags;
    key_size_ = info.key_size, value_size_ = info.value_size, entries_ = info.max_entries;
    if (type_ == BPF_MAP_TYPE_PERCPU_ARRAY)
        value_size_ = (value_size_ + 7) / 8 * 8 * static_cast<std::uint32_t>(libbpf_num_possible_cpus());
    if (is_array(type_))
        copy_array(map);
    else if (is_table(type_))
        copy_table(map);
    else if (type_ != BPF_MAP_TYPE_RINGBUF && type_ != BPF_MAP_TYPE_PROG_ARRAY)
        throw std::runtime_error(std::string(info.name) + ": a map of a type that tests can't put back");
}

void MapImage::copy_array(const Fd &map) {
    keys_.resize(std::size_t{entries_} * key_size_);
    values_.resize(std::size_t{entries_} * value_size_);
    std::uint32_t count = entries_, next = 0;
    if (bpf_map_lookup_batch(map.get(), nullptr, &next, keys_.data(), values_.data(), &count, nullptr) != 0 &&
        errno != ENOENT) // that it is the end
        must(-1, "read an array");
    if (count != entries_)
        throw std::runtime_error("an array was read in part");
}

void MapImage::copy_table(const Fd &map) {
    std::vector<std::uint8_t> key(key_size_), value(value_size_);
    const std::uint8_t *before = nullptr;
    while (bpf_map_get_next_key(map.get(), before, key.data()) == 0) {
        must(bpf_map_lookup_elem(map.get(), key.data(), value.data()), "read a table");
        keys_.insert(keys_.end(), key.begin(), key.end());
        values_.insert(values_.end(), value.begin(), value.end());
        before = key.data();
    }
}

void MapImage::restore() const {
    if (type_ == BPF_MAP_TYPE_PROG_ARRAY)
        return;
    const auto map = open_map(id_);
    if (type_ == BPF_MAP_TYPE_RINGBUF)
        return drop_events(map);
    if (is_table(type_))
        return restore_table(map);
    if (!is_array(type_) || (flags_ & BPF_F_RDONLY_PROG) != 0) // a constant stays itself
        return;
    std::uint32_t count = entries_;
    must(bpf_map_update_batch(map.get(), keys_.data(), values_.data(), &count, nullptr), "write an array");
}

void MapImage::restore_table(const Fd &map) const {
    std::vector<std::uint8_t> key(key_size_);
    while (bpf_map_get_next_key(map.get(), nullptr, key.data()) == 0)
        must(bpf_map_delete_elem(map.get(), key.data()), "empty a table");
    for (std::size_t i = 0; i < keys_.size() / key_size_; i++)
        must(bpf_map_update_elem(map.get(), &keys_[i * key_size_], &values_[i * value_size_], BPF_ANY),
             "fill a table");
}

Loan borrow(const olaf_config &config, bool floats, const std::function<void(const Datapath &)> &prepare) {
    for (auto i = kept().begin(); i != kept().end(); i++)
        if (i->floats == floats && is_same(i->queue.config(), config)) {
            Loan loan(new Loaded(std::move(*i)));
            kept().erase(i);
            for (const auto &image : loan->images)
                image.restore();
            if (const auto open = loan->queue.set_tail_calls(); !open)
                throw std::runtime_error(open.error().message());
            return loan;
        }
    allow_more_files();
    auto queue = Datapath::load(config, {.pinned_maps = {}, .floats = floats});
    if (!queue)
        throw std::runtime_error(queue.error().message());
    prepare(*queue);
    auto images = images_of(*queue);
    return Loan(new Loaded{std::move(*queue), floats, std::move(images)});
}

void GiveBack::operator()(Loaded *loaded) const {
    const std::unique_ptr<Loaded> owned(loaded);
    if (kept().size() == most_kept)
        kept().pop_front();
    kept().push_back(std::move(*owned));
}

} // namespace olaf::test
