// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include <olaf/reject.hpp>

namespace olaf::python {

/// Binds a struct of results: read-only fields, and a repr() that shows them all.
template <class T> class Record {
  public:
    Record(pybind11::module_ &module, const char *name, const char *doc)
        : class_(module, name, doc) {}

    template <class Getter> Record &field(const char *name, Getter getter, const char *doc) {
        if constexpr (std::is_member_object_pointer_v<Getter>)
            class_.def_readonly(name, getter, doc);
        else
            class_.def_property_readonly(name, getter, doc);
        names_.emplace_back(name);
        return *this;
    }

    pybind11::class_<T> &done() {
        return class_.def("__repr__", [names = std::move(names_)](const pybind11::object &self) {
            std::string text = pybind11::str(pybind11::type::of(self).attr("__name__"));
            const char *before = "(";
            for (const std::string &name : names) {
                text += before + name + "=";
                text += pybind11::repr(self.attr(name.c_str())).cast<std::string>();
                before = ", ";
            }
            return text + ")";
        });
    }

  private:
    pybind11::class_<T> class_;
    std::vector<std::string> names_;
};

/// Reasons that occurred, and how often.
inline pybind11::dict rejects_dict(const RejectCounts &counts) {
    pybind11::dict result;
    for (std::size_t i = 0; i < kRejectReasons; i++)
        if (const auto reason = static_cast<Reject>(i); counts[reason] > 0)
            result[pybind11::str(std::string(name(reason)))] = counts[reason];
    return result;
}

} // namespace olaf::python
