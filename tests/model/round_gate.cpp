// SPDX-License-Identifier: BSD-2-Clause
#include "round_gate.hpp"

#include "round_message.hpp"

namespace olaf::model {

RoundRefusal RoundGate::judge(const RoundFrame &frame) {
    using Type = RoundFrame::Type;
    const bool is_control = frame.type == Type::control || frame.type == Type::answer;
    if (frame.job != job_)
        return RoundRefusal::no_job;
    const bool is_protected = !is_control && frame.has_checksum_lane;
    if (frame.lanes != 0 && !is_protected && frame.udp_checksum != RoundFrame::Checksum::right)
        return RoundRefusal::udp_checksum;
    const std::uint32_t least = frame.names_session ? kSessionLanes : 0;
    if (is_control && (frame.lanes < least || (frame.type == Type::answer && frame.lanes > least)))
        return RoundRefusal::lanes;
    if (frame.type == Type::control && frame.names_session && !frame.names_run)
        return RoundRefusal::lanes;
    if (!is_control && frame.chunk >= frame.chunks)
        return RoundRefusal::chunk;
    if (frame.type == Type::contribution && frame.count == 0)
        return RoundRefusal::count;
    if (frame.type == Type::result || frame.type == Type::answer) // only a parent sends these
        return RoundRefusal::result;
    if (frame.rank >= children_)
        return RoundRefusal::shape;
    const bool is_empty = frame.lanes == (is_control ? least : 0);
    if (!is_empty && (frame.lanes != lanes_ || (!is_control && !frame.is_of_jobs_format)))
        return RoundRefusal::shape;
    if (frame.sender.port == 0)
        return RoundRefusal::source;
    return bound_.try_emplace(frame.rank, frame.sender).first->second == frame.sender
               ? RoundRefusal::none
               : RoundRefusal::source;
}

} // namespace olaf::model
