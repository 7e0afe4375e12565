// SPDX-License-Identifier: BSD-2-Clause
#include "foreign.hpp"

#include <bpf/bpf.h>
#include <linux/if_ether.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "process.hpp"

namespace olaf::test {
namespace {

bpf_tc_hook hook_of(int ifindex, TcFilter::Direction direction) {
    bpf_tc_hook hook{};
    hook.sz = sizeof hook;
    hook.ifindex = ifindex;
    hook.attach_point = direction == TcFilter::received ? BPF_TC_INGRESS : BPF_TC_EGRESS;
    return hook;
}

bpf_tc_opts filter_of(unsigned priority) {
    bpf_tc_opts options{};
    options.sz = sizeof options;
    options.handle = 1;
    options.priority = priority;
    return options;
}

} // namespace

ForeignProgram::ForeignProgram(const char *name, const Configure &configure)
    : skeleton(foreign__open(), foreign__destroy) {
    configure(*skeleton->rodata);
    auto *const program = bpf_object__find_program_by_name(skeleton->obj, name);
    bpf_program__set_autoload(program, true);
    if (foreign__load(skeleton.get()) != 0)
        throw std::runtime_error(std::string("cannot load the program ") + name);
    fd = bpf_program__fd(program);
}

TcFilter::TcFilter(const Netns &netns, std::string device, Direction direction, unsigned priority,
                   const char *program, const Configure &configure)
    : program_(program, configure), netns_(netns), ifindex_(netns.ifindex(device)),
      direction_(direction), priority_(priority) {
    const Inside inside(netns_);
    auto hook = hook_of(ifindex_, direction_);
    (void)bpf_tc_hook_create(&hook); // it may be there
    auto options = filter_of(priority_);
    options.prog_fd = program_.fd;
    if (bpf_tc_attach(&hook, &options) != 0)
        throw std::runtime_error("cannot put a filter on " + device);
}

TcFilter::~TcFilter() {
    const Inside inside(netns_);
    const auto hook = hook_of(ifindex_, direction_);
    const auto options = filter_of(priority_);
    (void)bpf_tc_detach(&hook, &options);
}

std::uint64_t TcFilter::runs() const {
    bpf_prog_info info{};
    __u32 length = sizeof info;
    if (bpf_obj_get_info_by_fd(program_.fd, &info, &length) != 0)
        throw std::runtime_error("cannot inspect a filter");
    return info.run_cnt;
}

bool TcFilter::attached() const {
    const Inside inside(netns_);
    const auto hook = hook_of(ifindex_, direction_);
    auto options = filter_of(priority_);
    return bpf_tc_query(&hook, &options) == 0;
}

ForeignLink::ForeignLink(const Netns &netns, const std::string &device, const char *program,
                         const Configure &configure, int attach_type) {
    const Inside inside(netns);
    link_ = Fd(bpf_link_create(ForeignProgram(program, configure).fd, netns.ifindex(device),
                               static_cast<bpf_attach_type>(attach_type), nullptr));
}

// enum bpf_attach_type of Linux 6.6: BPF_TCX_INGRESS and BPF_TCX_EGRESS.
ForeignTcx::ForeignTcx(const Netns &netns, const std::string &device, TcFilter::Direction direction,
                       int verdict)
    : ForeignLink(
          netns, device, "foreign_verdict", [=](auto &config) { config.verdict = verdict; },
          direction == TcFilter::received ? 46 : 47) {}

ForeignXdp::ForeignXdp(const Netns &netns, const std::string &device)
    : ForeignLink(
          netns, device, "foreign_pass", [](auto &) {}, BPF_XDP) {
    if (!attached())
        throw std::runtime_error("cannot attach a foreign program to " + device);
}

// ---- loss ----

LosingFirst::LosingFirst(const Netns &netns, std::string device, Direction direction,
                         Messages messages, std::uint32_t first)
    : TcFilter(netns, std::move(device), direction, 2 + messages.type * 16u + messages.action,
               "lose_first", [=](auto &config) {
                   config.type = messages.type;
                   config.action = messages.action;
                   config.first = first;
               }) {}

std::uint64_t LosingFirst::seen() const {
    return std::atomic_ref(program_.skeleton->bss->seen).load();
}

void LosingFirst::await_seen(std::uint64_t count) const {
    // No pause: what the test does next is to happen while the next messages are under way.
    await([&] { return seen() >= count; },
          [&] { return std::to_string(count) + " messages, not " + std::to_string(seen()); },
          std::chrono::milliseconds(0));
}

// ---- order ----

Reordering::Reordering(const Netns &netns, const std::string &device, unsigned percent)
    : netns_(netns), device_(device), filter_(netns, device, TcFilter::sent, 2, "slow_at_random",
                                              [=](auto &config) { config.percent = percent; }) {
    netns_.tc("qdisc add dev " + device_ + " root handle 1: htb default 1\n" + "class add dev " +
              device_ + " parent 1: classid 1:1 htb rate 10gbit quantum 60000\n" +
              "class add dev " + device_ +
              " parent 1: classid 1:2 htb rate 4mbit burst 700 cburst 700 quantum 1500\n");
}

Reordering::~Reordering() {
    (void)run({"tc", "qdisc", "del", "dev", device_, "root"}, {}, &netns_);
}

unsigned long Reordering::held() const {
    const auto shown =
        run({"tc", "-s", "class", "show", "dev", device_, "classid", "1:2"}, {}, &netns_);
    const std::string before = "overlimits ";
    const auto slow = shown.out.find("htb 1:2");
    const auto at = slow == std::string::npos ? slow : shown.out.find(before, slow);
    if (at == std::string::npos)
        throw std::runtime_error("tc shows no slow class of " + device_ + ": " + shown.out +
                                 shown.err);
    return std::stoul(shown.out.substr(at + before.size()));
}

// ---- tags ----

constexpr std::uint16_t tag = 7;

TagsBeside::TagsBeside(const Netns &netns, const std::string &device)
    : TcFilter(netns, device, sent, 1, "push_tag", [](auto &config) {
          config.tag = tag;
          std::ranges::copy(tagged_mac, config.tagged_mac);
      }) {}

InAVlan::InAVlan(const Netns &netns, const std::string &device)
    : tag_(netns, device, TcFilter::sent, 2, "tag_messages", [](auto &config) { config.tag = tag; }),
      untag_(netns, device) {}

std::uint64_t InAVlan::received() const {
    return untag_.seen();
}

Bytes with_tag(const Frame &frame) {
    Bytes bytes = frame.bytes, tag_bytes;
    put_be(tag_bytes, ETH_P_8021Q, 2);
    put_be(tag_bytes, tag, 2);
    bytes.insert(bytes.begin() + 12, tag_bytes.begin(), tag_bytes.end());
    return bytes;
}

} // namespace olaf::test
