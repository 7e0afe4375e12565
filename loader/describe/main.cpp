// SPDX-License-Identifier: BSD-2-Clause
// olaf-describe DIR: writes the manual and the shells' completions of `olaf`, and the list of its
// counters as a page and a schema, into DIR.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "description.hpp"

namespace {

bool write(const std::filesystem::path &path, const std::string &text) {
    std::ofstream file(path, std::ios::trunc);
    file << text;
    file.close();
    if (!file)
        fmt::print(stderr, "olaf-describe: cannot write {}\n", path.native());
    return static_cast<bool>(file);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: olaf-describe DIR\n");
        return 2;
    }
    const std::filesystem::path directory = argv[1];
    const auto root = olaf::describe_command_line();
    bool written = write(directory / "olaf.bash", olaf::bash_completion(root)) &&
                   write(directory / "_olaf", olaf::zsh_completion(root)) &&
                   write(directory / "counters.md", olaf::counters_page()) &&
                   write(directory / "counters.json", olaf::counters_schema());
    for (const auto &page : olaf::manual(root, OLAF_PROJECT_VERSION))
        written = written && write(directory / (page.name + ".8"), page.text);
    return written ? 0 : 1;
}
