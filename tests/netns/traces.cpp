// SPDX-License-Identifier: BSD-2-Clause
#include "traces.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>
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
    const int fd = open(id);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

bpf_prog_info info_of(std::uint32_t program, std::vector<std::uint32_t> *maps = nullptr) {
    bpf_prog_info info{};
    __u32 size = sizeof info;
    const int fd = bpf_prog_get_fd_by_id(program);
    if (maps != nullptr) {
        maps->resize(64);
        info.nr_map_ids = static_cast<__u32>(maps->size());
        info.map_ids = reinterpret_cast<std::uintptr_t>(maps->data());
    }
    if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) != 0)
        throw std::runtime_error("cannot ask about program " + std::to_string(program));
    close(fd);
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
    if (fd_ < 0)
        throw std::runtime_error("cannot count runs");
}

CountRuns::~CountRuns() {
    close(fd_);
}

ForeignXdp::ForeignXdp(const Netns &netns, const std::string &device) {
    const Inside inside(netns);
    const bpf_insn pass[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K,
         .dst_reg = 0,
         .src_reg = 0,
         .off = 0,
         .imm = XDP_PASS},
        {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
    const int program = bpf_prog_load(BPF_PROG_TYPE_XDP, "foreign", "GPL", pass, 2, nullptr);
    link_ = bpf_link_create(program, netns.ifindex(device), BPF_XDP, nullptr);
    close(program);
    if (link_ < 0)
        throw std::runtime_error("cannot attach a foreign program to " + device);
}

ForeignXdp::~ForeignXdp() {
    close(link_);
}

namespace {

constexpr std::uint32_t foreign_handle = 1;

/// A TC program of that one verdict.
int always(int verdict) {
    const bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K,
         .dst_reg = 0,
         .src_reg = 0,
         .off = 0,
         .imm = verdict},
        {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
    return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "foreign", "GPL", code, 2, nullptr);
}

bpf_tc_hook hook_of(int ifindex, ForeignFilter::Side side) {
    bpf_tc_hook hook{};
    hook.sz = sizeof hook;
    hook.ifindex = ifindex;
    hook.attach_point = side == ForeignFilter::Side::ingress ? BPF_TC_INGRESS : BPF_TC_EGRESS;
    return hook;
}

bpf_tc_opts filter_of(unsigned priority) {
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.handle = foreign_handle;
    options.priority = priority;
    return options;
}

} // namespace

ForeignFilter::ForeignFilter(const Netns &netns, const std::string &device, Side side,
                             unsigned priority)
    : netns_(netns), ifindex_(netns.ifindex(device)), side_(side), priority_(priority) {
    const Inside inside(netns);
    program_ = always(TC_ACT_UNSPEC);
    auto hook = hook_of(ifindex_, side);
    auto options = filter_of(priority);
    options.prog_fd = program_;
    (void)bpf_tc_hook_create(&hook); // it may be there
    if (bpf_tc_attach(&hook, &options) != 0)
        throw std::runtime_error("cannot attach a foreign filter to " + device);
}

ForeignFilter::~ForeignFilter() {
    const Inside inside(netns_);
    auto hook = hook_of(ifindex_, side_);
    auto options = filter_of(priority_);
    (void)bpf_tc_detach(&hook, &options);
    close(program_);
}

std::uint64_t ForeignFilter::runs() const {
    bpf_prog_info info{};
    __u32 length = sizeof info;
    if (bpf_obj_get_info_by_fd(program_, &info, &length) != 0)
        throw std::runtime_error("cannot inspect a foreign filter");
    return info.run_cnt;
}

bool ForeignFilter::attached() const {
    const Inside inside(netns_);
    auto hook = hook_of(ifindex_, side_);
    auto options = filter_of(priority_);
    return bpf_tc_query(&hook, &options) == 0;
}

ForeignTcx::ForeignTcx(const Netns &netns, const std::string &device, ForeignFilter::Side side,
                       int verdict) {
    const Inside inside(netns);
    const int program = always(verdict);
    // enum bpf_attach_type and bpf_attr::link_create of Linux 6.6.
    const std::uint32_t attributes[16] = {static_cast<std::uint32_t>(program),
                                          static_cast<std::uint32_t>(netns.ifindex(device)),
                                          side == ForeignFilter::Side::ingress ? 46u : 47u};
    link_ = static_cast<int>(
        syscall(SYS_bpf, BPF_LINK_CREATE, attributes, sizeof attributes));
    close(program);
}

ForeignTcx::~ForeignTcx() {
    if (link_ >= 0)
        close(link_);
}

} // namespace olaf::test
