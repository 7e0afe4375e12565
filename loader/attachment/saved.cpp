// SPDX-License-Identifier: BSD-2-Clause
#include "saved.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <cerrno>

#include "allow_list.hpp"
#include "attachment.hpp"
#include "loader/datapath/config.hpp"
#include "loader/host/device.hpp"
#include "olaf/try.hpp"
#include "plan.hpp"
#include "saved_jobs.hpp"
#include "saved_rules.hpp"

namespace olaf {
namespace {

constexpr auto folder = "/etc/olaf";

/// Texts for people are rounded: whole bits and nanoseconds where that would tell.
std::string exact_rate(std::uint64_t bps) {
    const auto text = rate_text(bps);
    const auto read = parse_rate(text);
    return read && read->bps == bps ? text : fmt::format("{}bit", bps);
}
std::string exact_duration(std::uint64_t ns) {
    const auto text = duration_text(ns);
    const auto read = parse_duration(text);
    return read && *read == ns ? text : fmt::format("{}ns", ns);
}

/// Options and their values, those that are as usual left out.
class Words {
  public:
    void add(const std::string &option, const std::string &value = "") {
        words_.push_back(option);
        if (!value.empty())
            words_.push_back(value);
    }
    void add_unless(bool usual, const std::string &option, const std::string &value = "") {
        if (!usual)
            add(option, value);
    }
    void add_number(const std::string &option, std::uint64_t running, std::uint64_t usual) {
        add_unless(running == usual, option, std::to_string(running));
    }
    void add_flag(const std::string &word, std::uint32_t flag, const olaf_config &running,
                  const olaf_config &usual) {
        const bool on = (running.flags & flag) != 0;
        add_unless(on == ((usual.flags & flag) != 0), (on ? "--" : "--no-") + word);
    }
    std::vector<std::string> take() { return std::move(words_); }

  private:
    std::vector<std::string> words_;
};

void add_delivery(Words &words, const olaf_config &running, const olaf_config &usual,
                  const std::string &target) {
    if (running.deliver == OLAF_DELIVER_LOCAL)
        words.add("--local");
    else
        words.add(running.deliver == OLAF_DELIVER_FORWARD ? "--forward" : "--upstream", target);
    if (running.deliver == OLAF_DELIVER_FORWARD)
        words.add_flag("bridge", OLAF_CONFIG_BRIDGE, running, usual);
}

/// What attach would choose for the same delivery, sizes and window.
Result<olaf_config> usual_config(const Attachment &attached) {
    const auto device = OLAF_TRY(find_device(attached.place.ifindex));
    const auto &running = attached.record.config;
    AttachOptions options;
    options.device = device.name;
    options.local = running.deliver == OLAF_DELIVER_LOCAL;
    if (running.deliver == OLAF_DELIVER_FORWARD)
        options.forward = attached.record.target;
    if (running.deliver == OLAF_DELIVER_UPSTREAM) {
        options.upstream = OLAF_TRY(parse_endpoint(attached.record.target));
    }
    options.window = window_of(running);
    options.max_clusters = running.max_clusters;
    options.max_segments = running.max_segments;
    const auto plan = OLAF_TRY(make_plan(options, device));
    auto config = OLAF_TRY(make_config(plan.config));
    // Not of the plan's: these are compared with what attach has without a word.
    const DatapathConfig defaults;
    config.window = defaults.window.most;
    config.max_clusters = defaults.max_clusters;
    config.max_segments = defaults.max_segments;
    return config;
}

/// Where the queue is to be, as it was asked for. A card that isn't found by itself is named.
std::vector<std::string> hardware_options(const Attachment &attached) {
    Words words;
    words.add_unless(attached.record.hw_asked != static_cast<std::uint32_t>(Hardware::off), "--hw",
                     "off");
    words.add_unless(attached.record.hw_asked != static_cast<std::uint32_t>(Hardware::require),
                     "--hw", "require");
    if (attached.card && !attached.card->starts_with("/sys/"))
        words.add("--card", *attached.card);
    return words.take();
}

/// To be renamed to what it is for once it is whole.
Result<void> write_whole(const std::string &path, const std::string &text) {
    const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd)
        return fail("write", path, errno);
    for (std::size_t done = 0; done < text.size();) {
        const auto wrote = ::write(fd.get(), text.data() + done, text.size() - done);
        if (wrote < 0 && errno != EINTR)
            return fail("write", path, errno);
        done += wrote > 0 ? static_cast<std::size_t>(wrote) : 0;
    }
    if (::fsync(fd.get()) != 0)
        return fail("write", path, errno);
    return {};
}

std::string file_text(const std::string &device, const std::vector<std::string> &options,
                      const std::vector<std::string> &rules,
                      const std::vector<std::string> &jobs) {
    std::string line;
    for (const auto &option : options)
        line += (line.empty() ? "" : " ") + option;
    return fmt::format(
        "# Written by `olaf attach {0} --save`. {1} calls\n"
        "# `olaf attach {0}` with these options when it starts, and with --replace\n"
        "# besides when it is reloaded.\n"
        "ATTACH=\"{2}\"\n"
        "# Then `olaf cluster restore {0}` calls `olaf cluster set {0}` with each of\n"
        "# these, parted by semicolons.\n"
        "{3}"
        "# And `olaf job restore {0}` calls `olaf job set {0}` with each of these whose job isn't\n"
        "# set.\n"
        "{4}",
        device, service_name(device), line, list_line(clusters_key, rules),
        list_line(jobs_key, jobs));
}

} // namespace

