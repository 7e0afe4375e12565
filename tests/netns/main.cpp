// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "netns.hpp"

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    if (!testing::GTEST_FLAG(list_tests))
        olaf::test::hide_the_host();
    return RUN_ALL_TESTS();
}
