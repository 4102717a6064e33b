//===- SoftmaxBody.h - Streaming softmax of a tile of queries ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_SOFTMAXBODY_H
#define RINGLET_PASSES_ATTENTIONTOTILE_SOFTMAXBODY_H

#include "passes/AttentionToTile/KeyTiles.h"
#include "passes/AttentionToTile/ScoreUnits.h"
#include "passes/AttentionToTile/SoftmaxRows.h"

namespace ringlet {

/// Emits what one tile of query rows is computed by: it visits key tiles that
/// it sees, with a running maximum m, sum l and accumulator acc (Milakov and
/// Gimelshein, arXiv:1805.02867; Rabe and Staats, arXiv:2112.05682).
/// Maxima are in the units of scores (see ScoreUnits).
class SoftmaxBody {
public:
  SoftmaxBody(KernelBuilder &k, Attention &attention, attn::TilingAttr tiling);
  /// Of one row, whose `elements` elements from `firstElement` on are the rows
  /// of tiles: merges, but visits no keys. Views of output have one axis, those
  /// of lse the row in front of rows that do not exist, those of sinks the row.
  SoftmaxBody(KernelBuilder &k, Attention &attention, int64_t elements,
              mlir::Value firstElement);

  struct State {
    mlir::Value maximum, sum, accumulator;
  };
  /// Nothing seen yet, or what other branches of one softmax left in `before`
  /// (R1).
  State begin(const std::optional<StateViews> &before, mlir::Value row);

  /// One step of a loop over key tiles, whatever its source.
  struct KeyStep {
    KeyTiles::Place place;
    /// The view of the values, and the first row of the tile in both views.
    mlir::Value value, keyRow;
    /// The logarithm of how often the keys count, in units, for each row; null
    /// if that is once.
    mlir::Value shift;
    /// Whether some rows of the tile may be hidden from some queries.
    bool isMasked = true;
  };
  /// What products of query and key are multiplied with, for each row (S6).
  void setKeyScale(mlir::Value ofRows) { keyScale = ofRows; }
  mlir::Value scaleValues(mlir::Value accumulator, mlir::Value ofRows);

  /// The state after the steps of a loop, whose induction variable is `name`.
  State visit(llvm::StringRef name, const KeyTiles::Range &range,
              KeyTiles &keys, mlir::Value queryTile, const State &state,
              llvm::function_ref<KeyStep(mlir::Value)> getStep);
  /// The state after the key tiles of one walk. `value` is a view of its rows.
  State visit(KeyTiles &keys, const KeyTiles::Place &place, mlir::Value value,
              mlir::Value queryTile, const State &state,
              mlir::Value shift = nullptr);

  /// What `own`, which began with nothing, and what others left in `before`
  /// are together; of rows that do not count, only the latter. All count if
  /// `counts` is null. `isNormal`: maxima are those of the keys, as without a
  /// recipe; then accumulators of `before` are not read if no row has one.
  /// Others do so if `reads` is true or null.
  State join(const State &own, mlir::Value counts,
             const std::optional<StateViews> &before, mlir::Value row,
             bool isNormal = false, mlir::Value reads = nullptr);
  /// Leaves the state to others.
  void store(const State &state, const StateViews &views, mlir::Value row);
  /// Output and lse of the tile's rows, and in `views` that those which count
  /// have ended.
  void end(const State &state, mlir::Value counts, const SoftmaxResult &result,
           const ResultViews &ofResult, const StateViews &views,
           mlir::Value row);
  /// Output and lse of the tile's rows.
  void store(State state, const SoftmaxResult &result, const ResultViews &views,
             mlir::Value row);
  /// The rows whose weights have not left the range of f32.
  mlir::Value findFine(const State &state);
  /// Marks rows that are not `fine` in `view`; none where `isEmpty`, which may
  /// be null, says that no row sees a key.
  void storeMarks(mlir::Value fine, mlir::Value view, mlir::Value row,
                  mlir::Value isEmpty);

private:
  void makeConstants();
  llvm::SmallVector<mlir::Value> addKeys(KeyTiles &keys, const KeyStep &step,
                                         mlir::Value queryTile,
                                         mlir::ValueRange state);
  mlir::Value normalize(const State &state);
  /// Rows of states that have joined, and by what the others are multiplied.
  struct JoinedRows {
    mlir::Value maximum, sum, ofBefore, ofOwn;
    /// Which had something before; null if nothing was looked at.
    mlir::Value had;
  };
  JoinedRows joinRows(const State &own, mlir::Value counts,
                      const StateViews *before, mlir::Value row, bool isNormal);
  mlir::Value joinColumns(mlir::Value own, const JoinedRows &rows,
                          mlir::Value before, int64_t first, mlir::Value row);
  llvm::SmallVector<mlir::Value> cutColumns(mlir::Value tile, int64_t width);
  mlir::Value choose(llvm::StringRef name, mlir::Type type,
                     mlir::Value condition,
                     llvm::function_ref<mlir::Value()> some,
                     llvm::function_ref<mlir::Value()> other);
  mlir::Value getScores(mlir::Value product);
  mlir::Value alongColumns(llvm::StringRef name, mlir::Value rows,
                           int64_t columns);
  /// Along those of the values.
  mlir::Value alongValues(llvm::StringRef name, mlir::Value rows);
  void storeLse(const State &state, mlir::Value score, mlir::Value sink,
                mlir::Value hasKeys, mlir::Value view, mlir::Value row);

  KernelBuilder &k;
  attn::AttentionOp op;
  ScoreUnits units;
  int64_t keyRows;
  bool isOneRow() const { return wideType.getRank() == 1; }

  mlir::RankedTensorType rowType, scoreType, wideType;
  /// Of one row; null for 0.
  mlir::Value firstElement;
  /// Null for 1.
  mlir::Value keyScale;
  /// That of products (R7); null for that of their operands.
  rtile::PrecisionAttr ofProducts;
  /// That of tiles of values, and so of weights.
  mlir::Type valueElement;
  /// Of all steps of the loop; null for what nothing is multiplied by.
  mlir::Value ofProduct, ofCap, hidden, unit, rowUnit;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_SOFTMAXBODY_H
