// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/message.hpp>

#include "wire_header.hpp"

namespace olaf {
olaf_header encode(const Update &update) {
    olaf_header header =
        header_with(OLAF_UPDATE,
                    format_flags(update.format) | (update.has_checksum ? OLAF_FLAG_CHECKSUM : 0U) |
                        (update.count > 1 ? OLAF_FLAG_AGGREGATED : 0U),
                    update.lanes);
    header.cluster_be = big_endian(update.cluster);
    header.worker_be = big_endian(update.worker);
    header.sequence_be = big_endian(update.sequence);
    header.count_be = big_endian(update.count);
    header.generated_ns_be = big_endian<__u64>(static_cast<__u64>(update.generated_ns));
    header.reward_be = big_endian<__u64>(static_cast<__u64>(update.reward));
    header.model_version_be = big_endian(update.model_version);
    header.segment_be = big_endian(update.segment);
    header.segments_be = big_endian(update.segments);
    return header;
}

olaf_header encode(const Ack &ack) {
    olaf_header header = header_with(
        OLAF_ACK,
        format_flags(Format::f32x2) | (ack.has_checksum ? OLAF_FLAG_CHECKSUM : 0U) |
            (ack.stamped ? OLAF_FLAG_STAMPED : 0U) | (ack.congested ? OLAF_FLAG_CONGESTED : 0U),
        ack.lanes);
    header.cluster_be = big_endian(ack.cluster);
    header.worker_be = big_endian(ack.worker);
    header.sequence_be = big_endian(ack.sequence);
    header.active_clusters_be = big_endian(ack.active_clusters);
    header.generated_ns_be = big_endian<__u64>(static_cast<__u64>(ack.generated_ns));
    header.queue_capacity_be = big_endian(ack.queue_capacity);
    header.queue_length_be = big_endian(ack.queue_length);
    header.model_version_be = big_endian(ack.model_version);
    header.segment_be = big_endian(ack.segment);
    header.segments_be = big_endian(ack.segments);
    return header;
}

olaf_header encode(const Join &join) {
    olaf_header header = header_with(OLAF_CONTROL, 0, 0);
    header.cluster_be = big_endian(join.cluster);
    header.worker_be = big_endian(join.worker);
    header.sequence_be = big_endian(join.sequence);
    header.count_be = big_endian(kControlJoin);
    header.generated_ns_be = big_endian<__u64>(static_cast<__u64>(join.generated_ns));
    header.segments_be = big_endian<std::uint16_t>(1);
    return header;
}

} // namespace olaf
