// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/parameter_server.hpp>

#include <atomic>

#include <pybind11/stl.h>

#include <olaf/clock.hpp>
#include <olaf/try.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "errors.hpp"
#include "gil.hpp"
#include "guarded.hpp"
#include "record.hpp"
#include "transmission.hpp"
#include "waiting.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

using std::chrono::nanoseconds;

// An update as Python sees it. Its arrays are views of the server's memory.
struct Update {
    PendingUpdate pending;
    Floats gradient;
    Floats weights;
    bool changed = true;
};

// A cluster as it was when asked for; but its weights are a view, of the server's own. Made and
// destroyed with the GIL held, because of that.
struct Snapshot {
    std::uint32_t cluster = 0;
    std::uint32_t version = 0;
    ClusterStats stats = {};
    std::size_t workers = 0;
    double aom_average_ns = 0;
    std::int64_t aom_peak_ns = 0;
    Floats weights;
};

struct ServerHandle : Guarded<ParameterServer> {
    using Guarded::Guarded;
    std::shared_ptr<Update> current; // that next() gave; under the GIL
    std::atomic<bool> stop = false;
};

ServerOptions acknowledging(const std::string &whom) {
    if (whom == "sender")
        return {};
    if (whom == "known")
        return {.ack_all_known_workers = true};
    if (whom == "cluster")
        return {.address_every_worker = true};
    throw py::value_error("acknowledge='" + whom +
                          "' is unknown; choose 'sender', 'known' (each worker heard of) or "
                          "'cluster' (the network copies ACKs)");
}

std::unique_ptr<ServerHandle> make_server(const std::string &bind, std::size_t mtu,
                                          const std::string &acknowledge) {
    ServerOptions options = acknowledging(acknowledge);
    options.mtu = mtu;
    auto made = [&]() -> Result<ParameterServer> {
        const GilReleased released; // a name is looked up
        options.bind = OLAF_TRY(Address::parse(bind));
        return ParameterServer::make(options);
    }();
    return std::make_unique<ServerHandle>(value_of(std::move(made)));
}

constexpr const char *kExpected =
    "a rule is 'sgd', 'paper', or a function that gets an Update and changes its weights";

// `update.weights += step` ends with an assignment of the same array.
void set_weights(Update &update, const py::object &weights) {
    if (!weights.is(update.weights))
        py::module_::import("numpy").attr("copyto")(update.weights, weights);
}

template <auto member> auto of_contribution(const Update &update) {
    return update.pending.contribution.*member;
}

std::shared_ptr<Update> make_update(const PendingUpdate &pending, const py::object &server) {
    return std::make_shared<Update>(
        Update{.pending = pending,
               .gradient = read_only_view(pending.contribution.mean_gradient, server),
               .weights = writable_view(pending.weights, server)});
}

// 'sgd', 'paper', or a function that gets an Update and changes its weights. What that raises
// passes through ParameterServer::receive() as an error_already_set. `server()` gives the Python
// object, under the GIL.
Rule rule_from(const py::object &object, double learning_rate, std::uint32_t cluster,
               std::function<py::object()> server) {
    if (py::isinstance<py::str>(object)) {
        const auto name = object.cast<std::string>();
        if (name == "sgd")
            return async_sgd_rule(learning_rate);
        if (name == "paper")
            return paper_rule(learning_rate);
        throw py::value_error("there is no rule '" + name + "'; " + kExpected);
    }
    return [function = share(object, kExpected), server = std::move(server),
            cluster](const Contribution &contribution, std::span<float> weights) {
        const GilHeld held;
        const auto update = make_update(
            {.cluster = cluster, .contribution = contribution, .weights = weights}, server());
        const py::object result = (*function)(update);
        return update->changed && !result.is(py::bool_(false));
    };
}

void add_cluster(ServerHandle &handle, std::uint32_t cluster, const py::object &weights,
                 const py::object &rule, double learning_rate, const Packing &codec,
                 bool require_checksum, std::uint32_t first_version) {
    const Floats floats = as_floats(weights, "the weights");
    const auto elements = elements_of(floats);
    // The handle owns the rule, so it is there when the rule runs.
    const auto self = [&handle] { return py::cast(&handle, py::return_value_policy::reference); };
    ClusterSettings settings = {.cluster = cluster,
                                .weights = {elements.begin(), elements.end()},
                                .scale = codec.scale,
                                .max_count = codec.max_count,
                                .require_checksum = require_checksum,
                                .rule = rule_from(rule, learning_rate, cluster, self),
                                .first_version = first_version};
    value_of(handle.locked(
        [&](ParameterServer &server) { return server.add_cluster(std::move(settings)); }));
}

