// SPDX-License-Identifier: BSD-2-Clause
#include "test_run.hpp"

#include <bpf/bpf.h>
#include <linux/if_ether.h>
#include <sys/utsname.h>

#include <cerrno>
#include <sstream>
#include <system_error>
#include <utility>

namespace olaf::test {

namespace {

constexpr std::size_t slack = 16384; // a program may make the frame longer

std::pair<int, int> kernel_version() {
    utsname name{};
    uname(&name);
    std::pair<int, int> version;
    char dot = 0;
    std::istringstream(name.release) >> version.first >> dot >> version.second;
    return version;
}

Ran run(int program, bpf_test_run_opts &options, const Bytes &frame) {
    Ran ran;
    ran.bytes.resize(frame.size() + slack);
    options.data_in = frame.data();
    options.data_size_in = static_cast<__u32>(frame.size());
    options.data_out = ran.bytes.data();
    options.data_size_out = static_cast<__u32>(ran.bytes.size());
    if (bpf_prog_test_run_opts(program, &options) != 0)
        throw std::system_error(errno, std::generic_category(), "BPF_PROG_TEST_RUN");
    ran.verdict = options.retval;
    ran.bytes.resize(options.data_size_out);
    return ran;
}

} // namespace

Ran run_xdp(int program, const Bytes &frame, const How &how) {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    xdp_md context{};
    if (how.ingress_ifindex != 0 || how.linear_bytes != 0) {
        context.data_end =
            static_cast<__u32>(how.linear_bytes != 0 ? how.linear_bytes : frame.size());
        context.ingress_ifindex = how.ingress_ifindex;
        options.ctx_in = &context;
        options.ctx_size_in = sizeof context;
    }
    return run(program, options, frame);
}

Ran run_tc(int program, const Bytes &frame, std::uint32_t ifindex) {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    __sk_buff context{};
    if (ifindex != 0) {
        context.ifindex = ifindex;
        options.ctx_in = &context;
        options.ctx_size_in = sizeof context;
    }
    return run(program, options, frame);
}

void run_live(int program, const Bytes &frame, std::uint32_t count, std::uint32_t ifindex) {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    xdp_md context{};
    context.data_end = static_cast<__u32>(frame.size());
    context.ingress_ifindex = ifindex;
    options.ctx_in = &context;
    options.ctx_size_in = sizeof context;
    options.data_in = frame.data();
    options.data_size_in = static_cast<__u32>(frame.size());
    options.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
    options.repeat = static_cast<int>(count);
    options.batch_size = 64;
    if (bpf_prog_test_run_opts(program, &options) != 0)
        throw std::system_error(errno, std::generic_category(), "BPF_PROG_TEST_RUN, live frames");
}

bool can_choose_linear_bytes(int program) {
    const Bytes zeros(256);
    try {
        run_xdp(program, zeros, {.linear_bytes = 128});
        return true;
    } catch (const std::system_error &) {
        if (kernel_version() >= std::pair{6, 18}) // from then on every kernel can
            throw;
        return false;
    }
}

const char *verdict_name(std::uint32_t verdict) {
    static constexpr const char *names[] = {"XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX",
                                            "XDP_REDIRECT"};
    return verdict < 5 ? names[verdict] : "?";
}

} // namespace olaf::test
