// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>

#include "metrics.hpp"

namespace olaf {
namespace {

std::string escaped(const std::string &value) {
    std::string out;
    for (const char c : value) {
        if (c == '\\' || c == '"')
            out += '\\';
        out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out;
}

std::string sample(const std::string &name, const Labels &labels, double value) {
    std::string text = name;
    for (const auto &[label, content] : labels)
        text += fmt::format("{}{}=\"{}\"", text.size() == name.size() ? "{" : ",", label,
                            escaped(content));
    // The shortest text that reads back as the same number.
    return text + fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
}

} // namespace

Exposition::Family &Exposition::family(const std::string &name, const char *type,
                                       const std::string &help) {
    const auto found = std::ranges::find(families_, name, &Family::name);
    return found != families_.end() ? *found : families_.emplace_back(name, type, help);
}

void Exposition::counter(const std::string &name, const std::string &help, const Labels &labels,
                         double value) {
    family(name, "counter", help).samples += sample(name, labels, value);
}

void Exposition::gauge(const std::string &name, const std::string &help, const Labels &labels,
                       double value) {
    family(name, "gauge", help).samples += sample(name, labels, value);
}

void Exposition::histogram(const std::string &name, const std::string &help, const Labels &labels,
                           const std::vector<std::pair<double, std::uint64_t>> &buckets,
                           std::uint64_t count, double sum) {
    auto &samples = family(name, "histogram", help).samples;
    for (const auto &[bound, below] : buckets)
        samples += sample(name + "_bucket", with(labels, "le", fmt::format("{}", bound)),
                          static_cast<double>(below));
    samples += sample(name + "_bucket", with(labels, "le", "+Inf"), static_cast<double>(count));
    samples += sample(name + "_sum", labels, sum);
    samples += sample(name + "_count", labels, static_cast<double>(count));
}

void Exposition::summary(const std::string &name, const std::string &help, const Labels &labels,
                         double sum, std::uint64_t count) {
    family(name, "summary", help).samples +=
        sample(name + "_sum", labels, sum) +
        sample(name + "_count", labels, static_cast<double>(count));
}

std::string Exposition::text() const {
    std::string text;
    for (const auto &family : families_)
        text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", family.name, family.help,
                            family.type, family.samples);
    return text;
}

} // namespace olaf
