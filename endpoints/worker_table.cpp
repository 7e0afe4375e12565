// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/worker_table.hpp>

#include <algorithm>

namespace olaf {

KnownWorker &WorkerTable::remember(std::uint32_t worker, const Address &address) {
    auto found = workers_.find(worker);
    if (found == workers_.end()) {
        if (!workers_.empty() && workers_.size() >= limit_)
            workers_.erase(std::ranges::min_element(
                workers_, {}, [](const auto &entry) { return entry.second.last_seen; }));
        found = workers_.emplace(worker, KnownWorker{}).first;
    }
    found->second.address = address;
    found->second.last_seen = ++sightings_;
    return found->second;
}

void WorkerTable::count(std::uint32_t worker, const Address &address, std::uint32_t sequence) {
    KnownWorker &known = remember(worker, address);
    // Sequences wrap: what is "behind" is late or another segment, and passes over nothing.
    const auto ahead = static_cast<std::int32_t>(sequence - known.last_sequence);
    if (known.seen > 0 && ahead <= 0) {
        known.seen += ahead < 0 ? 1 : 0;
        return;
    }
    if (known.seen > 0)
        known.missed += static_cast<std::uint64_t>(ahead) - 1;
    known.last_sequence = sequence;
    known.seen++;
}

} // namespace olaf
