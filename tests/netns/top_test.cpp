// SPDX-License-Identifier: BSD-2-Clause
// `olaf top` in a real terminal, tmux's: what it shows, at which sizes, and how it leaves.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "listening.hpp"

namespace olaf::test::top_test {
namespace {

/// One tmux server with one window, in which a script runs.
class Window {
  public:
    Window(const std::string &script, int columns, int lines) : socket_(scratch_.path("tmux")) {
        tmux({"-f", "/dev/null", "new-session", "-d", "-x", std::to_string(columns), "-y",
              std::to_string(lines), script});
    }
    ~Window() { run(command({"kill-server"})); }

    void keys(std::vector<std::string> keys) const {
        keys.insert(keys.begin(), {"send-keys"});
        tmux(keys);
    }
    void resize(int columns, int lines) const {
        tmux({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(lines)});
    }
    [[nodiscard]] std::string screen() const { return tmux({"capture-pane", "-p"}); }
    /// Waits for a screen that satisfies; throws WaitRanOut with the last one.
    std::string await(const std::function<bool(const std::string &)> &satisfied) const {
        std::string now;
        test::await([&] { return satisfied(now = screen()); }, [&] { return "a screen, not:\n" + now; },
                    std::chrono::milliseconds(20));
        return now;
    }
    std::string await(const std::string &text) const {
        return await([&](const std::string &now) { return now.find(text) != now.npos; });
    }
    [[nodiscard]] const Scratch &files() const { return scratch_; }

  private:
    [[nodiscard]] std::vector<std::string> command(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"env", "LC_ALL=C.UTF-8", "tmux", "-S", socket_});
        return arguments;
    }
    std::string tmux(const std::vector<std::string> &arguments) const {
        const auto done = run(command(arguments));
        if (done.status != 0)
            throw std::runtime_error("tmux " + arguments[0] + ": " + done.err);
        return done.out;
    }
    Scratch scratch_;
    std::string socket_;
};

std::string quoted(const std::vector<std::string> &words) {
    std::string text;
    for (const auto &word : words)
        text += "'" + word + "' ";
    return text;
}