std::vector<std::string> options_like(const olaf_config &running, const olaf_config &usual,
                                      const std::string &target,
                                      const std::vector<olaf_prefix> &allowed) {
    Words words;
    add_delivery(words, running, usual, target);
    words.add_number("--port", ntohs(running.port_be), ntohs(usual.port_be));
    words.add_number("--queue", running.queue_capacity, usual.queue_capacity);
    words.add_unless(running.rate_bps == usual.rate_bps, "--rate", exact_rate(running.rate_bps));
    words.add_unless(running.window == usual.window, "--window", window_text(window_of(running)));
    words.add_unless(running.default_policy == usual.default_policy, "--policy",
                     std::string(policy_name(running.default_policy)));
    words.add_unless(running.fifo_places == 0 || running.default_policy == OLAF_POLICY_FIFO,
                     "--fifo");
    words.add_number("--max-clusters", running.max_clusters, usual.max_clusters);
    words.add_number("--max-segments", running.max_segments, usual.max_segments);
    words.add_number("--max-lanes", running.max_lanes, usual.max_lanes);
    words.add_unless((running.flags & OLAF_CONFIG_SKB_MODE) == 0, "--mode", "skb");
    words.add_unless(running.drain_interval_ns == usual.drain_interval_ns, "--drain-interval",
                     exact_duration(running.drain_interval_ns));
    words.add_unless(running.activity_window_ns == usual.activity_window_ns, "--activity-window",
                     exact_duration(running.activity_window_ns));
    for (const auto &prefix : allowed)
        words.add("--allow", prefix_text(prefix));
    words.add_number("--max-workers", running.max_workers, usual.max_workers);
    words.add_unless(running.member_timeout_ns == usual.member_timeout_ns, "--member-timeout",
                     exact_duration(running.member_timeout_ns));
    words.add_number("--round-slots", running.round_slots, usual.round_slots);
    words.add_flag("strict", OLAF_CONFIG_STRICT, running, usual);
    words.add_flag("verify", OLAF_CONFIG_VERIFY, running, usual);
    return words.take();
}

std::string service_name(const std::string &device) {
    std::string escaped;
    for (const char c : device) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == ':' || c == '_' ||
                           (c == '.' && !escaped.empty());
        escaped +=
            plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    const auto name = fmt::format("olaf@{}.service", escaped);
    return escaped == device ? name : "'" + name + "'";
}

Result<std::vector<std::string>> options_of(const Attachment &attached) {
    const auto usual = OLAF_TRY(usual_config(attached));
    std::vector<olaf_prefix> allowed;
    if ((attached.record.config.flags & OLAF_CONFIG_ALLOW_LIST) != 0 && !attached.on_card()) {
        const auto map = OLAF_TRY(open_map_to_read(attached, "olaf_allow"));
        allowed = allowed_prefixes(map.get());
    }
    auto options = options_like(attached.record.config, usual, attached.record.target, allowed);
    std::ranges::move(hardware_options(attached), std::back_inserter(options));
    return options;
}

Result<std::string> save_attachment(const std::string &device) {
    const auto attached = OLAF_TRY(live_attachment(device));
    const auto options = OLAF_TRY(options_of(attached));
    const auto rules = OLAF_TRY(rules_of(attached));
    const auto jobs = OLAF_TRY(jobs_of(attached));
    const auto path = saved_path(device);
    if (::mkdir(folder, 0755) != 0 && errno != EEXIST)
        return fail("make", folder, errno);
    const auto fresh = path + ".new";
    auto written = write_whole(fresh, file_text(device, options, rules, jobs));
    if (written && ::rename(fresh.c_str(), path.c_str()) != 0)
        written = fail("write", path, errno);
    if (!written) {
        ::unlink(fresh.c_str());
        return std::unexpected(written.error());
    }
    return path;
}

} // namespace olaf
