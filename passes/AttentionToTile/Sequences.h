//===- Sequences.h - What kernels read of sequences -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences of one call may differ in length and position (S1, S2). Lists say
// how, which lie on the device: the host never reads them. Kernels do, one
// sequence at a time.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_SEQUENCES_H
#define RINGLET_PASSES_ATTENTIONTOTILE_SEQUENCES_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "passes/AttentionToTile/HostPlan.h"
#include "passes/AttentionToTile/KernelBuilder.h"

namespace ringlet {

/// The two sides of an attention.
enum class Side { Query, Key };

/// Whether q_offset is one number for each sequence (S1).
bool hasOffsetOfSequence(attn::AttentionOp op);

/// Whether query row 0 has another position in each sequence (S1): a q_offset
/// for each, or what their lengths, packed or padded, or begins of their keys
/// make of the default.
bool hasPositionsOfSequence(attn::AttentionOp op);

/// How far behind the position of the last query the last key may lie that some
/// query sees; nothing where that may be any key of the sequence. By the
/// default q_offset it is (S1).
std::optional<int64_t> getReachOfQueries(attn::AttentionOp op);

/// Positions up to this magnitude leave room for every sum that kernels make
/// of them: q_offset stays within it.
constexpr int64_t kMaxOffset = int64_t(1) << 60;

/// The lists of an attention, with an entry for each sequence; null where it
/// has none.
struct SequenceLists {
  /// How many sequences there are.
  mlir::Value count;
  /// The position of query row 0.
  HostTensor queryOffsets;
  /// The rows that a padded sequence has.
  HostTensor queryLengths, keyLengths;
  /// The row that is the first key of a padded sequence.
  HostTensor keyBegins;
  /// Where each packed sequence begins, and the end: one entry more.
  HostTensor queryStarts, keyStarts;

  bool arePacked() const { return bool(queryStarts); }
  /// Whether row 0 of an axis need not be the first one of a sequence.
  bool haveParts() const { return arePacked() || keyBegins; }
  /// Whether a sequence may have fewer queries than its axis has rows.
  bool haveQueryLengths() const { return arePacked() || queryLengths; }
  /// Whether it may have fewer queries, or keys.
  bool haveLengths() const { return haveQueryLengths() || keyBegins; }
};

/// The rows that a sequence has of its axis, which it has for itself unless
/// sequences are packed. Both are null if it has them all.
struct SequencePart {
  mlir::Value first, end;
};

/// The lists as parameters of a kernel.
class SequenceReader {
public:
  /// Adds the parameters.
  SequenceReader(KernelBuilder &k, const SequenceLists &lists);

  /// Starts of packed sequences; null if they are not.
  mlir::Value getStarts(Side side) const {
    return side == Side::Query ? queryStarts : keyStarts;
  }

  /// The last sequence of those for which `begins` holds, given its number and
  /// its start, which come first. `starts` are clamped to `rows`. Starts that
  /// do not rise lead to another sequence, but always to one of the list.
  mlir::Value findLast(
      mlir::Value starts, mlir::Value rows, mlir::Value halvings,
      llvm::function_ref<mlir::Value(mlir::Value sequence, mlir::Value start)>
          begins);

  struct Sequence {
    SequencePart queries, keys;

    SequencePart &getPart(Side side) {
      return side == Side::Query ? queries : keys;
    }
  };
  /// Sequence `number` of axes with `queryRows` and `keyRows` rows, to which
  /// lengths and starts are clamped. `first` is the first row of its queries,
  /// of packed sequences, where that has been read.
  Sequence read(mlir::Value number, mlir::Value queryRows, mlir::Value keyRows,
                mlir::Value first = {});

  /// The position of query row 0: q_offset, clamped to `least` and more, or,
  /// without a list of them, that which puts the last query on the last key.
  mlir::Value readOffset(mlir::Value number, const Sequence &sequence,
                         int64_t least);

  /// The number of rows of a part of an axis of `rows` rows, which are not
  /// asked for if it is not all.
  mlir::Value getLength(llvm::StringRef name, const SequencePart &part,
                        mlir::Value rows = {});
  /// The number of rows of the sequences before sequence `number`, which has
  /// that part of an axis of `rows` rows.
  mlir::Value getRowsBefore(mlir::Value number, const SequencePart &part,
                            mlir::Value rows);

private:
  KernelBuilder &k;
  mlir::Value offsets, queryLengths, keyLengths, keyBegins, queryStarts,
      keyStarts;
};

/// At least as many as there are halvings of `count` until 1 is left.
mlir::Value boundHalvings(HostPlan &plan, mlir::Value count);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_SEQUENCES_H