std::vector<std::string> lines_of(const std::string &screen) {
    std::istringstream stream(screen);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

/// Clusters in the order in which the table has them.
std::string order(const std::string &screen) {
    std::string ids;
    for (const auto &line : lines_of(screen)) {
        std::istringstream words(line);
        std::uint32_t id = 0;
        if (words >> id)
            ids += (ids.empty() ? "" : " ") + std::to_string(id);
    }
    return ids;
}

std::string content(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

class Top : public testing::Test {
  protected:
    Top() {
        bed.attach({"--rate", "100kbit", "--queue", "16"});
        // The higher a cluster's number, the more it has sent: the order is known.
        for (std::uint32_t cluster = 0; cluster < 9; cluster++)
            for (std::uint32_t i = 0; i <= cluster; i++)
                worker.send(Update{.cluster = cluster, .worker = i, .sequence = i}, bed.target(4));
        bed.olaf.await_drained(45);
    }
    /// The command in a shell that notes the terminal's settings before and after.
    [[nodiscard]] std::string script(const std::vector<std::string> &arguments,
                                     const Scratch &files) const {
        return "stty -g >" + files.path("before") + "; " + quoted(bed.olaf.command(arguments)) +
               "2>" + files.path("errors") + "; echo \"status $?\"; stty -g >" +
               files.path("after") + "; touch " + files.path("over") + "; sleep 60";
    }
    static void expect_restored(const Scratch &files) {
        test::await([&] { return std::filesystem::exists(files.path("over")); },
                    [] { return "the end of olaf top"; });
        EXPECT_NE(content(files.path("before")), "");
        EXPECT_EQ(content(files.path("before")), content(files.path("after")));
    }

    Scratch files;
    Testbed bed{{.way = Way::bridged}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
};

TEST_F(Top, ShowsClustersAt80By24AndSortsThem) {
    const Window window(script({"top", "in", "--sort", "cluster"}, files), 80, 24);
    const auto screen = window.await("q quit"); // its last line, which is drawn last
    const auto lines = lines_of(screen);
    EXPECT_EQ(lines[0].find("olaf top in: olaf, native mode, rate 100kbit, forward to out"), 0u)
        << screen;
    EXPECT_TRUE(lines[1].starts_with("idle") || lines[1].starts_with("working")) << screen;
    EXPECT_NE(lines[2].find("0/16"), std::string::npos) << screen;
    EXPECT_NE(lines[23].find("q quit"), std::string::npos) << screen;
    EXPECT_EQ(order(screen), "0 1 2 3 4 5 6 7 8") << screen;
    window.keys({"r"});
    window.await([](const std::string &now) { return order(now) == "8 7 6 5 4 3 2 1 0"; });
    window.keys({"q"});
    window.await("status 0");
    expect_restored(files);
}

TEST_F(Top, SaysHowManyUpdatesWereLostBehindTheQueue) {
    bed.server().ip("link set eth0 down\n");
    bed.olaf.replace({"--rate", "unlimited"});
    for (std::uint32_t cluster = 0; cluster < 9; cluster++)
        worker.send(Update{.cluster = cluster}, bed.target(4));
    const auto status = bed.olaf.await([](const Status &s) { return s["received"] == 54; });
    std::uint64_t lost = 0;
    for (const auto &[place, updates] : status.json.at("lost_behind_updates").items())
        lost += updates.is_null() ? 0 : updates.get<std::uint64_t>();
    ASSERT_GT(lost, 0u);
    const Window window(script({"top", "in"}, files), 160, 24);
    window.await(std::to_string(lost) + (lost == 1 ? " update: " : " updates: "));
    const auto screen = window.await("out has no carrier: nothing leaves");
    EXPECT_NE(screen.find("\nblocked "), screen.npos) << screen;
    EXPECT_NE(screen.find("\nlost behind "), screen.npos) << screen;
    window.keys({"q"});
    window.await("status 0");
}

TEST_F(Top, FollowsTheWindowsSize) {
    const Window window(script({"top", "in", "--sort", "cluster"}, files), 80, 24);
    window.await("FOLD");
    window.resize(50, 11);
    const auto small = window.await("5 more below");
    EXPECT_EQ(order(small), "0 1 2 3") << small;
    window.keys({"Down", "Down"});
    window.await([](const std::string &now) { return order(now) == "2 3 4 5"; });
    window.resize(132, 40);
    window.await([](const std::string &now) {
        return now.find("more below") == now.npos && lines_of(now).size() == 40;
    });
    window.keys({"q"});
    window.await("status 0");
}

TEST_F(Top, ATerminationRestoresTheTerminal) {
    const Window window(script({"top", "in"}, files), 80, 24);
    window.await("FOLD");
    const auto found = run({"pgrep", "-f", bed.host.name() + " top in$"});
    ASSERT_EQ(found.status, 0);
    kill(std::stoi(found.out), SIGTERM);
    const auto screen = window.await("status 0");
    EXPECT_EQ(screen.find("FOLD"), std::string::npos) << screen; // the table is gone
    expect_restored(files);
}

TEST_F(Top, EndsWithTheQueueAndSaysSo) {
    const Window window(script({"top", "in", "--interval", "200ms"}, files), 80, 24);
    window.await("FOLD");
    bed.olaf.detach();
    window.await("status 1");
    EXPECT_NE(content(files.path("errors")).find("it was detached"), std::string::npos);
    expect_restored(files);
}

TEST_F(Top, WantsATerminalUnlessForJson) {
    const auto refused = bed.olaf({"top", "in"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("it is not a terminal"), std::string::npos) << refused.err;

    Process top(bed.olaf.command({"--json", "top", "in", "--interval", "100ms"}));
    top.await_output("\n{");
    top.kill(SIGINT);
    const auto told = top.wait();
    EXPECT_EQ(told.status, 0);
    expect_schema("live", told.out);
    auto live = nlohmann::json::parse(told.out.substr(0, told.out.find('\n')));
    auto status = bed.olaf.status();
    // A neighbour may ask for an address between the two: that bypasses the queue.
    live["status"]["counters"].erase("bypassed");
    status.json["counters"].erase("bypassed");
    EXPECT_EQ(live["total"]["received"], 45);
    EXPECT_EQ(live["status"]["counters"], status.json["counters"]);
    ASSERT_EQ(live["clusters"].size(), 9u);
    EXPECT_EQ(live["clusters"][8]["received"], 9);
}

} // namespace
} // namespace olaf::test::top_test
