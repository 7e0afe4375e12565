// SPDX-License-Identifier: BSD-2-Clause
// What olaf says to do, taken from where it says it, and done: a person pastes it.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <iterator>
#include <sstream>

#include "traffic.hpp"

namespace olaf::test {

/// Replaces each word of a command that stands for something, as DEV does, by what it stands for.
inline std::string filled(std::string command, const std::map<std::string, std::string> &words) {
    for (const auto &[word, value] : words) {
        const auto at = command.find(word);
        if (at == std::string::npos)
            throw std::runtime_error(command + " has no " + word);
        command.replace(at, word.size(), value);
    }
    return command;
}

/// What stands in a text from these words on, up to those. Throws if it doesn't.
inline std::string part_of_text(const std::string &text, const std::string &from,
                                const std::string &to = "") {
    const auto begin = text.find(from);
    const auto end = to.empty() ? text.size() : text.find(to, begin);
    if (begin == std::string::npos || end == std::string::npos)
        throw std::runtime_error("'" + from + " ... " + to + "' isn't in: " + text);
    auto part = text.substr(begin, end - begin);
    part.erase(part.find_last_not_of('\n') + 1);
    return part;
}

inline std::vector<std::string> words_of(const std::string &command) {
    std::istringstream text(command);
    return {std::istream_iterator<std::string>(text), {}};
}

/// A shell in a namespace where `olaf` is the command under test.
inline std::vector<std::string> shell(const std::string &command) {
    return {"sh", "-euc", "olaf() { " OLAF_BINARY " \"$@\"; }\n" + command};
}

/// Pastes a command on that host. Returns what it says.
inline std::string pasted(const Netns &host, const std::string &command) {
    const auto done = run(shell(command), {}, &host);
    EXPECT_EQ(done.status, 0) << command << ": " << done.err;
    return done.out + done.err;
}

/// Pastes a command that goes on until Ctrl-C, and types that once it shows the text. Until then
/// `cause` is done again and again.
inline void expect_shows(const Netns &host, const std::string &command, const std::string &text,
                         const std::function<void()> &cause) {
    struct Foreground {
        Process process;
        void type(int signal) const { ::kill(-process.pid(), signal); }
        ~Foreground() { type(SIGKILL); }
    } shown{Process(joined({"setsid"}, shell(command)), {}, &host)};
    await([&] { return cause(), shown.process.output().find(text) != std::string::npos; },
          [&] { return text + ", not " + shown.process.output(); });
    shown.type(SIGINT);
    EXPECT_EQ(shown.process.wait().status, 128 + SIGINT);
}

/// What the verdict of a queue says, and that it says it no more once that was done.
class Verdict {
  public:
    explicit Verdict(const OlafCommand &olaf) : olaf_(olaf) {}

    /// Until the verdict says so. Returns what it says to do.
    [[nodiscard]] std::string remedy(const std::string &trouble) const {
        nlohmann::json verdict;
        await(
            [&] {
                verdict = told();
                return has(verdict, trouble);
            },
            [&] { return "that the verdict says: " + trouble + ", not " + verdict.dump(); });
        for (const auto &finding : findings(verdict))
            if (finding.at("text").get<std::string>().find(trouble) != std::string::npos)
                return finding.at("remedy");
        return "";
    }
    void expect_mended(const std::string &trouble) const {
        nlohmann::json verdict;
        await([&] { return !has(verdict = told(), trouble); },
              [&] {
                  return "that the verdict doesn't say any more: " + trouble + ": " +
                         verdict.dump();
              });
    }

  private:
    [[nodiscard]] nlohmann::json told() const {
        const auto asked = olaf_({"--json", "status", olaf_.device()});
        if (asked.out.empty())
            throw std::runtime_error("olaf status: " + asked.err);
        return nlohmann::json::parse(asked.out).at("verdict");
    }
    static std::vector<nlohmann::json> findings(const nlohmann::json &verdict) {
        std::vector<nlohmann::json> all{verdict};
        for (const auto &each : verdict.at("besides"))
            all.push_back(each);
        return all;
    }
    static bool has(const nlohmann::json &verdict, const std::string &trouble) {
        return std::ranges::any_of(findings(verdict), [&](const auto &finding) {
            return finding.at("text").template get<std::string>().find(trouble) !=
                   std::string::npos;
        });
    }

    const OlafCommand &olaf_;
};

/// A queue, and what is wrong with it.
class RemedyTest : public testing::Test {
  protected:
    void lay(Way way, const std::vector<std::string> &options = {"--rate", "unlimited"}) {
        bed.emplace(Wiring{.way = way});
        worker.emplace(bed->worker, Testbed::worker_peer(4));
        if (!options.empty())
            bed->attach(options);
    }
    [[nodiscard]] std::string remedy(const std::string &trouble) const {
        return Verdict(bed->olaf).remedy(trouble);
    }
    void expect_mended(const std::string &trouble) const {
        Verdict(bed->olaf).expect_mended(trouble);
    }
    /// Runs a command that stands in a text, as it stands there. Returns what it says.
    std::string expect_pasted(const std::string &text, const std::string &command) const {
        EXPECT_TRUE(says(text, command));
        return pasted(bed->host, command);
    }
    /// The verdict says it, the command is its remedy, and then the verdict says it no more.
    void expect_mends(const std::string &trouble, const std::string &command) const {
        expect_pasted(remedy(trouble), command);
        expect_mended(trouble);
    }
    void send(const std::string &to = {}) const {
        auto target = bed->target(4);
        if (!to.empty())
            target.address = to;
        worker->send(Update{.cluster = 1}, target);
    }
    /// An update each of so many clusters, which are large for a slow link.
    void send_large(std::uint32_t clusters) const {
        for (std::uint32_t cluster = 0; cluster < clusters; cluster++)
            worker->send(Update{.cluster = cluster, .lanes = std::vector<std::uint64_t>(170, 1)},
                         bed->target(4));
    }

    std::optional<Testbed> bed;
    std::optional<UdpSocket> worker;
};

} // namespace olaf::test
