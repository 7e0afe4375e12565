// SPDX-License-Identifier: BSD-2-Clause
#include "rules.hpp"

#include "bindings.hpp"
#include "record.hpp"
#include "transmission.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

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

} // namespace

std::shared_ptr<Update> make_update(const PendingUpdate &pending, const py::object &server) {
    return std::make_shared<Update>(
        Update{.pending = pending,
               .gradient = read_only_view(pending.contribution.mean_gradient, server),
               .weights = writable_view(pending.weights, server)});
}

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
        const py::gil_scoped_acquire acquired;
        const auto update = make_update(
            {.cluster = cluster, .contribution = contribution, .weights = weights}, server());
        const py::object result = (*function)(update);
        return update->changed && !result.is(py::bool_(false));
    };
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

} // namespace olaf::python
