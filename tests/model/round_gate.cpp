// SPDX-License-Identifier: BSD-2-Clause
#include "round_gate.hpp"

namespace olaf::model {

RoundRefusal RoundGate::judge(const RoundFrame &frame) {
    using Type = RoundFrame::Type;
    const bool is_control = frame.type == Type::control || frame.type == Type::answer;
    if (frame.job != job_)
        return RoundRefusal::no_job;
    if (!is_control && frame.chunk >= frame.chunks)
        return RoundRefusal::chunk;
    if (frame.type == Type::contribution && frame.count == 0)
        return RoundRefusal::count;
    if (frame.type == Type::result || frame.type == Type::answer) // only a parent sends these
        return RoundRefusal::result;
    if (frame.rank >= children_)
        return RoundRefusal::shape;
    if (frame.lanes != 0 && (frame.lanes != lanes_ || (!is_control && !frame.is_of_jobs_format)))
        return RoundRefusal::shape;
    if (frame.sender.port == 0)
        return RoundRefusal::source;
    return bound_.try_emplace(frame.rank, frame.sender).first->second == frame.sender
               ? RoundRefusal::none
               : RoundRefusal::source;
}

} // namespace olaf::model
