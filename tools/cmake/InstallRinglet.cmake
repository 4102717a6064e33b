# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# `cmake --install`: what other projects build on. Libraries and tools install
# themselves where they are declared (AddRinglet.cmake); the component Runtime
# is that of runtime/CMakeLists.txt and also what that folder installs alone.

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Ringlet)
foreach(library RingletAbi)
  ringlet_install_library(${library})
endforeach()
install(EXPORT RingletCompilerTargets NAMESPACE Ringlet:: COMPONENT Compiler
  DESTINATION ${package})
configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/RingletDependencies.cmake.in
  RingletDependencies.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/RingletDependencies.cmake
  COMPONENT Compiler DESTINATION ${package})

# The C interface of the compiler, which Ringlet::CompilerC and pkg-config's
# ringlet-compiler have.
install(EXPORT RingletCompilerCTargets NAMESPACE Ringlet:: COMPONENT CompilerC
  DESTINATION ${package})
install(DIRECTORY include/ringlet-c DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT CompilerC FILES_MATCHING PATTERN "*.h")
string(REGEX REPLACE "[^/]+" ".." RINGLET_PC_UP
  "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
configure_file(tools/cmake/ringlet-compiler.pc.in ringlet-compiler.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ringlet-compiler.pc COMPONENT CompilerC
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE docs/Embedding.md docs/Specification.md
  COMPONENT CompilerC DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Each component is found without the others.
foreach(component IN ITEMS CompilerC Compiler)
  install(FILES ${PROJECT_BINARY_DIR}/runtime/RingletConfig.cmake
    ${PROJECT_BINARY_DIR}/runtime/RingletConfigVersion.cmake
    COMPONENT ${component} DESTINATION ${package})
endforeach()

# The promise to outsiders.
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT Compiler FILES_MATCHING PATTERN "*.h" PATTERN "*.fbs")
# Headers and TableGen files that tools and passes of others include, by the
# same names as in this tree.
install(DIRECTORY dialects passes lib DESTINATION ${RINGLET_INSTALLED_HEADERS}
  COMPONENT Compiler
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def")
install(DIRECTORY ${PROJECT_BINARY_DIR}/dialects ${PROJECT_BINARY_DIR}/passes
  DESTINATION ${RINGLET_INSTALLED_HEADERS} COMPONENT Compiler
  FILES_MATCHING PATTERN "*.h.inc" PATTERN "CMakeFiles" EXCLUDE)
