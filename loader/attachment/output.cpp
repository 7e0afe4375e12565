// SPDX-License-Identifier: BSD-2-Clause
#include "output.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <net/ethernet.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "loader/datapath/programs.hpp"
#include "loader/host/bpf_log.hpp"
#include "loader/host/clock.hpp"
#include "loader/host/merging.hpp"
#include "loader/host/netns.hpp"
#include "loader/host/notes.hpp"
#include "loader/host/xdp.hpp"
#include "olaf/try.hpp"
#include "olaf/way.h"

namespace olaf {
namespace {

constexpr std::uint32_t key = 0;

/// One for each CPU that the kernel may ever have.
using Gates = std::vector<olaf_xdp_gate>;

Result<Gates> make_gates() {
    const int cpus = libbpf_num_possible_cpus();
    if (cpus < 0)
        return fail("count", "CPUs", -cpus);
    return Gates(static_cast<std::size_t>(cpus));
}

/// This thread runs on one CPU after the other, and in the end where it might run before.
class Affinity {
  public:
    explicit Affinity(std::size_t cpus)
        : cpus_(cpus), set_(CPU_ALLOC(cpus), Free{}), before_(CPU_ALLOC(cpus), Free{}) {
        known_ = ::sched_getaffinity(0, bytes(), before_.get()) == 0;
    }
    Affinity(const Affinity &) = delete;
    Affinity &operator=(const Affinity &) = delete;
    ~Affinity() {
        if (known_)
            ::sched_setaffinity(0, bytes(), before_.get());
    }

    /// False for a CPU that is off, or that this process may not use.
    [[nodiscard]] bool move_to(std::size_t cpu) {
        CPU_ZERO_S(bytes(), set_.get());
        CPU_SET_S(cpu, bytes(), set_.get());
        return known_ && ::sched_setaffinity(0, bytes(), set_.get()) == 0;
    }

  private:
    struct Free {
        void operator()(cpu_set_t *set) const { CPU_FREE(set); }
    };
    [[nodiscard]] std::size_t bytes() const { return CPU_ALLOC_SIZE(cpus_); }

    std::size_t cpus_;
    std::unique_ptr<cpu_set_t, Free> set_, before_;
    bool known_ = false;
};

/// What became of a frame from each CPU.
struct Proof {
    std::size_t taken = 0, refused = 0; ///< CPUs
    int error = 0;                      ///< of a refusal, a positive errno
};

/// Redirects a frame to the output from the CPU that this runs on. No bridge sends that frame on.
Result<void> send_proof(const Datapath &queue) {
    const auto &config = queue.config();
    std::array<std::uint8_t, ETH_ZLEN> frame{0x01, 0x80, 0xc2, 0, 0, 0x0e};
    std::ranges::copy(config.drain_mac, frame.begin() + 6);
    frame[12] = 0x88; // IEEE 802, local experimental: OLAF_ETH_P_PROBE
    frame[13] = 0xb5;
    xdp_md arrived{};
    arrived.data_end = frame.size();
    arrived.ingress_ifindex = config.ifindex;
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_size_in = frame.size(),
                .ctx_in = &arrived, .ctx_size_in = sizeof arrived, .repeat = 1,
                .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 1);
    if (bpf_prog_test_run_opts(queue.program_fd(program_named("olaf_output_prove").name),
                               &options) != 0)
        return fail("redirect a frame to", "the output", errno);
    return {};
}

/// A CPU that this process may not use is left to the probes of the queue's own.
Result<Proof> prove(const Datapath &queue) {
    auto gates = OLAF_TRY(make_gates());
    std::vector<std::size_t> tried;
    {
        Affinity affinity(gates.size());
        for (std::size_t cpu = 0; cpu < gates.size(); cpu++) {
            if (!affinity.move_to(cpu))
                continue;
            OLAF_TRY(send_proof(queue));
            tried.push_back(cpu);
        }
    }
    if (bpf_map_lookup_elem(queue.map_fd("olaf_xdp_gate"), &key, gates.data()) != 0)
        return fail("read map", "olaf_xdp_gate", errno);
    Proof proof;
    for (const auto cpu : tried)
        if (const auto &gate = gates[cpu]; gate.refused_ns == 0) {
            proof.taken++;
        } else {
            proof.refused++;
            proof.error = -gate.error;
        }
    return proof;
}

Result<void> shut_gates(int fd) {
    auto gates = OLAF_TRY(make_gates());
    std::ranges::fill(gates, olaf_xdp_gate{.refused_ns = monotonic_ns(),
                                           .asked_ns = 0,
                                           .wait_ns = OLAF_XDP_GATE_SHORTEST_NS,
                                           .error = 0,
                                           .pad = 0});
    if (bpf_map_update_elem(fd, &key, gates.data(), BPF_ANY) != 0)
        return fail("write", "olaf_xdp_gate", errno);
    return {};
}

/// Of this network namespace. None for one who may not look.
std::vector<PinPlace> places_here() {
    const auto here = netns_inode();
    auto places = pinned_places();
    if (!here || !places)
        return {};
    std::erase_if(*places, [&](const PinPlace &place) { return place.netns != *here; });
    return std::move(*places);
}

std::string link_path(const PinPlace &place) {
    return place.path(output_pass.link);
}

/// 0: there is no such program.
std::uint32_t device_with_program(const PinPlace &place) {
    const Fd link(bpf_obj_get(link_path(place).c_str()));
    return link ? xdp_link_device(link.get()) : 0;
}

/// `merging_on`: what was on before the program came.
Result<void> take_program_off(const PinPlace &place, std::uint32_t merging_on) {
    const auto path = link_path(place);
    const Fd link(bpf_obj_get(path.c_str()));
    if (!link)
        return errno == ENOENT ? Result<void>{} : fail("open", path, errno);
    const auto output = find_device(xdp_link_device(link.get()));
    if (output && bpf_link_detach(link.get()) != 0)
        return fail("remove the XDP program from", path, errno);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        return fail("unlink", path, errno);
    if (output)
        restore_merging(*output, merging_on);
    return {};
}

Result<void> put_program_on(const Device &output, const Datapath &queue, const PinPlace &place) {
    const QuietBpfLog quiet; // drivers without XDP refuse it
    const auto link = OLAF_TRY(attach_xdp(output, queue.program_fd(output_pass.name), false));
    const auto path = link_path(place);
    if (bpf_obj_pin(link.get(), path.c_str()) != 0)
        return fail("pin", path, errno);
    return {};
}

std::string driver_text(const Device &device) {
    const auto name = driver_of(device.name).name;
    return name.empty() ? "its driver" : fmt::format("its driver, {},", name);
}

/// One more try with a program on the output, which stays only if it helps.
Result<Proof> prove_with_program(const Datapath &queue, const PinPlace &place, const Device &output,
                                 const RecordMap &map, Record &record, const Proof &bare) {
    if (!foreign_xdp(output.ifindex).empty())
        return bare; // it has one
    record.output_merging_on = merging_of(output.name).on;
    OLAF_TRY(map.write(record));
    if (!put_program_on(output, queue, place))
        return bare;
    auto proof = prove(queue);
    if (proof && proof->taken != 0) {
        note(
            output.name,
            {fmt::format("{} takes redirected frames only while the device has an XDP program: one "
                         "that passes every frame is there until olaf detach (--no-output-program "
                         "does without)",
                         driver_text(output))});
        return proof;
    }
    OLAF_TRY(take_program_off(place, record.output_merging_on));
    return proof ? Result<Proof>(bare) : proof;
}

void note_refusals(const Device &output, const Proof &proof) {
    if (proof.refused == 0)
        return;
    const std::string why = std::strerror(proof.error);
    if (proof.taken == 0)
        note(output.name, {fmt::format("it takes no redirected frames ({}): the drain sends what "
                                       "departs",
                                       why)});
    else
        note(output.name,
             {fmt::format("it takes redirected frames from {} of {} CPUs ({}): for the others the "
                          "drain sends what departs",
                          proof.taken, proof.taken + proof.refused, why)});
}

} // namespace

