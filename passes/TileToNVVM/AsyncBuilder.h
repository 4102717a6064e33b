//===- AsyncBuilder.h - Barriers and copies -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_ASYNCBUILDER_H
#define RINGLET_PASSES_TILETONVVM_ASYNCBUILDER_H

#include "passes/TileToNVVM/AsmBlock.h"
#include "passes/TileToNVVM/GPUBuilder.h"

namespace ringlet {
namespace gpu {

/// An address in shared memory: a number that the assembler knows, and a
/// register (i32) on top of it where the address differs from time to time.
struct Place {
  int64_t address;
  mlir::Value more;
};

/// What warps of a scheduled kernel do that is not arithmetic, each a piece of
/// PTX: LLVM must neither reorder nor split any of it.
class AsyncBuilder {
  using Value = mlir::Value;

public:
  explicit AsyncBuilder(GPUBuilder &builder) : b(builder) {}

  GPUBuilder &getBuilder() { return b; }

  // Barriers of shared memory (mbarrier).
  void initBarrier(Place barrier, int64_t arrivals);
  /// Makes initialised barriers visible to the copy engine.
  void fenceBarriers();
  void arrive(Place barrier, Value predicate);
  /// Arrives, and lets the barrier wait for that many bytes.
  void expectBytes(Place barrier, int64_t bytes, Value predicate);
  struct Wait {
    Place barrier;
    Value parity;
  };
  /// Until the phase of that parity is complete, for all of them. A kernel that
  /// waits for seconds is wrong: it traps instead of hanging.
  void wait(llvm::ArrayRef<Wait> waits);

  // The copy engine (TMA).
  void prefetchMap(Value map, Value predicate);
  void copyBox(Place to, Value map, mlir::ValueRange coordinates, Place barrier,
               Value predicate);
  /// To global memory, or adds there, as a part of the thread's next group.
  void copyBoxOut(Place from, Value map, mlir::ValueRange coordinates, bool add,
                  Value predicate);
  void commitCopiesOut();
  /// Until the thread's groups have read all of shared memory that they copy.
  void waitForReads();
  /// Orders what the thread wrote to shared memory before what the copy engine
  /// and products read there.
  void fenceShared();

  // Shared memory: four words, or one to four, at once.
  void writeWords(Place to, mlir::ValueRange words, Value predicate = {});
  llvm::SmallVector<Value> readWords(Place from, int64_t count);
  /// Adds 1 to a word of global memory, or makes it 0 where it was `last`; what
  /// it was.
  Value countUp(Value counter, Value last);

  /// Keeps what uses the values behind this point.
  llvm::SmallVector<Value> hold(mlir::ValueRange values);
  /// Keeps what follows behind the computation of `values`: the assembler sees
  /// a store of them under a condition of which it cannot know that it is never
  /// true.
  void pin(mlir::ValueRange values, Place place);
  /// The f32 `value`, once that of `other` is there: the assembler sees that it
  /// would be 0 for bits of `other` that no instruction makes.
  Value holdBehind(Value value, Value other);

  /// Four matrices of 8 x 8 elements of 16 bits, whose rows lie where the lanes
  /// say.
  llvm::SmallVector<Value> loadMatrices(Place place);
  void storeMatrices(Place place, mlir::ValueRange words);

  /// The number of blocks, read where it stands.
  Value blockCount();

  // Warps.
  /// What lane 0 has, of 32 or 64 bits.
  Value uniform(Value value);
  /// Barriers of the block by number, each between two groups of four warps:
  /// one waits for its turn, the one before it lets it have it.
  void takeTurn(Value barrier);
  void giveTurn(Value barrier, Value predicate);
  Value anyInWarp(Value predicate);
  void setRegisters(int64_t count, int64_t before);
  void trap(Value predicate);

private:
  std::string address(AsmBlock &block, Place place);
  std::string guard(AsmBlock &block, Value predicate);

  GPUBuilder &b;
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_ASYNCBUILDER_H
