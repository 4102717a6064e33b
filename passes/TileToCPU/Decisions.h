//===- Decisions.h - What the CPU passes write into the IR -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of the attributes by which one pass tells the next what it decided,
// and the questions that several passes ask of them.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETOCPU_DECISIONS_H
#define RINGLET_PASSES_TILETOCPU_DECISIONS_H

#include "dialects/Tile/IR/TileDialect.h"

#include "lib/Arch/CPU.h"
#include "passes/TileCode/Scalars.h"

#include "llvm/Support/MathExtras.h"

namespace ringlet {
namespace cpu {

/// The row of the table that a pass is asked for; null, with an error at `op`,
/// if there is none.
const arch::CPULevel *lookupLevel(mlir::Operation *op, llvm::StringRef name);

// rtile-cpu-fit-rows.
inline constexpr llvm::StringLiteral narrowAttr = "rtile.narrow";
// rtile-fuse-rows.
inline constexpr llvm::StringLiteral groupAttr = "rtile.group";
inline constexpr llvm::StringLiteral phaseAttr = "rtile.phase";
// rtile-pack-operands.
inline constexpr llvm::StringLiteral lanesAttr = "rtile.lanes";
inline constexpr llvm::StringLiteral panelAttr = "rtile.panel";
inline constexpr llvm::StringLiteral rowPaddingAttr = "rtile.row_padding";
inline constexpr llvm::StringLiteral formsAttr = "rtile.forms";
inline constexpr llvm::StringLiteral blocksAttr = "rtile.blocks";
inline constexpr llvm::StringLiteral repackAttr = "rtile.repack";
inline constexpr llvm::StringLiteral pairsAttr = "rtile.pairs";
inline constexpr llvm::StringLiteral pairedAttr = "rtile.paired";
inline constexpr llvm::StringLiteral amxAttr = "rtile.amx";
inline constexpr llvm::StringLiteral unroundedAttr = "rtile.unrounded";
// rtile-trim-columns.
inline constexpr llvm::StringLiteral trimmedAttr = "rtile.trimmed";
// rtile-trim-rows.
inline constexpr llvm::StringLiteral trimmedRowsAttr = "rtile.trimmed_rows";
// rtile-cpu-prefetch-loads.
inline constexpr llvm::StringLiteral aheadAttr = "rtile.ahead";
// rtile-cpu-order-grid.
inline constexpr llvm::StringLiteral gridOrderAttr = "rtile.grid_order";
// rtile-assign-scratch.
inline constexpr llvm::StringLiteral slotsAttr = "rtile.slots";
inline constexpr llvm::StringLiteral localAttr = "rtile.local";
inline constexpr llvm::StringLiteral scratchAttr = "rtile.scratch_bytes";
// rtile-to-cpu.
inline constexpr llvm::StringLiteral parametersAttr = "rtile.parameters";
inline constexpr llvm::StringLiteral gridRankAttr = "rtile.grid_rank";

using code::getCodeType;
using code::getTile;

/// True for dot, reduce, visible and elementwise operations on tiles: those
/// that treat each row alone.
bool isRowParallel(mlir::Operation *op);

/// True for operations that read tiles as a whole and belong to no group.
bool runsAlone(mlir::Operation *op);

/// True for what costs less to compute again than to read: constants,
/// broadcasts and masks, unless they are members of a group.
bool isRepeated(mlir::Operation *op);

/// What the bounds of the columns that `op` computes are multiples of, if those
/// that no row of a panel sees are left out, or -1.
int64_t getTrimmed(mlir::Operation *op);

/// The operation of a kernel's body after which it is known which rows of
/// `stores` exist, null if that depends on more than the grid's point or they
/// begin at several rows.
mlir::Operation *getRowsKnown(llvm::ArrayRef<rtile::StoreOp> stores);

/// Number of the group or phase of `op`, or -1.
int64_t getGroup(mlir::Operation *op);
int64_t getPhase(mlir::Operation *op);

/// Height and width of what a row-parallel operation walks over: the tile it
/// makes or, for a reduction, takes. The width of a tile of one axis is 0.
int64_t getHeight(mlir::Operation *op);
int64_t getWidth(mlir::Operation *op);

/// Calls `use` for every use of `tile`, and for the uses of operations that
/// repeat it (isRepeated). `whole`: the user reads all rows at once.
void walkUses(mlir::Value tile,
              llvm::function_ref<void(mlir::OpOperand &, bool whole)> use);

/// Calls `operand` for each tile that `op` reads; repeated operations stand
/// for what they read.
void walkOperands(mlir::Operation *op,
                  llvm::function_ref<void(mlir::Value, bool whole)> operand);

/// True if the tile is used in its own group only.
bool isLocal(mlir::Value tile);

/// True if a member of a group has to leave its result in memory.
bool needsPlace(mlir::Value tile);

/// Has the load this form ("rows" or "panels")?
bool hasForm(rtile::LoadOp load, llvm::StringRef form);

/// Which neighbours of a load of bf16 share a word in scratch memory.
enum class Pairs { None, Columns, Rows };
Pairs getPairs(rtile::LoadOp load);

/// The load that makes `tile`, if elements of it share words, or null.
rtile::LoadOp getPairedLoad(mlir::Value tile);

/// Steps along the depth in one turn of the innermost loop of a product with
/// pairs.
inline constexpr int64_t turnOfPairs = 8;

/// A tile register of AMX has that many rows, of as many words each.
inline constexpr int64_t amxSide = 16;

/// True if products by AMX read what the load makes: along their depth, they
/// read up to whole tile registers.
bool feedsAMX(rtile::LoadOp load);

/// Rows and columns of words that a load fills in scratch memory.
mlir::RankedTensorType getStored(rtile::LoadOp load);

/// True if the product's result, and its left operand, are of a narrow tile.
bool isNarrow(rtile::DotOp dot);

/// True if rows end in zeros up to whole vectors, as products read them so.
bool endsInZeros(rtile::LoadOp load);

/// True if elements of the load's buffer are f32.
bool isF32InMemory(rtile::LoadOp load);

/// True if all that reads the load are products of one panel, with it at their
/// right, each element of which they read once, or once in each lane if it is
/// f32: then they widen it themselves, and rows that all exist are not copied.
bool isReadAsStored(rtile::LoadOp load);

/// True if the load copies rows as they are and makes pairs of them only as it
/// turns them round, for tile registers.
bool weavesInPanels(rtile::LoadOp load);

/// Rows and columns of words that a load fills first, before it makes panels.
mlir::RankedTensorType getCopied(rtile::LoadOp load);

/// The words of a tile in which two elements of a row share one.
mlir::RankedTensorType pairColumns(mlir::RankedTensorType tile);

/// Sizes in scratch memory, where every element takes a word of 4 bytes: tiles
/// of f16 and bf16 hold rounded f32, those of i1 hold 0 or -1. Where pairs of
/// bf16 share a word, widths and heights count words.
struct Geometry {
  int64_t lanes, panel, rowPadding;
  /// Tiles of so many rows, fewer than lanes, lie in panels of as many: a
  /// vector has several columns. 0 or less: there are none.
  int64_t narrow;

