# SPDX-License-Identifier: BSD-2-Clause
# The CartPole example: physics, gradient, learning, results.
include(GoogleTest)
find_package(GTest REQUIRED)

add_executable(
  olaf_cartpole_tests
  cartpole_environment_test.cpp
  cartpole_learning_test.cpp
  cartpole_policy_test.cpp
  cartpole_results_test.cpp
  cartpole_rounds_test.cpp
  cartpole_rules_test.cpp
  cartpole_wire_test.cpp
)
target_link_libraries(olaf_cartpole_tests PRIVATE olaf_cartpole GTest::gtest_main)
target_precompile_headers(olaf_cartpole_tests PRIVATE <gtest/gtest.h> <Eigen/Core>)
gtest_discover_tests(olaf_cartpole_tests NO_PRETTY_VALUES PROPERTIES LABELS examples)
