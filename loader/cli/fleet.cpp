// SPDX-License-Identifier: BSD-2-Clause
#include "fleet.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cli.hpp"
#include "cli_options.hpp"
#include "loader/datapath/jobs.hpp"
#include "olaf/try.hpp"

namespace olaf {
namespace {

/// One of "a|b|c".
auto word_of(const std::string &words) {
    return [words](const std::string &text) -> Result<std::string> {
        const auto padded = "|" + words + "|";
        if (!text.empty() && text.find('|') == std::string::npos &&
            padded.find("|" + text + "|") != std::string::npos)
            return text;
        return fail("find", "'" + text + "'", 0, "it is one of " + words);
    };
}

/// Bytes of a vector. What a plan adds up of them ends at 2^64 - 1 (fleet/plan/plan.cpp).
Result<std::uint64_t> parse_vector_bytes(const std::string &text) {
    const auto bytes = OLAF_TRY(parse_bytes(text));
    if (bytes > 1'000'000'000'000)
        return fail("take", "'" + text + "'", 0, "give at most 1tb", "it is out of range");
    return bytes;
}

/// An interval, or a jitter, of which a search can add up some thousands.
Result<std::uint64_t> parse_interval(std::string_view text) {
    return parse_duration_between(std::string(text), 1, 3'600'000'000'000);
}

/// A whole number up to 2^53, as JSON carries one.
Result<std::uint64_t> parse_seed(const std::string &text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value >= 1ULL << 53)
        return fail("read number", "'" + text + "'", 0, "give 0 ... 9007199254740991");
    return value;
}

void add_plan(CLI::App &root, PlanOptions &options) {
    auto &app = *root.add_subcommand(
        "plan", "Plan where workers' sums are added up: which hosts and switches are "
                "nodes, and who sends to whom");
    app.add_option("topology", options.topology,
                   "file of switches, hosts and links, or a generator's words")
        ->type_name("FILE|leaf-spine:WORDS|fat-tree:WORDS")
        ->required();
    parsed(app, "--strategy", options.strategy, word_of(plan_strategies),
           "how nodes are placed [auto]", plan_strategies);
    app.add_option("--root", options.root,
                   "host or switch at the top [the one with the fastest plan]")
        ->type_name("NAME");
    parsed(app, "--workers", options.workers, count_parser(1, 1'000'000),
           "so many of a generator's hosts, drawn by --seed [all]", "N");
    parsed(app, "--bytes", options.bytes, parse_vector_bytes, "of a vector [100mb]", "SIZE");
    app.add_option("--sub-models", options.sub_models,
                   "cut the vector for goat: in so many equal parts, or as a file has sizes [1]")
        ->type_name("N|FILE");
    parsed(app, "--lanes", options.lanes, count_parser(1, OLAF_MAX_LANES),
           "8-byte lanes of a contribution [what a frame of 1500 bytes has room for]", "N");
    parsed(app, "--format", options.format, word_of("i32x2|i16x4|i64x1|f32"),
           "how a lane holds elements [i32x2]", "i32x2|i16x4|i64x1|f32");
    parsed(
        app, "--pool", options.pool, [](const std::string &text) { return parse_pool(text); },
        "chunks that may be under way, a power of two [64]", "P");
    parsed(app, "--seed", options.seed, parse_seed, "of all that is drawn [0]", "N");
    parsed(
        app, "--time-limit", options.time_limit_ns,
        [](const std::string &text) {
            return parse_duration_between(text, 1'000'000, 3'600'000'000'000);
        },
        "of a linear program, then the plan is by racks; and of trying further roots [10s]", "TIME");
    app.add_flag("--compare", options.compare, "a row of every strategy as well");
    app.add_option("--picture", options.picture, "draw the trees too")
        ->type_name("FILE.svg|.png|.pdf|.dot");
    app.add_flag("--topology", options.print_topology,
                 "print the topology as a file has it, and plan nothing");
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

Result<std::uint32_t> parse_cluster_id(std::string_view text) {
    return parse_count(text, 0, OLAF_MAX_SLOTS - 1);
}

/// A jitter or a delay: an interval, or none, as "0" or "0ms" says.
Result<std::uint64_t> parse_admit_delay(std::string_view text) {
    const bool zero = text.starts_with('0') && text.find_first_of("123456789") == text.npos;
    if (zero && (text == "0" || parse_duration("1" + std::string(text))))
        return 0;
    return parse_interval(text);
}

/// "3:100ms:1kb", "3:100ms±10ms:1kb", "3:100ms+-10ms:1kb"
Result<AdmitCluster> parse_admit_cluster(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() != 3)
        return cannot_read("cluster", text,
                           "write ID:INTERVAL[+-JITTER]:BYTES, such as 3:100ms+-10ms:1kb");
    AdmitCluster cluster;
    cluster.id = OLAF_TRY(parse_cluster_id(parts[0]));
    auto interval = parts[1];
    for (const std::string_view sign : {"±", "+-"})
        if (const auto at = interval.find(sign); at != std::string_view::npos) {
            cluster.jitter_ns = OLAF_TRY(parse_admit_delay(interval.substr(at + sign.size())));
            interval = interval.substr(0, at);
        }
    cluster.interval_ns = OLAF_TRY(parse_interval(interval));
    cluster.bytes = OLAF_TRY(parse_bytes(parts[2]));
    return cluster;
}

/// "1gbit", "1gbit:8", "1gbit:8:0,1,2", "1gbit:8:0,1:50us"; "1gbit::0,1": as many places as there
/// can be.
Result<AdmitHop> parse_admit_hop(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() > 4)
        return cannot_read("hop", text,
                           "write RATE[:PLACES[:ID,ID...[:DELAY]]], such as 1gbit:8:0,1");
    AdmitHop hop;
    const auto rate = OLAF_TRY(parse_rate(parts[0]));
    if (rate.line || rate.bps == 0)
        return cannot_read("rate", parts[0], "a hop needs a number: 1gbit");
    hop.rate_bps = rate.bps;
    if (parts.size() > 1 && !parts[1].empty())
        hop.places = OLAF_TRY(parse_count(parts[1], 1, OLAF_MAX_SLOTS));
    if (parts.size() > 2 && !parts[2].empty())
        for (const auto id : split(parts[2], ','))
            hop.ids.push_back(OLAF_TRY(parse_cluster_id(id)));
    if (parts.size() > 3)
        hop.delay_ns = OLAF_TRY(parse_admit_delay(parts[3]));
    return hop;
}

