// SPDX-License-Identifier: BSD-2-Clause
#include "record.hpp"

#include <bpf/bpf.h>

#include <cerrno>

#include "olaf/try.hpp"

namespace olaf {

Result<RecordMap> RecordMap::create(const PinPlace &place, const Record &record) {
    Fd fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, pin::record, sizeof(std::uint32_t), sizeof(Record), 1,
                         nullptr));
    if (!fd)
        return fail("create map", pin::record, errno,
                    errno == EPERM ? "run as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)" : "");
    RecordMap map(place.path(pin::record), std::move(fd));
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
    if (info.value_size != sizeof(Record))
        return fail("read", path, 0, "use the olaf that attached it, or unlink the directory",
                    "written by another version of olaf");
    return RecordMap(path, std::move(fd));
}

Result<Record> RecordMap::read() const {
    Record record;
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(fd_.get(), &key, &record) != 0)
        return fail("read", path_, errno);
    return record;
}

Result<void> RecordMap::write(const Record &record) const {
    const std::uint32_t key = 0;
    if (bpf_map_update_elem(fd_.get(), &key, &record, BPF_ANY) != 0)
        return fail("write", path_, errno);
    return {};
}

} // namespace olaf
