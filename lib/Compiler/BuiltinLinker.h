//===- BuiltinLinker.h - lld inside the compiler ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_BUILTINLINKER_H
#define RINGLET_LIB_COMPILER_BUILTINLINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

/// lld as a function: takes the arguments of the program, its name first, and
/// returns its exit status. One call runs at a time, and sets the options of
/// LLVM's CommandLine back to their defaults. Programs into which LLVM
/// is linked have it, so that they run on machines without LLVM; in others it
/// is null (tools/cmake/StaticLLVM.cmake).
extern "C" __attribute__((weak)) int
ringlet_link_with_lld(llvm::ArrayRef<const char *> arguments,
                      llvm::raw_ostream &messages);

#endif // RINGLET_LIB_COMPILER_BUILTINLINKER_H
