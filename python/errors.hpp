// SPDX-License-Identifier: BSD-2-Clause
// libolaf's errors as Python exceptions. Call with the GIL held.
#pragma once

#include <utility>

#include <olaf/result.hpp>

namespace olaf::python {

/// OSError, or the subclass of it that errno stands for; without an errno ValueError. The text
/// is Error::message().
[[noreturn]] void raise(const Error &error);

template <class T> T value_of(Result<T> result) {
    if (!result)
        raise(result.error());
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

} // namespace olaf::python
