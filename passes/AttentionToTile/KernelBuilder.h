//===- KernelBuilder.h - Builds an rtile.func and its launch -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_KERNELBUILDER_H
#define RINGLET_PASSES_ATTENTIONTOTILE_KERNELBUILDER_H

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/AttentionToTile/HostPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

namespace ringlet {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
/// Entries of a list that one point of a grid writes: as many as a block of a
/// GPU has threads, since few blocks of more leave most of a device idle.
inline constexpr int64_t entriesOfPoint = 256;

/// Builds one kernel and, at the end, its launch: a parameter or grid axis is
/// named once and tied to the host's value there and then. The names of values
/// are kept as locations, for a printer that shows them.
class KernelBuilder {
public:
  KernelBuilder(HostPlan &plan, const llvm::Twine &name);

  mlir::Value addBuffer(llvm::StringRef name, mlir::Value buffer);
  /// `number` becomes that of the argument at the launch.
  mlir::Value addScalar(llvm::StringRef name, mlir::Value value,
                        unsigned *number = nullptr);
  /// A scalar, or the constant that it is known to be.
  mlir::Value addNumber(llvm::StringRef name, mlir::Value value);
  /// A table, once however often it is asked for; nothing for null.
  void addTable(llvm::StringRef name, mlir::Value table);
  /// The parameter that a table is; null for null.
  mlir::Value getTable(mlir::Value table);
  /// Axes are added from the fastest to the slowest.
  mlir::Value addGridAxis(llvm::StringRef name, mlir::Value extent);
  void setRecipe(mlir::StringAttr recipe);
  /// Ends the kernel and launches it.
  rplan::LaunchOp launch();
  /// Ends the kernel, which copies a buffer to another one, and returns `input`
  /// or its copy (`rplan.aligned`).
  mlir::Value align(mlir::Value input, mlir::Value worth);

  mlir::OpBuilder &getBuilder() { return body; }
  mlir::Location getLoc() { return plan.getLoc(); }
  mlir::Location named(llvm::StringRef name) {
    return mlir::NameLoc::get(body.getStringAttr(name), plan.getLoc());
  }

  /// Creates `OpT` at the end of the body, its results named.
  template <class OpT, class... Args>
  OpT create(llvm::StringRef name, Args &&...args) {
    return OpT::create(body, named(name), std::forward<Args>(args)...);
  }

  mlir::Value constant(int64_t value);
  /// A tile with `value` in every element.
  mlir::Value splat(llvm::StringRef name, double value,
                    mlir::RankedTensorType type);
  /// `a * b` or `a / b` on integers that are not negative.
  mlir::Value mul(llvm::StringRef name, mlir::Value a, int64_t b);
  mlir::Value div(llvm::StringRef name, mlir::Value a, int64_t b);
  mlir::Value add(llvm::StringRef name, mlir::Value a, mlir::Value b);

  /// Number `index` of a list of i32 or i64, in `low` to `high` whatever it
  /// holds.
  mlir::Value readIndex(llvm::StringRef name, mlir::Value list,
                        mlir::Value index, mlir::Value low, mlir::Value high);
  /// The elements of an axis of a buffer.
  mlir::Value size(llvm::StringRef name, mlir::Value buffer, int64_t axis);

  /// Operands of a view beyond its buffer and fixed axes.
  struct Rows {
    mlir::Value origin, segment, residue, table, positions;
    rlayout::OrderAttr order;
    /// Of a sequence that is a part of the axis (S2): both or none.
    mlir::Value first, end;
    /// Where the type has `?` for them.
    mlir::Value w, rate;
    /// The pages of sequences, if rows lie in pages (S4).
    mlir::Value pages;
    /// Heads, from that of the view's axes on, that each row stands for. Their
    /// axis is the last but one.
    int64_t heads = 1;
    /// The second `*` is the row axis.
    bool isTransposed = false;
  };
  /// A view of `buffer`; a null in `axes` is a `*`.
  mlir::Value view(llvm::StringRef name, mlir::Value buffer,
                   llvm::ArrayRef<mlir::Value> axes, rtile::ViewType type,
                   const Rows &rows);
  /// Of a view of two axes the tile begins at `column`, or at 0.
  mlir::Value load(llvm::StringRef name, mlir::Value view, mlir::Value row,
                   mlir::Value column = nullptr);
  void store(mlir::Value tile, mlir::Value view, mlir::Value row,
             mlir::Value column = nullptr);
  /// The element at `row` of a view of one, in f32, in each of `rows` rows.
  mlir::Value repeat(llvm::StringRef name, mlir::Value view, mlir::Value row,
                     int64_t rows);
  /// As `tile`, in another element type.
  mlir::Value convert(llvm::StringRef name, mlir::Value tile,
                      mlir::Type element);

  mlir::RankedTensorType tileType(llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, body.getF32Type());
  }

private:
  void finish();

  HostPlan &plan;
  rtile::FuncOp kernel;
  mlir::OpBuilder body;
  llvm::SmallVector<mlir::Value> hostArguments, hostGrid;
  llvm::SmallVector<std::pair<int64_t, mlir::Value>> constants;
  /// Parameters, by the host's values.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> tables;
};

/// Kernels that are the same but for their names are one.
class EqualKernels {
public:
  explicit EqualKernels(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// The name of a kernel like the one called `name`, which goes unless it is
  /// the first.
  llvm::StringRef share(llvm::StringRef name);

private:
  mlir::SymbolTable &symbols;
  llvm::SmallVector<rtile::FuncOp> kernels;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_KERNELBUILDER_H
