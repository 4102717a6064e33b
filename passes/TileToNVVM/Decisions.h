//===- Decisions.h - What the GPU passes write into the IR -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_DECISIONS_H
#define RINGLET_PASSES_TILETONVVM_DECISIONS_H

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Arch/GPU.h"
#include "lib/Cost/SharedImage.h"
#include "passes/TileCode/Scalars.h"

#include "llvm/Support/MathExtras.h"

namespace ringlet {
namespace gpu {

// rtile-gpu-choose-warps.
inline constexpr llvm::StringLiteral warpsAttr = "rtile.warps";
// rtile-gpu-widen-fragments.
inline constexpr llvm::StringLiteral adjacentAttr = "rtile.adjacent";
inline constexpr llvm::StringLiteral narrowAttr = "rtile.narrow";
// rtile-gpu-choose-dot.
inline constexpr llvm::StringLiteral dotAttr = "rtile.dot";
// rtile-gpu-skip-rescale.
inline constexpr llvm::StringLiteral skipOnesAttr = "rtile.skip_ones";
// rtile-gpu-swizzle-rows.
inline constexpr llvm::StringLiteral swizzledAttr = "rtile.swizzled";
// rtile-gpu-prefetch-loads.
inline constexpr llvm::StringLiteral aheadAttr = "rtile.ahead";
inline constexpr llvm::StringLiteral stagedAttr = "rtile.staged";
// rtile-gpu-assign-shared.
inline constexpr llvm::StringLiteral sharedAttr = "rtile.shared";
inline constexpr llvm::StringLiteral sharedBytesAttr = "rtile.shared_bytes";
// rtile-to-nvvm.
inline constexpr llvm::StringLiteral threadsAttr = "rtile.threads";
inline constexpr llvm::StringLiteral parametersAttr = "rtile.parameters";
inline constexpr llvm::StringLiteral gridRankAttr = "rtile.grid_rank";
inline constexpr llvm::StringLiteral scratchAttr = "rtile.scratch_bytes";

/// The row of the table that a pass is asked for; null, with an error at `op`,
/// if there is none.
const arch::GPUArch *lookupArch(mlir::Operation *op, llvm::StringRef name);

/// Calls `choose` for each kernel without roles. They all have the decisions of
/// rtile-gpu-choose-warps; fails, with an error at the kernel, at one that has
/// not.
mlir::LogicalResult
forEachPlainKernel(mlir::Operation *module,
                   llvm::function_ref<void(rtile::FuncOp)> choose);

using code::getCodeType;
using code::getTile;

/// Bytes of one element in memory.
int64_t getBytes(mlir::Type element);

/// True for a tile of one axis with a value for each column of other tiles.
bool isAlongColumns(mlir::RankedTensorType tile);

/// How the tiles of a kernel lie in the registers of its threads.
struct Fragments {
  int64_t warps;
  /// Columns side by side that a thread holds: 2 of every 8, or 4 of every 16.
  int64_t adjacent = 2;

  static Fragments of(rtile::FuncOp func);

  int64_t threads() const { return 32 * warps; }
  /// Rows that all warps hold together before the first one holds the next.
  int64_t rowsAtOnce() const { return 16 * warps; }
  int64_t rowBlocks(int64_t height) const {
    return llvm::divideCeil(height, rowsAtOnce());
  }
  static int64_t columnBlocks(int64_t width) {
    return llvm::divideCeil(width, 8);
  }
  /// Columns of the tile among which the four threads of a row have the first
  /// ones; the tiles of a kernel where they have 4 are multiples of it wide, or
  /// up to 2.
  int64_t columnsAtOnce() const { return 4 * adjacent; }
  int64_t blocksAtOnce() const { return columnsAtOnce() / 8; }
  /// The thread's first column of a block, counted from that of block 0.
  int64_t columnOf(int64_t block) const {
    return block / blocksAtOnce() * columnsAtOnce() +
           block % blocksAtOnce() * 2;
  }
  /// True if every thread's columns of a block are inside of the tile.
  bool fills(int64_t width, int64_t block) const {
    return (block / blocksAtOnce() + 1) * columnsAtOnce() <= width;
  }
  /// Elements of a tile that one thread holds: of two axes, 4 for each block of
  /// rows and columns; of one, 2 for each block of rows or of columns.
  int64_t elements(mlir::RankedTensorType tile) const;
};

using Image = cost::SharedImage;

/// The image of a padded tile; of what a load brings, as
/// rtile-gpu-swizzle-rows wrote it down; of an operand that is read from shared
/// memory.
Image getImage(mlir::RankedTensorType tile);
Image getImage(rtile::LoadOp load);
Image getImage(mlir::OpOperand &operand);

/// True for a load whose tile can lie in shared memory as the elements of 8
/// bits that its buffer has: those are numbers of 16, and pieces fill rows.
bool isOfBytes(rtile::LoadOp load);
/// The tile of these elements.
mlir::RankedTensorType getBytesTile(rtile::LoadOp load);
/// The part of an image of such a load where they come to lie: all of it if the
/// product widens what it reads (rtile-gpu-widen-fragments), the end if threads
/// widen them to the beginning in front of it (rtile-gpu-prefetch-loads).
Image getBytesImage(rtile::LoadOp load);

/// The load whose place in shared memory a tile has: its own, or for what a
/// loop carries ahead, the load before the loop. Null for tiles in registers.
rtile::LoadOp getImageLoad(mlir::Value tile);

/// True for what a loop carries from turn to turn in shared memory instead of
/// registers: an argument of its body or a result.
bool isCarriedImage(mlir::Value tile);

/// True if a loop carries the operand on so: what it starts from, or what its
/// body yields. If `loop` is not null, it gets the loop.
bool isCarriedOn(mlir::OpOperand &operand, mlir::Operation **loop = nullptr);

/// True if every product is one of matrix instructions, and there are some.
bool isAllOfMatrices(rtile::FuncOp func);

/// Rows of the highest tile of two axes that warps hold, or of one axis if
/// there are no others; 0 if there are no tiles. What products read from shared
/// memory alone no warp holds.
int64_t getHeight(rtile::FuncOp func);

/// Columns of sums of products that a turn of a loop holds at the same time:
/// what it carries and what it computes beside.
int64_t getSumColumns(rtile::FuncOp func);

/// Whether each thread of a plain kernel reads the columns that it holds of a
/// loaded tile of one axis, all of whose uses repeat it for many rows: nothing
/// lies in shared memory then, and nobody waits for the others.
bool isReadAlongColumns(mlir::Value tile);

/// True for operands that are read from shared memory.
bool needsImage(mlir::OpOperand &operand);

/// True if such an operand has its image from the load on, instead of getting
/// it for the operation that reads it.
bool isLoadedImage(mlir::OpOperand &operand);

/// Byte offset number `index` of an operation, or -1.
int64_t getShared(mlir::Operation *op, unsigned index = 0);

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_DECISIONS_H
