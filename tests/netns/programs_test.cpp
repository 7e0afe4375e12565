// SPDX-License-Identifier: BSD-2-Clause
// What the kernel has attached is what the table of programs says, in every way to deliver.
#include "loader/datapath/programs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "process.hpp"
#include "testbed.hpp"
#include "traces.hpp"

namespace olaf::test::programs_test {
namespace {

/// Names of the programs on each hook of each device, "in ingress": of which the kernel keeps 15
/// characters. "xdp", "ingress", "egress" as the kernel's own tools say.
using Hooks = std::map<std::string, std::set<std::string>>;

void note(Hooks &hooks, const std::string &device, const std::string &hook, std::string name) {
    hooks[device + " " + hook].insert(name.substr(0, 15));
}

/// Named by the filters, "olaf_egress:[123]", and by the id of the device's XDP program.
Hooks attached(const Netns &netns) {
    Hooks hooks;
    for (const auto &link :
         nlohmann::json::parse(run({"ip", "-n", netns.name(), "-d", "-j", "link"}).out)) {
        const std::string device = link.at("ifname");
        if (link.contains("xdp")) {
            const auto id = std::to_string(link.at("xdp").at("prog").at("id").get<unsigned>());
            const auto shown = run({"bpftool", "-j", "prog", "show", "id", id}).out;
            note(hooks, device, "xdp", nlohmann::json::parse(shown).at("name"));
        }
        for (const std::string side : {"ingress", "egress"})
            for (const auto &filter : nlohmann::json::parse(
                     run({"tc", "-n", netns.name(), "-j", "filter", "show", "dev", device, side})
                         .out))
                if (filter.contains("options") && filter["options"].contains("bpf_name")) {
                    const std::string name = filter["options"]["bpf_name"];
                    note(hooks, device, side, name.substr(0, name.find(':')));
                }
    }
    return hooks;
}

std::string device_named(On on, const Testbed &bed) {
    const auto drain = "olaf" + std::to_string(bed.host.ifindex("in"));
    switch (on) {
    case On::drain_near:
        return drain + "a";
    case On::drain_far:
        return drain + "b";
    case On::way_back:
        return "out";
    default:
        return "in";
    }
}

olaf_config config_of(const Testbed &bed, bool generic) {
    olaf_config config{};
    config.deliver = bed.upstream() ? OLAF_DELIVER_UPSTREAM : OLAF_DELIVER_LOCAL;
    config.flags = generic ? OLAF_CONFIG_SKB_MODE : 0;
    return config;
}

Hooks wanted(const Testbed &bed, const olaf_config &config) {
    Hooks hooks;
    for (const auto &program : programs)
        if (stands(program, config) && program.hook != Hook::tracepoint)
            note(hooks, device_named(program.on, bed),
                 program.hook == Hook::xdp         ? "xdp"
                 : program.hook == Hook::tc_egress ? "egress"
                                                   : "ingress",
                 std::string(program.name));
    return hooks;
}

/// Pins of the table that are in the queue's directory: those of programs and of links.
std::set<std::string> pins_there(const Testbed &bed) {
    std::set<std::string> known, there;
    for (const auto &program : programs)
        for (const auto pin : {program.pin, program.link})
            known.emplace(pin);
    for (const auto &entry : std::filesystem::directory_iterator(pin_directory(bed.host, "in")))
        if (known.contains(entry.path().filename()))
            there.insert(entry.path().filename());
    return there;
}

std::set<std::string> pins_wanted(const olaf_config &config) {
    std::set<std::string> pins;
    for (const auto &program : programs) {
        if (!program.pin.empty() && is_of_use(program, config))
            pins.emplace(program.pin);
        if (!program.link.empty() && stands(program, config))
            pins.emplace(program.link);
    }
    return pins;
}

std::string doctor_on_programs(const Testbed &bed) {
    for (const auto &check : nlohmann::json::parse(bed.olaf({"doctor", "in", "--json"}).out))
        if (check.at("subject") == "programs")
            return check.at("verdict").get<std::string>() + " " +
                   check.at("finding").get<std::string>();
    return "";
}

struct Case {
    Way way;
    bool generic;
    bool rounds = false;
};

class TableOfPrograms : public testing::TestWithParam<Case> {
  protected:
    Testbed bed{{.way = GetParam().way}};
    olaf_config config = [&] {
        auto made = config_of(bed, GetParam().generic);
        made.round_slots = GetParam().rounds ? 64 : 0;
        return made;
    }();

    void attach() {
        std::vector<std::string> more{"--mode", GetParam().generic ? "skb" : "native"};
        if (GetParam().rounds)
            more.insert(more.end(), {"--round-slots", "64"});
        bed.attach(more);
    }
};

TEST_P(TableOfPrograms, IsWhatIsAttached) {
    const auto before = traces(bed.host);
    attach();
    EXPECT_EQ(attached(bed.host), wanted(bed, config));
    EXPECT_EQ(pins_there(bed), pins_wanted(config));
    EXPECT_EQ(doctor_on_programs(bed), "ok the queue's are all on their hooks");
    bed.olaf.replace();
    EXPECT_EQ(attached(bed.host), wanted(bed, config));
    EXPECT_EQ(pins_there(bed), pins_wanted(config));
    bed.olaf.detach();
    EXPECT_EQ(traces(bed.host), before);
}

TEST_P(TableOfPrograms, DoctorNamesWhatIsMissingAndReplaceBringsItBack) {
    attach();
    for (const auto &program : programs) {
        if (!runs_by_tc(program) || !stands(program, config))
            continue;
        const auto side = program.hook == Hook::tc_egress ? "egress" : "ingress";
        bed.host.tc("filter del dev " + device_named(program.on, bed) + " " + side);
        EXPECT_NE(doctor_on_programs(bed).find(program.name), std::string::npos);
        bed.olaf.replace();
        EXPECT_EQ(attached(bed.host), wanted(bed, config)) << program.name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, TableOfPrograms,
                         testing::Values(Case{Way::local, false}, Case{Way::local, true},
                                         Case{Way::local, false, true},
                                         Case{Way::bridged, false}, Case{Way::upstream4, false},
                                         Case{Way::upstream4, true}),
                         [](const auto &info) {
                             const auto way = info.param.way;
                             return std::string(way == Way::local     ? "Local"
                                                : way == Way::bridged ? "Bridged"
                                                                      : "Upstream") +
                                    (info.param.generic ? "Generic" : "Native") +
                                    (info.param.rounds ? "WithRounds" : "");
                         });

} // namespace
} // namespace olaf::test::programs_test
