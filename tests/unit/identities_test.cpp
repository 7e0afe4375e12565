// SPDX-License-Identifier: BSD-2-Clause
// What the counters of the list add up to, and the events that are named after them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "busy_queue.hpp"

namespace olaf::test::identities_test {
namespace {

using namespace olaf;
using namespace olaf::test;

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
} // namespace olaf::test::identities_test
