// SPDX-License-Identifier: BSD-2-Clause
// The game for Python, with Gymnasium's reset() and step().
#include "environment.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <random>

namespace py = pybind11;

namespace olaf::lunar_lander {
namespace {

class LunarLander {
  public:
    py::tuple reset(std::optional<std::uint64_t> seed, const py::object &) {
        if (seed)
            random_ = Random(*seed);
        environment_.reset(random_);
        plays_ = true;
        return py::make_tuple(observation(), py::dict());
    }

    py::tuple step(int action) {
        if (!plays_)
            throw py::value_error("no episode has begun: call reset() first");
        if (action < 0 || action >= kActions)
            throw py::value_error("action " + std::to_string(action) + " isn't one of 0 to 3");
        const Step step = environment_.step(action, random_);
        plays_ = step.status == Status::running;
        return py::make_tuple(observation(), step.reward, step.status == Status::terminated,
                              step.status == Status::truncated, py::dict());
    }

  private:
    [[nodiscard]] py::array_t<float> observation() const {
        return py::array_t<float>(kObservations, environment_.state().data());
    }

    Environment environment_;
    Random random_{std::random_device{}()};
    bool plays_ = false;
};

} // namespace
} // namespace olaf::lunar_lander

PYBIND11_MODULE(lunar_lander, module) {
    using olaf::lunar_lander::LunarLander;
    module.doc() = "LunarLander-v3, discrete and without wind, on Box2D.";
    py::class_<LunarLander>(module, "LunarLander")
        .def(py::init<>())
        .def("reset", &LunarLander::reset, py::kw_only(), py::arg("seed") = py::none(),
             py::arg("options") = py::none(),
             "Begins an episode: (observation of 8 floats, {}). A seed makes this one and those "
             "that follow repeatable.")
        .def("step", &LunarLander::step, py::arg("action"),
             "20 ms with an engine on: 0 none, 1 left, 2 main, 3 right. (observation, reward, "
             "terminated, truncated, {}).");
}
