//===- AsmBlock.h - One piece of PTX with its registers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_ASMBLOCK_H
#define RINGLET_PASSES_TILETONVVM_ASMBLOCK_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <string>

namespace ringlet {
namespace gpu {

/// Collects the text and the registers of one inline assembly statement. LLVM
/// numbers results first, so `change` and `result` come before `use`.
class AsmBlock {
public:
  using Value = mlir::Value;

  /// A register that is read and written: gives its new value.
  std::string change(Value value);
  /// A register that is written only.
  std::string result(mlir::Type type);
  /// A register that is read.
  std::string use(Value value);

  void operator+=(const llvm::Twine &line) { text += line.str(); }

  /// Adds the statement; the new values of what `change` and `result` named.
  llvm::SmallVector<Value> emit(mlir::ImplicitLocOpBuilder &builder) const;

private:
  std::string text;
  llvm::SmallVector<mlir::Type> types;
  /// Result number and old value of what is changed.
  llvm::SmallVector<std::pair<size_t, Value>> changed;
  llvm::SmallVector<Value> used;
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_ASMBLOCK_H
