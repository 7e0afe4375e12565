// SPDX-License-Identifier: BSD-2-Clause
#include "olaf_command.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace olaf::test {

OlafCommand::OlafCommand(const Netns &netns, std::string device)
    : netns_(netns), device_(std::move(device)) {}

OlafCommand::~OlafCommand() {
    if (attached_)
        (*this)({"detach", device_, "--force"});
}

std::vector<std::string> OlafCommand::command(std::vector<std::string> arguments) const {
    std::vector<std::string> words = {OLAF_BINARY, "--netns", netns_.name()};
    words.insert(words.end(), std::make_move_iterator(arguments.begin()),
                 std::make_move_iterator(arguments.end()));
    return words;
}

Outcome OlafCommand::without_btf(const std::string &arguments) const {
    return run({"unshare", "--mount", "sh", "-c",
                "mount --bind /dev/null /sys/kernel/btf/vmlinux && exec " OLAF_BINARY " --netns " +
                    netns_.name() + " " + arguments});
}

void OlafCommand::must(std::vector<std::string> arguments) const {
    std::string text = "olaf";
    for (const auto &argument : arguments)
        text += " " + argument;
    const auto done = (*this)(std::move(arguments));
    if (done.status != 0)
        throw std::runtime_error(text + ": " + done.err);
}

void OlafCommand::attach(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"attach", device_});
    must(std::move(arguments));
    attached_ = true;
}

void OlafCommand::replace(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"attach", device_, "--replace"});
    must(std::move(arguments));
}

void OlafCommand::cluster(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, device_);
    arguments.insert(arguments.begin(), "cluster");
    must(std::move(arguments));
}

void OlafCommand::detach() {
    must({"detach", device_});
    attached_ = false;
}

Status OlafCommand::status() const {
    const auto asked = (*this)({"--json", "status", device_});
    if (asked.status != 0)
        throw std::runtime_error("olaf status: " + asked.err);
    return {nlohmann::json::parse(asked.out)};
}

Status OlafCommand::await(const std::function<bool(const Status &)> &satisfied) const {
    Status now;
    test::await([&] { return satisfied(now = status()); }, [&] { return "a status, not " + now.json.dump(); });
    return now;
}

Status OlafCommand::await_drained(std::uint64_t received) const {
    await([&](const Status &s) {
        return s["received"] >= received && s["updates_waiting"] == 0 && !s.token_alive();
    });
    return status(); // that one was read while the last departure left: this one is exact
}

void expect_identities(const Status &s) {
    SCOPED_TRACE(s.json.dump());
    EXPECT_EQ(s["received"],
              s["passed_through"] + s["appended"] + s["aggregated"] + s["replaced"] + s.dropped());
    EXPECT_EQ(s["departed"], s["departed_riding"] + s["departed_drain"]);
    EXPECT_EQ(s["appended"], s["departed"] + s.queue("length"));
    EXPECT_EQ(s["updates_in"], s["updates_out"] + s["updates_superseded"] + s["updates_dropped"] +
                                   s["updates_waiting"]);
    EXPECT_LE(s.queue("length"), s.queue("capacity"));
    EXPECT_EQ(s["malformed"], 0u);
    EXPECT_EQ(s["not_allowed"], 0u);
}

} // namespace olaf::test
