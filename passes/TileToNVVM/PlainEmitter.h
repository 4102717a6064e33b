//===- PlainEmitter.h - Emits the body of a plain kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_PLAINEMITTER_H
#define RINGLET_PASSES_TILETONVVM_PLAINEMITTER_H

#include "passes/TileToNVVM/Hazards.h"
#include "passes/TileToNVVM/TileEmitter.h"

namespace ringlet {
namespace gpu {

/// Emits one point of a kernel's grid for one thread of its block, following
/// the decisions of the passes before: operands of products lie in shared
/// memory, and barriers stand between what touches the same bytes of it.
class PlainEmitter : public TileEmitter {
public:
  PlainEmitter(rtile::FuncOp func, const arch::GPUArch &row,
               GPUBuilder &builder, Value shared);

  void emitKernel() { emitBlock(func.getBody().front()); }
  /// What a thread does before it ends.
  void finish() {
    if (copiesPending)
      b.waitForCopies();
  }

private:
  //===--------------------------------------------------------------------===//
  // Control (EmitPlain.cpp)
  //===--------------------------------------------------------------------===//

  void emitOperation(mlir::Operation *op) override;
  void emitLoop(mlir::scf::ForOp loop);
  void emitBranch(mlir::scf::IfOp branch);
  void emitGenerate(rtile::GenerateOp op);
  /// Places the barrier that an access to shared memory needs.
  void await(const SharedAccess &access);
  /// A product with factors of rows that a warp skips if they are all 1.
  void emitRescale(mlir::arith::MulFOp op);
  void emitColumns(rtile::BroadcastOp op);
  /// The columns of a thread, from shared memory.
  Fragment readColumns(rtile::BroadcastOp op);

  //===--------------------------------------------------------------------===//
  // Memory (EmitShared.cpp)
  //===--------------------------------------------------------------------===//

  void emitLoad(rtile::LoadOp op);
  /// Those of a thread, of a tile that `isReadAlongColumns`.
  void loadColumns(rtile::LoadOp op);
  void emitStore(rtile::StoreOp op);
  void storePairs(const Window &window, mlir::RankedTensorType tile,
                  const Fragment &values);
  /// Into the image at `base`.
  void copyToShared(const Window &window, mlir::RankedTensorType tile,
                    const Image &image, Value base);

  //===--------------------------------------------------------------------===//
  // Copies by pieces (CopyPieces.cpp)
  //===--------------------------------------------------------------------===//

  class PieceCopier;
  /// Whether the rows of a tile, which exist, lie on one page or fill pages, so
  /// that threads look up pages and not rows; null if that never is so. Then
  /// `getOnPages` is where they are.
  Value areOnPages(const Window &window, int64_t rows, int64_t pieces);
  Window getOnPages(Window window, int64_t rows);
  /// `areAllRows`: every row of the tile exists.
  void copyPieces(const Window &window, mlir::RankedTensorType tile,
                  const Image &image, Value base, bool areAllRows);
  /// Threads that copy a row of so many pieces, and rows that all copy at once.
  int64_t getThreadsOfRow(int64_t pieces) {
    return std::min<int64_t>(llvm::PowerOf2Ceil(pieces), layout.threads());
  }
  int64_t getRowsATurn(int64_t pieces) {
    return layout.threads() / getThreadsOfRow(pieces);
  }

  void copyElements(const Window &window, mlir::RankedTensorType tile,
                    const Image &image, Value base);
  /// Where byte `place` of a row lies in it.
  Value swizzle(const Image &image, Value row, Value place);
  /// Between registers and an image in shared memory.
  void writeImage(mlir::RankedTensorType tile, const Fragment &fragment,
                  int64_t offset);
  Fragment readImage(mlir::RankedTensorType tile, const Image &image,
                     int64_t offset);
  Value getShared(int64_t offset) { return b.at(shared, offset); }

  //===--------------------------------------------------------------------===//
  // Products (EmitDot.cpp)
  //===--------------------------------------------------------------------===//

  void emitDot(rtile::DotOp op);
  /// Widens what a load has brought to its image (StagePieces.cpp).
  void widenStaged(rtile::LoadOp load);
  /// Writes the operand's image if it has none yet; its offset.
  int64_t prepareImage(mlir::OpOperand &operand,
                       llvm::ArrayRef<SharedAccess> &accesses);

  Hazards hazards;
  /// Asynchronous copies may be under way.
  bool copiesPending = false;
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_PLAINEMITTER_H
