// SPDX-License-Identifier: BSD-2-Clause
#include "bpf_log.hpp"

#include <bpf/libbpf.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>

namespace olaf {
namespace {

std::mutex mutex; // guards all below: libbpf may log from any thread
std::string captured;
bool echoed = false;
thread_local int quiet = 0;

[[gnu::format(printf, 2, 0)]] int capture(libbpf_print_level level, const char *format,
                                          va_list args) {
    const std::lock_guard guard(mutex);
    if (quiet > 0 || (level == LIBBPF_DEBUG && !echoed))
        return 0;
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length <= 0)
        return 0;
    std::string line(static_cast<size_t>(length) + 1, '\0');
    std::vsnprintf(line.data(), line.size(), format, args);
    line.pop_back();
    if (echoed)
        std::fputs(line.c_str(), stderr);
    if (level != LIBBPF_DEBUG)
        captured += line;
    return 0;
}

} // namespace

void capture_bpf_log(bool echo) {
    const std::lock_guard guard(mutex);
    echoed = echo;
    libbpf_set_print(capture);
}

std::string take_bpf_log() {
    const std::lock_guard guard(mutex);
    return std::exchange(captured, {});
}

QuietBpfLog::QuietBpfLog() {
    quiet++;
}
QuietBpfLog::~QuietBpfLog() {
    quiet--;
}

} // namespace olaf
