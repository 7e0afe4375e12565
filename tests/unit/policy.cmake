# SPDX-License-Identifier: BSD-2-Clause
# Decision tables of the policies, and the ABI's layout in three languages.
include(${PROJECT_SOURCE_DIR}/cmake/bpf.cmake)
include(GoogleTest)
find_package(GTest REQUIRED)

add_executable(olaf_policy_tests policy_test.cpp)
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

olaf_bpf_object(layout layout.bpf.c)
add_executable(olaf_abi_tests abi_test.cpp abi_c11.c)
set_property(TARGET olaf_abi_tests PROPERTY C_STANDARD 11)
set_property(TARGET olaf_abi_tests PROPERTY C_EXTENSIONS OFF)
target_link_libraries(olaf_abi_tests PRIVATE olaf_options olaf_abi layout_skel GTest::gtest_main)
gtest_discover_tests(olaf_abi_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)
