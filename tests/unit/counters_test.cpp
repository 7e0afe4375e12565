// SPDX-License-Identifier: BSD-2-Clause
// The list of counters (olaf/counters.h), and all that is made from it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "busy_queue.hpp"
#include "loader/describe/description.hpp"
#include "loader/observe/metrics.hpp"
#include "loader/observe/reading.hpp"
#include "loader/observe/recording.hpp"
#include "loader/observe/status_json.hpp"
#include "loader/observe/status_text.hpp"
#include "loader/text/job_counters.hpp"

namespace olaf::test::counters_test {
namespace {

// Each counter of the list (olaf/counters.h) stands in every output, with one number everywhere.

/// The sum of a series over clusters: "name{label=value}".
std::uint64_t in_metrics(const std::string &text, const std::string &metric) {
    const auto name = metric.substr(0, metric.find('{'));
    std::string label;
    if (const auto equals = metric.find('='); equals != metric.npos)
        label = metric.substr(name.size() + 1, equals - name.size()) + "\"" +
                metric.substr(equals + 1, metric.size() - equals - 2) + "\"";
    std::istringstream lines(text);
    double sum = 0;
    bool found = false;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(name + "{") && line.find(label) != line.npos) {
            sum += std::stod(line.substr(line.rfind(' ')));
            found = true;
        }
    EXPECT_TRUE(found) << metric;
    return static_cast<std::uint64_t>(sum);
}

TEST(Counters, OfTheListAreAllThatTheStructsHold) {
    std::map<Source, std::set<std::size_t>> words;
    for (const auto &counter : counters())
        EXPECT_TRUE(words[counter.source].insert(counter.offset).second) << counter.field;
    EXPECT_EQ(words[Source::slots].size(), sizeof(olaf_slot_counters) / 8);
    EXPECT_EQ(words[Source::cpus].size(), sizeof(olaf_counters) / 8);
    EXPECT_EQ(words[Source::acks].size(), sizeof(olaf_ack_counters) / 8);
    EXPECT_EQ(words[Source::losses].size(), sizeof(olaf_losses) / 8);
    EXPECT_EQ(words[Source::levels].size(), sizeof(Levels) / 8);
    EXPECT_EQ(*words[Source::window].begin() + 8 * words[Source::window].size(),
              sizeof(olaf_window));
}

TEST(Counters, HaveOneNameAMeaningAndAUnitEach) {
    std::set<std::string> paths;
    std::vector<int> named(counters().size());
    for (const auto &figure : figures()) {
        EXPECT_TRUE(paths.insert(figure.path()).second) << figure.path();
        EXPECT_FALSE(figure.meaning.empty()) << figure.path();
        EXPECT_FALSE(figure.unit.empty()) << figure.path();
        EXPECT_FALSE(figure.counters.empty()) << figure.path();
        for (const auto index : figure.counters)
            named[index] += figure.object == counter_groups()[figure.group].object &&
                            (figure.sum.empty() || figure.counters.size() == 1);
    }
    for (std::size_t i = 0; i < named.size(); i++)
        EXPECT_GE(named[i], 1) << counters()[i].field;
}

TEST(Counters, AreInTheJsonWithTheSumOfWhatCountsThem) {
    const auto reading = busy_queue();
    const auto status = json_of(reading);
    for (const auto &figure : figures()) {
        std::uint64_t sum = 0;
        for (const auto index : figure.counters)
            sum += counters()[index].in(reading.numbers()).value();
        EXPECT_EQ(in_json(status, figure), sum) << figure.path();
        if (figure.in({.slots = &reading.snapshot.slots}).has_value()) {
            EXPECT_TRUE(status["clusters"][0].contains(std::string(figure.key))) << figure.path();
        }
    }
}

TEST(Counters, AreInTheTextAsSoonAsTheyCount) {
    const auto silent = status_text(quiet_queue().attachment, quiet_queue(), {}, false);
    EXPECT_EQ(silent.find("4711"), silent.npos);
    for (const auto &counter : counters()) {
        auto reading = quiet_queue();
        count(reading, counter, 4711);
        const auto text = status_text(reading.attachment, reading, {}, false);
        EXPECT_NE(text.find("4711"), text.npos) << counter.field << "\n" << text;
        for (const auto &figure : figures())
            if (figure.group != OLAF_GROUP_queue && figure.in(reading.numbers()) == 4711) {
                EXPECT_NE(text.find(figure.label()), text.npos) << figure.path() << "\n" << text;
            }
    }
}

TEST(Counters, AreInTheMetricsAsSoonAsTheyCount) {
    for (const auto &counter : counters()) {
        auto reading = quiet_queue();
        reading.snapshot.clusters[0].passed_through = 1; // a cluster that was heard of
        count(reading, counter, 4711);
        const auto text = metrics({reading}, ShownClusters({}));
        EXPECT_FALSE(counter.metrics.empty()) << counter.field;
        for (const auto &metric : counter.metrics) {
            const auto value = in_metrics(text, metric);
            EXPECT_TRUE(value == 4711 || value == 4712) << counter.field << ": " << value;
        }
    }
}

TEST(Counters, HaveTheSameNumberInStatusAndMetrics) {
    const auto reading = busy_queue();
    const auto text = metrics({reading}, ShownClusters({}));
    std::map<std::string, std::set<const Figure *>> series;
    for (const auto &figure : figures())
        if (figure.sum.empty())
            for (const auto index : figure.counters)
                for (const auto &metric : counters()[index].metrics)
                    series[metric].insert(&figure);
    for (const auto &[metric, behind] : series) {
        ASSERT_EQ(behind.size(), 1u) << metric << " is of " << behind.size() << " figures";
        // One series, one figure: all of it, or the part that has a series of its own.
        std::uint64_t told = 0;
        for (const auto index : (*behind.begin())->counters)
            if (std::ranges::count(counters()[index].metrics, metric) != 0)
                told += counters()[index].in(reading.numbers()).value();
        EXPECT_EQ(in_metrics(text, metric), told) << metric;
    }
    EXPECT_EQ(in_metrics(text, "olaf_arrivals_total{action=dropped_full}"),
              json_of(reading)["counters"]["dropped_full"]);
}

/// The same for the counters of jobs, which are of one.
TEST(Counters, OfJobsAreInEveryOutput) {
    EXPECT_EQ(job_counters().size(), sizeof(olaf_job_counters) / 8);
    for (const auto &counter : job_counters()) {
        auto reading = quiet_queue();
        auto &job = reading.jobs.emplace_back();
        job.job.setup.id = 7;
        const std::uint64_t number = 4711;
        std::memcpy(reinterpret_cast<char *>(&job.counters) + counter.offset, &number, 8);
        const auto json = json_of(reading)["jobs"][0];
        const auto &object = counter.object.empty() ? json : json[std::string(counter.object)];
        EXPECT_EQ(object[std::string(counter.key)], number) << counter.path();
        EXPECT_EQ(in_metrics(metrics({reading}, ShownClusters({})), std::string(counter.metric)),
                  number);
        const auto text = status_text(reading.attachment, reading, {}, false);
        EXPECT_NE(text.find("4711"), text.npos) << counter.path() << "\n" << text;
    }
}

TEST(Counters, AreOnThePage) {
    const auto list = counters_json();
    EXPECT_EQ(list.size(), figures().size());
    const auto status = live_json(busy_queue(), {})["status"];
    for (const auto &one : list) {
        const auto object = one["object"].get<std::string>();
        const auto &in = object.empty() ? status : status.at(object);
        EXPECT_GT(in.at(one["key"].get<std::string>()), 0) << one;
    }
}

TEST(Counters, ThatAreLossesAreInTheReport) {
    Recording recording;
    recording.first = quiet_queue();
    recording.last = busy_queue();
    const auto losses = losses_by_reason(recording);
    std::map<std::string, std::uint64_t> found;
    for (const auto &[reason, number, unit] : losses)
        found[reason] = number;
    EXPECT_EQ(found.size(), losses.size());
    const auto status = json_of(recording.last);
    std::size_t expected = 0;
    for (const auto &figure : figures())
        if (counter_groups()[figure.group].loses && figure.sum.empty()) {
            expected++;
            EXPECT_EQ(found.at(figure.path()), in_json(status, figure)) << figure.path();
        }
    EXPECT_EQ(found.size(), expected);
    EXPECT_TRUE(found.contains("lost_behind.drain_send"));
}

TEST(Counters, AreInTheManual) {
    for (const auto &page : manual(describe_command_line(), "0"))
        if (page.name == "olaf-status") {
            auto plain = page.text;
            std::erase(plain, '\\');
            for (const auto &figure : figures())
                EXPECT_NE(plain.find("fB" + figure.path() + "fR"), plain.npos) << figure.path();
            for (std::size_t i = 0; i < identities().size(); i++)
                EXPECT_NE(plain.find(identity_text(i)), plain.npos) << identity_text(i);
        }
}

TEST(Counters, DocsAreUpToDate) {
    const auto *remedy = "out of date: run `ninja olaf_counters_docs`";
    EXPECT_EQ(content(OLAF_SOURCE "/docs/counters.md"), counters_page()) << remedy;
    EXPECT_EQ(content(OLAF_SOURCE "/docs/schema/counters.json"), counters_schema()) << remedy;
}

// What the counters of the list add up to, and the events that are named after them.

/// A side of an identity as docs say it, worked out from the JSON.
std::uint64_t side_in(const nlohmann::ordered_json &status, const std::string &text,
                      std::string_view outside) {
    std::istringstream terms(text);
    std::uint64_t sum = 0;
    for (std::string term; std::getline(terms, term, '+');) {
        term.erase(0, term.find_first_not_of(' '));
        term.erase(term.find_last_not_of(' ') + 1);
        if (term == outside)
            continue;
        if (const std::string all = "the sum of "; term.starts_with(all)) {
            for (const auto &[key, value] : status.at(term.substr(all.size())).items())
                sum += value.get<std::uint64_t>();
            continue;
        }
        const auto dot = term.find('.');
        const auto object = dot == term.npos ? "counters" : term.substr(0, dot);
        sum += status.at(object)
                   .at(dot == term.npos ? term : term.substr(dot + 1))
                   .get<std::uint64_t>();
    }
    return sum;
}

TEST(Identities, OfTheDocsAreTheListsColumn) {
    const auto docs = content(OLAF_SOURCE "/docs/cli.md");
    const auto reading = busy_queue();
    const auto status = json_of(reading);
    for (std::size_t i = 0; i < identities().size(); i++) {
        const auto text = identity_text(i);
        EXPECT_NE(docs.find("`" + text + "`"), docs.npos) << "docs/cli.md lacks " << text;
        const auto equals = text.find(" = ");
        const auto [left, right] = identity_sides(i, reading.numbers());
        EXPECT_EQ(side_in(status, text.substr(0, equals), ""), left) << text;
        EXPECT_EQ(side_in(status, text.substr(equals + 3), identities()[i].outside), right) << text;
    }
}

/// What happens to one message, and the identities that it must keep.
TEST(Identities, HoldForEachOutcomeOfAMessage) {
    const auto named = [](const std::string &field) -> const Counter & {
        return *std::ranges::find(counters(), field, &Counter::field);
    };
    const std::vector<std::vector<std::string>> outcomes{
        {"received", "updates_in", "passed_through", "updates_passed", "acked"},
        {"received", "updates_in", "appended", "queue_length", "updates_waiting"},
        {"received", "updates_in", "appended", "departed_riding", "updates_departed", "in_flight"},
        {"received", "updates_in", "aggregated", "updates_waiting"},
        {"received", "updates_in", "replaced", "updates_superseded"},
        {"received", "updates_in", "dropped_sealed", "updates_dropped"},
        {"received", "updates_in", "dropped_contended", "updates_contended"}};
    for (const auto &fields : outcomes) {
        auto reading = quiet_queue();
        for (const auto &field : fields)
            count(reading, named(field), 1);
        for (const auto identity : {OLAF_IDENTITY_ARRIVALS, OLAF_IDENTITY_PLACES,
                                    OLAF_IDENTITY_UPDATES, OLAF_IDENTITY_WINDOW}) {
            const auto [left, right] = identity_sides(identity, reading.numbers());
            EXPECT_EQ(left, right) << identity_text(identity) << " after " << fields[2];
        }
    }
}

TEST(Events, HaveTheNamesOfTheCountersThatCountThem) {
    std::set<std::string> paths;
    for (const auto &figure : figures())
        paths.insert(figure.path());
    const auto counted = [&](std::initializer_list<std::string> names) {
        return std::ranges::any_of(names, [&](const auto &name) { return paths.contains(name); });
    };
    for (const auto &[key, meaning, words] : joined_reasons)
        EXPECT_TRUE(counted({std::string(key)})) << key;
    for (const auto &[key, meaning, words] : left_reasons)
        EXPECT_TRUE(counted({"departed_" + std::string(key), std::string(key) + "_through"}))
            << key;
    for (const auto &[key, meaning, words] : dropped_reasons)
        EXPECT_TRUE(counted({"dropped_" + std::string(key), std::string(key),
                             "departures_failed." + std::string(key)}))
            << key;
    for (const auto &[key, meaning, words] : lost_reasons)
        EXPECT_TRUE(counted({"lost_behind." + std::string(key)})) << key;
}

} // namespace
} // namespace olaf::test::counters_test
