// SPDX-License-Identifier: BSD-2-Clause
#include "listening.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace olaf::test {
namespace {

std::vector<std::string> joined(std::vector<std::string> words, std::vector<std::string> more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

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
        [&] { return "an event of olaf trace: " + process.output(); }, std::chrono::milliseconds(5));
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

void expect_schema(const std::string &name, const std::string &text) {
    const auto told = run({"/usr/bin/python3", OLAF_VALIDATE, name}, text);
    EXPECT_EQ(told.status, 0) << told.err << text.substr(0, 2000);
}

std::vector<std::vector<std::string>> dissect(const std::string &capture,
                                              const std::vector<std::string> &fields) {
    std::vector<std::string> command{"tshark",
                                     "-r",
                                     capture,
                                     "-X",
                                     std::string("lua_script:") + OLAF_SOURCE +
                                         "/docs/wireshark/olaf.lua",
                                     "-T",
                                     "fields",
                                     "-E",
                                     "separator=;"};
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

} // namespace olaf::test
