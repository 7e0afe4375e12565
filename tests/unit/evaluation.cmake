# SPDX-License-Identifier: BSD-2-Clause
# The ends between which scripts/evaluate measures: traces, and what is counted.
include(GoogleTest)
find_package(GTest REQUIRED)

add_executable(olaf_evaluation_tests evaluation_tally_test.cpp evaluation_trace_test.cpp)
target_link_libraries(olaf_evaluation_tests PRIVATE olaf_evaluation_traffic GTest::gtest_main)
gtest_discover_tests(olaf_evaluation_tests PROPERTIES LABELS unit)
