// SPDX-License-Identifier: BSD-2-Clause
#include "update.hpp"

#include "olaf/protocol.h"
#include "tests/datapath/wire.hpp"

namespace olaf::model {

std::vector<std::uint8_t> departing_frame(const Update &update, bool summed) {
    const Headers &headers = update.headers;
    std::vector<std::uint8_t> frame = headers.bytes;
    std::size_t udp_bytes = 8 + 48 + 8 * update.lanes.size();

    unsigned flags = update.shape.format << OLAF_FLAG_FORMAT_SHIFT;
    if (update.shape.checksum)
        flags |= OLAF_FLAG_CHECKSUM;
    if (update.count > 1)
        flags |= OLAF_FLAG_AGGREGATED;

    test::put_be(frame, OLAF_MAGIC, 2);
    test::put_be(frame, OLAF_VERSION, 1);
    test::put_be(frame, OLAF_UPDATE, 1);
    test::put_be(frame, flags, 2);
    test::put_be(frame, update.lanes.size(), 2);
    test::put_be(frame, update.cluster, 4);
    test::put_be(frame, update.worker, 4);
    test::put_be(frame, update.sequence, 4);
    test::put_be(frame, update.count, 4);
    test::put_be(frame, update.generated_ns, 8);
    test::put_be(frame, static_cast<std::uint64_t>(update.reward), 8);
    test::put_be(frame, update.model_version, 4);
    test::put_be(frame, update.segment, 2);
    test::put_be(frame, update.segments, 2);
    for (auto lane : update.lanes)
        test::put_le64(frame, lane);

    test::set_be(frame, headers.l4 + 4, udp_bytes, 2);
    test::set_be(frame, headers.l4 + 6, 0, 2);
    if (headers.family == 4) {
        test::set_be(frame, headers.l3 + 2, headers.l4 - headers.l3 + udp_bytes, 2);
        test::set_be(frame, headers.l3 + 10, test::ipv4_checksum(frame, headers.l3), 2);
    } else {
        test::set_be(frame, headers.l3 + 4, headers.l4 - headers.l3 - 40 + udp_bytes, 2);
    }
    if (summed || headers.family == 6)
        test::set_be(frame, headers.l4 + 6, test::udp_checksum(frame, headers.l3, headers.l4), 2);
    return frame;
}

} // namespace olaf::model
