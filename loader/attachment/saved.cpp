// SPDX-License-Identifier: BSD-2-Clause
#include "saved.hpp"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <sstream>

#include "addresses.hpp"
#include "attachment.hpp"
#include "card.hpp"
#include "loader/datapath/config.hpp"
#include "loader/datapath/members.hpp"
#include "loader/host/device.hpp"
#include "loader/host/notes.hpp"
#include "loader/text/address.hpp"
#include "loader/text/units.hpp"
#include "olaf/try.hpp"
#include "plan.hpp"

namespace olaf {
namespace {

/// Sixteen binary places are sixteen decimal ones: exact.
std::string exact_reward(const olaf_rule &rule) {
    if (rule.reward_threshold < 0)
        return "off";
    constexpr double one = 1 << OLAF_REWARD_FRACTION_BITS;
    auto text = fmt::format("{:.16f}", static_cast<double>(rule.reward_threshold) / one);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.'))
        text.pop_back();
    return text;
}

/// The options of a rule, those that are as usual left out.
std::string rule_options(const olaf_rule &rule, const olaf_rule &usual) {
    std::string text;
    if (rule.policy != usual.policy)
        text += fmt::format(" --policy {}", policy_name(rule.policy));
    if (rule.reward_threshold != usual.reward_threshold)
        text += " --reward-threshold " + exact_reward(rule);
    if (rule.max_count != usual.max_count)
        text += fmt::format(" --max-count {}", rule.max_count);
    return text;
}

/// The options that bind workers or members of jobs again; those that are learnt aren't saved.
std::string binding_options(const char *option, const std::vector<KnownMember> &members) {
    std::string text;
    for (auto [worker, member] : members) {
        if ((member.flags & OLAF_MEMBER_REGISTERED) == 0)
            continue;
        if ((member.flags & OLAF_MEMBER_PORT_BOUND) == 0)
            member.port_be = 0; // learnt, and to be learnt again
        text += fmt::format(" {} {}={}", option, worker, member_address_text(member));
    }
    return text;
}

/// Of each cluster by id, the options that make it what it is; "" for one as usual.
Result<std::vector<std::string>> kernel_options(const Attachment &attachment) {
    const auto &config = attachment.record.config;
    const auto rules = open_map_to_read(attachment, "olaf_rules");
    const auto members = open_map_to_read(attachment, "olaf_members");
    const auto rosters = open_map_to_read(attachment, "olaf_rosters");
    for (const auto *map : {&rules, &members, &rosters})
        if (!*map)
            return std::unexpected(map->error());
    const auto usual = default_rule(static_cast<olaf_policy>(config.default_policy));
    std::vector<std::string> options(config.max_clusters);
    for (std::uint32_t id = 0; id < config.max_clusters; id++) {
        olaf_rule rule{};
        if (bpf_map_lookup_elem(rules->get(), &id, &rule) != 0)
            return fail("read the rule of cluster", std::to_string(id), errno);
        options[id] =
            rule_options(rule, usual) +
            binding_options("--worker",
                            OLAF_TRY(read_members(members->get(), rosters->get(), config, id)));
    }
    return options;
}

/// The same of a card's clusters, which have no workers.
Result<std::vector<std::string>> card_options(const Attachment &attachment) {
    const auto &config = attachment.record.config;
    const auto card = OLAF_TRY(open_card(attachment));
    const auto rules = OLAF_TRY(rules_in(card, config));
    const auto usual = default_rule(static_cast<olaf_policy>(config.default_policy));
    std::vector<std::string> options;
    for (const auto &rule : rules)
        options.push_back(rule_options(rule, usual));
    return options;
}

/// Those that aren't as a fresh queue of its kind has them: "0-99 --policy newest".
Result<std::vector<std::string>> rules_of(const Attachment &attachment) {
    const auto all =
        OLAF_TRY(attachment.on_card() ? card_options(attachment) : kernel_options(attachment));
    std::vector<std::string> found;
    std::string before;      // the options of the run of clusters that ends here
    std::uint32_t first = 0; // cluster of that run
    for (std::uint32_t id = 0; id <= all.size(); id++) {
        const auto options = id < all.size() ? all[id] : "";
        if (options == before)
            continue;
        if (!before.empty())
            found.push_back(
                (first + 1 == id ? std::to_string(first) : fmt::format("{}-{}", first, id - 1)) +
                before);
        before = options;
        first = id;
    }
    return found;
}

/// The line that holds them.
std::string list_line(std::string_view key, const std::vector<std::string> &list) {
    std::string line;
    for (const auto &options : list)
        line += (line.empty() ? "" : "; ") + options;
    return std::string(key) + "\"" + line + "\"\n";
}

/// What list_line() wrote, of the whole file; none where there is no such line.
std::vector<std::string> list_in(std::string_view file, std::string_view key) {
    std::istringstream lines{std::string(file)};
    std::string value;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(key))
            value = line.substr(key.size()); // the last one counts, as for systemd
    std::erase(value, '"');
    std::vector<std::string> list;
    std::istringstream parts(value);
    for (std::string part; std::getline(parts, part, ';');)
        if (const auto start = part.find_first_not_of(' '); start != part.npos)
            list.push_back(part.substr(start, part.find_last_not_of(" \t\r") + 1 - start));
    return list;
}

} // namespace

