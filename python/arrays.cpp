// SPDX-License-Identifier: BSD-2-Clause
#include "arrays.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

bool is_ready(const py::object &object) {
    return py::isinstance<Floats>(object) && (py::reinterpret_borrow<py::array>(object).flags() &
                                              py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
}

// NumPy's own functions rather than pybind11's conversion, which hides why an object refuses:
// torch says what to do about a tensor that requires grad or lies on a GPU.
py::array as_array(const py::object &object) {
    const auto numpy = py::module_::import("numpy");
    const bool dlpack_only = !py::hasattr(object, "__array__") &&
                             PyObject_CheckBuffer(object.ptr()) == 0 &&
                             py::hasattr(object, "__dlpack__");
    return numpy.attr(dlpack_only ? "from_dlpack" : "asarray")(object);
}

} // namespace

Floats as_floats(const py::object &object, const std::string &what) {
    if (is_ready(object))
        return py::reinterpret_borrow<Floats>(object);
    const py::array array = as_array(object);
    const char kind = array.dtype().kind();
    if (kind != 'f' && kind != 'i' && kind != 'u')
        throw py::type_error(what + " must hold real numbers, not " +
                             py::str(array.dtype()).cast<std::string>() +
                             "; pass a NumPy array, a CPU tensor or a flat list of floats");
    return py::module_::import("numpy").attr("require")(array, "float32", "CA");
}

std::span<const float> elements_of(const Floats &array) {
    return {array.data(), static_cast<std::size_t>(array.size())};
}

Floats writable_view(std::span<float> memory, const py::object &owner) {
    return Floats(static_cast<py::ssize_t>(memory.size()), memory.data(), owner);
}

Floats read_only_view(std::span<const float> memory, const py::object &owner) {
    Floats view(static_cast<py::ssize_t>(memory.size()), memory.data(), owner);
    py::detail::array_proxy(view.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
    return view;
}

} // namespace olaf::python
