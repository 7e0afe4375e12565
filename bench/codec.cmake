# SPDX-License-Identifier: BSD-2-Clause
find_package(benchmark REQUIRED)
add_executable(codec_bench ${CMAKE_CURRENT_LIST_DIR}/codec_bench.cpp)
target_link_libraries(codec_bench PRIVATE olaf::olaf olaf_options benchmark::benchmark)
