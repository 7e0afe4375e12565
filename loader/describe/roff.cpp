// SPDX-License-Identifier: BSD-2-Clause
#include "roff.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace olaf {

namespace {

/// groff reads ASCII: what isn't has names.
std::string spelt(std::string text, std::string_view letter, std::string_view name) {
    for (auto at = text.find(letter); at != text.npos; at = text.find(letter, at + name.size()))
        text.replace(at, letter.size(), name);
    return text;
}

} // namespace

std::string roff(const std::string &text) {
    std::string out;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\''))
            out += "\\&";
        line_start = c == '\n';
        switch (c) {
        case '\\':
            out += "\\e";
            break;
        case '-':
            out += "\\-";
            break;
        case '~':
            out += "\\(ti";
            break;
        case '^':
            out += "\\(ha";
            break;
        case '\'':
            out += "\\(cq";
            break;
        default:
            out += c;
        }
    }
    return spelt(std::move(out), "×", "\\(mu");
}

std::string bold(const std::string &text) {
    return "\\fB" + roff(text) + "\\fR";
}
std::string italic(const std::string &text) {
    return "\\fI" + roff(text) + "\\fR";
}

std::string sentence(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '.'))
        text.pop_back();
    if (text.empty())
        return text;
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    std::ranges::replace(text, '\n', ' ');
    return roff(text + ".");
}

std::string section(const std::string &title, const std::string &text) {
    return text.empty() ? text : ".SH " + title + "\n" + text;
}

} // namespace olaf