/// "peak<=500ms", "fairness<=100ms", "loss=0"
Result<AdmitObjective> parse_admit_objective(std::string_view text) {
    if (text == "loss=0")
        return AdmitObjective{.kind = "loss", .most_ns = 0};
    for (const std::string_view kind : {"peak", "fairness"})
        if (text.starts_with(kind) && text.substr(kind.size()).starts_with("<="))
            return AdmitObjective{.kind = std::string(kind),
                                  .most_ns =
                                      OLAF_TRY(parse_duration(text.substr(kind.size() + 2)))};
    return cannot_read("objective", text,
                       "it is 'peak<=TIME', 'fairness<=TIME' or loss=0, in quotes for the shell");
}

/// An option that may be given several times, each text read by that parser.
template <class Parser, class Into>
CLI::Option *each_parsed(CLI::App &app, const std::string &name, std::vector<Into> &into,
                         const Parser &parser, const std::string &help, const std::string &type) {
    return app
        .add_option_function<std::vector<std::string>>(
            name,
            [&into, parser, name](const std::vector<std::string> &texts) {
                for (const auto &text : texts) {
                    const auto value = parser(text);
                    if (!value)
                        throw CLI::ValidationError(name, value.error().message());
                    into.push_back(*value);
                }
            },
            help)
        ->type_name(type)
        ->allow_extra_args(false);
}

void add_admit(CLI::App &root, AdmitOptions &options) {
    auto &app = *root.add_subcommand(
        "admit",
        "Tell whether clusters may share queues: whether each arrival that their intervals allow "
        "keeps their Age-of-Model within an objective");
    each_parsed(app, "--cluster", options.clusters, parse_admit_cluster,
                "a cluster, how often an update of it comes, and how long that is; repeatable",
                "ID:INTERVAL[+-JITTER]:BYTES")
        ->required();
    each_parsed(app, "--hop", options.hops, parse_admit_hop,
                "a queue on the way: its rate, Qmax [enough], which clusters pass [all], and how "
                "late a departure may be [100us]; "
                "repeatable, in the order of the way",
                "RATE[:PLACES[:IDS[:DELAY]]]")
        ->required();
    parsed(app, "--objective", options.objective, parse_admit_objective,
           "what is asked: each peak of Age-of-Model, the difference of two clusters' mean peaks, "
           "or that nothing is lost",
           "'peak<=TIME'|'fairness<=TIME'|loss=0")
        ->required();
    parsed(app, "--mtu", options.mtu, count_parser(576, 65535),
           "longer updates are cut into segments [1500]", "BYTES");
    parsed(app, "--seed", options.seed, parse_seed, "of the search for a counterexample [0]", "N");
    parsed(
        app, "--time-limit", options.time_limit_ns,
        [](const std::string &text) {
            return parse_duration_between(text, 1'000'000, 3'600'000'000'000);
        },
        "of the search and of Z3 together [10s]", "TIME");
}

} // namespace

void add_fleet(CLI::App &root, CommandOptions &into) {
    add_plan(root, into.plan);
    add_admit(root, into.admit);
}

Error become_fleet_program(const std::string &name, const nlohmann::json &options) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto program = (self.parent_path().parent_path() / "libexec/olaf" / name).string();
    // A file in memory: an argument has 128 KiB at most, which two thousand clusters exceed.
    const auto bytes = nlohmann::json::to_cbor(options);
    // Not closed by exec: it is standard input itself where olaf was started without one.
    const Fd file(::memfd_create("options of olaf", 0));
    const auto size = static_cast<ssize_t>(bytes.size());
    errno = ENOSPC; // what a write that is cut short means, which sets no error
    if (!file || ::write(file.get(), bytes.data(), bytes.size()) != size ||
        ::lseek(file.get(), 0, SEEK_SET) != 0 || ::dup2(file.get(), STDIN_FILENO) < 0)
        return {.operation = "hand options on to",
                .object = program,
                .code = errno,
                .reason = {},
                .hint = "free some memory"};
    ::execl(program.c_str(), program.c_str(), nullptr);
    return {.operation = "run",
            .object = program,
            .code = errno,
            .reason = {},
            .hint = errno == ENOENT ? "install the package olaf-fleet"
                                    : "let the file be run by you"};
}

} // namespace olaf
