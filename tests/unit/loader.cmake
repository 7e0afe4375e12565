# SPDX-License-Identifier: BSD-2-Clause
# The command line, read without root.
include(GoogleTest)
find_package(GTest REQUIRED)

add_executable(olaf_cli_tests cli_test.cpp)
target_link_libraries(olaf_cli_tests PRIVATE olaf_loader olaf_options GTest::gtest_main)
gtest_discover_tests(olaf_cli_tests PROPERTIES LABELS unit)

# The Age-of-Model meter: the kernel's arithmetic and what is read of it.
add_executable(olaf_aom_tests sawtooth_test.cpp)
target_link_libraries(olaf_aom_tests PRIVATE olaf_loader olaf olaf_options GTest::gtest_main)
gtest_discover_tests(olaf_aom_tests PROPERTIES LABELS unit)
