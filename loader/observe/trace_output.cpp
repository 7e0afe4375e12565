// SPDX-License-Identifier: BSD-2-Clause
#include "trace_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "packet_file.hpp"

namespace olaf {
namespace {

class Lines : public TraceOutput {
  public:
    explicit Lines(bool json) : json_(json) {}

    [[nodiscard]] std::uint32_t frame_bytes() const override { return 0; }
    [[nodiscard]] int fd() const override { return STDOUT_FILENO; }
    bool event(const Event &event) override {
        return put(json_ ? event_json(event) : event_text(event));
    }
    bool missed(std::uint64_t events) override {
        return put(json_ ? missed_json(events) : missed_text(events));
    }
    bool flush() override { return std::fflush(stdout) == 0; }
    bool finish(std::uint64_t) override { return flush(); }

  private:
    static bool put(const std::string &line) {
        return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
               std::fputc('\n', stdout) != EOF;
    }
    bool json_;
};

class Packets : public TraceOutput {
  public:
    explicit Packets(PacketFile file) : file_(std::move(file)) {}

    [[nodiscard]] std::uint32_t frame_bytes() const override { return OLAF_EVENT_FRAME_MAX; }
    [[nodiscard]] int fd() const override { return file_.fd(); }
    bool event(const Event &event) override { return event.frame.empty() || file_.add(event); }
    bool missed(std::uint64_t) override { return true; } // told in the file's statistics
    bool flush() override { return file_.flush(); }
    bool finish(std::uint64_t missed) override {
        if (!file_.finish(missed))
            return false;
        fmt::print(stderr, "{} packets written, {} events missed\n", file_.packets(), missed);
        return true;
    }

  private:
    PacketFile file_;
};

} // namespace

Result<std::unique_ptr<TraceOutput>> make_trace_output(const TraceOptions &options, bool json,
                                                       const Attachment &attachment) {
    if (options.pcap.empty())
        return std::make_unique<Lines>(json);
    auto file = PacketFile::create(options.pcap, attachment, OLAF_EVENT_FRAME_MAX);
    if (!file)
        return std::unexpected(file.error());
    return std::make_unique<Packets>(std::move(*file));
}

} // namespace olaf
