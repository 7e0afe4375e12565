// SPDX-License-Identifier: BSD-2-Clause
#include "attachment.hpp"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "loader/card/find.hpp"
#include "loader/datapath/object.hpp"
#include "loader/datapath/programs.hpp"
#include "loader/host/bpffs.hpp"
#include "loader/host/device.hpp"
#include "loader/host/netns.hpp"
#include "loader/host/xdp.hpp"
#include "olaf/try.hpp"

namespace olaf {

Drain Record::drain(std::uint32_t ifindex) const {
    Drain drain = drain_names(ifindex);
    drain.ifindex_a = drain_ifindex_a;
    drain.ifindex_b = drain_ifindex_b;
    return drain;
}

Result<RecordMap> RecordMap::create(const PinPlace &place, const Record &record) {
    Fd fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, pin::record, sizeof(std::uint32_t), sizeof(Record), 1,
                         nullptr));
    if (!fd)
        return fail("create map", pin::record, errno,
                    errno == EPERM ? "run as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)" : "");
    RecordMap map(place.path(pin::record), std::move(fd), sizeof record);
    OLAF_TRY(map.write(record));
    if (bpf_obj_pin(map.fd_.get(), map.path_.c_str()) != 0)
        return fail("pin map", map.path_, errno);
    return map;
}

Result<RecordMap> RecordMap::open(const PinPlace &place) {
    return open(place, 0);
}

Result<RecordMap> RecordMap::open_to_read(const PinPlace &place) {
    return open(place, BPF_F_RDONLY);
}

Result<RecordMap> RecordMap::open(const PinPlace &place, std::uint32_t file_flags) {
    const auto path = place.path(pin::record);
    Fd fd(get_pin(path, file_flags));
    if (!fd)
        return fail("open", path, errno);
    bpf_map_info info{};
    __u32 length = sizeof info;
    if (bpf_obj_get_info_by_fd(fd.get(), &info, &length) != 0)
        return fail("inspect", path, errno);
    if (info.value_size < record_head_bytes)
        return fail("read", path, 0, "unlink the directory", "it isn't a record of olaf's");
    return RecordMap(path, std::move(fd), info.value_size);
}

std::optional<std::vector<std::byte>> RecordMap::value() const {
    std::vector<std::byte> value(bytes_);
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(fd_.get(), &key, value.data()) != 0)
        return std::nullopt;
    return value;
}

Result<Record> RecordMap::read() const {
    const auto bytes = value();
    if (!bytes)
        return fail("read", path_, errno);
    Record record;
    record.config.layout = 0;
    std::memcpy(&record, bytes->data(),
                bytes_ == sizeof record ? sizeof record : record_head_bytes);
    return record;
}

Result<void> RecordMap::write(const Record &record) const {
    auto bytes = value();
    if (!bytes)
        return fail("read", path_, errno);
    std::memcpy(bytes->data(), &record, bytes_ == sizeof record ? bytes_ : record_head_bytes);
    const std::uint32_t key = 0;
    if (bpf_map_update_elem(fd_.get(), &key, bytes->data(), BPF_ANY) != 0)
        return fail("write", path_, errno);
    return {};
}

Result<void> check_layout(const Attachment &attachment) {
    const auto &record = attachment.record;
    if (knows_layout(record))
        return {};
    return fail("use the queue on", attachment.device, 0,
                fmt::format("use the olaf that attached it, or olaf detach {} --force, which drops "
                            "what waits",
                            attachment.device),
                fmt::format("its maps have layout {}, this olaf knows layout {}", record.layout,
                            OLAF_LAYOUT));
}

namespace {

std::unexpected<Error> none(const std::string &device) {
    return fail("find a queue on", device, 0, "olaf attach puts one there, olaf status lists all",
                "none is attached");
}

/// Whether the pinned XDP program is on the device. A link can't be opened by one who may only
/// read its pin: then the device tells which program it has.
bool is_alive(const PinPlace &place) {
    const Fd link(bpf_obj_get(place.path(entrance.link).c_str()));
    if (link)
        return xdp_link_device(link.get()) == place.ifindex;
    if (errno != EACCES && errno != EPERM)
        return false;
    const Fd program(get_pin(place.path(entrance.pin), BPF_F_RDONLY));
    return program && xdp_program_on(place.ifindex, program.get());
}

Result<Fd> open_map(const Attachment &attachment, const char *name, std::uint32_t file_flags) {
    OLAF_TRY(check_layout(attachment));
    const auto path = attachment.place.path(name);
    Fd fd(get_pin(path, file_flags));
    if (!fd)
        return fail("open map", path, errno,
                    errno == EPERM || errno == EACCES ? "run as root" : "");
    const auto sizes = map_sizes(attachment.record.config);
    if (const auto size = std::ranges::find(sizes, std::string_view(name), &MapSize::name);
        size != sizes.end())
        OLAF_TRY(check_value_size(*size, fd.get()));
    return fd;
}

} // namespace

