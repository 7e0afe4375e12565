// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include <olaf/packing.hpp>

#include <pybind11/pybind11.h>

namespace olaf::python {

/// A format that sums can have, by its name; else a ValueError.
inline Format round_format(const std::string &text) {
    for (const Format format : {Format::i32x2, Format::i16x4, Format::i64x1})
        if (name(format) == text)
            return format;
    throw pybind11::value_error("the format must be 'i32x2', 'i16x4' or 'i64x1', not '" + text +
                                "'");
}

} // namespace olaf::python
