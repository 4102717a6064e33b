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

namespace ringlet {

/// lld as a function: takes the arguments of the program, its name first, and
/// returns its exit status. One call runs at a time.
using LinkerFunction = int (*)(llvm::ArrayRef<const char *> arguments,
                               llvm::raw_ostream &messages);

/// The lld that is part of this program where LLVM is linked statically, so
/// that it runs on machines without LLVM; else null. Which one a program gets
/// is a choice of linking: BuiltinLinker.cpp or NoBuiltinLinker.cpp.
LinkerFunction getBuiltinLinker();

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_BUILTINLINKER_H
