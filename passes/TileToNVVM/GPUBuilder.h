//===- GPUBuilder.h - Code of one GPU thread with short names -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_GPUBUILDER_H
#define RINGLET_PASSES_TILETONVVM_GPUBUILDER_H

#include "passes/TileToCPU/CodeBuilder.h"

namespace ringlet {
namespace gpu {

/// Adds what only GPUs have: threads, address spaces, predicated accesses,
/// exchanges between lanes, matrix instructions.
class GPUBuilder : public cpu::CodeBuilder {
public:
  using CodeBuilder::CodeBuilder;

  Value i32(int64_t value) { return integer(getI32Type(), value); }
  Value i1(bool value) { return integer(getI1Type(), value); }
  Value add(Value a, int64_t b);
  using CodeBuilder::add;
  Value divUnsigned(Value a, int64_t b);
  Value remUnsigned(Value a, int64_t b);
  Value toI32(Value value);
  Value toI64(Value value);
  /// An i64 cut to what tells it from any index inside a tile.
  Value clampToI32(Value value);

  // Threads.
  Value threadIndex();
  Value blockIndex();
  void blockBarrier();
  void warpBarrier();
  /// The value of the lane whose number differs in the bits of `mask`.
  Value shuffleXor(Value value, int64_t mask);

  /// Keeps the loop that made `results` as it is, also from ptxas.
  void forbidUnrolling(mlir::ValueRange results);

  // Global memory. A load whose predicate is false gives zero.
  Value globalPointer(Value word);
  Value loadGlobal(Type type, Value pointer, Value predicate);
  /// 16 bytes, as a vector of four i32.
  Value loadGlobal16(Value pointer, Value predicate);
  void storeGlobal(Value value, Value pointer, Value predicate);

  // Shared memory.
  Value sharedBase(llvm::StringRef symbol);
  /// Copies 16 bytes, or writes zeros if the predicate is false.
  void copyAsync16(Value shared, Value global, Value predicate);
  void waitForCopies();
  /// Four 8 x 8 matrices of 16-bit elements, whose rows' addresses come from
  /// the 32 lanes; each as one i32.
  llvm::SmallVector<Value> loadMatrices(Value pointer, bool transposed);

  // Elements of vectors.
  Value extract(Value vector, int64_t index);
  Value pair(Value first, Value second);
  /// Two elements of 16 bits as one i32.
  Value toWord(Value pair);

  Value exp2(Value x);
  /// A NaN stays a NaN. (min and max are of integers.)
  Value maximum(Value x, Value y);
  Value minimum(Value x, Value y);
  /// d += a * b by mma.sync with `depth` 8 or 16. `a` and `b` are i32 with two
  /// elements each.
  void mma(Type element, int64_t depth, llvm::MutableArrayRef<Value> d,
           mlir::ValueRange a, mlir::ValueRange b);

private:
  Value intrinsic(llvm::StringRef name, Type result, mlir::ValueRange operands);
  Value assembly(Type result, llvm::StringRef text, llvm::StringRef constraints,
                 mlir::ValueRange operands);
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_GPUBUILDER_H
