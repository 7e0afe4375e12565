# SPDX-License-Identifier: BSD-2-Clause
# What scripts/evaluate measures with: traces, what is counted, and which parts of a run count.
include(GoogleTest)
find_package(GTest REQUIRED)

add_executable(olaf_evaluation_tests
  evaluation_slices_test.cpp evaluation_tally_test.cpp evaluation_trace_test.cpp)
target_link_libraries(olaf_evaluation_tests PRIVATE olaf_evaluation_traffic GTest::gtest_main)
gtest_discover_tests(olaf_evaluation_tests NO_PRETTY_VALUES PROPERTIES LABELS experiments)