// Answers the update that next() gave before, now that the caller is done with it.
void settle(ServerHandle &handle) {
    if (const auto done = std::exchange(handle.current, nullptr))
        handle.locked([&](ParameterServer &server) { server.finish(done->changed); });
}

std::size_t receive_before(ServerHandle &handle, const Deadline &deadline) {
    settle(handle);
    const auto now = [&] {
        return value_of(
            handle.locked([](ParameterServer &server) { return server.receive(nanoseconds(0)); }));
    };
    // What an exception left over comes first.
    const std::size_t handled = now();
    if (handled > 0 || !wait_readable(handle.constant().fd(), deadline))
        return handled;
    return now();
}

std::size_t receive(ServerHandle &handle, std::optional<double> timeout) {
    return receive_before(handle, deadline_in(timeout));
}

std::shared_ptr<Update> next_before(const py::object &self, const Deadline &deadline) {
    auto &handle = self.cast<ServerHandle &>();
    settle(handle);
    for (;;) {
        const auto pending = value_of(
            handle.locked([](ParameterServer &server) { return server.next(nanoseconds(0)); }));
        if (pending)
            return handle.current = make_update(*pending, self);
        if (!wait_readable(handle.constant().fd(), deadline))
            return nullptr;
    }
}

std::shared_ptr<Update> next(const py::object &self, std::optional<double> timeout) {
    return next_before(self, deadline_in(timeout));
}

Snapshot cluster_of(const py::object &self, std::uint32_t id) {
    auto &handle = self.cast<ServerHandle &>();
    settle(handle);
    Snapshot taken; // with the GIL, as it holds an array
    std::span<const float> weights;
    const bool found = handle.locked([&](ParameterServer &server) {
        const Cluster *cluster = server.cluster(id);
        if (cluster == nullptr)
            return false;
        taken.cluster = cluster->id(); // all but its array, which needs the GIL
        taken.version = cluster->version();
        taken.stats = cluster->stats();
        taken.workers = cluster->workers().all().size();
        taken.aom_average_ns = cluster->aom().average_ns(tai_now_ns());
        taken.aom_peak_ns = cluster->aom().highest_peak_ns();
        weights = cluster->weights();
        return true;
    });
    if (!found)
        throw py::key_error("this server has no cluster " + std::to_string(id) +
                            "; add_cluster() makes one");
    taken.weights = read_only_view(weights, self);
    return taken;
}

void bind_rules(py::module_ &module) {
    py::class_<Update, std::shared_ptr<Update>>(
        module, "Update", "An update that arrived, with the weights that it is for.")
        .def_property_readonly(
            "cluster", [](const Update &update) { return update.pending.cluster; }, "Whose.")
        .def_readonly(
            "gradient", &Update::gradient,
            "Mean of those folded in, read-only: a view, until the cluster's next update.")
        .def_property(
            "weights", [](const Update &update) { return update.weights; }, &set_weights,
            "To be changed in place: a view of the cluster's, of the elements begin to end.")
        .def_property_readonly("count", &of_contribution<&Contribution::count>,
                               "Updates folded in.")
        .def_property_readonly("reward", &of_contribution<&Contribution::mean_reward>,
                               "Mean of those.")
        .def_property_readonly("worker", &of_contribution<&Contribution::worker>,
                               "That sent the newest of them.")
        .def_property_readonly("model_version", &of_contribution<&Contribution::model_version>,
                               "Oldest that one of them was computed on.")
        .def_property_readonly("generated_ns", &of_contribution<&Contribution::generated_ns>,
                               "When the newest was computed, CLOCK_TAI.")
        .def_property_readonly("segment", &of_contribution<&Contribution::segment>,
                               "Of the model, from 0.")
        .def_property_readonly("segments", &of_contribution<&Contribution::segments>,
                               "That the model is cut into.")
        .def_property_readonly(
            "begin", [](const Update &update) { return update.pending.contribution.slice.begin; },
            "First element of the model that it is for.")
        .def_property_readonly(
            "end", [](const Update &update) { return update.pending.contribution.slice.end; },
            "Behind the last one.")
        .def(
            "skip", [](Update &update) { update.changed = false; },
            "Says that the weights weren't changed: the model's version stays.");
}

