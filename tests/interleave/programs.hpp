// SPDX-License-Identifier: BSD-2-Clause
// The kernel programs of one build, compiled for this machine: as they are, or with a fault seeded.
#pragma once

#include <linux/bpf.h>

#include <string>

#include "olaf/queue.h"

namespace olaf::interleave {

class Programs {
  public:
    /// Loads DIRECTORY/{ingress,drain,egress}.so. `copy` tells two loads of one build apart, as
    /// `attach --replace` loads a second copy beside the running one.
    explicit Programs(const std::string &directory, const std::string &copy = "");

    void configure(const olaf_config &config) const;

    int (*ingress)(xdp_md *) = nullptr;
    int (*token_catch)(__sk_buff *) = nullptr;
    int (*drain_tick)(__sk_buff *) = nullptr;
    int (*drain_kick)(__sk_buff *) = nullptr;
    int (*egress)(__sk_buff *) = nullptr;

  private:
    void *objects_[3] = {};
};

/// The programs of jobs, and the entrance that calls them.
class JobPrograms {
  public:
    /// Loads DIRECTORY/{ingress,rounds,copies,jobs,parent}.so.
    explicit JobPrograms(const std::string &directory);

    void configure(const olaf_config &config) const;

    int (*ingress)(xdp_md *) = nullptr;
    int (*rounds)(xdp_md *) = nullptr;
    int (*copies)(__sk_buff *) = nullptr;
    int (*order)(xdp_md *) = nullptr;
    int (*parent_in)(__sk_buff *) = nullptr;

  private:
    void *objects_[5] = {};
};

} // namespace olaf::interleave
