# SPDX-License-Identifier: BSD-2-Clause
# Debian packages of a build: `cpack` in its folder, or scripts/package. A component is a package; what
# Debian's policy wants of the files besides is done by package/layout.cmake, so that any build will do.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME olaf)
set(CPACK_PACKAGE_VENDOR "The Olaf authors")
set(OLAF_PACKAGE_MAINTAINER "The Olaf authors <olaf@packages.invalid>" CACHE STRING
    "Who answers for the Debian packages")
set(CPACK_PACKAGE_CONTACT ${OLAF_PACKAGE_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL command library wireshark)
if(OLAF_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# 755 for folders, 644 for files: what policy wants, whatever the umask.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME olaf)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION net)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "ethtool, gnuplot-nox, iproute2")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION
    "in-kernel queue for model updates of distributed training
Olaf folds the updates of asynchronous distributed reinforcement learning at a
NIC, in BPF programs, where a FIFO would delay and drop them. This is the
command that attaches, watches and removes it, with its manual and services.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libolaf-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
    "worker and parameter server for an Olaf queue, in C++
Static library and headers for C++23: the two ends of the protocol whose
updates Olaf folds in the kernel. Found by CMake and by pkg-config.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-olaf)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
if(OLAF_PYTHON)
  # The module is of one minor version of Python.
  find_package(Python 3.9 REQUIRED COMPONENTS Interpreter)
  math(EXPR next "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next}), python3-numpy")
endif()
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
    "worker and parameter server for an Olaf queue, in Python
The two ends of the protocol whose updates Olaf folds in the kernel, for
arrays of NumPy, torch and whatever else has the buffer protocol.")

set(CPACK_DEBIAN_WIRESHARK_PACKAGE_NAME olaf-wireshark)
set(CPACK_DEBIAN_WIRESHARK_PACKAGE_SECTION net)
set(CPACK_DEBIAN_WIRESHARK_PACKAGE_DEPENDS "wireshark-common")
set(CPACK_COMPONENT_WIRESHARK_DESCRIPTION
    "Wireshark dissector for the protocol of Olaf
Shows updates, acknowledgements and control messages, with the state of the
queue that is stamped into them.")

# A program each beside `olaf`, so that it needs none of their libraries.
if(TARGET olaf_plan_program)
  list(APPEND CPACK_COMPONENTS_ALL fleet)
endif()
set(CPACK_DEBIAN_FLEET_PACKAGE_NAME olaf-fleet)
set(CPACK_DEBIAN_FLEET_PACKAGE_SECTION net)
set(CPACK_DEBIAN_FLEET_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FLEET_PACKAGE_DEPENDS "olaf (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_FLEET_PACKAGE_RECOMMENDS "graphviz")
set(CPACK_COMPONENT_FLEET_DESCRIPTION
    "plans for sums over many hosts with Olaf
Says which hosts and switches of a network are to be nodes, and who sends to
whom: XAgg's trees, GOAT's schedules, SwitchML++'s growth, and others beside.")

set(scripts ${CMAKE_CURRENT_LIST_DIR}/package)
if(OLAF_LAYOUT)
  set(layout ${OLAF_LAYOUT})
else()
  file(STRINGS ${PROJECT_SOURCE_DIR}/include/olaf/queue.h layout REGEX "^#define OLAF_LAYOUT ")
  string(REGEX REPLACE "[^0-9]" "" layout ${layout})
endif()
configure_file(${scripts}/olaf/preinst.in preinst @ONLY)
set(CPACK_DEBIAN_COMMAND_PACKAGE_CONTROL_EXTRA
    ${CMAKE_CURRENT_BINARY_DIR}/preinst ${scripts}/olaf/postinst ${scripts}/olaf/prerm ${scripts}/olaf/postrm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${scripts}/python3-olaf/prerm)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package/layout.cmake)
set(CPACK_OLAF_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_OLAF_SBINDIR ${CMAKE_INSTALL_FULL_SBINDIR})
include(CPack)
