//===- Lowering.h - A module's way to code for one target -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_LOWERING_H
#define RINGLET_LIB_COMPILER_LOWERING_H

#include "lib/Arch/Target.h"
#include "lib/Compiler/Decisions.h"
#include "lib/Compiler/Pipelines.h"
#include "ringlet/Compile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <optional>
#include <set>

namespace ringlet {

/// What kernels of a GPU are to look like where the choice is the compiler's.
struct KernelForm {
  bool isPlain = false;
  /// Registers of a thread that tiles leave free, in scheduled kernels and in
  /// those without a schedule.
  int64_t spareOfScheduled = 0, spareOfPlain = 0;
};

/// Where kernels come from: number of an attention or of a kernel written by
/// hand, in the order of the source.
using Origin = int64_t;
/// Of origins whose kernels do not look as the passes choose by themselves.
using KernelForms = std::map<Origin, KernelForm>;

/// A module that went through the pipelines.
struct Lowered {
  /// Host plans and tile programs, before kernels got roles.
  mlir::OwningOpRef<mlir::ModuleOp> tiles;
  /// The same with kernels in the llvm dialect.
  mlir::OwningOpRef<mlir::ModuleOp> code;
  Decisions decisions;
};

/// The pipelines, run on copies of one source.
class Lowering {
public:
  using Build = void (*)(mlir::OpPassManager &, const LevelOptions &);

  Lowering(mlir::ModuleOp source, const CompileOptions &options,
           CompileResult &result)
      : source(source), options(options), result(result) {}

  /// A copy of the source behind one of the pipelines; null if a pass failed.
  mlir::OwningOpRef<mlir::ModuleOp> run(const arch::Target &target,
                                        DecisionLog &log, Build build);
  /// A copy with every choice written into it.
  mlir::OwningOpRef<mlir::ModuleOp> decide(const arch::Target &target,
                                           DecisionLog &log) {
    return run(target, log, buildRingletOptPipeline);
  }
  /// With `only`, without the entries that none of these origins is in.
  std::optional<Lowered> lower(const arch::Target &target,
                               const KernelForms &forms = {},
                               const std::set<Origin> &only = {});

  mlir::ModuleOp getSource() const { return source; }
  /// True if somebody asked for the recipe of the kernels by its name.
  bool isAsked(Origin origin);
  /// True if their tiles are the compiler's choice.
  bool leavesTiles(Origin origin);

private:
  /// What verifiers look at: kernels after each pass, or what came out of all.
  enum class Verify { EachPass, Once };
  mlir::LogicalResult runPipeline(mlir::ModuleOp module,
                                  const arch::Target &target, DecisionLog &log,
                                  Build build,
                                  Verify verify = Verify::EachPass);
  bool isByName() const {
    return options.recipe != "auto" && options.recipe != "plain";
  }
  /// Attentions and kernels of the source.
  mlir::Operation *lookup(Origin origin);

  mlir::ModuleOp source;
  const CompileOptions &options;
  CompileResult &result;
};

/// Where a kernel of a lowered module comes from; nothing if from no attention,
/// as copies of tensors do.
std::optional<Origin> getOrigin(mlir::Operation *kernel);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_LOWERING_H
