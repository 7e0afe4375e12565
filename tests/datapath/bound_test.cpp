// SPDX-License-Identifier: BSD-2-Clause
// The entrance that asks its device's driver stays in the pages that it was loaded into: elsewhere
// the kernel loses it, and hangs when the device goes (bpf/bound.bpf.h). Where it can't be loaded,
// the other entrance is.
#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <vector>

#include "loader/datapath/datapath.hpp"
#include "loader/host/host.hpp"
#include "olaf/window.h"
#include "testbed.hpp"

namespace olaf::test::bound_test {
namespace {

// From Linux 6.15 the verifier takes tail calls, and maps of programs, to programs of a device. A stable
// kernel may have that change too: 6.12.95 has it.
constexpr KernelVersion first_kernel{6, 15};

constexpr std::uint32_t loopback = 1; // of its driver nothing can be asked

struct Corner {
    const char *name;
    std::uint32_t lanes;
    olaf_deliver deliver = OLAF_DELIVER_LOCAL;
    std::uint32_t round_slots = 0;
    bool everything = false;
};

/// What the entrance's code depends on. Its devices needn't exist but for the one that is asked.
DatapathConfig configuration(const Corner &corner, std::uint32_t ifindex) {
    DatapathConfig config{.queue_capacity = 8, .max_clusters = 16};
    config.ifindex = ifindex;
    config.max_lanes = corner.lanes;
    config.deliver = corner.deliver;
    config.round_slots = corner.round_slots;
    config.drain_ifindex = 4;
    if (corner.deliver != OLAF_DELIVER_LOCAL)
        config.egress_ifindex = 3;
    if (corner.deliver == OLAF_DELIVER_UPSTREAM) {
        config.source = {4, {0x0100000a}};
        config.upstream = {4, {0x0200000a}};
    }
    if (corner.everything) {
        config.allow_list = config.strict = config.verify = config.output_sums = true;
        config.rate_bps = 1'000'000'000;
        config.max_segments = 4;
        config.window = {true, OLAF_MAX_WINDOW};
        config.kick_ifindex = 5;
    }
    return config;
}

/// The program as the kernel runs it.
std::vector<bpf_insn> translated(int program_fd) {
    std::vector<bpf_insn> instructions(1 << 16);
    bpf_prog_info info{};
    info.xlated_prog_insns = reinterpret_cast<std::uintptr_t>(instructions.data());
    info.xlated_prog_len = static_cast<__u32>(instructions.size() * sizeof(bpf_insn));
    __u32 size = sizeof info;
    if (bpf_obj_get_info_by_fd(program_fd, &info, &size) != 0 || info.xlated_prog_insns == 0)
        throw std::runtime_error("the kernel doesn't show its programs");
    instructions.resize(info.xlated_prog_len / sizeof(bpf_insn));
    return instructions;
}

/// Calls of bpf_loop() that the verifier inlined: they begin with "if r1 <= BPF_MAX_LOOPS".
auto inlined_loops(const Datapath &queue) {
    return std::ranges::count_if(
        translated(queue.program_fd("olaf_ingress")), [](const bpf_insn &instruction) {
            return instruction.code == (BPF_JMP | BPF_JLE | BPF_K) && instruction.imm == 1 << 23;
        });
}

class Bound : public testing::TestWithParam<Corner> {
  protected:
    void SetUp() override {
        auto loaded = load(true);
        ASSERT_TRUE(loaded) << loaded.error().message();
        if (running_kernel() >= first_kernel) {
            ASSERT_TRUE(loaded->asks_driver()) << loaded->why_silent();
        }
        EXPECT_EQ(loaded->why_silent().starts_with("the kernel refuses the program that asks: "),
                  !loaded->asks_driver());
        queue.emplace(std::move(*loaded));
    }
    /// Older kernels don't take such programs: then the other entrance is there, which may grow.
    [[nodiscard]] bool is_refused() const { return !queue->asks_driver(); }
    [[nodiscard]] Result<Datapath> load(bool asks_driver) const {
        return Datapath::load(*make_config(configuration(GetParam(), net.near)),
                              {.pinned_maps = {}, .asks_driver = asks_driver});
    }

    Testbed net;
    std::optional<Datapath> queue;
};

TEST_P(Bound, EntranceIsAPageShorterThanWhatWasLoaded) {
    if (is_refused())
        return;
    const auto growth = queue->entrance_growth();
    EXPECT_GT(growth.became, 0u);
    EXPECT_LE(growth.became + 4096 / sizeof(bpf_insn), growth.brought);
}

/// That would be done before what never runs is removed.
TEST_P(Bound, EntranceHasNoInlinedLoop) {
    if (is_refused())
        return;
    EXPECT_EQ(inlined_loops(*queue), 0);
    const auto other = load(false);
    ASSERT_TRUE(other) << other.error().message();
    EXPECT_GT(inlined_loops(*other), 0) << "inlined loops aren't known when they are seen";
}

INSTANTIATE_TEST_SUITE_P(
    Corners, Bound,
    testing::Values(Corner{"Local", 16}, Corner{"LocalRounds", 192, OLAF_DELIVER_LOCAL, 64},
                    Corner{"LocalEverything", 192, OLAF_DELIVER_LOCAL, 64, true},
                    Corner{"Forward", OLAF_MAX_LANES, OLAF_DELIVER_FORWARD},
                    Corner{"ForwardEverything", 192, OLAF_DELIVER_FORWARD, 0, true},
                    Corner{"UpstreamEverything", OLAF_MAX_LANES, OLAF_DELIVER_UPSTREAM, 0, true}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(Unbound, EntranceIsLoadedWhereTheKernelRefusesTheOtherAndSaysWhy) {
    const auto config = make_config(configuration({"Local", 16}, loopback));
    const auto queue = Datapath::load(*config, {.pinned_maps = {}, .asks_driver = true});
    ASSERT_TRUE(queue) << queue.error().message();
    EXPECT_FALSE(queue->asks_driver());
    EXPECT_TRUE(queue->why_silent().starts_with("the kernel refuses the program that asks: "))
        << queue->why_silent();
    EXPECT_GE(queue->program_fd("olaf_ingress"), 0);
}

TEST(Unbound, EntranceOfADriverThatIsntAskedNeedsNoReason) {
    const auto queue = Datapath::load(*make_config(configuration({"Local", 16}, loopback)));
    ASSERT_TRUE(queue) << queue.error().message();
    EXPECT_FALSE(queue->asks_driver());
    EXPECT_EQ(queue->why_silent(), "");
}

} // namespace
} // namespace olaf::test::bound_test