Result<void> shut_xdp_gates(const Datapath &queue) {
    if ((queue.config().flags & OLAF_CONFIG_SKB_MODE) != 0)
        return {};
    return shut_gates(queue.map_fd("olaf_xdp_gate"));
}

void shut_xdp_gates_towards(std::uint32_t ifindex) {
    for (const auto &place : places_here()) {
        const auto attachment = read_attachment(place);
        if (!knows_layout(attachment.record) || attachment.record.config.egress_ifindex != ifindex)
            continue;
        if (const Fd gates(bpf_obj_get(place.path("olaf_xdp_gate").c_str())); gates)
            (void)shut_gates(gates.get());
    }
}

Result<void> open_output(const Datapath &queue, const PinPlace &place, const Plan &plan,
                         const RecordMap &map, Record &record) {
    const auto &config = queue.config();
    const bool redirects = plan.egress.has_value() && (config.flags & OLAF_CONFIG_SKB_MODE) == 0;
    const auto output = redirects ? plan.egress->ifindex : 0;
    const bool wanted = plan.asked.output_program && output != place.ifindex;
    if (const auto has = device_with_program(place); has != output || !wanted) {
        if (has != 0)
            shut_xdp_gates_towards(has);
        // Also the pin of one that went with its device.
        OLAF_TRY(take_program_off(place, record.output_merging_on));
    }
    const auto found = [&](OutputTakes takes, std::size_t refused_cpus) -> Result<void> {
        record.output_takes = static_cast<std::uint32_t>(takes);
        record.output_refused_cpus = static_cast<std::uint32_t>(refused_cpus);
        return {};
    };
    if (!redirects)
        return found(OutputTakes::frames, 0);
    if (!plan.egress->up)
        return found(OutputTakes::unknown, 0); // note_consequences() says that the output is down
    auto proof = prove(queue);
    if (proof && proof->taken == 0 && wanted)
        proof = prove_with_program(queue, place, *plan.egress, map, record, *proof);
    if (!proof) {
        note(plan.egress->name, {proof.error().message() + ": the drain sends what departs"});
        return found(OutputTakes::unknown, 0);
    }
    note_refusals(*plan.egress, *proof);
    return found(proof->taken != 0 ? OutputTakes::frames : OutputTakes::nothing, proof->refused);
}

bool has_output_program(const Device &device) {
    return std::ranges::any_of(places_here(), [&](const PinPlace &place) {
        return device_with_program(place) == device.ifindex;
    });
}

Result<void> yield_output(const Device &device) {
    for (const auto &place : places_here()) {
        if (device_with_program(place) != device.ifindex)
            continue;
        const auto attachment = read_attachment(place);
        shut_xdp_gates_towards(device.ifindex);
        OLAF_TRY(take_program_off(
            place, knows_layout(attachment.record) ? attachment.record.output_merging_on : 0));
        note(device.name, {fmt::format("the program that the queue of {} had there makes way",
                                       attachment.device)});
    }
    return {};
}

} // namespace olaf