std::string saved_path(const std::string &device) {
    return fmt::format("/etc/olaf/{}.conf", device);
}

Result<std::vector<std::string>> saved_list(const std::string &device, std::string_view key) {
    const auto path = saved_path(device);
    errno = 0;
    std::ifstream file(path);
    if (!file)
        return fail("read", path, errno, "olaf attach " + device + " --save writes it");
    return list_in(std::string{std::istreambuf_iterator<char>(file), {}}, key);
}

std::string job_words(const JobReading &job) {
    const auto &setup = job.job.setup;
    auto text = fmt::format("{} --children {} --lanes {}", setup.id, setup.children, setup.lanes);
    if (const auto format = job_format_name(setup.shape); format != "i32x2")
        text += fmt::format(" --format {}", format);
    if (const bool floats = olaf_shape_is_floats(setup.shape) != 0; !floats) {
        if ((setup.shape & OLAF_FLAG_CHECKSUM) == 0)
            text += " --no-checksum";
    } else if (setup.float_bits != OLAF_DEFAULT_FLOAT_BITS) {
        text += fmt::format(" --float-bits {}", setup.float_bits);
    }
    if (setup.slots != OLAF_DEFAULT_POOL)
        text += fmt::format(" --pool {}", setup.slots);
    if (setup.set_threshold != setup.children)
        text += fmt::format(" --threshold {}", setup.set_threshold);
    if ((setup.flags & OLAF_JOB_ANY) != 0)
        text += " --any";
    if (setup.deadline_ns != 0)
        text += fmt::format(" --deadline {}ns", setup.deadline_ns);
    if (setup.max_count != std::max(setup.children, setup.set_threshold) || setup.parent_family != 0)
        text += fmt::format(" --max-count {}", setup.max_count);
    for (const auto rank : job.absent())
        text += fmt::format(" --absent {}", rank);
    if (setup.group_family != 0)
        text += " --fanout multicast=" +
                address_text(address_of(setup.group_family, setup.group_addr_be));
    if (setup.group_family != 0 && setup.group_hops != 1)
        text += fmt::format(" --group-hops {}", setup.group_hops);
    if (setup.parent_family != 0)
        text += fmt::format(
            " --parent {} --rank {}",
            endpoint_text({.address = address_of(setup.parent_family, setup.parent_addr_be),
                           .port = ntohs(setup.parent_port_be)}),
            setup.rank);
    if (setup.parent_family != 0 && (setup.flags & OLAF_JOB_PARENTS_GROUP) != 0)
        text += " --parent-group " +
                address_text(address_of(setup.parent_family, setup.parent_group_be));
    if (setup.run.training != 0)
        text += " --run " + training_text(setup.run.training);
    if (setup.run.number != 0)
        text += fmt::format(" --run-number {}", setup.run.number);
    return text + binding_options("--member", job.members);
}

