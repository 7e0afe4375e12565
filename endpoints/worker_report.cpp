// SPDX-License-Identifier: BSD-2-Clause
#include "worker_impl.hpp"

#include <olaf/clock.hpp>

namespace olaf {

void Worker::Impl::measure(const Ack &ack, bool fresh) {
    const auto now = OwnUpdates::Clock::now();
    last_ack_ = now;
    // Only an ACK that isn't for us alone may echo an update that we haven't sent yet.
    answers_to_all_ |= ack.worker == OLAF_EVERY_WORKER ||
                       static_cast<std::int32_t>(ack.sequence - own_.last()) > 0;
    if (answers_to_all_)
        missed_.saw(ack.model_version, fresh);

    const auto answered = own_.answered(ack.sequence, ack.generated_ns, now);
    if (!answered)
        return;
    const std::int64_t round_trip = answered->round_trip.count();
    const auto lag = static_cast<std::int32_t>(ack.model_version - answered->model_version);
    report_.version_lag = static_cast<std::uint32_t>(std::max(lag, 0));
    report_.update_age_ns = std::max<std::int64_t>(tai_now_ns() - ack.generated_ns, 0);
    report_.round_trip_ns = round_trip;
    if (report_.answered == 0) {
        report_.smoothed_round_trip_ns = report_.least_round_trip_ns = round_trip;
    } else {
        report_.smoothed_round_trip_ns += (round_trip - report_.smoothed_round_trip_ns) / 8;
        report_.least_round_trip_ns = std::min(report_.least_round_trip_ns, round_trip);
    }
    report_.answered++;
}

WorkerReport Worker::Impl::report() const {
    WorkerReport report = report_;
    report.unanswered = own_.unanswered();
    report.acks_lost = missed_.count();
    return report;
}

} // namespace olaf
