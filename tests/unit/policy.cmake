# SPDX-License-Identifier: BSD-2-Clause
# Decision tables of the policies, and the shared headers as C11: programs have them as BPF C, the
# loader as C++.
include(GoogleTest)
find_package(GTest REQUIRED)

add_executable(olaf_policy_tests policy_test.cpp headers_c11.c)
set_target_properties(olaf_policy_tests PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_link_libraries(olaf_policy_tests PRIVATE olaf_options olaf_abi GTest::gtest_main)
gtest_discover_tests(olaf_policy_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

add_executable(olaf_congestion_tests congestion_test.cpp)
target_link_libraries(olaf_congestion_tests PRIVATE olaf_options olaf_abi GTest::gtest_main)
gtest_discover_tests(olaf_congestion_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

add_executable(olaf_window_tests window_test.cpp window_pilot_test.cpp)
target_link_libraries(olaf_window_tests PRIVATE olaf_options olaf_abi GTest::gtest_main)
# Simulates minutes on fast paths.
target_compile_options(olaf_window_tests PRIVATE $<$<CONFIG:Debug>:-O1>)
gtest_discover_tests(olaf_window_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)
