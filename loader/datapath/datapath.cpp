// SPDX-License-Identifier: BSD-2-Clause
#include "datapath.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <vector>

#include "loader/host/bpf_log.hpp"
#include "loader/host/fd.hpp"
#include "loader/host/host.hpp"
#include "object.hpp"
#include "olaf/rounds.h"
#include "olaf/try.hpp"
#include "programs.hpp"

namespace olaf {
namespace {

// Linux 6.3; libbpf's headers may be older.
constexpr std::uint32_t device_bound_only = 1u << 6; // BPF_F_XDP_DEV_BOUND_ONLY

/// Only a program that is bound to one device may ask its driver.
void bind_to_device(const Object &object, std::uint32_t ifindex) {
    bpf_program *program = nullptr;
    bpf_object__for_each_program(program, object.get()) {
        bpf_program__set_ifindex(program, ifindex);
        bpf_program__set_flags(program, bpf_program__flags(program) | device_bound_only);
    }
}

Result<void> reuse_pinned(Object &object, const olaf_config &config, const std::string &directory) {
    for (const auto &size : map_sizes(config)) {
        bpf_map *map = bpf_object__find_map_by_name(object.get(), size.name);
        if (map == nullptr)
            continue;
        const Fd fd(bpf_obj_get((directory + "/" + size.name).c_str()));
        if (!fd)
            return fail("open pinned map", directory + "/" + size.name, errno);
        OLAF_TRY(check_size(size, fd.get()));
        if (const int error = bpf_map__reuse_fd(map, fd.get()); error != 0)
            return fail("reuse map", size.name, -error);
    }
    return {};
}

/// Whether it is loaded for one device, to ask its driver.
bool is_bound(std::string_view object) {
    return std::ranges::any_of(programs, [&](const Program &program) {
        return program.object == object && program.when == When::driver_tells;
    });
}

/// The objects that every queue loads: all but tracepoints, and of two that differ by driver the
/// one that fits.
std::vector<std::string_view> objects_of(const olaf_config &config,
                                         const Datapath::Options &options) {
    return objects_where([&](const Program &program) {
        return program.hook != Hook::tracepoint && program.when != When::measuring &&
               program.when != (options.asks_driver ? When::driver_silent : When::driver_tells) &&
               (options.floats || program.name != float_adder.name) && is_of_use(program, config);
    });
}

} // namespace

struct Datapath::Parts {
    olaf_config config{};
    bool asks_driver = false;
    std::string why_silent;
    std::vector<Object> objects;

    [[nodiscard]] int map_fd(std::string_view name) const {
        for (const auto &object : objects)
            if (const int fd = object.map_fd(name); fd >= 0)
                return fd;
        return -1;
    }

    /// Configures an object, sizes its maps, gives it those of the ones before it, loads it.
    Result<void> add(std::string_view name, const Options &options) {
        auto object = OLAF_TRY(Object::open(name));
        OLAF_TRY(object.set("olaf_cfg", config));
        if (is_bound(name))
            bind_to_device(object, config.ifindex);
        OLAF_TRY(object.size_maps(config));
        OLAF_TRY(options.pinned_maps
                     ? reuse_pinned(object, config, *options.pinned_maps)
                     : object.share_maps(config, [&](const char *map) { return map_fd(map); }));
        OLAF_TRY(object.load());
        objects.push_back(std::move(object));
        return {};
    }

    /// The same with an entrance that asks the driver. Why that can't be; empty if it is loaded.
    /// What the kernel may have moved (bpf/bound.bpf.h) is gone again when this returns, long
    /// before its device is.
    std::string add_bound(std::string_view name, const Options &options) {
        if (auto why = why_blinded(); !why.empty())
            return why;
        if (const auto added = add(name, options); !added) {
            take_bpf_log();
            return std::string("the kernel refuses the program that asks: ") +
                   std::strerror(added.error().code);
        }
        if (!objects.back().has_outgrown())
            return {};
        objects.pop_back();
        return "the kernel made the program that asks longer than is safe";
    }
};

Datapath::Datapath(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Datapath::Datapath(Datapath &&) noexcept = default;
Datapath &Datapath::operator=(Datapath &&) noexcept = default;
Datapath::~Datapath() = default;

Result<Datapath> Datapath::load(const olaf_config &config, const Options &options) {
    take_bpf_log();
    auto parts = std::make_unique<Parts>();
    parts->config = config;
    for (auto name : objects_of(config, options)) {
        if (is_bound(name)) {
            parts->why_silent = parts->add_bound(name, options);
            parts->asks_driver = parts->why_silent.empty();
            if (parts->asks_driver)
                continue;
            name = entrance.object;
        }
        OLAF_TRY(parts->add(name, options));
    }
    Datapath loaded(std::move(parts));
    if (!options.pinned_maps) {
        const auto rule = default_rule(static_cast<olaf_policy>(config.default_policy));
        OLAF_TRY(write_rules(loaded.map_fd("olaf_rules"), 0, config.max_clusters - 1, rule));
        OLAF_TRY(loaded.set_tail_calls());
    }
    return loaded;
}

const olaf_config &Datapath::config() const {
    return parts_->config;
}

bool Datapath::asks_driver() const {
    return parts_->asks_driver;
}

const std::string &Datapath::why_silent() const {
    return parts_->why_silent;
}

Growth Datapath::entrance_growth() const {
    for (const auto &object : parts_->objects)
        if (object.program_fd(entrance.name) >= 0)
            return object.growths().front(); // its only program
    return {};
}

int Datapath::program_fd(std::string_view name) const {
    for (const auto &object : parts_->objects)
        if (const int fd = object.program_fd(name); fd >= 0)
            return fd;
    return -1;
}

int Datapath::map_fd(std::string_view name) const {
    return parts_->map_fd(name);
}

Result<void> Datapath::set_tail_calls() const {
    // Each before the one that hands it frames.
    constexpr std::pair<std::uint32_t, const char *> calls[] = {{OLAF_ROOM_FLOATS, "olaf_floats"},
                                                                {OLAF_ROOM_ROUNDS, "olaf_rounds"}};
    for (const auto &[key, program] : calls) {
        const int fd = program_fd(program);
        if (fd >= 0 && bpf_map_update_elem(map_fd("olaf_rooms"), &key, &fd, BPF_ANY) != 0)
            return fail("set the tail call of", program, errno);
    }
    return {};
}

Result<void> Datapath::pin_maps(const std::string &directory) const {
    for (const auto &size : map_sizes(parts_->config)) {
        const auto path = directory + "/" + size.name;
        const int fd = map_fd(size.name);
        if (fd >= 0 && bpf_obj_pin(fd, path.c_str()) != 0)
            return fail("pin map", path, errno);
    }
    return {};
}

Result<void> write_rules(int fd, std::uint32_t first, std::uint32_t last, const olaf_rule &rule) {
    std::vector<std::uint32_t> keys(last - first + 1);
    std::iota(keys.begin(), keys.end(), first);
    const std::vector<olaf_rule> values(keys.size(), rule);
    auto count = static_cast<__u32>(keys.size());
    if (bpf_map_update_batch(fd, keys.data(), values.data(), &count, nullptr) != 0)
        return fail("write", "olaf_rules", errno);
    return {};
}

} // namespace olaf
