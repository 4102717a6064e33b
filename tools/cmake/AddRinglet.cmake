# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How every target of the tree is declared. The one file that knows the LLVM
# version and the layer rule: a library may only link libraries of its own or
# of a smaller layer.

set(RINGLET_MLIR_VERSION 22.1)

find_package(MLIR ${RINGLET_MLIR_VERSION} REQUIRED CONFIG
             HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(GNUInstallDirs)
include(StaticLLVM)

# Debian builds MLIR without assertions, and some MLIR classes change layout
# with NDEBUG: files that include MLIR must agree with the library.
set(RINGLET_MLIR_DEFINITIONS NDEBUG ${LLVM_DEFINITIONS_LIST})
set(RINGLET_INCLUDE_DIRS ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_BINARY_DIR})
set(RINGLET_WARNINGS -Wall -Wextra -Wno-unused-parameter
    -Wno-missing-field-initializers)
# Of what takes long to compile and no time to run, but for tests, which run it
# all the time; the last one wins.
set(RINGLET_QUICK_OPTIONS)
if(RINGLET_QUICK_BUILD AND NOT RINGLET_BUILD_TESTS)
  set(RINGLET_QUICK_OPTIONS -O0)
endif()
# Of files that include MLIR.
set(RINGLET_MLIR_OPTIONS -fno-exceptions -fvisibility-inlines-hidden
    ${RINGLET_QUICK_OPTIONS})

# Installed, headers keep the folders by which they name each other: those of
# libraries are in a folder of their own.
set(RINGLET_INSTALLED_HEADERS ${CMAKE_INSTALL_INCLUDEDIR}/ringlet-compiler)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# Debian's lld-22 puts no `ld.lld` on PATH, where the compiler looks for it.
find_program(RINGLET_LLD NAMES ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR})
if(RINGLET_LLD)
  get_filename_component(lld_folder ${RINGLET_LLD} DIRECTORY)
  add_link_options(-fuse-ld=lld -B${lld_folder})
endif()
find_program(RINGLET_CCACHE ccache)
if(RINGLET_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${RINGLET_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${RINGLET_CCACHE})
  # A precompiled header is the same wherever and whenever it was made.
  add_compile_options(
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# A link of a Ringlet library with a greater layer is a mistake in structure.
function(ringlet_check_layers NAME LAYER)
  set_property(GLOBAL PROPERTY RINGLET_LAYER_${NAME} ${LAYER})
  foreach(lib ${ARGN})
    get_property(other GLOBAL PROPERTY RINGLET_LAYER_${lib})
    if(DEFINED other AND NOT other STREQUAL "" AND other GREATER LAYER)
      message(FATAL_ERROR
        "${NAME} (layer ${LAYER}) must not link ${lib} (layer ${other}): "
        "a link may only point down")
    endif()
  endforeach()
endfunction()

# Includes of a library, in this tree and from where it is installed.
function(ringlet_include_folders NAME)
  target_include_directories(${NAME} PUBLIC
    "$<BUILD_INTERFACE:${RINGLET_INCLUDE_DIRS}>"
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    $<INSTALL_INTERFACE:${RINGLET_INSTALLED_HEADERS}>)
endfunction()

# Installs a library for other projects, which call RingletFoo Ringlet::Foo.
function(ringlet_install_library NAME)
  if(RINGLET_IN_TESTS)
    return()
  endif()
  string(REGEX REPLACE "^Ringlet" "" export ${NAME})
  set_target_properties(${NAME} PROPERTIES EXPORT_NAME ${export})
  install(TARGETS ${NAME} EXPORT RingletCompilerTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Compiler
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Compiler)
endfunction()

# ringlet_add_library(NAME LAYER n SOURCES ... [LINK ...])
# A plain C++ library without any LLVM header.
function(ringlet_add_library NAME)
  cmake_parse_arguments(ARG "" "LAYER" "SOURCES;LINK" ${ARGN})
  add_library(${NAME} STATIC ${ARG_SOURCES})
  ringlet_include_folders(${NAME})
  target_compile_options(${NAME} PRIVATE ${RINGLET_WARNINGS} -fvisibility=hidden)
  target_link_libraries(${NAME} PUBLIC ${ARG_LINK})
  ringlet_check_layers(${NAME} ${ARG_LAYER} ${ARG_LINK})
  ringlet_install_library(${NAME})
endfunction()

# ringlet_add_mlir_library(NAME LAYER n SOURCES ... [DEPENDS tablegen targets]
#                          [LINK ...])
# A library that includes MLIR headers. All of them share one precompiled
# header (dialects/Precompiled), built once by RingletPrecompiled.
function(ringlet_add_mlir_library NAME)
  cmake_parse_arguments(ARG "" "LAYER" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${NAME} STATIC ${ARG_SOURCES})
  ringlet_mlir_target(${NAME})
  if(ARG_DEPENDS)
    add_dependencies(${NAME} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${NAME} PUBLIC ${ARG_LINK})
  ringlet_check_layers(${NAME} ${ARG_LAYER} ${ARG_LINK})
  ringlet_install_library(${NAME})
endfunction()

function(ringlet_mlir_target NAME)
  ringlet_include_folders(${NAME})
  target_include_directories(${NAME} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS}
                             ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(${NAME} PRIVATE NDEBUG
                             INTERFACE $<INSTALL_INTERFACE:NDEBUG>)
  target_compile_options(${NAME} PRIVATE ${RINGLET_WARNINGS}
                         ${RINGLET_MLIR_OPTIONS})
  # Executables are compiled with -fPIE, which the header is not.
  get_target_property(type ${NAME} TYPE)
  if(TARGET RingletPrecompiled AND NOT type STREQUAL EXECUTABLE)
    target_precompile_headers(${NAME} REUSE_FROM RingletPrecompiled)
  endif()
endfunction()

# ringlet_add_tool(NAME SOURCES ... LINK ...)      [MLIR: includes MLIR headers]
function(ringlet_add_tool NAME)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  if(ARG_MLIR)
    ringlet_mlir_target(${NAME})
  else()
    target_include_directories(${NAME} PRIVATE ${RINGLET_INCLUDE_DIRS})
    target_compile_options(${NAME} PRIVATE ${RINGLET_WARNINGS}
                           ${RINGLET_QUICK_OPTIONS})
  endif()
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK})
  if(NOT RINGLET_IN_TESTS)
    install(TARGETS ${NAME} COMPONENT Tools
      RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endfunction()

# ringlet_add_unittest(NAME SOURCES ... LINK ...)   [MLIR: includes MLIR headers]
function(ringlet_add_unittest NAME)
  if(NOT RINGLET_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${NAME} ${ARG_SOURCES})
  set_target_properties(${NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/Unit)
  if(ARG_MLIR)
    ringlet_mlir_target(${NAME})
  else()
    target_include_directories(${NAME} PRIVATE ${RINGLET_INCLUDE_DIRS})
    target_compile_options(${NAME} PRIVATE ${RINGLET_WARNINGS})
  endif()
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} GTest::gtest
                        GTest::gtest_main)
  set_property(GLOBAL APPEND PROPERTY RINGLET_UNITTESTS ${NAME})
