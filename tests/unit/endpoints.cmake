# SPDX-License-Identifier: BSD-2-Clause
# The endpoint library: pure parts, then both ends over loopback sockets.
include(GoogleTest)
find_package(GTest REQUIRED)

add_executable(
  olaf_endpoints_tests
  address_test.cpp
  aom_meter_test.cpp
  checksum_test.cpp
  cluster_test.cpp
  encoder_test.cpp
  loopback_test.cpp
  message_test.cpp
  own_updates_test.cpp
  packing_test.cpp
  replica_test.cpp
  rules_test.cpp
  segments_test.cpp
  server_faults_test.cpp
  transmission_control_test.cpp
  worker_faults_test.cpp
  worker_report_test.cpp
  worker_table_test.cpp
)
# The larger part of what a job's worker does is tested in tests/model.
add_executable(
  olaf_collective_tests
  collective_faults_test.cpp
  collective_shape_test.cpp
  collective_float_test.cpp
  collective_guess_test.cpp
  collective_leave_test.cpp
  collective_overhearing_test.cpp
  collective_test.cpp
  collective_threads_test.cpp
  congestion_window_test.cpp
  due_chunks_test.cpp
  exponent_guess_test.cpp
  round_child_behind_test.cpp
  round_child_spared_test.cpp
  round_child_test.cpp
  round_child_members_test.cpp
  round_child_proof_test.cpp
  round_child_timeout_test.cpp
  round_message_test.cpp
  round_weights_test.cpp
)
target_include_directories(olaf_collective_tests PRIVATE ${PROJECT_SOURCE_DIR}/endpoints)
target_link_libraries(
  olaf_collective_tests PRIVATE olaf::olaf olaf_options olaf_round_model GTest::gtest_main
)
gtest_discover_tests(olaf_collective_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)
# For tests/python.
add_executable(olaf_round_server round_server.cpp)
target_link_libraries(
  olaf_round_server PRIVATE olaf::olaf olaf_options olaf_round_model GTest::gtest
)

# replica.hpp and the like are not public.
target_include_directories(olaf_endpoints_tests PRIVATE ${PROJECT_SOURCE_DIR}/endpoints)
target_link_libraries(olaf_endpoints_tests PRIVATE olaf::olaf olaf_options GTest::gtest_main)
target_precompile_headers(olaf_endpoints_tests PRIVATE <gtest/gtest.h> <thread>)
gtest_discover_tests(olaf_endpoints_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)
