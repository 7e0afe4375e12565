// SPDX-License-Identifier: BSD-2-Clause
#include "job_line.hpp"

#include <CLI/CLI.hpp>

#include "cli_options.hpp"
#include "loader/text/address.hpp"

namespace olaf {
namespace {

using Action = JobOptions::Action;

/// The device, and which of its jobs.
void job_argument(CLI::App &app, JobOptions &options, bool required = true) {
    device_argument(app, options.device);
    parsed(app, "job", options.job, count_parser(0, OLAF_EVERY_WORKER - 1),
           "job: the cluster id of its messages", "ID")
        ->required(required);
}

/// Who and what is summed.
void add_shape(CLI::App &set, JobOptions &options) {
    parsed(set, "--children", options.children, count_parser(1, OLAF_RANKS),
           "workers, or nodes below, that contribute here: ranks are 0 ... N-1", "N")
        ->required();
    parsed(set, "--lanes", options.lanes, count_parser(1, OLAF_MAX_LANES),
           "8-byte lanes of every contribution, checksum lane included [what the MTU of DEV, and of the "
           "device to the parent, has room for]",
           "N");
    parsed(
        set, "--format", options.format,
        [](const std::string &text) { return parse_job_format(text); },
        "how a lane holds elements [i32x2]", "i32x2|i16x4|i64x1|f32");
    parsed(set, "--float-bits", options.float_bits, count_parser(0, OLAF_MOST_FLOAT_BITS),
           "of f32: bits behind the binary point of what the node adds [40]", "S");
    set.add_flag(
        "--no-checksum", [&options](std::int64_t) { options.checksum = false; },
        "contributions have no checksum lane");
    parsed(
        set, "--pool", options.pool, [](const std::string &text) { return parse_pool(text); },
        "chunks that may be under way, a power of two; of attach's --round-slots [64]", "P");
}

/// When a chunk is complete.
void add_completion(CLI::App &set, JobOptions &options) {
    parsed(set, "--threshold", options.threshold, count_parser(1, OLAF_LIMIT_MAX_COUNT),
           "contributions that complete a chunk [one of every child]", "H");
    set.add_flag("--any", options.any, "of whomever: a fast child may contribute more than once");
    parsed(
        set, "--deadline", options.deadline_ns,
        [](const std::string &text) {
            return parse_duration_between(text, 1'000, 3'600'000'000'000);
        },
        "a chunk that is open for longer is completed without those that are missing [never]",
        "TIME");
    parsed(set, "--max-count", options.max_count, count_parser(1, OLAF_LIMIT_MAX_COUNT),
           "workers in a result at most, the same at every node; needed with --parent [as many as "
           "complete a chunk]",
           "N");
}

/// How results leave.
void add_fanout(CLI::App &set, JobOptions &options) {
    auto *fanout = parsed(
        set, "--fanout", options.group, [](const std::string &text) { return parse_fanout(text); },
        "how results leave: to each child in the frame of another's contribution, or in one frame "
        "for all, to a multicast group that the children have joined [ride]",
        "ride|multicast=GROUP");
    parsed(set, "--group-hops", options.group_hops, count_parser(1, 255),
           "how far those travel: their TTL or hop limit [1]", "N")
        ->needs(fanout);
}

void add_neighbours(CLI::App &set, JobOptions &options) {
    auto *parent = parsed(
        set, "--parent", options.parent,
        [](const std::string &text) { return parse_endpoint(text); },
        "node that this one sends its sums to; port 6523 unless given", "ADDR[:PORT]");
    auto *rank = parsed(set, "--rank", options.rank, count_parser(0, OLAF_RANKS - 1),
                        "of this node among the parent's children", "R");
    parent->needs(rank);
    rank->needs(parent);
    parsed(
        set, "--parent-group", options.parent_group,
        [](const std::string &text) { return parse_group(text); },
        "multicast group that the parent's results come to: GROUP of its --fanout", "GROUP")
        ->needs(parent);
    set.add_option_function<std::vector<std::string>>(
           "--absent",
           [&options](const std::vector<std::string> &texts) {
               for (const auto &text : texts) {
                   const auto rank = count_parser(0, OLAF_RANKS - 1)(text);
                   if (!rank)
                       throw CLI::ValidationError("--absent", rank.error().message());
                   options.absent.push_back(*rank);
               }
           },
           "a rank that isn't waited for until it joins; repeatable [none]")
        ->type_name("RANK")
        ->allow_extra_args(false);
    set.add_option_function<std::vector<std::string>>(
           "--member",
           [&options](const std::vector<std::string> &texts) {
               for (const auto &text : texts) {
                   const auto member = parse_member(text);
                   if (!member)
                       throw CLI::ValidationError("--member", member.error().message());
                   options.members.push_back(*member);
               }
           },
           "bind a rank to its address for good; repeatable [to whoever contributes first]")
        ->type_name("RANK=ADDR[:PORT]")
        ->allow_extra_args(false);
}

/// Whose the job is alone.
void add_run(CLI::App &set, JobOptions &options) {
    auto *run = parsed(
        set, "--run", options.training, [](const std::string &text) { return parse_training(text); },
        "only this training may have the job: its name, or what olaf job list says of it, id: and 16 digits [whoever asks first]", "NAME");
    parsed(set, "--run-number", options.run_number,
           [](const std::string &text) { return parse_run_number(text); },
           "and only this run of it [any]", "N")
        ->needs(run);
}

} // namespace

void add_job(CLI::App &root, JobOptions &options) {
    auto &app = *root.add_subcommand("job", "Set and show jobs, whose members sum in rounds");
    app.require_subcommand(1);
    auto &set = *app.add_subcommand("set", "Begin a job; its slots are of attach's --round-slots");
    job_argument(set, options);
    add_shape(set, options);
    add_completion(set, options);
    add_fanout(set, options);
    add_neighbours(set, options);
    add_run(set, options);
    set.callback([&options] { options.action = Action::set; });
    const auto add = [&](const char *name, Action action, const char *help) {
        auto &command = *app.add_subcommand(name, help);
        job_argument(command, options, action != Action::list);
        command.callback([&options, action] { options.action = action; });
    };
    add("remove", Action::remove, "End a job; what is under way is lost");
    add("list", Action::list, "Show jobs, their members and what became of contributions");
    add("reset", Action::reset, "Let the members agree anew where to begin; what is under way is "
                                "void, and they send it again");
    add("release", Action::release, "Give the job to whichever run asks next, whoever has it");
    add("halt", Action::halt, "Refuse contributions until resume");
    add("resume", Action::resume, "Take contributions again");
    auto &leave = *app.add_subcommand("leave", "Wait no longer for a member that is gone, from now "
                                               "on; it may join again");
    job_argument(leave, options);
    parsed(leave, "rank", options.rank, count_parser(0, OLAF_RANKS - 1), "its rank", "RANK")
        ->required();
    leave.callback([&options] { options.action = Action::leave; });
    auto &threshold = *app.add_subcommand("threshold", "So many contributions complete a chunk from now on; "
                                                       "rounds go on");
    job_argument(threshold, options);
    parsed(threshold, "threshold", options.threshold, count_parser(1, OLAF_LIMIT_MAX_COUNT),
           "contributions that complete a chunk", "H")
        ->required();
    threshold.callback([&options] { options.action = Action::threshold; });
    auto &restore = *app.add_subcommand("restore", "Set the jobs that /etc/olaf/DEV.conf has, as "
                                                   "attach --save wrote them");
    device_argument(restore, options.device);
    restore.callback([&options] { options.action = Action::restore; });
    add("flush", Action::flush, "Complete what is open without those that are missing");
}

} // namespace olaf
