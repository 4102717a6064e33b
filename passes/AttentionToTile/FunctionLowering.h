//===- FunctionLowering.h - From a function to its plan ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_FUNCTIONLOWERING_H
#define RINGLET_PASSES_ATTENTIONTOTILE_FUNCTIONLOWERING_H

#include "passes/AttentionToTile/HostPlan.h"
#include "passes/AttentionToTile/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace ringlet {

/// On an attention of a rank's parts of tensors: their `#rlayout.ring`.
inline constexpr llvm::StringLiteral shardedAttr = "ringlet.sharded";
/// Beside it: the rows that all ranks have, of queries and keys, as far as
/// types tell.
inline constexpr llvm::StringLiteral shardedRowsAttr = "ringlet.sharded_rows";

/// Lowers one function.
class FunctionLowering {
public:
  FunctionLowering(mlir::func::FuncOp function, mlir::SymbolTable &symbols)
      : function(function), symbols(symbols), plan(function, symbols) {}

  void lower();

private:
  void readArguments();
  /// All of an attention but its results.
  Attention readAttention(attn::AttentionOp op);
  void addResults(Attention &attention);
  void lowerAttention(attn::AttentionOp op);
  /// Lets `emit` have the kernels that `list` makes, with `suffix` behind their
  /// names, for calls of which `condition` is 1: nothing where it is known to
  /// be 0.
  void emitIf(mlir::Value condition, llvm::StringRef suffix,
              llvm::function_ref<KernelList()> list,
              llvm::function_ref<void(const KernelList &)> emit);
  /// The same, and where tilings say so other kernels for calls with many keys.
  void emitForKeys(Attention &attention, mlir::Value condition,
                   llvm::function_ref<KernelList()> list,
                   llvm::function_ref<void(const KernelList &)> emit);
  void lowerReorder(attn::ReorderOp op);
  void lowerConstant(mlir::arith::ConstantOp op);
  /// Checks that the sizes of inputs agree, which their types left open.
  void requireShapes(attn::AttentionOp op, const HostTensor &query,
                     const HostTensor &key, const HostTensor &value);
  /// Checks the pages of so many sequences (S4), and lets `key` and `value`
  /// have the sizes of what sequences have of these pools.
  void requirePages(const HostTensor &pages, mlir::Value sequences,
                    HostTensor &key, HostTensor &value);
  /// What keys or values are multiplied with (S6); null for null.
  HostTensor requireScales(mlir::Value scales, llvm::StringRef name,
                           const SequenceLists &lists);
  mlir::Value queryOffset(attn::AttentionOp op, const HostTensor &query,
                          const HostTensor &key);
  /// Lists of sequences, of as many as there are if they are not packed.
  SequenceLists getLists(attn::AttentionOp op, mlir::Value sequences);
  /// The number that `scalar` holds, a constant or an argument in host memory.
  mlir::Value readScalar(mlir::Value scalar);
  /// The buffer for a result: the caller's if it is returned.
  HostTensor target(mlir::OpResult result, llvm::ArrayRef<mlir::Value> sizes);
  std::string kernelName(llvm::StringRef what) {
    return (plan.getName() + "_" + what + std::to_string(operation)).str();
  }

  //===--- On a ring (PartitionRing.cpp) ---------------------------------===//

  void lowerSharded(attn::AttentionOp op);
  /// The plan of the pieces of a branch, and its kernel (`rplan.attend`).
  mlir::FlatSymbolRefAttr addPieces(attn::AttentionOp op, unsigned branch,
                                    bool whole);
  /// Lowers the attention of such a function, which leaves its state.
  void lowerPieces(attn::AttentionOp op);

  mlir::func::FuncOp function;
  mlir::SymbolTable &symbols;
  HostPlan plan;
  llvm::DenseMap<mlir::Value, HostTensor> tensors;
  unsigned operation = 0;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_FUNCTIONLOWERING_H
