// SPDX-License-Identifier: BSD-2-Clause
#include "object.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "config.hpp"
#include "olaf/acks.h"
#include "olaf/aom.h"
#include "olaf/events.h"
#include "olaf/members.h"
#include "olaf/rounds.h"
#include "olaf/spells.h"
#include "olaf/way.h"
#include "olaf/window.h"

namespace olaf {
namespace {

constexpr std::uint32_t allow_prefixes = 1024;
/// Bytes of the listener's buffer: some milliseconds of events at full speed.
constexpr std::uint32_t event_bytes = 2 << 20;

template <class T> constexpr auto bytes_of = static_cast<std::uint32_t>(sizeof(T));

} // namespace

std::vector<MapSize> map_sizes(const olaf_config &config) {
    const std::uint32_t slots = config.max_clusters * config.max_segments;
    const std::uint32_t entry = entry_bytes(config.max_lanes);
    return {
        {"olaf_rules", config.max_clusters, bytes_of<olaf_rule>, "--max-clusters"},
        {"olaf_active", 0, bytes_of<olaf_active>},
        {"olaf_active_epochs", config.max_clusters, bytes_of<__u64>, "--max-clusters"},
        {"olaf_slots", slots, bytes_of<olaf_slot>, "--max-clusters, --max-segments"},
        {"olaf_entries", 2 * slots + config.fifo_places, entry,
         "--max-clusters, --max-segments, --max-lanes, --fifo"},
        {"olaf_ring", 0, bytes_of<olaf_ring>},
        {"olaf_places", 0, bytes_of<olaf_place> * config.ring_places, "--queue"},
        {"olaf_counters", 0, bytes_of<olaf_counters>},
        {"olaf_spells", 0, bytes_of<olaf_spell>},
        {"olaf_scratch", 0, entry, "--max-lanes"},
        {"olaf_allow", allow_prefixes},
        {"olaf_own"},
        {"olaf_own_macs"},
        {"olaf_control", 0, bytes_of<olaf_control>},
        {"olaf_gate", 0, bytes_of<olaf_gate>},
        {"olaf_xdp_gate", 0, bytes_of<olaf_xdp_gate>},
        {"olaf_vain_waits"},
        {"olaf_hops", 0, bytes_of<olaf_hop>},
        {"olaf_sent"},
        {"olaf_members", config.max_clusters * config.max_workers, bytes_of<olaf_member>,
         "--max-clusters, --max-workers"},
        {"olaf_rosters", config.max_clusters, bytes_of<olaf_roster>, "--max-clusters"},
        {"olaf_acks"},
        {"olaf_reached", olaf_reached_places(config.max_workers), bytes_of<olaf_reached>,
         "--max-workers"},
        {"olaf_ack_counters", 0, bytes_of<olaf_ack_counters>},
        {"olaf_window", 0, bytes_of<olaf_window>},
        {"olaf_flights", 0, OLAF_FLIGHTS * bytes_of<olaf_flight>},
        {"olaf_aom", slots, bytes_of<olaf_aom>, "--max-clusters, --max-segments"},
        {"olaf_events", event_bytes},
        {"olaf_listen", 0, bytes_of<olaf_listen>},
        {"olaf_telling"},
        {"olaf_beside"},
        {"olaf_arrivals"},
        {"olaf_rooms"},
        {"olaf_round_messages"},
        {"olaf_job_ids"},
        {"olaf_jobs", 0, bytes_of<olaf_job>},
        {"olaf_children", 0, bytes_of<olaf_child>},
        {"olaf_job_counters", 0, bytes_of<olaf_job_counters>},
        {"olaf_job_desk", 0, bytes_of<olaf_job_desk>},
        {"olaf_round_slots", config.round_slots, bytes_of<olaf_round_slot>, "--round-slots"},
        {"olaf_round_lanes", OLAF_ROUND_BUFFERS * config.round_slots,
         static_cast<std::uint32_t>(OLAF_ROUND_LANES_BYTES(config.max_lanes)),
         "--round-slots, --max-lanes"},
        {"olaf_lines", OLAF_LINE_PLACES * config.round_slots * config.round_lines, bytes_of<__u32>,
         "--round-slots"},
    };
}

Result<void> check_size(const MapSize &want, int fd) {
    bpf_map_info info{};
    __u32 length = sizeof info;
    if (bpf_obj_get_info_by_fd(fd, &info, &length) != 0)
        return fail("inspect map", want.name, errno);
    const bool entries_differ = want.max_entries != 0 && info.max_entries != want.max_entries;
    // The kernel's size of a value is the one asked for; only its storage is rounded up.
    const bool values_differ = want.value_size != 0 && info.value_size != want.value_size;
    if (entries_differ || values_differ)
        return fail("keep the state in", want.name, 0,
                    std::string(want.decided_by ? want.decided_by : "its size") +
                        " can't change while attached: olaf detach first",
                    "the running queue has another size");
    return {};
}

Result<void> check_value_size(const MapSize &want, int fd) {
    bpf_map_info info{};
    __u32 length = sizeof info;
    if (bpf_obj_get_info_by_fd(fd, &info, &length) != 0)
        return fail("inspect map", want.name, errno);
    if (want.value_size == 0 || info.value_size == want.value_size)
        return {};
    return fail("use map", want.name, 0, "use the olaf that attached the queue",
                "its values have " + std::to_string(info.value_size) + " bytes, this olaf's have " +
                    std::to_string(want.value_size));
}

namespace {

std::string load_hint(int code) {
    switch (code) {
    case EPERM:
        return "run as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)";
    case ENOMEM:
    case E2BIG:
        return "ask for less: --max-clusters, --max-segments, --max-lanes, --queue";
    case ESRCH:
    case ENOENT:
        return "a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_TRACEPOINTS";
    case EMFILE:
        return "raise the limit of open files: ulimit -n 256";
    default:
        return "olaf doctor tells what this kernel lacks; -v shows the kernel's words";
    }
}

struct Place {
    std::size_t offset, size;
};

/// Where a variable lies in a section, as the object's BTF says.
std::optional<Place> place_of(const bpf_object *object, const char *section,
                              std::string_view variable) {
    const btf *types = bpf_object__btf(object);
    const auto id = btf__find_by_name_kind(types, section, BTF_KIND_DATASEC);
    if (id < 0)
        return std::nullopt;
    const btf_type *data = btf__type_by_id(types, static_cast<__u32>(id));
    const btf_var_secinfo *places = btf_var_secinfos(data);
    for (int i = 0; i < btf_vlen(data); i++) {
        const btf_type *type = btf__type_by_id(types, places[i].type);
        if (variable == btf__name_by_offset(types, type->name_off))
            return Place{.offset = places[i].offset, .size = places[i].size};
    }
    return std::nullopt;
}

} // namespace

Result<Object> Object::open(std::string_view name) {
    const auto file = object_file(name);
    std::string named(name);
    bpf_object_open_opts options{};
    options.sz = sizeof options;
    options.object_name = named.c_str();
    bpf_object *object = bpf_object__open_mem(file.data(), file.size(), &options);
    if (object == nullptr)
        return fail("open the programs of", named, errno);
    return Object(std::move(named), object);
}

Object::Object(Object &&) noexcept = default;
Object &Object::operator=(Object &&) noexcept = default;
Object::~Object() = default;

void Object::Close::operator()(bpf_object *object) const {
    bpf_object__close(object);
}

Result<void> Object::set(std::string_view constant, const void *value, std::size_t size) {
    const auto place = place_of(get(), ".rodata", constant);
    bpf_map *map = bpf_object__find_map_by_name(get(), ".rodata");
    if (!place || map == nullptr)
        return {};
    std::size_t bytes = 0;
    const auto *start = static_cast<const char *>(bpf_map__initial_value(map, &bytes));
    if (start == nullptr || place->size != size || place->offset + size > bytes)
        return fail("set constant", std::string(constant), EINVAL);
    std::vector<char> values(start, start + bytes);
    std::memcpy(values.data() + place->offset, value, size);
    if (const int error = bpf_map__set_initial_value(map, values.data(), values.size()); error != 0)
        return fail("set constant", std::string(constant), -error);
    return {};
}

Result<void> Object::size_maps(const olaf_config &config) {
    for (const auto &size : map_sizes(config)) {
        bpf_map *map = bpf_object__find_map_by_name(get(), size.name);
        if (map == nullptr)
            continue;
        int error = 0;
        if (size.max_entries != 0)
            error = bpf_map__set_max_entries(map, size.max_entries);
        if (error == 0 && size.value_size != 0)
            error = bpf_map__set_value_size(map, size.value_size);
        if (error != 0)
            return fail("size map", size.name, -error);
    }
    return {};
}

Result<void> Object::share_maps(const olaf_config &config,
                                const std::function<int(const char *name)> &map_fd) {
    for (const auto &size : map_sizes(config)) {
        bpf_map *map = bpf_object__find_map_by_name(get(), size.name);
        const int fd = map != nullptr ? map_fd(size.name) : -1;
        if (fd < 0)
            continue;
        if (const int error = bpf_map__reuse_fd(map, fd); error != 0)
            return fail("share map", size.name, -error);
    }
    return {};
}

Result<void> Object::load() {
    if (const int error = bpf_object__load(get()); error != 0)
        return fail("load", "the programs of " + name_, -error, load_hint(-error));
    return {};
}

std::vector<Growth> Object::growths() const {
    std::vector<Growth> growths;
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, get()) {
        bpf_prog_info info{};
        __u32 size = sizeof info;
        Growth growth{.brought = bpf_program__insn_cnt(program)};
        if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
            growth.became = info.xlated_prog_len / sizeof(bpf_insn);
        growths.push_back(growth);
    }
    return growths;
}

int Object::program_fd(std::string_view name) const {
    const auto *program = bpf_object__find_program_by_name(get(), std::string(name).c_str());
    return program != nullptr ? bpf_program__fd(program) : -1;
}

int Object::map_fd(std::string_view name) const {
    const auto *map = bpf_object__find_map_by_name(get(), std::string(name).c_str());
    return map != nullptr ? bpf_map__fd(map) : -1;
}

std::uint64_t Object::read_variable(std::string_view name) const {
    const auto place = place_of(get(), ".bss", name);
    const bpf_map *map = bpf_object__find_map_by_name(get(), ".bss");
    std::uint64_t value = 0;
    if (!place || map == nullptr || place->size > sizeof value)
        return value;
    std::vector<char> bytes(bpf_map__value_size(map));
    const std::uint32_t key = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(map), &key, bytes.data()) == 0)
        std::memcpy(&value, bytes.data() + place->offset, place->size);
    return value;
}

} // namespace olaf
