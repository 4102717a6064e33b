# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# RINGLET_STATIC_LLVM: MLIR's exported libraries ask for LLVM as one shared
# library of all targets. Here they get the archives of what this compiler uses.

llvm_map_components_to_libnames(ringlet_llvm
  AsmParser BitReader BitWriter Core FrontendOpenMP IRReader Linker MC NVPTX
  Object Option Passes Remarks Support Target TargetParser X86)
add_library(RingletLLVM INTERFACE)
target_link_libraries(RingletLLVM INTERFACE ${ringlet_llvm})
# Of the shared libraries that archives of LLVM name, and of functions and data
# in them, only what is in use.
target_link_options(RingletLLVM INTERFACE -Wl,--as-needed -Wl,--gc-sections)

get_directory_property(imported IMPORTED_TARGETS)
foreach(target ${imported})
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(target MATCHES "^MLIR" AND links)
    list(TRANSFORM links REPLACE "^LLVM$" RingletLLVM)
    set_target_properties(${target} PROPERTIES
      INTERFACE_LINK_LIBRARIES "${links}")
  endif()
endforeach()
