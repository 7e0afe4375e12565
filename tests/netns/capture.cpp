// SPDX-License-Identifier: BSD-2-Clause
#include "capture.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace olaf::test {
namespace {

constexpr std::size_t file_header = 24, record_header = 16;
constexpr std::uint32_t nanosecond_magic = 0xa1b23c4d; // of a file in this host's byte order

std::uint32_t word(const Bytes &bytes, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, &bytes.at(at + 3) - 3, sizeof value);
    return value;
}

std::vector<Captured> read_pcap(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(file), {}};
    if (word(bytes, 0) != nanosecond_magic)
        throw std::runtime_error("not a capture with nanoseconds: " + path);
    std::vector<Captured> all;
    for (std::size_t at = file_header; at + record_header <= bytes.size();) {
        const std::size_t kept = word(bytes, at + 8);
        const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at + record_header);
        if (at + record_header + kept > bytes.size())
            break; // it is being written
        if (kept != word(bytes, at + 12))
            throw std::runtime_error("a frame isn't whole: " + path);
        all.push_back({.time_ns = word(bytes, at) * 1'000'000'000ll + word(bytes, at + 4),
                       .frame = {from, from + static_cast<std::ptrdiff_t>(kept)}});
        at += record_header + kept;
    }
    return all;
}

} // namespace

std::ptrdiff_t taps(const Netns &netns) {
    const auto all = run({"cat", "/proc/net/packet"}, "", &netns).out;
    return std::ranges::count(all, '\n') - 1; // a heading
}

void await_taps(const Netns &netns, std::ptrdiff_t wanted) {
    await([&] { return taps(netns) == wanted; },
          [&] { return std::to_string(wanted) + " packet sockets, not " + std::to_string(taps(netns)); });
}

Capture::Capture(const Netns &netns, const std::string &device, const std::string &filter) {
    std::string name = "/tmp/olaf-capture-XXXXXX";
    const int fd = mkstemp(name.data());
    if (fd < 0)
        throw std::runtime_error("cannot make a file in /tmp");
    close(fd);
    path_ = name;
    // Its header is written once the socket is there: what comes then is captured.
    tcpdump_ = std::make_unique<Process>(
        std::vector<std::string>{"tcpdump", "-i", device, "-n", "-U", "-B", "65536", "-Z", "root",
                                 "--time-stamp-precision=nano", "-w", path_, filter},
        "", &netns);
    await(
        [&] {
            if (!tcpdump_->running())
                throw std::runtime_error("tcpdump doesn't start: " + tcpdump_->wait().err);
            return std::filesystem::file_size(path_) >= file_header;
        },
        [&] { return "the socket of tcpdump: " + tcpdump_->output(); });
}

Capture::~Capture() {
    tcpdump_.reset();
    unlink(path_.c_str());
}

std::vector<Captured> Capture::end(std::size_t frames) {
    // What lies in tcpdump's buffer when it is interrupted is neither written nor counted.
    await([&] { return read_pcap(path_).size() >= frames; },
          [&] { return std::to_string(frames) + " frames in " + path_; }, std::chrono::milliseconds(20));
    tcpdump_->kill(SIGINT);
    const auto outcome = tcpdump_->wait();
    if (outcome.status != 0 ||
        outcome.err.find("\n0 packets dropped by kernel") == std::string::npos)
        throw std::runtime_error("tcpdump lost frames: " + outcome.err);
    return read_pcap(path_);
}

} // namespace olaf::test
