// SPDX-License-Identifier: BSD-2-Clause
#include "jobs_json.hpp"

#include "jobs_text.hpp"
#include "loader/text/job_counters.hpp"

namespace olaf {
namespace {

using Json = nlohmann::ordered_json;

Json members_json(const JobReading &job, std::uint64_t now_ns) {
    Json members = Json::array();
    for (const auto &[rank, member] : job.members) {
        const auto silent = silent_ns(member, now_ns);
        members.push_back({{"rank", rank},
                           {"address", member_address_text(member)},
                           {"bound", (member.flags & OLAF_MEMBER_REGISTERED) != 0},
                           {"silent_ns", silent ? Json(*silent) : Json(nullptr)}});
    }
    return members;
}

/// Bits behind the binary point of what is added; null: integers are.
Json float_bits_json(const olaf_job_setup &setup) {
    return olaf_shape_is_floats(setup.shape) != 0 ? Json(setup.float_bits) : Json(nullptr);
}

/// Where results for all go; null: to each child.
Json fanout_json(const olaf_job_setup &setup) {
    if (setup.group_family == 0)
        return nullptr;
    return {{"group", group_text(setup)}, {"hops", setup.group_hops}};
}

/// Name of the device that the parent is behind; null: the queue's own, or it has gone.
Json parent_device_json(const olaf_job_setup &setup) {
    const auto name = parent_device_name(setup);
    return name.empty() ? Json(nullptr) : Json(name);
}

/// This node's place below another one; null: it is the root.
Json parent_json(const olaf_job_setup &setup) {
    if (setup.parent_family == 0)
        return nullptr;
    const auto group = parent_group_text(setup);
    return {{"address", parent_text(setup)},
            {"rank", setup.rank},
            {"device", parent_device_json(setup)},
            {"group", group.empty() ? Json(nullptr) : Json(group)}};
}

Json job_json(const JobReading &job, std::uint64_t now_ns) {
    const auto &setup = job.job.setup;
    Json object{{"job", setup.id},
                {"role", setup.parent_family == 0 ? "root" : "node"},
                {"state", job_state(job)},
                {"waiting_for", job.waiting_for()},
                {"children", setup.children},
                {"absent", job.absent()},
                {"threshold", setup.threshold},
                {"any", (setup.flags & OLAF_JOB_ANY) != 0},
                {"max_count", setup.max_count},
                {"deadline_ns", setup.deadline_ns == 0 ? Json(nullptr) : Json(setup.deadline_ns)},
                {"generation", job.job.generation},
                {"pool", setup.slots},
                {"first_slot", setup.first_slot},
                {"lanes", setup.lanes},
                {"format", job_format_name(setup.shape)},
                {"checksum", (setup.shape & OLAF_FLAG_CHECKSUM) != 0},
                {"float_bits", float_bits_json(setup)},
                {"multicast", fanout_json(setup)},
                {"parent", parent_json(setup)},
                {"members", members_json(job, now_ns)}};
    for (const auto &counter : job_counters()) {
        auto &into = counter.object.empty() ? object : object[std::string(counter.object)];
        into[std::string(counter.key)] = counter.in(job.counters);
    }
    object["chunks"]["open"] = job.open;
    object["chunks"]["up"] = job.up;
    // What is owed may yet be delivered: at rest both together are what nobody has got.
    object["results"]["undelivered"] = job.counters.undelivered + job.owed;
    return object;
}

} // namespace

nlohmann::ordered_json jobs_json(const std::vector<JobReading> &jobs, std::uint64_t now_ns) {
    Json list = Json::array();
    for (const auto &job : jobs)
        list.push_back(job_json(job, now_ns));
    return list;
}

} // namespace olaf
