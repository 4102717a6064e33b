//===- Bytecode.h - What bytecode says, as text ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's reader of bytecode trusts what it reads: damaged input can end it or
// keep it busy for ever. So a process of its own turns bytecode into text,
// within limits, and what it says is guarded and parsed as any text is.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_BYTECODE_H
#define RINGLET_LIB_COMPILER_BYTECODE_H

#include "lib/Compiler/TextGuard.h"

#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace ringlet {

/// The source, or the text of what it says if it is bytecode and that is
/// allowed. It keeps the limits of `guardText`. Returns null and sets `error`
/// to what is wrong. Bytecode is read in a process that is forked, which is for
/// programs of one thread.
std::unique_ptr<llvm::MemoryBuffer>
acceptSource(std::unique_ptr<llvm::MemoryBuffer> source, bool allowBytecode,
             TextError &error);

/// The same, with an error that is ready to print.
std::unique_ptr<llvm::MemoryBuffer>
acceptSource(std::unique_ptr<llvm::MemoryBuffer> source, bool allowBytecode,
             std::string &error);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_BYTECODE_H