  static Geometry of(rtile::FuncOp func);
  static bool isDecided(rtile::FuncOp func);

  /// Rows of one panel of a tile of that height.
  int64_t panelRows(int64_t height) const {
    if (isNarrow(height))
      return height;
    return height <= lanes ? lanes : panel;
  }
  bool isNarrow(int64_t height) const { return height == narrow; }
  /// Columns of such a panel that one vector has.
  int64_t columnsOfVector(int64_t height) const {
    return isNarrow(height) ? lanes / height : 1;
  }
  int64_t panels(int64_t height) const {
    return llvm::divideCeil(height, panelRows(height));
  }
  int64_t paddedRows(int64_t height) const {
    return panels(height) * panelRows(height);
  }
  int64_t paddedColumns(int64_t width) const {
    return llvm::alignTo(width, lanes);
  }
  int64_t panelBytes(int64_t height, int64_t width) const {
    return 4 * panelRows(height) * paddedColumns(width);
  }
  /// Bytes of a whole tile of one or two axes, in panels.
  int64_t tileBytes(mlir::RankedTensorType tile) const;

  /// Bytes from one row to the next of a tile in rows.
  int64_t rowStride(int64_t width) const {
    return 4 * paddedColumns(width) + rowPadding;
  }
  int64_t rowsBytes(int64_t height, int64_t width) const {
    return paddedRows(height) * rowStride(width);
  }
  /// What the addresses of rows are multiples of.
  static constexpr int64_t rowAlignment = 16;
};

} // namespace cpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETOCPU_DECISIONS_H
