// SPDX-License-Identifier: BSD-2-Clause
#include "datapath.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <numeric>
#include <type_traits>
#include <vector>

#include <egress.skel.h>
#include <enrol.skel.h>
#include <ingress.skel.h>
#include <ingress_bound.skel.h>
#include <lane.skel.h>
#include <turnround.skel.h>

#include "bpf_log.hpp"
#include "fd.hpp"
#include "map_sizes.hpp"

namespace olaf {
namespace {

template <class S> struct Destroy {
    void operator()(S *skeleton) const { S::destroy(skeleton); }
};
template <class S> using Skeleton = std::unique_ptr<S, Destroy<S>>;

/// The object's file, its configuration set and its maps sized: ready to load.
std::string load_hint(int code) {
    switch (code) {
    case EPERM:
        return "run as root (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)";
    case ENOMEM:
    case E2BIG:
        return "ask for less: --max-clusters, --max-segments, --max-lanes, --queue";
    case EMFILE:
        return "raise the limit of open files: ulimit -n 256";
    default:
        return "olaf doctor tells what this kernel lacks; -v shows the kernel's words";
    }
}

/// Before load: every map of the object gets the size that the configuration says.
Result<void> size_maps(bpf_object *object, const olaf_config &config) {
    for (const auto &size : map_sizes(config)) {
        bpf_map *map = bpf_object__find_map_by_name(object, size.name);
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

Result<void> reuse_pinned(bpf_object *object, const olaf_config &config,
                          const std::string &directory) {
    for (const auto &size : map_sizes(config)) {
        bpf_map *map = bpf_object__find_map_by_name(object, size.name);
        if (map == nullptr)
            continue;
        const Fd fd(bpf_obj_get((directory + "/" + size.name).c_str()));
        if (!fd)
            return fail("open pinned map", directory + "/" + size.name, errno);
        if (auto good = check_size(size, fd.get()); !good)
            return good;
        if (const int error = bpf_map__reuse_fd(map, fd.get()); error != 0)
            return fail("reuse map", size.name, -error);
    }
    return {};
}

/// An object takes the maps of those that are loaded already.
Result<void> share(const std::vector<bpf_object *> &loaded, bpf_object *to,
                   const olaf_config &config) {
    for (const auto &size : map_sizes(config)) {
        bpf_map *map = bpf_object__find_map_by_name(to, size.name);
        for (bpf_object *object : loaded) {
            bpf_map *theirs = bpf_object__find_map_by_name(object, size.name);
            if (map == nullptr || theirs == nullptr)
                continue;
            if (const int error = bpf_map__reuse_fd(map, bpf_map__fd(theirs)); error != 0)
                return fail("share map", size.name, -error);
            break;
        }
    }
    return {};
}

// Linux 6.3; libbpf's headers may be older.
constexpr std::uint32_t device_bound_only = 1u << 6; // BPF_F_XDP_DEV_BOUND_ONLY

/// Only a program that is bound to one device may ask its driver.
void bind_to_device(bpf_program *program, std::uint32_t ifindex) {
    bpf_program__set_ifindex(program, ifindex);
    bpf_program__set_flags(program, bpf_program__flags(program) | device_bound_only);
}

/// Opens an object, configures and sizes it, gives it the maps of those before it, loads it.
template <class S>
Result<Skeleton<S>> load_object(const char *what, const olaf_config &config,
                                const Datapath::Options &options,
                                std::vector<bpf_object *> &loaded) {
    Skeleton<S> skeleton(S::open());
    if (!skeleton)
        return fail("open", what, errno);
    skeleton->rodata->olaf_cfg = config;
    if constexpr (std::is_same_v<S, ingress_bound>)
        bind_to_device(skeleton->progs.olaf_ingress, config.ifindex);
    if (auto good = size_maps(skeleton->obj, config); !good)
        return std::unexpected(good.error());
    auto maps = options.pinned_maps ? reuse_pinned(skeleton->obj, config, *options.pinned_maps)
                                    : share(loaded, skeleton->obj, config);
    if (!maps)
        return std::unexpected(maps.error());
    if (const int error = S::load(skeleton.get()); error != 0)
        return fail("load", what, -error, load_hint(-error));
    loaded.push_back(skeleton->obj);
    return skeleton;
}

template <class S>
Result<void> take(Skeleton<S> &into, const char *what, const olaf_config &config,
                  const Datapath::Options &options, std::vector<bpf_object *> &loaded) {
    auto skeleton = load_object<S>(what, config, options, loaded);
    if (!skeleton)
        return std::unexpected(skeleton.error());
    into = std::move(*skeleton);
    return {};
}

} // namespace

struct Datapath::Parts {
    olaf_config config{};
    Skeleton<ingress> ingress_skeleton; ///< this or the next
    Skeleton<ingress_bound> bound_skeleton;
    Skeleton<lane> lane_skeleton;
    Skeleton<egress> egress_skeleton;
    Skeleton<enrol> enrol_skeleton;
    Skeleton<turnround> turnround_skeleton;
    std::vector<bpf_object *> objects; ///< of the skeletons
};

Datapath::Datapath(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Datapath::Datapath(Datapath &&) noexcept = default;
Datapath &Datapath::operator=(Datapath &&) noexcept = default;
Datapath::~Datapath() = default;

Result<Datapath> Datapath::load(const olaf_config &config, const Options &options) {
    take_bpf_log();
    auto parts = std::make_unique<Parts>();
    parts->config = config;
    auto first = options.asks_driver
                     ? take(parts->bound_skeleton, "the ingress program", config, options,
                            parts->objects)
                     : take(parts->ingress_skeleton, "the ingress program", config, options,
                            parts->objects);
    if (!first)
        return std::unexpected(first.error());
    auto second = load_object<lane>("the lane programs", config, options, parts->objects);
    if (!second)
        return std::unexpected(second.error());
    parts->lane_skeleton = std::move(*second);
    auto third = load_object<egress>("the egress program", config, options, parts->objects);
    if (!third)
        return std::unexpected(third.error());
    parts->egress_skeleton = std::move(*third);
    auto fourth =
        load_object<enrol>("the enrolling program", config, options, parts->objects);
    if (!fourth)
        return std::unexpected(fourth.error());
    parts->enrol_skeleton = std::move(*fourth);
    auto fifth = load_object<turnround>("the turnround program", config, options, parts->objects);
    if (!fifth)
        return std::unexpected(fifth.error());
    parts->turnround_skeleton = std::move(*fifth);

    Datapath loaded(std::move(parts));
    if (!options.pinned_maps) {
        const auto rule = default_rule(static_cast<olaf_policy>(config.default_policy));
        auto seeded = write_rules(loaded.map_fd("olaf_rules"), 0, config.max_clusters - 1, rule);
        if (!seeded)
            return std::unexpected(seeded.error());
    }
    return loaded;
}

const olaf_config &Datapath::config() const {
    return parts_->config;
}

bool Datapath::asks_driver() const {
    return parts_->bound_skeleton != nullptr;
}

int Datapath::ingress_fd() const {
    return bpf_program__fd(parts_->bound_skeleton ? parts_->bound_skeleton->progs.olaf_ingress
                                                  : parts_->ingress_skeleton->progs.olaf_ingress);
}
int Datapath::token_catch_fd() const {
    return bpf_program__fd(parts_->lane_skeleton->progs.olaf_token_catch);
}
int Datapath::lane_drain_fd() const {
    return bpf_program__fd(parts_->lane_skeleton->progs.olaf_lane_drain);
}
int Datapath::lane_kick_fd() const {
    return bpf_program__fd(parts_->lane_skeleton->progs.olaf_lane_kick);
}
int Datapath::lane_prove_fd() const {
    return bpf_program__fd(parts_->lane_skeleton->progs.olaf_lane_prove);
}
int Datapath::egress_fd() const {
    return bpf_program__fd(parts_->egress_skeleton->progs.olaf_egress);
}
int Datapath::ack_return_fd() const {
    return bpf_program__fd(parts_->turnround_skeleton->progs.olaf_ack_return);
}
int Datapath::enrol_fd() const {
    return bpf_program__fd(parts_->enrol_skeleton->progs.olaf_enrol);
}

int Datapath::map_fd(std::string_view name) const {
    const std::string terminated(name);
    for (bpf_object *object : parts_->objects)
        if (bpf_map *map = bpf_object__find_map_by_name(object, terminated.c_str()))
            return bpf_map__fd(map);
    return -1;
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

bpf_object *Datapath::ingress_object() const {
    return parts_->bound_skeleton ? parts_->bound_skeleton->obj : parts_->ingress_skeleton->obj;
}
bpf_object *Datapath::lane_object() const {
    return parts_->lane_skeleton->obj;
}
bpf_object *Datapath::egress_object() const {
    return parts_->egress_skeleton->obj;
}

Result<void> write_rules(int rules_fd, std::uint32_t first, std::uint32_t last,
                         const olaf_rule &rule) {
    std::vector<std::uint32_t> keys(last - first + 1);
    std::iota(keys.begin(), keys.end(), first);
    const std::vector<olaf_rule> values(keys.size(), rule);
    __u32 count = static_cast<__u32>(keys.size());
    if (bpf_map_update_batch(rules_fd, keys.data(), values.data(), &count, nullptr) != 0)
        return fail("write", "olaf_rules", errno);
    return {};
}

} // namespace olaf
