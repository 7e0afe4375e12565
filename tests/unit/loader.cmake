# SPDX-License-Identifier: BSD-2-Clause
# The command line, read without root.
include(GoogleTest)
find_package(GTest REQUIRED)

add_executable(olaf_cli_tests
  cli_test.cpp config_test.cpp job_test.cpp own_macs_test.cpp units_test.cpp)
target_link_libraries(olaf_cli_tests PRIVATE olaf_cli olaf_options GTest::gtest_main)
gtest_discover_tests(olaf_cli_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

# What the host is; what is saved of a queue; what it lets programs become.
add_executable(olaf_host_tests growth_test.cpp host_test.cpp saved_test.cpp)
target_link_libraries(olaf_host_tests PRIVATE olaf_loader olaf_options GTest::gtest_main)
gtest_discover_tests(olaf_host_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

# A card's registers, on files.
add_executable(olaf_registers_file_tests card_test.cpp)
target_link_libraries(olaf_registers_file_tests PRIVATE olaf_loader olaf_options GTest::gtest_main)
gtest_discover_tests(olaf_registers_file_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

# Rooms of the loader include only what is below them.
add_test(NAME loader.layers
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/layers ${PROJECT_SOURCE_DIR}/loader)
set_tests_properties(loader.layers PROPERTIES LABELS unit)

# The table of programs: libbpf reads the objects, the kernel isn't asked.
add_executable(olaf_programs_tests programs_test.cpp)
target_compile_definitions(olaf_programs_tests PRIVATE OLAF_SOURCE="${PROJECT_SOURCE_DIR}")
target_link_libraries(olaf_programs_tests PRIVATE olaf_loader olaf_options GTest::gtest_main)
gtest_discover_tests(olaf_programs_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

# The Age-of-Model meter: the kernel's arithmetic and what is read of it; figures that start anew;
# spells of trouble.
add_executable(olaf_aom_tests
  sawtooth_test.cpp recent_age_test.cpp spells_test.cpp start_test.cpp)
target_link_libraries(olaf_aom_tests PRIVATE olaf_loader olaf olaf_options GTest::gtest_main)
gtest_discover_tests(olaf_aom_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

# What is generated from it: the manual and the shells' completions.
add_executable(olaf_description_tests description_test.cpp)
target_link_libraries(olaf_description_tests
  PRIVATE olaf_description olaf_options GTest::gtest_main)
gtest_discover_tests(olaf_description_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

# As people meet it: man, bash, zsh. Once is enough, so not with the sanitizers.
if(NOT OLAF_SANITIZE)
  foreach(reader manual bash zsh)
    add_test(NAME described.${reader}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/described/${reader} ${OLAF_DESCRIBED})
    set_tests_properties(described.${reader} PROPERTIES LABELS unit)
  endforeach()
  add_test(NAME described.installed
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/described/installed ${CMAKE_COMMAND}
                   ${PROJECT_BINARY_DIR})
  set_tests_properties(described.installed PROPERTIES LABELS packages)
endif()

# What comes with `olaf serve`, asked of the tools that will read it.
if(NOT OLAF_SANITIZE)
  add_test(NAME observe.service
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/service ${PROJECT_SOURCE_DIR}/loader/systemd
                   $<TARGET_FILE:olaf_command>)
  add_test(NAME observe.alerts
           COMMAND promtool check rules ${PROJECT_SOURCE_DIR}/docs/prometheus/olaf.rules.yml)
  add_test(NAME observe.alerts_of_jobs
           COMMAND promtool test rules ${CMAKE_CURRENT_SOURCE_DIR}/alerts.yml)
  # The lock file pins versions and contents, and leaves the registry to whoever builds.
  add_test(NAME observe.lock COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/page_lock
           ${PROJECT_SOURCE_DIR}/loader/observe/page)
  set_tests_properties(observe.service observe.alerts observe.alerts_of_jobs observe.lock
                       PROPERTIES LABELS unit)
endif()

# olaf send and olaf receive, over loopback.
add_executable(olaf_traffic_tests traffic_test.cpp)
target_link_libraries(olaf_traffic_tests PRIVATE olaf_cli olaf_options GTest::gtest_main)
gtest_discover_tests(olaf_traffic_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

# What the observing commands show, without a queue.
add_executable(olaf_observe_tests
  event_test.cpp
  exposition_test.cpp
  human_test.cpp
  job_metrics_test.cpp
  pcapng_test.cpp
  report_pictures_test.cpp
  top_screen_test.cpp
  verdict_spells_test.cpp
  verdict_jobs_test.cpp
  verdict_test.cpp)
target_compile_definitions(olaf_observe_tests PRIVATE OLAF_SOURCE="${PROJECT_SOURCE_DIR}")
target_link_libraries(olaf_observe_tests PRIVATE olaf_observe olaf_options GTest::gtest_main)
target_precompile_headers(olaf_observe_tests PRIVATE <gtest/gtest.h>)
gtest_discover_tests(olaf_observe_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)

# One list of counters, and all that is made from it.
add_executable(olaf_counters_tests counters_test.cpp identities_test.cpp)
target_compile_definitions(olaf_counters_tests PRIVATE OLAF_SOURCE="${PROJECT_SOURCE_DIR}")
target_link_libraries(olaf_counters_tests
  PRIVATE olaf_observe olaf_description olaf_options GTest::gtest_main)
target_precompile_headers(olaf_counters_tests REUSE_FROM olaf_observe_tests)
gtest_discover_tests(olaf_counters_tests NO_PRETTY_VALUES PROPERTIES LABELS unit)
