// SPDX-License-Identifier: BSD-2-Clause
// The tests on RTL with seeded faults: the first argument is the number of the one to be there.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <verilated.h>

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    if (argc != 2)
        return 2;
    std::string fault = std::string("+fault=") + argv[1];
    const char *arguments[] = {argv[0], fault.data()};
    Verilated::commandArgs(2, arguments);
    return RUN_ALL_TESTS();
}
