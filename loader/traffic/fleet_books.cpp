// SPDX-License-Identifier: BSD-2-Clause
// What a fleet sent, next to what the server's book says.
#include "book.hpp"
#include "fleet.hpp"

namespace olaf {

std::uint32_t Fleet::arrived(const Cluster &cluster, std::size_t element) const {
    if (cluster.first_book.empty())
        return 0;
    return book_entry(cluster.book, element) - book_entry(cluster.first_book, element);
}

SentCluster Fleet::summed(const Cluster &cluster) const {
    SentCluster sum{.cluster = cluster.id, .unsent = cluster.unsent};
    const auto first = book_element(options_.first_worker);
    for (std::size_t e = book_element(0); e < cluster.book.size(); e++) {
        const auto count = arrived(cluster, e);
        if (e < first || e - first >= cluster.sent.size()) {
            sum.others += count;
            continue;
        }
        const auto sent = cluster.sent[e - first];
        sum.sent += sent;
        // A worker of another sender has our number, or the server began anew.
        sum.received += std::min<std::uint64_t>(count, sent);
        sum.others += count > sent ? count - sent : 0;
    }
    if (sum.others == 0)
        sum.messages = cluster.newest_version - cluster.first_version;
    sum.round_trip_ns = cluster.round_trip;
    sum.version_lag = cluster.version_lag;
    return sum;
}

std::uint64_t Fleet::received() const {
    std::uint64_t count = 0;
    for (const auto &cluster : clusters_)
        count += summed(cluster).received;
    return count;
}

std::vector<SentCluster> Fleet::clusters() const {
    std::vector<SentCluster> found;
    for (const auto &cluster : clusters_) {
        found.push_back(summed(cluster));
        found.back().aom = age_of_model(cluster.aom, stopped_ns_);
    }
    return found;
}

} // namespace olaf
