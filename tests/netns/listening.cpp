// SPDX-License-Identifier: BSD-2-Clause
#include "listening.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace olaf::test {
namespace {

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

} // namespace

Trace::Trace(const Testbed &testbed, const UdpSocket &worker, std::vector<std::string> arguments)
    : process(testbed.olaf.command(joined({"--json", "trace", "in"}, std::move(arguments)))) {
    const auto mark = "\"cluster\":" + std::to_string(marker_cluster);
    await(
        [&] {
            if (process.output().find(mark) != std::string::npos)
                return true;
            if (!process.running())
                throw std::runtime_error("olaf trace ended: " + process.output());
            worker.send(Update{.cluster = marker_cluster}, testbed.target(worker.family()));
            return false;
        },
        [&] { return "an event of olaf trace: " + process.output(); },
        std::chrono::milliseconds(5));
}

std::vector<nlohmann::json> Trace::events() {
    process.kill(SIGINT);
    const auto outcome = process.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::vector<nlohmann::json> events;
    for (const auto &line : split(outcome.out, '\n')) {
        auto event = nlohmann::json::parse(line);
        if (event.value("cluster", nlohmann::json()) != marker_cluster)
            events.push_back(std::move(event));
    }
    return events;
}

Scratch::Scratch() {
    std::string pattern = std::filesystem::temp_directory_path() / "olaf-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("cannot make " + pattern);
    path_ = pattern;
}

Scratch::~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

Outcome run_script(const std::string &name, std::vector<std::string> arguments,
                   const std::string &input, const Netns *netns) {
    return run(
        joined({"/usr/bin/python3", std::string(OLAF_SOURCE) + "/tests/netns/observe/" + name},
               std::move(arguments)),
        input, netns);
}

std::vector<std::string> as_nobody(const std::string &capabilities,
                                   const std::vector<std::string> &arguments) {
    const auto caps = "-all" + capabilities;
    return joined({"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                   "--inh-caps", caps, "--bounding-set", caps, "--ambient-caps", caps,
                   "--no-new-privs", OLAF_BINARY},
                  arguments);
}

Outcome interrupted_after(Process &program, const std::string &text) {
    program.await_output(text);
    program.kill(SIGINT);
    auto outcome = program.wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome;
}

void expect_schema(const std::string &name, const std::string &text) {
    const auto told = run({"/usr/bin/python3", OLAF_VALIDATE, name}, text);
    EXPECT_EQ(told.status, 0) << told.err << text.substr(0, 2000);
}

std::vector<std::vector<std::string>> dissect(const std::string &capture,
                                              const std::vector<std::string> &fields) {
    const auto lua = std::string("lua_script:") + OLAF_SOURCE + "/docs/wireshark/olaf.lua";
    auto command =
        joined({"tshark", "-r", capture, "-X", lua, "-T", "fields", "-E", "separator=;"}, {});
    for (const auto &field : fields)
        command.insert(command.end(), {"-e", field});
    const auto told = run(command);
    if (told.status != 0 || told.err.find("Lua") != std::string::npos)
        throw std::runtime_error("tshark: " + told.err);
    std::vector<std::vector<std::string>> rows;
    for (const auto &line : split(told.out, '\n')) {
        rows.push_back(split(line, ';'));
        rows.back().resize(fields.size());
    }
    return rows;
}

// ---- tcpdump ----

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
          [&] {
              return std::to_string(wanted) + " packet sockets, not " + std::to_string(taps(netns));
          });
}

Capture::Capture(const Netns &netns, const std::string &device, const std::string &filter)
    : tcpdump_({"tcpdump", "-i", device, "-n", "-U", "-B", "65536", "-Z", "root",
                "--time-stamp-precision=nano", "-w", path_, filter},
               "", &netns) {
    // Its header is written once the socket is there: what comes then is captured.
    await(
        [&] {
            if (!tcpdump_.running())
                throw std::runtime_error("tcpdump doesn't start: " + tcpdump_.wait().err);
            return std::filesystem::exists(path_) &&
                   std::filesystem::file_size(path_) >= file_header;
        },
        [&] { return "the socket of tcpdump: " + tcpdump_.output(); });
}

std::vector<Captured> Capture::end(std::size_t frames) {
    // What lies in tcpdump's buffer when it is interrupted is neither written nor counted.
    await([&] { return read_pcap(path_).size() >= frames; },
          [&] { return std::to_string(frames) + " frames in " + path_; },
          std::chrono::milliseconds(20));
    tcpdump_.kill(SIGINT);
    const auto outcome = tcpdump_.wait();
    if (outcome.status != 0 ||
        outcome.err.find("\n0 packets dropped by kernel") == std::string::npos)
        throw std::runtime_error("tcpdump lost frames: " + outcome.err);
    return read_pcap(path_);
}

} // namespace olaf::test
