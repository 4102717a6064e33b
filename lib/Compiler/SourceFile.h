//===- SourceFile.h - Input files of the tools ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_SOURCEFILE_H
#define RINGLET_LIB_COMPILER_SOURCEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace ringlet {

/// Reads a file, or standard input for "-", up to the limit of `guardText`: a
/// device that never ends is an error, too. Returns null and sets `error` to
/// what went wrong, ready to print.
std::unique_ptr<llvm::MemoryBuffer> readSource(llvm::StringRef path,
                                               std::string &error);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_SOURCEFILE_H
