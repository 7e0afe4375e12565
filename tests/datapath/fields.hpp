// SPDX-License-Identifier: BSD-2-Clause
// What a message has between its first eight bytes and its lanes, in the order of the wire. A field
// is as wide there as it is here.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include "packet.hpp"

namespace olaf::test {

/// A message of that type, or a constant one.
template <class Any, class Message>
concept Of = std::same_as<std::remove_const_t<Any>, Message>;

template <Of<Update> Any> auto fields_of(Any &m) {
    return std::tie(m.cluster, m.worker, m.sequence, m.count, m.generated_ns, m.reward,
                    m.model_version, m.segment, m.segments);
}

template <Of<Ack> Any> auto fields_of(Any &m) {
    return std::tie(m.cluster, m.worker, m.sequence, m.active_clusters, m.pad, m.generated_ns,
                    m.queue_capacity, m.queue_length, m.model_version, m.segment, m.segments);
}

/// `rank` has the workers above it, and `count` the content (JobMessage::vector).
template <Of<JobMessage> Any> auto fields_of(Any &m) {
    return std::tie(m.job, m.rank, m.round, m.count, m.generated_ns, m.chunk, m.chunks,
                    m.generation, m.exponent, m.pool, m.check);
}

} // namespace olaf::test
