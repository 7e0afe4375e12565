// SPDX-License-Identifier: BSD-2-Clause
#include "programs.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace olaf::interleave {
namespace {

void *load(const std::filesystem::path &file, const std::string &copy) {
    std::filesystem::path loaded = file;
    if (!copy.empty()) { // the same file would be the same object
        loaded.replace_filename(file.stem().string() + "-" + copy + "-" +
                                std::to_string(getpid()) + ".so");
        std::filesystem::copy_file(file, loaded, std::filesystem::copy_options::overwrite_existing);
    }
    void *object = dlopen(loaded.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!copy.empty())
        std::filesystem::remove(loaded);
    if (object == nullptr)
        throw std::runtime_error(dlerror());
    return object;
}

template <class Function> void find(void *object, const char *name, Function *&into) {
    into = reinterpret_cast<Function *>(dlsym(object, name));
    if (into == nullptr)
        throw std::runtime_error(std::string("no program ") + name);
}

/// What the loader does before it loads.
void write_config(void *object, const olaf_config &config) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const volatile void *(*where)() = nullptr;
    find(object, "interleave_config", where);
    auto *into = const_cast<void *>(where());
    const auto first = reinterpret_cast<std::uintptr_t>(into) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(into) + sizeof(config);
    if (mprotect(reinterpret_cast<void *>(first), end - first, PROT_READ | PROT_WRITE) != 0)
        throw std::runtime_error("can't write the configuration");
    std::memcpy(into, &config, sizeof(config));
}

} // namespace

Programs::Programs(const std::string &directory, const std::string &copy) {
    const std::filesystem::path at = directory;
    objects_[0] = load(at / "ingress.so", copy);
    objects_[1] = load(at / "drain.so", copy);
    objects_[2] = load(at / "egress.so", copy);
    find(objects_[0], "olaf_ingress", ingress);
    find(objects_[1], "olaf_token_catch", token_catch);
    find(objects_[1], "olaf_drain_tick", drain_tick);
    find(objects_[1], "olaf_drain_kick", drain_kick);
    find(objects_[2], "olaf_egress", egress);
}

void Programs::configure(const olaf_config &config) const {
    for (void *object : objects_)
        write_config(object, config);
}

JobPrograms::JobPrograms(const std::string &directory) {
    const std::filesystem::path at = directory;
    objects_[0] = load(at / "ingress.so", "");
    objects_[1] = load(at / "rounds.so", "");
    objects_[2] = load(at / "copies.so", "");
    objects_[3] = load(at / "jobs.so", "");
    objects_[4] = load(at / "parent.so", "");
    find(objects_[0], "olaf_ingress", ingress);
    find(objects_[1], "olaf_rounds", rounds);
    find(objects_[2], "olaf_copies", copies);
    find(objects_[3], "olaf_job_order", order);
    find(objects_[4], "olaf_parent_in", parent_in);
}

void JobPrograms::configure(const olaf_config &config) const {
    for (void *object : objects_)
        write_config(object, config);
}

} // namespace olaf::interleave
