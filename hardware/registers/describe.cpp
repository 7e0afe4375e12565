// SPDX-License-Identifier: BSD-2-Clause
// Writes what is made of olaf/registers.h into a folder: olaf_registers.sv, the package of the RTL, and
// registers.md, the page.
//
//   olaf_describe_registers FOLDER
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "olaf/registers.h"

namespace {

struct Register {
    std::string name;
    unsigned offset, bits;
    std::string access, meaning;
};
struct Table {
    std::string name;
    unsigned offset, stride;
    std::string meaning;
};
struct Feature {
    std::string name;
    bool there;
    std::string meaning;
};
struct Reason {
    std::string family, key;
};

const std::vector<Register> registers = {
#define ONE(NAME, offset, bits, access, meaning) {#NAME, offset, bits, #access, meaning},
    OLAF_REGISTER_LIST(ONE)
#undef ONE
};
const std::vector<Table> tables = {
#define ONE(NAME, offset, stride, meaning) {#NAME, offset, stride, meaning},
    OLAF_REGISTER_TABLE_LIST(ONE)
#undef ONE
};
const std::vector<Feature> features = {
#define ONE(NAME, there, meaning) {#NAME, there != 0, meaning},
    OLAF_CARD_FEATURE_LIST(ONE)
#undef ONE
};
const std::vector<std::string> slot_counters = {
#define ONE(field, ...) #field,
    OLAF_SLOT_COUNTER_LIST(ONE)
#undef ONE
};

#define REASON(constant, key, ...) #key,
#define SLOTS(list)
#define COUNTER(name) names.emplace_back(#name);
#define FAMILY(family, list)                                                                       \
    for (const char *key : {list(REASON)})                                                         \
        names.push_back(std::string(#family "_") + key);

/// Names of the table COUNTER, in order.
std::vector<std::string> counters() {
    std::vector<std::string> names = slot_counters;
    OLAF_CARD_COUNTER_LIST(SLOTS, COUNTER, FAMILY)
    return names;
}

std::string upper(std::string text) {
    for (char &c : text)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::string hex(unsigned value, int digits = 3) {
    std::ostringstream out;
    out << "0x" << std::hex << std::setw(digits) << std::setfill('0') << value;
    return out.str();
}

void constant(std::ostream &out, const std::string &name, unsigned value) {
    out << "  localparam logic [19:0] " << name << " = 20'd" << value << ";\n";
}

void write_package(std::ostream &out) {
    out << "// Made from include/olaf/registers.h by olaf_describe_registers.\n"
           "package olaf_registers;\n"
        << "  localparam logic [31:0] CARD_MAGIC = 32'd" << OLAF_CARD_MAGIC << ";\n"
        << "  localparam logic [31:0] CARD_LAYOUT = 32'd" << OLAF_CARD_LAYOUT << ";\n";
    unsigned bits = 0;
    for (std::size_t i = 0; i < features.size(); i++)
        bits |= features[i].there ? 1u << i : 0;
    out << "  localparam logic [31:0] CARD_FEATURES = 32'd" << bits << ";\n"
        << "  localparam logic [15:0] DEFAULT_PORT = 16'd" << OLAF_DEFAULT_PORT << ";\n"
        << "  localparam logic [15:0] DEFAULT_MAX_COUNT = 16'd" << OLAF_DEFAULT_MAX_COUNT << ";\n";
    for (const auto &one : registers)
        constant(out, "AT_" + one.name, one.offset);
    for (const auto &one : tables)
        constant(out, "AT_" + one.name, one.offset);
    const auto names = counters();
    for (std::size_t i = 0; i < names.size(); i++)
        out << "  localparam int COUNT_" << upper(names[i]) << " = " << i << ";\n";
    out << "  localparam int COUNTERS = " << names.size() << ";\n";
    for (std::size_t i = 0; i < slot_counters.size(); i++)
        out << "  localparam int SLOT_" << upper(slot_counters[i]) << " = " << i << ";\n";
    out << "  localparam int SLOT_COUNTERS = " << slot_counters.size() << ";\n";
    unsigned value = 0;
#define CONSTANT_OF(prefix, key)                                                                   \
    out << "  localparam logic [3:0] " prefix << upper(key) << " = 4'd" << value++ << ";\n";
#define WRITE(prefix, list)                                                                        \
    value = 0;                                                                                     \
    for (const char *key : {list(REASON)})                                                         \
        CONSTANT_OF(prefix, key)
    WRITE("BYPASS_", OLAF_BYPASS_LIST)
    WRITE("MALFORMED_", OLAF_MALFORMED_LIST)
    WRITE("NOT_ALLOWED_", OLAF_NOT_ALLOWED_LIST)
    out << "endpackage\n";
}

void write_page(std::ostream &out) {
    out << "# Registers\n\n"
           "Of the queue in hardware ([hardware.md](hardware.md)), made from `include/olaf/registers.h`: "
           "`ninja -C build olaf_registers_docs`\nrenews this page. Words of 32 bits, little-endian, "
           "aligned; 64-bit registers have the low word first. ro: read only. rw: reads as\nwritten. "
           "wo: reads as 0. sn: holds since the last snapshot. What isn't listed reads as 0.\n\n"
           "A write may be on its way for a while. So a program writes a new number to FENCE and waits "
           "until FENCED is the same: then\nwhat it wrote before has taken effect, and what it reads is "
           "no older. Between two fences it writes COMMIT and SNAPSHOT once at most:\nthe other registers "
           "and the rules come first, then COMMIT, then SNAPSHOT. One program at a time writes. FENCED that "
           "stays as it was for a\nsecond says that the card is lost.\n\n"
           "Magic: `"
        << hex(OLAF_CARD_MAGIC, 8) << "`. Layout: " << OLAF_CARD_LAYOUT
        << ".\n\n| offset | bits | register | | meaning |\n|---|---|---|---|---|\n";
    for (const auto &one : registers)
        out << "| `" << hex(one.offset) << "` | " << one.bits << " | " << one.name << " | " << one.access
            << " | " << one.meaning << " |\n";
    out << "\n## Tables\n\n| offset | line | table | meaning |\n|---|---|---|---|\n";
    for (const auto &one : tables)
        out << "| `" << hex(one.offset) << "` | " << one.stride << " bytes | " << one.name << " | "
            << one.meaning << " |\n";
    out << "\n## FEATURES\n\n| bit | feature | this RTL | meaning |\n|---|---|---|---|\n";
    for (std::size_t i = 0; i < features.size(); i++)
        out << "| " << i << " | " << features[i].name << " | " << (features[i].there ? "yes" : "no") << " | "
            << features[i].meaning << " |\n";
    out << "\n## Counters\n\nWhat they mean, and the identities they stand in: "
           "[counters.md](counters.md). Those of a family are named `FAMILY_REASON`.\n\n"
           "| offset | COUNTER |\n|---|---|\n";
    const auto names = counters();
    for (unsigned i = 0; i < names.size(); i++)
        out << "| `" << hex(OLAF_REGISTER_COUNTER + 8 * i) << "` | " << names[i] << " |\n";
    out << "\n| in its line | SLOT_COUNTER |\n|---|---|\n";
    for (unsigned i = 0; i < slot_counters.size(); i++)
        out << "| `" << hex(8 * i, 2) << "` | " << slot_counters[i] << " |\n";
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "olaf_describe_registers: needs one folder to write into\n";
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    std::ofstream package(folder / "olaf_registers.sv"), page(folder / "registers.md");
    write_package(package);
    write_page(page);
    package.close();
    page.close();
    if (!package || !page) {
        std::cerr << "olaf_describe_registers: " << folder << ": can't be written\n";
        return 1;
    }
    return 0;
}
