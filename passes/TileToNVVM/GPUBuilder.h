//===- GPUBuilder.h - Code of one GPU thread with short names -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_GPUBUILDER_H
#define RINGLET_PASSES_TILETONVVM_GPUBUILDER_H

#include "passes/TileCode/CodeBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace ringlet {
namespace gpu {

/// Adds what only GPUs have: threads, address spaces, predicated accesses,
/// exchanges between lanes, matrix instructions.
class GPUBuilder : public code::CodeBuilder {
public:
  using CodeBuilder::CodeBuilder;

  Value i32(int64_t value) { return integer(getI32Type(), value); }
  Value i1(bool value) { return integer(getI1Type(), value); }
  Value add(Value a, int64_t b);
  using CodeBuilder::add;
  Value remUnsigned(Value a, int64_t b);
  /// An address in shared memory with some of its bits turned over.
  Value flipBits(Value pointer, int64_t bits);
  /// The same value, of which nobody knows that it is: what is computed from it
  /// stays where it is.
  Value opaque(Value value);
  Value toI32(Value value);
  Value toI64(Value value);
  /// An i64 cut to what tells it from any index inside a tile.
  Value clampToI32(Value value);

  // Threads.
  Value threadIndex();
  Value blockIndex();
  Value blockCount();
  void blockBarrier();
  void warpBarrier();
  /// Lets blocks of the launch behind start when all of this one have, and
  /// waits for the launch in front to end.
  void meetLaunches();
  /// True if the predicate of some thread of the block is: a barrier, too.
  Value anyInBlock(Value predicate);
  /// True in all lanes of a warp if it is true in one.
  Value anyInWarp(Value condition);
  /// The value of the lane whose number differs in the bits of `mask`.
  Value shuffleXor(Value value, int64_t mask);

  /// Keeps the loop that made `results` as it is, also from ptxas.
  void forbidUnrolling(mlir::ValueRange results);
  void keepRolled(mlir::Operation *loop);
  /// A loop whose body stands in the code once.
  void rolledLoop(Value begin, Value end, Value step,
                  llvm::function_ref<void(Value)> body);

  // Global memory. A load whose predicate is false gives zero.
  Value globalPointer(Value word);
  Value loadGlobal(Type type, Value pointer, Value predicate);
  /// One byte, as i32.
  Value loadGlobalByte(Value pointer, Value predicate);
  /// 16 bytes, as a vector of four i32.
  Value loadGlobal16(Value pointer, Value predicate);
  void storeGlobal(Value value, Value pointer, Value predicate);
  /// One, two or four registers of 32 bits, `bytes` behind the pointer.
  void storeGlobalVector(mlir::ValueRange values, Value pointer, int64_t bytes,
                         Value predicate);
  /// Two neighbours by one instruction.
  void storeGlobalPair(Value first, Value second, Value pointer,
                       Value predicate);

  // Shared memory.
  Value sharedBase(llvm::StringRef symbol);
  /// Copies 16 bytes, or writes zeros if the predicate is false; nothing at all
  /// unless `writes`, where it is given.
  void copyAsync16(Value shared, Value global, Value predicate,
                   Value writes = {});
  /// A vector of four i32.
  void storeShared16(Value words, Value shared, Value writes = {});
  void waitForCopies();
  /// Four 8 x 8 matrices of 16-bit elements, whose rows' addresses come from
  /// the 32 lanes; each as one i32.
  llvm::SmallVector<Value> loadMatrices(Value pointer, bool transposed);

  // Elements of vectors.
  Value extract(Value vector, int64_t index);
  Value pair(Value first, Value second);
  /// Two elements of 16 bits as one i32. What was just rounded is rounded again
  /// from where it came, both by one instruction.
  Value toWord(Value first, Value second);
  Value toWord(Value pair);

  /// A word of four bytes of `low` and `high`: each digit of the selector, the
  /// last one first, is the number of one, from 4 on of `high`.
  Value permuteBytes(Value low, Value high, int64_t selector);

  /// Two numbers of f8E4M3FN, the halves of an i16, as two of f16.
  Value widenE4M3(Value bytes);

  /// Rounds an f32 to 11 digits, as one i32.
  Value roundToTF32(Value value);
  /// Rounds two f32 to 16 bits each, as one i32.
  Value roundPair(Type element, Value first, Value second);

  Value exp2(Value x);
  /// Logarithms, off by a few units in the last place.
  Value log(Value x);
  Value log2(Value x);
  /// A quotient of any two f32, off by at most two units in the last place.
  Value divideFast(Value x, Value y);
  /// 1 / x, off by 2^-23 of it; 0 where that is subnormal.
  Value reciprocal(Value x);
  /// Off by a few units in the last place.
  Value tanh(Value x);
  /// A NaN stays a NaN. (min and max are of integers.)
  Value maximum(Value x, Value y);
  Value minimum(Value x, Value y);
  /// d += a * b by mma.sync with `depth` 8 or 16. `a` and `b` are i32 with two
  /// elements each, or one of f32 that is rounded to 11 digits.
  void mma(Type element, int64_t depth, llvm::MutableArrayRef<Value> d,
           mlir::ValueRange a, mlir::ValueRange b);

private:
  Value intrinsic(llvm::StringRef name, Type result, mlir::ValueRange operands);
  Value assembly(Type result, llvm::StringRef text, llvm::StringRef constraints,
                 mlir::ValueRange operands);
};

/// A kernel of what an artefact needs to know but its shared memory, without a
/// body. `words` are the types of its parameters, `parameters` those that they
/// stand for. Registers are shared among the threads of so many blocks.
mlir::LLVM::LLVMFuncOp
createKernel(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
             llvm::ArrayRef<mlir::Type> words, mlir::TypeRange parameters,
             int64_t gridRank, int64_t threads, int64_t blocks = 1);

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_GPUBUILDER_H
