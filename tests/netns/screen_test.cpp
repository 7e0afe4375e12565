// SPDX-License-Identifier: BSD-2-Clause
// `olaf top` in a real terminal, and `olaf serve` for Prometheus and a browser.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "listening.hpp"

namespace olaf::test::screen_test {
namespace {

// `olaf top` in a real terminal, tmux's: what it shows, at which sizes, and how it leaves.

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
    EXPECT_TRUE(says(lines[2], "0/16")) << screen;
    EXPECT_TRUE(says(lines[23], "q quit")) << screen;
    EXPECT_EQ(order(screen), "0 1 2 3 4 5 6 7 8") << screen;
    window.keys({"r"});
    window.await([](const std::string &now) { return order(now) == "8 7 6 5 4 3 2 1 0"; });
    window.keys({"q"});
    window.await("status 0");
    expect_restored(files);
}

TEST_F(Top, SaysHowManyUpdatesWereLostBehindTheQueue) {
    bed.olaf.replace({"--rate", "unlimited"});
    set_offloads(bed.server(), "eth0", {.gro = false}); // it takes nothing any more that XDP redirects
    for (std::uint32_t cluster = 0; cluster < 9; cluster++)
        worker.send(Update{.cluster = cluster}, bed.target(4));
    const auto lost = bed.olaf.await_drained(54).lost_behind();
    ASSERT_GT(lost, 0u);
    bed.server().ip("link set eth0 down\n");
    const Window window(script({"top", "in"}, files), 160, 24);
    window.await(std::to_string(lost) + (lost == 1 ? " update: " : " updates: "));
    const auto screen = window.await("out has no carrier: nothing leaves");
    EXPECT_TRUE(says(screen, "\nblocked "));
    EXPECT_TRUE(says(screen, "\nlost behind "));
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
    EXPECT_FALSE(says(screen, "FOLD")); // the table is gone
    expect_restored(files);
}

TEST_F(Top, EndsWithTheQueueAndSaysSo) {
    const Window window(script({"top", "in", "--interval", "200ms"}, files), 80, 24);
    window.await("FOLD");
    bed.olaf.detach();
    window.await("status 1");
    EXPECT_TRUE(says(content(files.path("errors")), "it was detached"));
    expect_restored(files);
}

TEST_F(Top, WantsATerminalUnlessForJson) {
    EXPECT_TRUE(refused(bed.olaf({"top", "in"}), "it is not a terminal"));

    Process top(bed.olaf.command({"--json", "top", "in", "--interval", "100ms"}));
    const auto told = interrupted_after(top, "\n{");
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

// ---- serve ----
// `olaf serve`: metrics that promtool accepts and that say what `olaf status` says, and a page
// that a browser shows; with no more rights than its service has.

/// Samples of the text format by name and labels.
std::map<std::string, double> samples(const std::string &text) {
    std::map<std::string, double> values;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (const auto space = line.rfind(' '); !line.starts_with('#') && space != line.npos)
            values[line.substr(0, space)] = std::stod(line.substr(space + 1));
    return values;
}

class Serving : public testing::Test {
  protected:
    /// The command as nobody, with these capabilities.
    static std::vector<std::string> nobody(const std::string &capabilities,
                                           const std::vector<std::string> &more = {}) {
        return as_nobody(capabilities, joined({"serve", "--port", "0"}, more));
    }
    /// As the service does: nobody, with two capabilities, on a free port.
    Process serve(const std::vector<std::string> &more = {}) const {
        Process process(nobody(",+bpf,+dac_read_search", more), {}, &bed.host);
        process.await_output("/metrics\n");
        return process;
    }
    /// A command that ends at once, with status 1 and a line that has these words.
    void expect_failure(const std::vector<std::string> &command, const std::string &words) const {
        const auto told = run(command, {}, &bed.host);
        EXPECT_TRUE(refused(told, words));
        EXPECT_EQ(std::ranges::count(told.err, '\n'), 1) << told.err;
    }
    static std::string url(const Process &server) {
        const auto text = server.output();
        return text.substr(0, text.find(' '));
    }
    [[nodiscard]] std::string get(const std::string &url) const {
        const auto got = run_script("fetch.py", {url}, {}, &bed.host);
        EXPECT_EQ(got.status, 0) << url << ": " << got.err;
        return got.out;
    }
    [[nodiscard]] std::map<std::string, double> metrics(const Process &server) const {
        return samples(get(url(server) + "metrics"));
    }
    void send(std::uint32_t clusters, int times) {
        for (int i = 0; i < times; i++)
            for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
                worker.send(Update{.cluster = cluster, .worker = static_cast<std::uint32_t>(i)},
                            bed.target(4));
    }

    Testbed bed{{.way = Way::bridged}};
    UdpSocket worker{bed.worker, Testbed::worker_peer(4)};
};

TEST_F(Serving, MetricsSayWhatStatusSays) {
    bed.attach({"--rate", "100kbit", "--queue", "8"});
    send(9, 5);
    auto malformed = message(Update{});
    malformed[2] = 9; // version
    worker.send(malformed, bed.target(4));
    bed.olaf.await_drained(45);
    auto server = serve();
    EXPECT_EQ(url(server).find("http://127.0.0.1:"), 0u);
    const auto text = get(url(server) + "metrics");
    const auto checked = run({"promtool", "check", "metrics"}, text);
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
    EXPECT_EQ(checked.out + checked.err, "");

    const auto values = samples(text);
    const auto status = bed.olaf.status();
    // tests/unit has each counter of the list; here are a few that the kernel counted.
    EXPECT_EQ(values.at("olaf_received_messages_total{device=\"in\"}"), 45);
    EXPECT_EQ(values.at("olaf_malformed_messages_total{device=\"in\",reason=\"version\"}"), 1);
    EXPECT_EQ(values.at("olaf_queue_capacity{device=\"in\"}"), 8);
    EXPECT_EQ(values.at("olaf_rate_bytes_per_second{device=\"in\"}"), 12'500);
    EXPECT_EQ(values.at("olaf_departure_updates_sum{device=\"in\"}"), status["updates_out"]);
    // An average by its area, by its gauge, and by status: one figure.
    const std::string labels = "{device=\"in\",cluster=\"3\",clock=\"arrival\"}";
    const double average = values.at("olaf_aom_area_square_seconds_total" + labels) /
                           values.at("olaf_aom_measured_seconds_total" + labels);
    EXPECT_NEAR(values.at("olaf_aom_average_seconds" + labels), average, 1e-9 + 1e-6 * average);

    server.kill(SIGTERM);
    EXPECT_EQ(server.wait().status, 0);
}

TEST_F(Serving, MetricsSayThatTheWayOutTakesNothing) {
    bed.attach();
    bed.server().ip("link set eth0 down\n");
    send(9, 5);
    bed.olaf.await([](const Status &s) { return s["received"] == 45 && s.lost_behind() > 0; });
    auto server = serve();
    const auto values = metrics(server);
    EXPECT_EQ(values.at("olaf_gate_open{device=\"in\"}"), 0);
}

TEST_F(Serving, FollowsQueuesAsTheyComeAndGo) {
    auto server = serve();
    EXPECT_EQ(metrics(server).at("olaf_queues"), 0);
    EXPECT_EQ(get(url(server) + "live.json"), "[]");
    bed.attach();
    send(2, 1);
    bed.olaf.await_drained(2);
    EXPECT_EQ(metrics(server).at("olaf_queues"), 1);
    const auto live = get(url(server) + "live.json");
    const auto list = nlohmann::json::parse(live);
    ASSERT_EQ(list.size(), 1u);
    expect_schema("live", list[0].dump());
    EXPECT_EQ(list[0]["total"]["received"], 2);
    bed.olaf.detach();
    EXPECT_EQ(metrics(server).at("olaf_queues"), 0);
    bed.attach(); // counters start anew
    EXPECT_EQ(nlohmann::json::parse(get(url(server) + "live.json"))[0]["total"]["received"], 0);
}

TEST_F(Serving, ListensWhereItIsToldAndNowhereElse) {
    bed.attach();
    auto server = serve();
    const auto port = url(server).substr(url(server).rfind(':'));
    // From the host's own other addresses it is not to be reached.
    const auto other =
        run_script("fetch.py", {"http://10.0.1.1" + port + "metrics"}, {}, &bed.host);
    EXPECT_NE(other.status, 0);
    const auto number = port.substr(1, port.size() - 2);
    EXPECT_TRUE(refused(run({OLAF_BINARY, "serve", "--port", number}, {}, &bed.host),
                        "choose another with --port"));
    Process json(bed.olaf.command({"--json", "serve", "--port", "0"}));
    json.await_output("}\n");
    expect_schema("serve", json.output());
    auto wide = serve({"--bind", "::1"});
    EXPECT_EQ(url(wide).find("http://[::1]:"), 0u) << wide.output();
    EXPECT_EQ(metrics(wide).at("olaf_queues"), 1);
}

TEST_F(Serving, FailsForADeviceThatHasNoQueue) {
    expect_failure({OLAF_BINARY, "serve", "in"}, "cannot find a queue on in: none is attached");
    expect_failure({OLAF_BINARY, "serve", "nowhere"}, "cannot find device nowhere");
    bed.attach();
    expect_failure({OLAF_BINARY, "serve", "in", "out"}, "cannot find a queue on out");
}

TEST_F(Serving, FailsWithoutTheRightToRead) {
    bed.attach();
    for (const auto *capabilities : {"", ",+bpf", ",+dac_read_search"})
        expect_failure(nobody(capabilities), "CAP_BPF and CAP_DAC_READ_SEARCH");
}

TEST_F(Serving, WaitsForTheQueueIfAskedTo) {
    Process server(nobody(",+bpf,+dac_read_search", {"in", "--wait"}), {}, &bed.host);
    server.await_output("waiting: cannot find a queue on in: none is attached\n");
    bed.attach();
    server.await_output("/metrics\n");
    Process other(nobody(",+bpf,+dac_read_search", {"out", "--wait"}), {}, &bed.host);
    other.await_output("waiting");
    other.kill(SIGTERM);
    EXPECT_EQ(other.wait().status, 0);
}

TEST_F(Serving, AnswersWhileConnectionsSayNothing) {
    bed.attach();
    const auto server = serve();
    const auto got = run_script("fetch_beside.py", {url(server) + "metrics", "20"}, {}, &bed.host);
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_EQ(samples(got.out).at("olaf_queues"), 1);
}

TEST_F(Serving, ShowsADeviceByItsOtherName) {
    bed.attach();
    bed.host.ip("link property add dev in altname way-in\n");
    const auto server = serve({"way-in"});
    EXPECT_EQ(metrics(server).at("olaf_queues"), 1);
}

TEST_F(Serving, NamesTheAddressThatItCantListenOn) {
    expect_failure({OLAF_BINARY, "serve", "--bind", "192.0.2.77"},
                   "cannot listen on 192.0.2.77, port 9435: Cannot assign requested address");
    expect_failure({OLAF_BINARY, "serve", "--bind", "[::1]"}, "cannot listen on '[::1]'");
}

TEST_F(Serving, TellsOfTheBusiestClustersAloneIfAskedTo) {
    bed.attach();
    for (std::uint32_t cluster = 0; cluster < 5; cluster++)
        for (std::uint32_t i = 0; i <= cluster; i++)
            worker.send(Update{.cluster = cluster, .worker = i}, bed.target(4));
    bed.olaf.await_drained(15);
    auto server = serve({"--top-clusters", "2"});
    const auto clusters_told = [&] {
        std::map<std::string, double> updates;
        for (const auto &[name, value] : metrics(server))
            if (const auto at = name.find("cluster=\""); at != name.npos) {
                const auto id = name.substr(at + 9, name.find('"', at + 9) - at - 9);
                const bool out = name.starts_with("olaf_updates_total") &&
                                 name.find("fate=\"out\"") != name.npos;
                updates[id] += out ? value : 0;
            }
        return updates;
    };
    using Told = std::map<std::string, double>;
    EXPECT_EQ(clusters_told(), (Told{{"3", 4}, {"4", 5}, {"none", 0}, {"other", 6}}));
    // Those that catch up stay among the others, whose counters never fall.
    for (std::uint32_t i = 0; i < 20; i++)
        worker.send(Update{.cluster = 0, .worker = i}, bed.target(4));
    bed.olaf.await_drained(35);
    EXPECT_EQ(clusters_told(), (Told{{"3", 4}, {"4", 5}, {"none", 0}, {"other", 26}}));
    auto none = serve({"--top-clusters", "0"});
    const auto checked = run({"promtool", "check", "metrics"}, get(url(none) + "metrics"));
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
    EXPECT_TRUE(says(get(url(none) + "metrics"), "olaf_build_info{version="));
}

TEST_F(Serving, ABrowserShowsThePage) {
    bed.attach({"--rate", "100kbit", "--queue", "8", "--round-slots", "128"});
    must(bed.olaf({"job", "set", "in", "7", "--children", "4", "--lanes", "16"}));
    must(bed.olaf({"job", "set", "in", "20", "--children", "2", "--lanes", "16", "--fanout",
                   "multicast=239.1.2.3"}));
    const auto frames = frames_of(bed, random_updates(90, 9, 8, 5));
    Process traffic([&] {
        const PacketSocket socket(bed.worker, "eth0");
        for (;;)
            for (const auto &frame : frames) {
                socket.send({&frame, 1});
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
    });
    auto server = serve();
    std::vector<std::string> arguments{url(server)};
    if (const char *screenshots = std::getenv("OLAF_SCREENSHOTS"))
        arguments.emplace_back(screenshots);
    const auto seen = run_script("browser.py", arguments, {}, &bed.host);
    ASSERT_EQ(seen.status, 0) << seen.err << seen.out;
    const auto found = nlohmann::json::parse(seen.out);
    for (const auto &[chart, word] :
         {std::pair{"aom-chart", "mean "}, {"rate-chart", "dropped "}, {"queue-chart", "waiting "}})
        EXPECT_TRUE(says(found["tips"][chart].get<std::string>(), word)) << found["tips"];
    for (const auto *view : {"light", "dark", "phone"}) {
        EXPECT_EQ(found[view]["about"], "olaf, native, 100 kbit/s, forward to out");
        EXPECT_EQ(found[view]["capacity"], "8");
        const auto verdict = found[view]["verdict"].get<std::string>();
        EXPECT_TRUE(verdict.starts_with("working: 9 clusters active") ||
                    verdict.starts_with("impaired for ") || // more may come than may wait,
                    verdict.starts_with("impaired: "))      // or came until a moment ago
            << verdict;
        EXPECT_EQ(found[view]["clusters"].size(), 9u);
        EXPECT_EQ(found[view]["jobs"],
                  nlohmann::json::parse(R"(["7 syncing 0 of 4 0 0 0 0 each member",
                                            "20 syncing 0 of 2 0 0 0 0 239.1.2.3"])"));
        EXPECT_GT(found[view]["counters"]["received"], 0);
        EXPECT_GT(found[view]["counters"]["drain.ticks"], 0);
        EXPECT_FALSE(found[view]["counters"].contains("malformed"));
    }
}

} // namespace
} // namespace olaf::test::screen_test
