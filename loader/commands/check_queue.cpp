// SPDX-License-Identifier: BSD-2-Clause
// What `olaf doctor` says of a queue that is there.
#include <fmt/format.h>

#include "checks.hpp"
#include "commands.hpp"
#include "loader/attachment/attachment.hpp"
#include "loader/attachment/hooks.hpp"
#include "loader/attachment/own_addresses.hpp"
#include "loader/host/host.hpp"
#include "loader/observe/verdict.hpp"

namespace olaf {
namespace {

Check check_of(const Finding &finding, const std::string &line) {
    const auto verdict = finding.health == Health::blocked    ? Verdict::bad
                         : finding.health == Health::impaired ? Verdict::hint
                                                              : Verdict::good;
    return {"queue", verdict, line, finding.remedy};
}

/// A running queue has every program of the table on its hook.
void check_programs(const Device &device, std::vector<Check> &checks) {
    const auto ours = find_attachment(device.name);
    if (!ours || !ours->alive || ours->on_card() || !require_privileges("", ""))
        return;
    const auto missing = missing_programs(*ours);
    if (missing.empty())
        checks.push_back({"programs", Verdict::good, "the queue's are all on their hooks", ""});
    else
        checks.push_back({"programs", Verdict::hint,
                          fmt::format("not on their hooks: {}", fmt::join(missing, ", ")),
                          fmt::format("olaf attach {} --replace", device.name)});
}

/// A running queue's programs know this host's addresses as they were when they were last told.
void check_own(const Device &device, std::vector<Check> &checks) {
    const auto ours = find_attachment(device.name);
    if (!ours || !ours->alive || ours->on_card())
        return;
    const auto difference = own_difference(*ours);
    if (!difference) {
        checks.push_back({"own addresses", Verdict::hint, difference.error().message(), ""});
        return;
    }
    const auto notes = own_notes(*difference, device.name);
    if (notes.empty())
        checks.push_back({"own addresses", Verdict::good, "the queue knows them all", ""});
    for (const auto &note : notes)
        checks.push_back({"own addresses", Verdict::hint, note.substr(0, note.find(": ")),
                          fmt::format("olaf attach {} --replace", device.name)});
}

/// A running queue refuses what its output's MTU didn't carry when it was attached.
void check_output_mtu(const Device &device, std::vector<Check> &checks) {
    const auto ours = find_attachment(device.name);
    if (!ours || !ours->alive || ours->record.config.egress_mtu == 0)
        return;
    const auto out = find_device(ours->record.config.egress_ifindex);
    const auto told = ours->record.config.egress_mtu;
    if (!out)
        checks.push_back({"output", Verdict::bad, "the device that departures leave by has gone",
                          fmt::format("bring it back, or olaf detach {} --force", device.name)});
    else if (out->mtu != told)
        checks.push_back({"output's MTU", Verdict::hint,
                          fmt::format("{} of {} is not the {} that the queue keeps to", out->mtu,
                                      out->name, told),
                          fmt::format("olaf attach {} --replace", device.name)});
}

} // namespace

void check_queue(const Device &device, std::vector<Check> &checks) {
    check_programs(device, checks);
    check_own(device, checks);
    check_output_mtu(device, checks);
}

std::vector<Check> check_verdict(const std::string &device) {
    std::vector<Check> checks;
    const auto ours = find_attachment(device);
    if (!ours || !ours->record.complete)
        return checks;
    const auto found = status(device);
    if (!found)
        return {{"queue", Verdict::hint, found.error().message(), ""}};
    const auto verdict = found->verdict();
    checks.push_back(check_of(verdict.first, verdict_line(verdict.first)));
    for (const auto &finding : verdict.besides)
        checks.push_back(check_of(finding, also_line(finding)));
    return checks;
}

std::optional<Device> output_of_queue(const std::string &device) {
    const auto ours = find_attachment(device);
    if (!ours || !ours->record.complete || ours->record.config.deliver == OLAF_DELIVER_LOCAL)
        return {};
    auto output = find_device(ours->record.config.egress_ifindex);
    return output ? std::optional(std::move(*output)) : std::nullopt;
}

} // namespace olaf
