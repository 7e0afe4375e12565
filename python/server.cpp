// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/parameter_server.hpp>

#include <atomic>

#include <pybind11/stl.h>

#include "bindings.hpp"
#include "codec.hpp"
#include "errors.hpp"
#include "guarded.hpp"
#include "rules.hpp"
#include "snapshot.hpp"
#include "waiting.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// How soon serve() notices stop().
constexpr auto kNotice = std::chrono::milliseconds(100);

struct Handle : Guarded<ParameterServer> {
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

std::unique_ptr<Handle> make_server(const std::string &bind, std::size_t mtu,
                                    const std::string &acknowledge) {
    ServerOptions options = acknowledging(acknowledge);
    options.mtu = mtu;
    auto made = [&]() -> Result<ParameterServer> {
        const py::gil_scoped_release released; // a name is looked up
        const auto address = Address::parse(bind);
        if (!address)
            return std::unexpected(address.error());
        options.bind = *address;
        return ParameterServer::make(options);
    }();
    return std::make_unique<Handle>(value_of(std::move(made)));
}

void add_cluster(Handle &handle, std::uint32_t cluster, const py::object &weights,
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
void settle(Handle &handle) {
    if (const auto done = std::exchange(handle.current, nullptr))
        handle.locked([&](ParameterServer &server) { server.finish(done->changed); });
}

std::size_t receive_before(Handle &handle, const Deadline &deadline) {
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

std::size_t receive(Handle &handle, std::optional<double> timeout) {
    return receive_before(handle, deadline_in(timeout));
}

void serve(Handle &handle, std::optional<double> seconds) {
    const Deadline end = deadline_in(seconds);
    handle.stop = false;
    while (!handle.stop && (!end || Clock::now() < *end)) {
        const auto notice = Clock::now() + kNotice;
        receive_before(handle, end ? std::min(notice, *end) : notice);
    }
}

std::shared_ptr<Update> next_before(const py::object &self, const Deadline &deadline) {
    auto &handle = self.cast<Handle &>();
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
    auto &handle = self.cast<Handle &>();
    settle(handle);
    Snapshot taken; // with the GIL, as it holds an array
    std::span<const float> weights;
    const bool found = handle.locked([&](ParameterServer &server) {
        const Cluster *cluster = server.cluster(id);
        if (cluster == nullptr)
            return false;
        taken.take(*cluster);
        weights = cluster->weights();
        return true;
    });
    if (!found)
        throw py::key_error("this server has no cluster " + std::to_string(id) +
                            "; add_cluster() makes one");
    taken.weights = read_only_view(weights, self);
    return taken;
}

} // namespace

void bind_server(py::module_ &module) {
    py::class_<Handle>(module, "ParameterServer",
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
        .def("serve", &serve, py::arg("seconds") = py::none(),
             "Handles messages until stop(), Ctrl-C or so many seconds are over.")
        .def(
            "stop", [](Handle &handle) { handle.stop = true; },
            "Ends serve(), from a rule or another thread.")
        .def("next", &next, py::arg("timeout") = py::none(),
             "The next update, or None after timeout seconds. The one before is answered now.")
        .def("__iter__", [](const py::object &self) { return self; })
        .def("__next__", [](const py::object &self) { return next(self, std::nullopt); })
        .def("cluster", &cluster_of, py::arg("cluster"), "A cluster's state. KeyError.")
        .def_property_readonly(
            "address",
            [](Handle &handle) { return value_of(handle.constant().local_address()).text(); },
            "Where it listens: 'ADDR:PORT'.")
        .def_property_readonly(
            "stats",
            [](Handle &handle) {
                return handle.locked([](ParameterServer &server) { return server.stats(); });
            },
            "Counters.")
        .def(
            "fileno", [](Handle &handle) { return handle.constant().fd(); },
            "For select(), asyncio and the like: readable when receive() has something to do.");
}

} // namespace olaf::python
