// SPDX-License-Identifier: BSD-2-Clause
#include "support.hpp"

#include <cerrno>
#include <limits>

#include <bpf/bpf.h>
#include <sched.h>

namespace olaf::bench {

void require(bool holds, const std::string &what) {
    if (holds)
        return;
    std::fprintf(stderr, "error: wrong result, nothing was timed: %s\n", what.c_str());
    std::exit(1);
}

Result<void> own_cpu(int cpu, int priority) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        return fail("stay on CPU", std::to_string(cpu), errno);
    const sched_param first{.sched_priority = priority};
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        return fail("raise the priority", "", errno, "run as root");
    return {};
}

Result<TestRun> test_run(int program, std::span<const std::uint8_t> frame, std::uint32_t repeat) {
    LIBBPF_OPTS(bpf_test_run_opts, opts);
    opts.data_in = frame.data();
    opts.data_size_in = static_cast<std::uint32_t>(frame.size());
    opts.repeat = static_cast<int>(repeat);
    if (const int error = bpf_prog_test_run_opts(program, &opts); error != 0)
        return fail("run BPF program", "", -error);
    return TestRun{.verdict = opts.retval, .nanoseconds = opts.duration};
}

namespace {

/// As often as the kernel can count, or until a signal comes.
Result<void> run_long(int program, std::span<const std::uint8_t> frame, std::uint32_t flags,
                      std::uint32_t batch, const char *what) {
    LIBBPF_OPTS(bpf_test_run_opts, opts);
    opts.data_in = frame.data();
    opts.data_size_in = static_cast<std::uint32_t>(frame.size());
    opts.repeat = std::numeric_limits<int>::max();
    opts.flags = flags;
    opts.batch_size = batch;
    if (const int error = bpf_prog_test_run_opts(program, &opts); error != 0 && error != -EINTR)
        return fail(what, "", -error);
    return {};
}

} // namespace

Result<void> run_on(int program, std::span<const std::uint8_t> frame) {
    return run_long(program, frame, 0, 0, "run BPF program");
}

Result<void> run_live(int program, std::span<const std::uint8_t> frame, std::uint32_t batch) {
    return run_long(program, frame, BPF_F_TEST_XDP_LIVE_FRAMES, batch, "send live frames");
}

Result<void> store(int map, std::uint32_t key, const void *value) {
    if (const int error = bpf_map_update_elem(map, &key, value, BPF_ANY); error != 0)
        return fail("write BPF map", "", -error);
    return {};
}

} // namespace olaf::bench
