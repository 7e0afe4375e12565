// SPDX-License-Identifier: BSD-2-Clause
// JSON as text. Names of devices and files may have any bytes, and JSON's strings are UTF-8: what isn't UTF-8
// becomes U+FFFD.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace olaf {

template <class Json> std::string json_text(const Json &json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// The same of a string alone, for Prometheus and pages.
inline std::string utf8(const std::string &bytes) {
    const nlohmann::json text = bytes;
    return nlohmann::json::parse(json_text(text)).get<std::string>();
}

} // namespace olaf
