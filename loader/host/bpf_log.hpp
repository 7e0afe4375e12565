// SPDX-License-Identifier: BSD-2-Clause
// libbpf's own log: captured, so that a person sees one line unless they ask for more.
#pragma once

#include <string>

namespace olaf {

/// Captures what libbpf logs from now on, on every thread; with echo, also prints it on stderr.
void capture_bpf_log(bool echo = false);

/// What libbpf warned of since the last call. After a failed load: the verifier's words.
std::string take_bpf_log();

/// While it lives, libbpf's warnings on this thread go nowhere: for calls that may well fail.
class QuietBpfLog {
  public:
    QuietBpfLog();
    ~QuietBpfLog();
    QuietBpfLog(QuietBpfLog &&) = delete;
};

} // namespace olaf