template <auto member> auto of_stats(const Snapshot &snapshot) {
    return snapshot.stats.*member;
}

void bind_snapshots(py::module_ &module) {
    Record<Snapshot>(module, "Cluster", "A cluster as it was when asked for.")
        .field("cluster", &Snapshot::cluster, "Its id.")
        .field("version", &Snapshot::version, "Of its weights.")
        .field("messages", of_stats<&ClusterStats::messages>, "Updates received, as messages.")
        .field("folded", of_stats<&ClusterStats::folded>, "Updates in those.")
        .field("applied", of_stats<&ClusterStats::applied>, "Messages that changed the weights.")
        .field("joins", of_stats<&ClusterStats::joins>, "Workers asking for weights.")
        .field("worst_lag", of_stats<&ClusterStats::worst_lag>, "In versions, of an update.")
        .field("total_lag", of_stats<&ClusterStats::total_lag>,
               "In versions, of all updates together: divided by folded, the mean.")
        .field("workers", &Snapshot::workers, "Heard of.")
        .field("aom_average_ns", &Snapshot::aom_average_ns, "Age-of-Model.")
        .field("aom_peak_ns", &Snapshot::aom_peak_ns, "Highest Age-of-Model.")
        .field(
            "rejected", [](const Snapshot &self) { return rejects_dict(self.stats.rejected); },
            "Messages not accepted, by reason.")
        .done()
        .def_readonly("weights", &Snapshot::weights,
                      "Read-only: a view that shows later changes, too.");
    Record<ServerStats>(module, "ServerStats", "Counters of a server.")
        .field("datagrams", &ServerStats::datagrams, "Received.")
        .field("acks_sent", &ServerStats::acks_sent, "Handed to the kernel.")
        .field("acks_unsent", &ServerStats::acks_unsent, "Lost on this host.")
        .field(
            "rejected", [](const ServerStats &self) { return rejects_dict(self.rejected); },
            "Messages not accepted, by reason.")
        .done();
}

} // namespace

void bind_server(py::module_ &module) {
    bind_rules(module);
    bind_snapshots(module);
    py::class_<ServerHandle>(
        module, "ParameterServer",
        "One UDP socket, many clusters. Iterating gives updates whose weights the "
        "loop changes; serve() and receive() apply each cluster's rule.")
        .def(py::init(&make_server), py::arg("bind") = "0.0.0.0", py::kw_only(),
             py::arg("mtu") = 1500, py::arg("acknowledge") = "sender")
        .def("add_cluster", &add_cluster, py::arg("cluster"), py::arg("weights"),
             py::arg("rule") = "sgd", py::kw_only(), py::arg("learning_rate") = 0.001,
             py::arg_v("codec", Packing{}, kDefaultCodec), py::arg("require_checksum") = true,
             py::arg("first_version") = 1,
             "Serves a cluster, from these weights (copied) on. A rule is 'sgd', 'paper', or a "
             "function that gets an Update, changes its weights and may return False for 'not "
             "changed'.")
        .def("receive", &receive, py::arg("timeout") = py::none(),
             "Waits, at most timeout seconds, for messages and handles a batch of them; how many. "
             "What a rule raises comes out here.")
        .def("serve", &serve<ServerHandle>, py::arg("seconds") = py::none(),
             "Handles messages until stop(), Ctrl-C or so many seconds are over.")
        .def(
            "stop", [](ServerHandle &handle) { handle.stop = true; },
            "Ends serve(), from a rule or another thread.")
        .def("next", &next, py::arg("timeout") = py::none(),
             "The next update, or None after timeout seconds. The one before is answered now.")
        .def("__iter__", [](const py::object &self) { return self; })
        .def("__next__", [](const py::object &self) { return next(self, std::nullopt); })
        .def("cluster", &cluster_of, py::arg("cluster"), "A cluster's state. KeyError.")
        .def_property_readonly(
            "address",
            [](ServerHandle &handle) { return value_of(handle.constant().local_address()).text(); },
            "Where it listens: 'ADDR:PORT'.")
        .def_property_readonly(
            "stats",
            [](ServerHandle &handle) {
                return handle.locked([](ParameterServer &server) { return server.stats(); });
            },
            "Counters.")
        .def(
            "fileno", [](ServerHandle &handle) { return handle.constant().fd(); },
            "For select(), asyncio and the like: readable when receive() has something to do.");
}

} // namespace olaf::python
