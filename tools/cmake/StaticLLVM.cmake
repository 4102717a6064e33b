# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# RINGLET_STATIC_LLVM, a property of what is linked: true if it gets the parts
# of LLVM in use as archives. MLIR's exported libraries ask for LLVM as one
# shared library of all targets. The objects are the same either way, so that
# one build can link both.

define_property(TARGET PROPERTY RINGLET_STATIC_LLVM
  INITIALIZE_FROM_VARIABLE RINGLET_STATIC_LLVM)

llvm_map_components_to_libnames(ringlet_llvm
  AsmParser BitReader BitWriter Core DTLTO FrontendOpenMP IRReader Linker LTO MC NVPTX
  Object Option Passes Remarks Support Target TargetParser X86)
add_library(RingletLLVM INTERFACE)
target_link_libraries(RingletLLVM INTERFACE ${ringlet_llvm})

# lld as archives, where they are installed (liblld-22-dev): nothing names it but
# the option.
find_library(RINGLET_LLD_ELF lldELF HINTS ${LLVM_LIBRARY_DIR} NO_DEFAULT_PATH)
find_library(RINGLET_LLD_COMMON lldCommon HINTS ${LLVM_LIBRARY_DIR}
             NO_DEFAULT_PATH)
if(RINGLET_LLD_ELF AND RINGLET_LLD_COMMON)
  set(RINGLET_LLD_LIBRARIES ${RINGLET_LLD_ELF} ${RINGLET_LLD_COMMON}
      RingletLLVM ZLIB::ZLIB zstd::libzstd_shared)
  target_link_libraries(RingletLLVM INTERFACE RingletBuiltinLinker)
  target_link_options(RingletLLVM INTERFACE -Wl,-u,ringlet_link_with_lld)
endif()
# Of the shared libraries that archives of LLVM name, and of functions and data
# in them, only what is in use; and none of it for others to see, who may bring
# an LLVM of their own.
target_link_options(RingletLLVM INTERFACE
  -Wl,--as-needed -Wl,--gc-sections -Wl,--exclude-libs,ALL
  -static-libstdc++ -static-libgcc)

set(llvm "$<IF:$<BOOL:$<TARGET_PROPERTY:RINGLET_STATIC_LLVM>>,RingletLLVM,LLVM>")
get_directory_property(imported IMPORTED_TARGETS)
foreach(target ${imported})
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(target MATCHES "^MLIR" AND links)
    list(TRANSFORM links REPLACE "^LLVM$" "${llvm}")
    set_target_properties(${target} PROPERTIES
      INTERFACE_LINK_LIBRARIES "${links}")
  endif()
endforeach()
