// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include <olaf/packing.hpp>

#include <pybind11/pybind11.h>

namespace olaf::python {

/// A format that sums of integers can have, by its name; else a ValueError that names the choices.
inline Format round_format(const std::string &text,
                           const char *choices = "'i32x2', 'i16x4' or 'i64x1'") {
    for (const Format format : {Format::i32x2, Format::i16x4, Format::i64x1})
        if (name(format) == text)
            return format;
    throw pybind11::value_error("the format must be " + std::string(choices) + ", not '" + text +
                                "'");
}

/// The same, or 'f32', as `olaf job set` says it: the node adds floats.
inline Format collective_format(const std::string &text) {
    return text == "f32" ? Format::f32x2 : round_format(text, "'i32x2', 'i16x4', 'i64x1' or 'f32'");
}

} // namespace olaf::python
