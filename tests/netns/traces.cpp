// SPDX-License-Identifier: BSD-2-Clause
#include "traces.hpp"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "process.hpp"

namespace olaf::test {
namespace {

std::vector<std::string> devices(const Netns &netns) {
    std::vector<std::string> names;
    const auto links = run({"ip", "-n", netns.name(), "-j", "link"});
    for (const auto &link : nlohmann::json::parse(links.out))
        names.push_back(link.at("ifname"));
    return names;
}

/// Pins are in a directory of the namespace's inode (loader/host/bpffs.hpp).
std::string pins(const Netns &netns) {
    struct stat info {};
    fstat(netns.fd(), &info);
    std::string text;
    std::error_code none;
    for (const auto &entry : std::filesystem::directory_iterator("/sys/fs/bpf/olaf", none))
        if (entry.path().filename().string().starts_with(std::to_string(info.st_ino) + "-"))
            text += entry.path().string() + "\n";
    return text;
}

/// Every "id" of a program in what ip and tc say, whatever they nest it in.
void collect_ids(const nlohmann::json &json, std::set<std::uint32_t> &ids) {
    if (json.is_object() && json.contains("prog") && json["prog"].is_object() &&
        json["prog"].contains("id"))
        ids.insert(json["prog"]["id"].get<std::uint32_t>());
    if (json.is_structured())
        for (const auto &part : json)
            collect_ids(part, ids);
}

bool exists(int (*open)(__u32), std::uint32_t id) {
    return bool(Fd(open(id)));
}

bpf_prog_info info_of(std::uint32_t program, std::vector<std::uint32_t> *maps = nullptr) {
    bpf_prog_info info{};
    __u32 size = sizeof info;
    const Fd fd(bpf_prog_get_fd_by_id(program));
    if (maps != nullptr) {
        maps->resize(64);
        info.nr_map_ids = static_cast<__u32>(maps->size());
        info.map_ids = reinterpret_cast<std::uintptr_t>(maps->data());
    }
    if (!fd || bpf_obj_get_info_by_fd(fd.get(), &info, &size) != 0)
        throw std::runtime_error("cannot ask about program " + std::to_string(program));
    if (maps != nullptr)
        maps->resize(info.nr_map_ids);
    return info;
}

} // namespace

std::string traces(const Netns &netns) {
    const auto &name = netns.name();
    std::string text;
    std::istringstream links(run({"ip", "-n", name, "-d", "link"}).out);
    // The kernel tells of a carrier a while after it is there.
    const std::regex carrier("NO-CARRIER,|,LOWER_UP|state [A-Z]+ ");
    for (std::string line; std::getline(links, line);)
        if (line.find("_timer") == line.npos) // a bridge's, which tick
            text += std::regex_replace(line, carrier, "") + "\n";
    text += run({"tc", "-n", name, "qdisc"}).out;
    text += run({"bpftool", "net"}, {}, &netns).out;
    for (const auto &device : devices(netns)) {
        for (const char *side : {"ingress", "egress"})
            text += run({"tc", "-n", name, "filter", "show", "dev", device, side}).out;
        text += run({"ethtool", "-k", device}, {}, &netns).out;
    }
    return text + pins(netns);
}

std::string pin_directory(const Netns &netns, const std::string &device) {
    struct stat info {};
    fstat(netns.fd(), &info);
    return "/sys/fs/bpf/olaf/" + std::to_string(info.st_ino) + "-" +
           std::to_string(netns.ifindex(device));
}

KernelObjects kernel_objects(const Netns &netns) {
    KernelObjects objects;
    const auto &name = netns.name();
    collect_ids(nlohmann::json::parse(run({"ip", "-n", name, "-d", "-j", "link"}).out),
                objects.programs);
    for (const auto &device : devices(netns)) {
        for (const char *side : {"ingress", "egress"}) {
            const auto filters =
                run({"tc", "-n", name, "-j", "filter", "show", "dev", device, side}).out;
            if (const auto json = nlohmann::json::parse(filters, nullptr, false);
                !json.is_discarded())
                collect_ids(json, objects.programs);
        }
    }
    for (const auto program : objects.programs) {
        std::vector<std::uint32_t> maps;
        info_of(program, &maps);
        objects.maps.insert(maps.begin(), maps.end());
    }
    return objects;
}

void await_freed(const KernelObjects &objects) {
    const auto any = [&] {
        for (const auto id : objects.programs)
            if (exists(bpf_prog_get_fd_by_id, id))
                return true;
        for (const auto id : objects.maps)
            if (exists(bpf_map_get_fd_by_id, id))
                return true;
        return false;
    };
    await([&] { return !any(); }, [] { return "the kernel's freeing of programs and maps"; });
}

std::uint64_t run_count(const KernelObjects &objects) {
    std::uint64_t runs = 0;
    for (const auto program : objects.programs)
        runs += info_of(program).run_cnt;
    return runs;
}

CountRuns::CountRuns() : fd_(bpf_enable_stats(BPF_STATS_RUN_TIME)) {
    if (!fd_)
        throw std::runtime_error("cannot count runs");
}

} // namespace olaf::test