namespace {

/// Those that are set.
Result<std::vector<std::string>> jobs_of(const Attachment &attachment) {
    std::map<std::string, Fd> open;
    const auto jobs = OLAF_TRY(read_jobs(attachment.record.config, [&](const char *name) {
        auto fd = open_map_to_read(attachment, name);
        return fd ? (open[name] = std::move(*fd)).get() : -1;
    }));
    std::vector<std::string> found;
    for (const auto &job : jobs)
        found.push_back(job_words(job));
    return found;
}

constexpr auto folder = "/etc/olaf";

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
    void add_duration(const std::string &option, std::uint64_t running, std::uint64_t usual) {
        add_unless(running == usual, option, exact_duration_text(running));
    }
    void add_flag(const std::string &word, std::uint32_t flag, const olaf_config &running,
                  const olaf_config &usual) {
        add_unless(((running.flags ^ usual.flags) & flag) == 0,
                   ((running.flags & flag) != 0 ? "--" : "--no-") + word);
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
Result<olaf_config> usual_config(const Attachment &attachment) {
    const auto device = OLAF_TRY(find_device(attachment.place.ifindex));
    const auto &running = attachment.record.config;
    AttachOptions options;
    options.device = device.name;
    options.local = running.deliver == OLAF_DELIVER_LOCAL;
    if (running.deliver == OLAF_DELIVER_FORWARD)
        options.forward = attachment.record.target;
    if (running.deliver == OLAF_DELIVER_UPSTREAM)
        options.upstream = {.address =
                                address_of(running.upstream_family, running.upstream_addr_be),
                            .port = ntohs(running.upstream_port_be)};
    options.window = window_of(running);
    options.max_clusters = running.max_clusters;
    options.max_segments = running.max_segments;
    auto plan = make_plan(options, device);
    const bool bridges = (running.flags & OLAF_CONFIG_BRIDGE) != 0;
    const bool needs_word = !plan && !options.forward.empty(); // as where it bridges and nothing is routed
    if (needs_word) {
        options.bridge = bridges;
        plan = make_plan(options, device);
    }
    auto config = OLAF_TRY(std::move(plan)).config;
    if (needs_word)
        config.flags ^= OLAF_CONFIG_BRIDGE;
    // Not of the plan's: these are compared with what attach has without a word.
    const DatapathConfig defaults;
    config.window = defaults.window.most;
    config.max_clusters = defaults.max_clusters;
    config.max_segments = defaults.max_segments;
    return config;
}

/// Where the queue is to be, as it was asked for. A card that isn't found by itself is named.
std::vector<std::string> hardware_options(const Attachment &attachment) {
    Words words;
    words.add_unless(attachment.record.hw_asked != static_cast<std::uint32_t>(Hardware::off),
                     "--hw", "off");
    words.add_unless(attachment.record.hw_asked != static_cast<std::uint32_t>(Hardware::require),
                     "--hw", "require");
    if (attachment.card && !attachment.card->starts_with("/sys/"))
        words.add("--card", *attachment.card);
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
                                      const std::vector<olaf_prefix> &prefixes) {
    Words words;
    add_delivery(words, running, usual, target);
    words.add_number("--port", ntohs(running.port_be), ntohs(usual.port_be));
    words.add_number("--queue", running.queue_capacity, usual.queue_capacity);
    if (paced_by_line(running))
        words.add_unless(paced_by_line(usual), "--rate", "line");
    else
        words.add_unless(running.rate_bps == usual.rate_bps && !paced_by_line(usual), "--rate",
                         exact_rate_text(running.rate_bps));
    words.add_unless(running.window == usual.window, "--window", window_text(window_of(running)));
    words.add_unless(running.default_policy == usual.default_policy, "--policy",
                     std::string(policy_name(running.default_policy)));
    words.add_unless(running.fifo_places == 0 || running.default_policy == OLAF_POLICY_FIFO,
                     "--fifo");
    words.add_number("--max-clusters", running.max_clusters, usual.max_clusters);
    words.add_number("--max-segments", running.max_segments, usual.max_segments);
    words.add_number("--max-lanes", running.max_lanes, usual.max_lanes);
    words.add_unless((running.flags & OLAF_CONFIG_SKB_MODE) == 0, "--mode", "skb");
    words.add_duration("--drain-interval", running.drain_interval_ns, usual.drain_interval_ns);
    words.add_duration("--activity-window", running.activity_window_ns, usual.activity_window_ns);
    for (const auto &prefix : prefixes)
        words.add("--allow", prefix_text(prefix));
    words.add_number("--max-workers", running.max_workers, usual.max_workers);
    words.add_duration("--member-timeout", running.member_timeout_ns, usual.member_timeout_ns);
    words.add_number("--round-slots", running.round_slots, usual.round_slots);
    words.add_flag("strict", OLAF_CONFIG_STRICT, running, usual);
    words.add_flag("verify", OLAF_CONFIG_VERIFY, running, usual);
    words.add_unless((running.flags & OLAF_CONFIG_NO_OUTPUT_PROGRAM) == 0, "--no-output-program");
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

Result<std::vector<std::string>> options_of(const Attachment &attachment) {
    const auto usual = OLAF_TRY(usual_config(attachment));
    std::vector<olaf_prefix> prefixes;
    if ((attachment.record.config.flags & OLAF_CONFIG_ALLOW_LIST) != 0 && !attachment.on_card()) {
        const auto map = OLAF_TRY(open_map_to_read(attachment, "olaf_allow"));
        prefixes = allowed_prefixes(map.get());
    }
    auto options =
        options_like(attachment.record.config, usual, attachment.record.target, prefixes);
    std::ranges::move(hardware_options(attachment), std::back_inserter(options));
    return options;
}

Result<void> save_attachment(const Attachment &attachment) {
    const auto &device = attachment.device;
    const auto options = OLAF_TRY(options_of(attachment));
    const auto rules = OLAF_TRY(rules_of(attachment));
    const auto jobs = OLAF_TRY(jobs_of(attachment));
    const auto path = saved_path(device);
    if (::mkdir(folder, 0755) != 0 && errno != EEXIST)
        return fail("make", folder, errno);
    const auto fresh = path + ".new";
    auto written = write_whole(fresh, file_text(device, options, rules, jobs));
    if (written && ::rename(fresh.c_str(), path.c_str()) != 0)
        written = fail("write", path, errno);
    if (!written) {
        ::unlink(fresh.c_str());
        return written;
    }
    note(fmt::format("{}: saved in {}; systemctl enable {} attaches it after a reboot", device,
                     path, service_name(device)));
    return {};
}

} // namespace olaf
