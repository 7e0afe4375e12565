// SPDX-License-Identifier: BSD-2-Clause
// What stands before a node: which frames are messages of a job's children at all. Written from
// docs/rounds.md, "Messages": one job at a root, whose children are all reachable.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

namespace olaf::model {

struct RoundSender {
    std::uint8_t host = 0;
    std::uint16_t port = 0; ///< 0: nobody can be answered there
    auto operator<=>(const RoundSender &) const = default;
};

/// What a frame says of itself and of its sender.
struct RoundFrame {
    enum class Type { contribution, result, control, answer };
    Type type = Type::contribution;
    std::uint32_t job = 0, rank = 0, count = 1, chunk = 0, chunks = 1, lanes = 0;
    bool is_of_jobs_format = true, has_checksum_lane = true;
    bool names_session = false; ///< SYNC and JOIN, and their answers
    bool names_run = true;
    enum class Checksum { right, wrong, none };
    Checksum udp_checksum =
        Checksum::right; ///< looked at where lanes have no checksum of their own
    RoundSender sender;
};

enum class RoundRefusal {
    none,   ///< it is a child's
    no_job, ///< left alone
    chunk,  ///< malformed, as are the next four
    count,
    lanes,        ///< a CONTROL's
    udp_checksum, ///< of lanes that nothing else protects
    shape,
    source, ///< not allowed, as is the next
    result,
};

class RoundGate {
  public:
    RoundGate(std::uint32_t job, std::uint32_t children, std::uint32_t lanes)
        : job_(job), children_(children), lanes_(lanes) {}
    /// The first one of a rank binds it.
    RoundRefusal judge(const RoundFrame &frame);

  private:
    std::uint32_t job_, children_, lanes_;
    std::map<std::uint32_t, RoundSender> bound_;
};

} // namespace olaf::model
