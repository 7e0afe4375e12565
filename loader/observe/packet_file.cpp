// SPDX-License-Identifier: BSD-2-Clause
#include "packet_file.hpp"

#include <cerrno>
#include <ctime>

#include "pcapng.hpp"

namespace olaf {
namespace {

/// Order of the interface descriptions.
enum : std::uint32_t { arrivals = 0, departures = 1 };

std::int64_t now_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// Capture files hold UTC.
std::uint64_t utc_ns(std::uint64_t monotonic_ns) {
    return monotonic_ns +
           static_cast<std::uint64_t>(now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC));
}

std::string way_out(const Attachment &attachment) {
    const auto &record = attachment.record;
    return record.config.deliver == OLAF_DELIVER_LOCAL ? "this host" : record.target;
}

} // namespace

Result<PacketFile> PacketFile::create(const std::string &path, const Attachment &attachment,
                                      std::uint32_t snap_bytes) {
    PacketFile file(File(path == "-" ? stdout : std::fopen(path.c_str(), "wbe")));
    if (!file.file_)
        return fail("write", path, errno);
    if (!file.write(pcapng::section_header("olaf " OLAF_PROJECT_VERSION)) ||
        !file.write(pcapng::interface_description(attachment.device, snap_bytes)) ||
        !file.write(pcapng::interface_description(way_out(attachment), snap_bytes)) ||
        !file.flush())
        return fail("write", path, errno);
    return file;
}

bool PacketFile::write(const std::string &block) {
    return std::fwrite(block.data(), 1, block.size(), file_.get()) == block.size();
}

bool PacketFile::add(const Event &event) {
    const bool outbound = event.record.kind == OLAF_EVENT_DEPARTURE;
    const std::uint32_t interface = outbound ? departures : arrivals;
    packets_[interface]++;
    return write(pcapng::packet({.time_ns = utc_ns(event.record.time_ns),
                                 .interface = interface,
                                 .outbound = outbound,
                                 .length = event.record.frame_bytes,
                                 .bytes = event.frame,
                                 .comment = event_comment(event)}));
}

bool PacketFile::flush() {
    return std::fflush(file_.get()) == 0;
}

bool PacketFile::finish(std::uint64_t missed) {
    const auto now = static_cast<std::uint64_t>(now_ns(CLOCK_REALTIME));
    return write(
               pcapng::interface_statistics(arrivals, now, packets_[arrivals] + missed, missed)) &&
           write(pcapng::interface_statistics(departures, now, packets_[departures], 0)) && flush();
}

} // namespace olaf
