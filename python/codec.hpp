// SPDX-License-Identifier: BSD-2-Clause
// Python's Codec is libolaf's Packing, valid by construction.
#pragma once

#include <olaf/packing.hpp>

namespace olaf::python {

/// How a default Codec() is written in signatures.
inline constexpr const char *kDefaultCodec = "Codec()";

} // namespace olaf::python
