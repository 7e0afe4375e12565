// SPDX-License-Identifier: BSD-2-Clause
#include "trace.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <ctime>
#include <optional>

#include "loader/host/notes.hpp"
#include "olaf/try.hpp"
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

namespace {

class Lines : public TraceOutput {
  public:
    Lines(std::FILE *to, bool json) : to_(to), json_(json) {}

    Result<void> begin(const Attachment &) override { return {}; }
    [[nodiscard]] std::uint32_t frame_bytes() const override { return 0; }
    [[nodiscard]] int fd() const override { return ::fileno(to_); }
    [[nodiscard]] std::string name() const override { return "standard output"; }
    bool event(const Event &event) override {
        return put(json_ ? event_json(event) : event_text(event));
    }
    bool missed(std::uint64_t events) override {
        return put(json_ ? missed_json(events) : missed_text(events));
    }
    bool flush() override { return std::fflush(to_) == 0; }
    bool finish(std::uint64_t) override { return flush(); }

  private:
    bool put(const std::string &line) {
        return std::fwrite(line.data(), 1, line.size(), to_) == line.size() &&
               std::fputc('\n', to_) != EOF;
    }
    std::FILE *to_;
    bool json_;
};

class Packets : public TraceOutput {
  public:
    explicit Packets(std::string path) : path_(std::move(path)) {}

    Result<void> begin(const Attachment &attachment) override {
        auto file = OLAF_TRY(PacketFile::create(path_, attachment, OLAF_EVENT_FRAME_MAX));
        file_.emplace(std::move(file));
        return {};
    }
    [[nodiscard]] std::uint32_t frame_bytes() const override { return OLAF_EVENT_FRAME_MAX; }
    [[nodiscard]] int fd() const override { return file_->fd(); }
    [[nodiscard]] std::string name() const override { return path_; }
    bool event(const Event &event) override { return event.frame.empty() || file_->add(event); }
    bool missed(std::uint64_t) override { return true; } // told in the file's statistics
    bool flush() override { return file_->flush(); }
    bool finish(std::uint64_t missed) override {
        if (!file_->finish(missed))
            return false;
        note(fmt::format("{} packets written, {} events missed", file_->packets(), missed));
        return true;
    }

  private:
    std::string path_;
    std::optional<PacketFile> file_;
};

} // namespace

std::unique_ptr<TraceOutput> trace_lines(std::FILE *to, bool json) {
    return std::make_unique<Lines>(to, json);
}

std::unique_ptr<TraceOutput> trace_packets(const std::string &path) {
    return std::make_unique<Packets>(path);
}

} // namespace olaf
