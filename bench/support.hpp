// SPDX-License-Identifier: BSD-2-Clause
// What both benchmark programs need: skeletons that own themselves, running a
// program by BPF_PROG_TEST_RUN, staying on one CPU.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <olaf/result.hpp>

namespace olaf::bench {

using Frame = std::vector<std::uint8_t>;

template <class S> struct Destroy {
    void operator()(S *skeleton) const { S::destroy(skeleton); }
};
template <class S> using Skeleton = std::unique_ptr<S, Destroy<S>>;

/// Opens a skeleton; the caller sets rodata and then calls load().
template <class S> Result<Skeleton<S>> open(const char *name) {
    Skeleton<S> skeleton{S::open()};
    if (!skeleton)
        return fail("open BPF object", name, errno);
    return skeleton;
}

template <class S> Result<void> load(const Skeleton<S> &skeleton, const char *name) {
    if (const int error = S::load(skeleton.get()); error != 0)
        return fail("load BPF object", name, -error, "run as root on Linux 6.1 or newer");
    return {};
}

/// A benchmark has nobody to hand an error to: say it and end.
template <class T> T must(Result<T> result) {
    if (!result) {
        std::fprintf(stderr, "error: %s\n", result.error().message().c_str());
        std::exit(1);
    }
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

/// Ends the program with what was expected of what, unless `holds`.
void require(bool holds, const std::string &what);

/// Keeps this thread on one CPU, ahead of what else wants it: on a shared machine a figure is about
/// the program, not about its neighbours. A real-time policy: nice does not hold others off.
Result<void> own_cpu(int cpu, int priority = 1);

struct TestRun {
    std::uint32_t verdict = 0;
    std::uint32_t nanoseconds = 0; ///< average of one repetition, as the kernel tells it
};

/// Runs an XDP program `repeat` times on one frame; the kernel hands it the same bytes each time.
Result<TestRun> test_run(int program, std::span<const std::uint8_t> frame, std::uint32_t repeat);

/// Runs an XDP program on one frame again and again, until a signal comes.
Result<void> run_on(int program, std::span<const std::uint8_t> frame);

/// Sends live frames through `program`, so many a batch, until a signal comes. 64 is NAPI's size,
/// which is what a driver would deliver.
Result<void> run_live(int program, std::span<const std::uint8_t> frame, std::uint32_t batch = 64);

/// Writes one value of an array map.
Result<void> store(int map, std::uint32_t key, const void *value);

} // namespace olaf::bench
