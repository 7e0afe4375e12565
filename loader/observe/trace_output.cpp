// SPDX-License-Identifier: BSD-2-Clause
#include "trace_output.hpp"

#include <fmt/format.h>

#include <optional>

#include "loader/host/notes.hpp"
#include "olaf/try.hpp"
#include "packet_file.hpp"

namespace olaf {
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
