// SPDX-License-Identifier: BSD-2-Clause
#include "trace.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace olaf::evaluation {

Result<std::vector<Moment>> read_trace(const std::string &path) {
    std::ifstream file(path);
    if (!file)
        return fail("read the trace", path, errno);
    std::vector<Moment> moments;
    std::string line;
    for (unsigned number = 1; std::getline(file, line); number++) {
        if (line.empty() || line.starts_with('#'))
            continue;
        double at_us = 0;
        unsigned cluster = 0, worker = 0;
        int length = -1;
        const int fields =
            std::sscanf(line.c_str(), "%lf %u %u %n", &at_us, &cluster, &worker, &length);
        const auto where = path + " line " + std::to_string(number);
        // Above 10^12 us, eleven days, nanoseconds would soon not fit.
        if (fields != 3 || length != static_cast<int>(line.size()) || !(at_us >= 0 && at_us < 1e12))
            return fail("read the trace", where, 0, "write TIME_US CLUSTER WORKER");
        const auto at_ns = static_cast<std::int64_t>(std::llround(at_us * 1e3));
        if (!moments.empty() && at_ns < moments.back().at_ns)
            return fail("read the trace", where, 0, "sort the lines by time");
        moments.push_back({.at_ns = at_ns, .cluster = cluster, .worker = worker});
    }
    if (moments.empty())
        return fail("read the trace", path, 0, "it has no update");
    return moments;
}

} // namespace olaf::evaluation
