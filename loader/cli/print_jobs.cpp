// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "loader/observe/jobs_json.hpp"
#include "loader/observe/jobs_text.hpp"
#include "print.hpp"

namespace olaf {

void print(const JobListing &listing, bool json) {
    if (json) {
        fmt::print("{}\n", jobs_json(listing.jobs, listing.now_ns).dump(2));
        return;
    }
    for (const auto &job : listing.jobs)
        fmt::print("{}", job_text(job, listing.now_ns));
    if (listing.jobs.empty())
        fmt::print(stderr, "no job is set\n");
}

} // namespace olaf
