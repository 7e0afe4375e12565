// SPDX-License-Identifier: BSD-2-Clause
// The table of programs agrees with itself, with bpf/ and with what clang made of that.
#include "loader/datapath/programs.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "loader/datapath/object.hpp"

namespace olaf::test::programs_test {
namespace {

std::set<std::string> objects() {
    std::set<std::string> names;
    for (const auto &program : programs)
        names.emplace(program.object);
    return names;
}

TEST(Programs, EveryFileIsInTheTableAndTheOtherWayRound) {
    std::set<std::string> files;
    for (const auto &entry : std::filesystem::directory_iterator(OLAF_SOURCE "/bpf")) {
        const auto name = entry.path().filename().string();
        if (const auto end = name.find(".bpf.c"); end != name.npos)
            files.insert(name.substr(0, end));
    }
    EXPECT_EQ(files, objects());
}

TEST(Programs, AreThoseOfTheObjectsWithTheirSections) {
    std::map<std::string, std::map<std::string, std::string>> table, built;
    for (const auto &program : programs)
        table[std::string(program.object)][std::string(program.name)] = program.section;
    for (const auto &name : objects()) {
        const auto object = Object::open(name);
        ASSERT_TRUE(object) << object.error().message();
        const bpf_program *program = nullptr;
        while (
            (program = bpf_object__next_program(object->get(), const_cast<bpf_program *>(program))))
            built[name][bpf_program__name(program)] = bpf_program__section_name(program);
    }
    EXPECT_EQ(table, built);
}

/// But for lines of one name, of which one or the other is loaded.
TEST(Programs, NamesAndPinsAreDifferent) {
    std::map<std::string, std::string> owners; // of pins
    std::map<std::string, std::string> names;  // by what the kernel keeps of them
    for (const auto &program : programs) {
        const std::string name(program.name);
        EXPECT_EQ(names.try_emplace(name.substr(0, 15), name).first->second, name);
        for (const auto pin : {program.pin, program.link})
            EXPECT_EQ(owners.try_emplace(std::string(pin), pin.empty() ? "" : name).first->second,
                      pin.empty() ? "" : name)
                << pin;
        EXPECT_TRUE(program.link.empty() || program.link != program.pin) << name;
    }
    for (const auto &size : map_sizes({}))
        EXPECT_FALSE(owners.contains(size.name)) << "a map is pinned under that name";
}

TEST(Programs, OfOneNameExcludeEachOther) {
    std::map<std::string, std::set<When>> lines;
    std::map<std::string, int> count;
    for (const auto &program : programs) {
        lines[std::string(program.name)].insert(program.when);
        count[std::string(program.name)]++;
    }
    for (const auto &[name, lines_of] : lines)
        if (count[name] > 1) {
            EXPECT_EQ(count[name], 2) << name;
            EXPECT_EQ(lines_of, (std::set{When::driver_silent, When::driver_tells})) << name;
        }
}

/// Links keep programs on hooks that have links; filters are found by the program's pin.
TEST(Programs, AreKeptByTheRightPins) {
    for (const auto &program : programs) {
        const bool linked = program.hook == Hook::xdp || program.hook == Hook::tracepoint;
        EXPECT_EQ(program.link.empty(), !linked) << program.name;
        if (program.on == On::output) {
            EXPECT_EQ(program.pin, "") << "no --replace swaps it";
        } else if (runs_by_tc(program) || program.hook == Hook::xdp) {
            EXPECT_EQ(program.pin, program.name);
            EXPECT_NE(program.on, On::host) << program.name;
        } else if (program.hook == Hook::tracepoint) {
            EXPECT_EQ(program.on, On::host) << program.name;
        }
    }
}

/// Objects of tracepoints are loaded apart from the rest, and may be missing.
TEST(Programs, OfOneObjectAreAllAtTracepointsOrNone) {
    for (const auto &a : programs)
        for (const auto &b : programs)
            if (a.object == b.object) {
                EXPECT_EQ(a.hook == Hook::tracepoint, b.hook == Hook::tracepoint) << a.object;
            }
}

/// By which detach and --replace know a filter for the queue's.
TEST(Programs, OnTcHooksUseAMapOfTheQueue) {
    for (const auto &program : programs) {
        if (!runs_by_tc(program))
            continue;
        const auto object = Object::open(program.object);
        ASSERT_TRUE(object);
        bool uses_one = false;
        for (const auto &size : map_sizes({}))
            uses_one |= bpf_object__find_map_by_name(object->get(), size.name) != nullptr;
        EXPECT_TRUE(uses_one) << program.name;
    }
}

} // namespace
} // namespace olaf::test::programs_test
