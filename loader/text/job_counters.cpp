// SPDX-License-Identifier: BSD-2-Clause
#include "job_counters.hpp"

#include <cstring>

namespace olaf {
namespace {

constexpr JobCounter table[] = {
#define COUNTER(field, object, key, unit, metric, meaning)                                         \
    {#object, #key, #unit, metric, meaning, __builtin_offsetof(olaf_job_counters, field)},
    OLAF_JOB_COUNTER_LIST(COUNTER)
#undef COUNTER
};

} // namespace

std::uint64_t JobCounter::in(const olaf_job_counters &counters) const {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const char *>(&counters) + offset, sizeof value);
    return value;
}

std::string JobCounter::path() const {
    return (object.empty() ? "" : std::string(object) + ".") + std::string(key);
}

std::span<const JobCounter> job_counters() {
    return table;
}

std::vector<JobIdentity> job_identities() {
    std::string fates;
    for (const auto &counter : table)
        if (counter.object == "contributions" && counter.key != "received")
            fates += (fates.empty() ? "" : " + ") + std::string(counter.key);
    return {{"contributions.received = " + fates, "at rest"},
            {"children × chunks.completed = results.riding + results.copied + children × "
             "results.multicast + results.undelivered",
             "at rest, over a run of all children, without threshold, deadline, reset, flush or "
             "members that come and go"}};
}

} // namespace olaf
