// SPDX-License-Identifier: BSD-2-Clause
#include <olaf/encoder.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "errors.hpp"
#include "record.hpp"

namespace py = pybind11;

namespace olaf::python {
namespace {

struct Packed {
    Lanes lanes;
    std::size_t clipped;
    std::size_t nans;
};

Format format_named(const std::string &text) {
    for (const Format format : {Format::i32x2, Format::i16x4, Format::i64x1})
        if (name(format) == text)
            return format;
    throw py::value_error("format '" + text +
                          "' can't be folded; choose 'i32x2', 'i16x4' or 'i64x1'");
}

Packing make_codec(const std::string &format, double scale, std::uint32_t max_count) {
    const Packing packing = {
        .format = format_named(format), .scale = scale, .max_count = max_count};
    value_of(validate(packing));
    return packing;
}

Packed pack_array(const Packing &packing, const py::object &gradient) {
    const Floats floats = as_floats(gradient, "the gradient");
    const auto elements = elements_of(floats);
    Lanes lanes(static_cast<py::ssize_t>(lanes_for(packing.format, elements.size())));
    const auto report = value_of(
        pack(packing, elements, {lanes.mutable_data(), static_cast<std::size_t>(lanes.size())}));
    return {.lanes = lanes, .clipped = report.clipped, .nans = report.nans};
}

Floats unpack_array(const Packing &packing, const Lanes &lanes, std::size_t elements,
                    std::uint32_t count) {
    if (count == 0)
        throw py::value_error("count is the number of updates summed up in the lanes, at least 1");
    Floats out(static_cast<py::ssize_t>(elements));
    value_of(unpack(packing.format, 1.0 / (packing.scale * count),
                    {lanes.data(), static_cast<std::size_t>(lanes.size())},
                    {out.mutable_data(), elements}));
    return out;
}

std::string describe(const Packing &packing) {
    return "Codec(format='" + std::string(name(packing.format)) +
           "', scale=" + py::repr(py::float_(packing.scale)).cast<std::string>() +
           ", max_count=" + std::to_string(packing.max_count) + ")";
}

} // namespace

void bind_codec(py::module_ &module) {
    Record<Packed>(module, "Packed", "A packed gradient, and what packing lost.")
        .field("lanes", &Packed::lanes, "uint64, to be added to others of the same codec.")
        .field("clipped", &Packed::clipped, "Elements beyond the range.")
        .field("nans", &Packed::nans, "NaN elements, packed as 0.")
        .done();

    py::class_<Packing>(module, "Codec",
                        "How gradients travel: fixed point of a format and scale, of which at most "
                        "max_count are summed up. A cluster's workers, its server and the queue "
                        "must agree on it.")
        .def(py::init(&make_codec), py::kw_only(), py::arg("format") = "i32x2",
             py::arg("scale") = Packing{}.scale, py::arg("max_count") = Packing{}.max_count)
        .def_property_readonly(
            "format", [](const Packing &self) { return std::string(name(self.format)); },
            "'i32x2', 'i16x4' or 'i64x1'.")
        .def_readonly("scale", &Packing::scale, "Fixed-point steps per unit of gradient.")
        .def_readonly("max_count", &Packing::max_count, "Most updates ever folded into one.")
        .def_property_readonly(
            "limit", [](const Packing &self) { return clip_limit(self) / self.scale; },
            "Largest magnitude of a gradient's element; beyond it is clipped.")
        .def(
            "fitting",
            [](Packing self, double largest, double headroom) {
                self.scale = value_of(fitting_scale(self, largest, headroom));
                return self;
            },
            py::arg("largest"), py::arg("headroom") = 4.0,
            "The same with the largest power of two as scale at which an element so large takes "
            "at most 1 / headroom of the range.")
        .def(
            "lanes",
            [](const Packing &self, std::size_t elements) {
                return lanes_for(self.format, elements);
            },
            py::arg("elements"), "Lanes that so many elements need.")
        .def("pack", &pack_array, py::arg("gradient"), "Packs one gradient.")
        .def("unpack", &unpack_array, py::arg("lanes"), py::arg("elements"), py::arg("count") = 1,
             "The mean gradient of lanes that are the sum of count updates.")
        .def_static(
            "checksum",
            [](const Lanes &lanes) {
                return checksum({lanes.data(), static_cast<std::size_t>(lanes.size())});
            },
            py::arg("lanes"), "The checksum lane over data lanes.")
        .def("__repr__", &describe);
}

} // namespace olaf::python