Attachment read_attachment(const PinPlace &place) {
    Attachment attachment;
    attachment.place = place;
    if (const auto map = RecordMap::open_to_read(place))
        attachment.record = map->read().value_or(Record{});
    const auto device = find_device(place.ifindex);
    attachment.card = card_of(place);
    const bool running = attachment.on_card()
                             ? device && device_presence(place) != Presence::gone
                             : is_alive(place);
    attachment.there = device.has_value();
    attachment.alive = running && attachment.there;
    attachment.away = running && !attachment.there;
    attachment.device = device ? device->name : attachment.record.device;
    return attachment;
}

Result<std::vector<Attachment>> attachments() {
    const auto netns = OLAF_TRY(netns_inode());
    const auto places = OLAF_TRY(pinned_places());
    std::vector<Attachment> found;
    for (const auto &place : places)
        if (place.netns == netns)
            found.push_back(read_attachment(place));
    std::ranges::sort(found, {}, [](const Attachment &a) { return a.place.ifindex; });
    return found;
}

Result<Attachment> find_attachment(const std::string &name) {
    const auto all = OLAF_TRY(attachments());
    const auto device = find_device(name);
    const auto found = std::ranges::find_if(all, [&](const Attachment &candidate) {
        return device ? candidate.place.ifindex == device->ifindex : candidate.device == name;
    });
    if (found != all.end())
        return *found;
    if (!device)
        return std::unexpected(device.error());
    return none(name);
}

namespace {

Result<Attachment> check_live(Attachment attachment) {
    const auto &device = attachment.device;
    if (!attachment.record.complete)
        return fail("use the queue on", device, 0, "olaf detach " + device + ", then attach again",
                    "it is half there: an attach or detach was interrupted");
    OLAF_TRY(check_layout(attachment));
    if (!attachment.alive)
        return fail("use the queue on", device, 0, "olaf detach " + device + ", then attach again",
                    why_dead(attachment));
    return attachment;
}

} // namespace

Result<Attachment> live_attachment(const PinPlace &place) {
    return check_live(read_attachment(place));
}

Result<Attachment> live_attachment(const std::string &device) {
    return check_live(OLAF_TRY(find_attachment(device)));
}

Result<Attachment> kernel_attachment(const std::string &device, const std::string &lacks) {
    auto found = live_attachment(device);
    if (found && found->on_card())
        return fail("use the queue on", device, 0,
                    "olaf attach " + device + " --replace --hw off moves it into the kernel",
                    "it is in a card, which has no " + lacks);
    return found;
}

std::string why_dead(const Attachment &attachment) {
    if (attachment.away)
        return "its device has moved to another network namespace";
    return attachment.there ? "its XDP program was taken off" : "its device has gone";
}

Result<Fd> open_map(const Attachment &attachment, const char *name) {
    return open_map(attachment, name, 0);
}

Result<Fd> open_map_to_read(const Attachment &attachment, const char *name) {
    return open_map(attachment, name, BPF_F_RDONLY);
}

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
        return fail("read", path, 0,
                    fmt::format("olaf reset {} starts the figures anew", attachment.device),
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

namespace {

/// A map's "memlock:" in its fdinfo; 0 for a program or a link.
std::uint64_t map_bytes(int fd) {
    std::ifstream file(fmt::format("/proc/self/fdinfo/{}", fd));
    bool map = false;
    std::uint64_t bytes = 0;
    for (std::string key; file >> key; file.ignore(4096, '\n')) {
        map |= key == "map_type:";
        if (key == "memlock:")
            file >> bytes;
    }
    return map ? bytes : 0;
}

} // namespace

std::uint64_t map_memory(const PinPlace &place) {
    std::uint64_t bytes = 0;
    std::error_code gone; // detached in between
    for (const auto &pin : std::filesystem::directory_iterator(place.path(), gone))
        if (const Fd fd(get_pin(pin.path(), BPF_F_RDONLY)); fd)
            bytes += map_bytes(fd.get());
    return bytes;
}

std::uint64_t map_memory(const Datapath &queue) {
    std::uint64_t bytes = 0;
    for (const auto &map : map_sizes({}))
        bytes += map_bytes(queue.map_fd(map.name));
    return bytes;
}

} // namespace olaf