endfunction()

# ringlet_add_dialect(Tile rtile): runs TableGen on Tile.td of the current
# folder, and on TileEnums.td: the enums stand apart because their generator
# also emits those of included files.
function(ringlet_add_dialect NAME NAMESPACE)
  set(LLVM_TARGET_DEFINITIONS ${NAME}Enums.td)
  mlir_tablegen(${NAME}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${NAME}Enums.cpp.inc -gen-enum-defs)
  set(LLVM_TARGET_DEFINITIONS ${NAME}.td)
  mlir_tablegen(${NAME}Dialect.h.inc -gen-dialect-decls -dialect=${NAMESPACE})
  mlir_tablegen(${NAME}Dialect.cpp.inc -gen-dialect-defs -dialect=${NAMESPACE})
  mlir_tablegen(${NAME}Attrs.h.inc -gen-attrdef-decls
                -attrdefs-dialect=${NAMESPACE})
  mlir_tablegen(${NAME}Attrs.cpp.inc -gen-attrdef-defs
                -attrdefs-dialect=${NAMESPACE})
  mlir_tablegen(${NAME}AttrInterfaces.h.inc -gen-attr-interface-decls)
  mlir_tablegen(${NAME}AttrInterfaces.cpp.inc -gen-attr-interface-defs)
  mlir_tablegen(${NAME}Types.h.inc -gen-typedef-decls
                -typedefs-dialect=${NAMESPACE})
  mlir_tablegen(${NAME}Types.cpp.inc -gen-typedef-defs
                -typedefs-dialect=${NAMESPACE})
  mlir_tablegen(${NAME}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${NAME}Ops.cpp.inc -gen-op-defs)
  add_public_tablegen_target(Ringlet${NAME}IncGen)
endfunction()

# ringlet_add_passes(TileOpt): runs TableGen on Passes.td of the current folder.
function(ringlet_add_passes NAME)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name Ringlet${NAME})
  add_public_tablegen_target(Ringlet${NAME}PassIncGen)
endfunction()
