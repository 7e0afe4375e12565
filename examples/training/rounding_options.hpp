// SPDX-License-Identifier: BSD-2-Clause
// How the examples' programs are told to round.
#pragma once

#include <olaf/encoder.hpp>

#include <CLI/CLI.hpp>

namespace olaf::training {

inline void define_rounding(CLI::App &app, Rounding &rounding) {
    app.add_flag("--stochastic", rounding.stochastic,
                 "round gradients up or down at random, so that none is lost on average");
    app.add_flag("--error-feedback", rounding.error_feedback,
                 "add what rounding cut off to the next update");
}

} // namespace olaf::training
