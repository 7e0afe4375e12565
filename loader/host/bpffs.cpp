// SPDX-License-Identifier: BSD-2-Clause
#include "bpffs.hpp"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "fd.hpp"
#include "olaf/rounds.h"
#include "olaf/try.hpp"

namespace olaf {
namespace {

constexpr auto mount_point = "/sys/fs/bpf";
constexpr auto hidden_hint = "use olaf --netns NAME in place of ip netns exec NAME olaf; in a "
                             "container, mount it there first";

/// Whether the open directory is still the one that the path leads to.
bool still_there(int fd, const std::string &path) {
    struct stat opened {
    }, named{};
    return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

template <class T> bool read_number(std::string_view text, T &value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

/// Not those of process 1, as far as that one lets itself be looked at.
bool has_mounts_of_its_own() {
    struct stat ours {
    }, first{};
    return ::stat("/proc/self/ns/mnt", &ours) == 0 && ::stat("/proc/1/ns/mnt", &first) == 0 &&
           ours.st_ino != first.st_ino;
}

/// It mounts a sysfs for the network namespace, by whose name the mount then goes.
bool is_under_ip_netns_exec() {
    std::ifstream mounts("/proc/self/mounts");
    std::string source, place, rest;
    while (mounts >> source >> place && std::getline(mounts, rest))
        if (place == "/sys" && std::filesystem::exists("/run/netns/" + source))
            return true;
    return false;
}

} // namespace

bool bpffs_mounted() {
    struct statfs status {};
    return ::statfs(mount_point, &status) == 0 && status.f_type == BPF_FS_MAGIC;
}

bool bpffs_is_hidden() {
    return !bpffs_mounted() && (has_mounts_of_its_own() || is_under_ip_netns_exec());
}

Result<void> mount_bpffs() {
    if (bpffs_mounted())
        return {};
    if (bpffs_is_hidden())
        return fail("mount the BPF file system at", mount_point, 0, hidden_hint,
                    "this process has mounts of its own, with which a queue would go");
    if (::mount("bpf", mount_point, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") != 0)
        return fail("mount the BPF file system at", mount_point, errno,
                    "run as root; in a container, mount it from outside");
    return {};
}

int get_pin(const std::string &path, std::uint32_t file_flags) {
    struct bpf_obj_get_opts options {}; // "struct", for there is a function of that name
    options.sz = sizeof options;
    options.file_flags = file_flags;
    return bpf_obj_get_opts(path.c_str(), &options);
}

std::string PinPlace::path() const {
    return std::string(pin_root) + "/" + std::to_string(netns) + "-" + std::to_string(ifindex);
}

Result<std::vector<PinPlace>> pinned_places() {
    std::vector<PinPlace> places;
    std::error_code error;
    const std::filesystem::directory_iterator entries(pin_root, error);
    if (error == std::errc::no_such_file_or_directory && bpffs_is_hidden())
        return fail("list the queues in", pin_root, 0, hidden_hint,
                    "this process has mounts of its own, without the BPF file system");
    if (error == std::errc::no_such_file_or_directory)
        return places; // nothing attached yet
    if (error)
        return fail("list the queues in", pin_root, error.value(),
                    error == std::errc::permission_denied
                        ? "run as root (reading takes CAP_BPF and CAP_DAC_READ_SEARCH)"
                        : "");
    for (const auto &entry : entries) {
        const auto name = entry.path().filename().native();
        const auto dash = name.find('-');
        PinPlace place;
        if (dash != name.npos && read_number(std::string_view(name).substr(0, dash), place.netns) &&
            read_number(std::string_view(name).substr(dash + 1), place.ifindex))
            places.push_back(place);
    }
    return places;
}

Result<PinLock> PinLock::create(const PinPlace &place) {
    return lock(place, true);
}

Result<PinLock> PinLock::existing(const PinPlace &place) {
    return lock(place, false);
}

Result<PinLock> PinLock::lock(const PinPlace &place, bool make) {
    const auto path = place.path();
    // Another olaf may remove the directory between our opening and our locking it.
    for (;;) {
        if (make && ::mkdir(pin_root, 0700) != 0 && errno != EEXIST)
            return fail("make directory", pin_root, errno, "run as root");
        if (make && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST && errno != ENOENT)
            return fail("make directory", path, errno);
        Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!fd && make && errno == ENOENT)
            continue;
        if (!fd)
            return fail("open directory", path, errno);
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
            return fail("lock", path, errno == EWOULDBLOCK ? 0 : errno, "try again when it is done",
                        "another olaf is at work on this device");
        if (still_there(fd.get(), path))
            return PinLock(place, std::move(fd));
    }
}

Result<void> PinLock::clear() {
    return clear_but({});
}

Result<void> PinLock::clear_but(std::initializer_list<std::string_view> kept) {
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(place_.path(), error))
        if (std::ranges::find(kept, entry.path().filename().native()) == kept.end() &&
            ::unlink(entry.path().c_str()) != 0 && errno != ENOENT)
            return fail("unlink", entry.path().native(), errno);
    if (error)
        return fail("list", place_.path(), error.value());
    return {};
}

Result<void> PinLock::remove() {
    OLAF_TRY(clear());
    if (::rmdir(place_.path().c_str()) != 0)
        return fail("remove", place_.path(), errno);
    ::rmdir(pin_root); // fails while other devices have theirs
    return {};
}

namespace {

constexpr std::uint32_t only = 0; ///< the key of the one entry

Result<void> put_device(const Fd &map, const char *name, std::uint32_t key, std::uint32_t ifindex) {
    if (bpf_map_update_elem(map.get(), &key, &ifindex, BPF_ANY) == 0)
        return {};
    return fail("write map", name, errno,
                errno == EINVAL ? "its device has gone meanwhile: try again" : "");
}

/// A new map of so many devices, one of which is in it. It is pinned last: no pin is ever empty because
/// a command was killed.
Result<void> pin_map(const PinPlace &place, const char *name, std::uint32_t entries, std::uint32_t key,
                     std::uint32_t ifindex) {
    const Fd map(bpf_map_create(BPF_MAP_TYPE_DEVMAP, name, sizeof key, sizeof ifindex, entries, nullptr));
    if (!map)
        return fail("create map", name, errno, errno == EPERM ? "run as root" : "");
    OLAF_TRY(put_device(map, name, key, ifindex));
    if (bpf_obj_pin(map.get(), place.path(name).c_str()) != 0)
        return fail("pin map", place.path(name), errno);
    return {};
}

} // namespace

Presence device_presence(const PinPlace &place) {
    const Fd map(get_pin(place.path(pin::device), BPF_F_RDONLY));
    if (!map)
        return Presence::unknown;
    std::uint32_t ifindex = 0;
    if (bpf_map_lookup_elem(map.get(), &only, &ifindex) == 0)
        return Presence::there;
    return errno == ENOENT ? Presence::gone : Presence::unknown;
}

Result<void> pin_device(const PinPlace &place) {
    if (device_presence(place) == Presence::there)
        return {};
    const auto path = place.path(pin::device);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) // another device had this index
        return fail("unlink", path, errno);
    return pin_map(place, pin::device, 1, only, place.ifindex);
}

Result<void> pin_parents_device(const PinPlace &place, std::uint32_t job_index, std::uint32_t ifindex) {
    const Fd there(get_pin(place.path(pin::parents), 0));
    return there ? put_device(there, pin::parents, job_index, ifindex)
                 : pin_map(place, pin::parents, OLAF_MAX_JOBS, job_index, ifindex);
}

std::vector<std::uint32_t> parents_devices(const PinPlace &place) {
    std::vector<std::uint32_t> devices;
    const Fd map(get_pin(place.path(pin::parents), BPF_F_RDONLY));
    std::uint32_t key = 0;
    for (auto *before = static_cast<std::uint32_t *>(nullptr);
         map && bpf_map_get_next_key(map.get(), before, &key) == 0; before = &key)
        if (std::uint32_t ifindex = 0; bpf_map_lookup_elem(map.get(), &key, &ifindex) == 0)
            devices.push_back(ifindex);
    return devices;
}

bool is_parents_device(const PinPlace &place, std::uint32_t job_index, std::uint32_t ifindex) {
    const Fd map(get_pin(place.path(pin::parents), BPF_F_RDONLY));
    std::uint32_t pinned = 0;
    return map && bpf_map_lookup_elem(map.get(), &job_index, &pinned) == 0 && pinned == ifindex;
}

} // namespace olaf
