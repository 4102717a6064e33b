//===- RegisterFit.h - Kernels that fit in registers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_REGISTERFIT_H
#define RINGLET_LIB_COMPILER_REGISTERFIT_H

#include "lib/Compiler/Lowering.h"
#include "lib/Compiler/TargetCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"

#include <set>

namespace ringlet {

/// What an artefact gets for one target.
struct TargetWork {
  arch::Target target;
  Lowered lowered;
  std::unique_ptr<TargetCode> code;
  TargetCode::Objects objects;
  std::string error;

  /// Code, objects and error anew, from `lowered`.
  mlir::LogicalResult translate(const CompileOptions &options);
  void emitObjects(const CompileOptions &options);
};

/// Kernels live at the edge of what registers hold, and only ptxas knows on
/// which side. Those that do not fit are tried in other forms, each by itself:
/// with tiles that leave registers free, scheduled kernels and those beside
/// them apart, then without the recipe if it is its kernel that does not fit.
/// What fits in none keeps the form that spills least, with a warning.
class RegisterFit {
public:
  RegisterFit(Lowering &lowering, const CompileOptions &options,
              TargetWork &work)
      : lowering(lowering), options(options), work(work) {}

  mlir::LogicalResult run();
  /// Lines for --explain: which tiles leave registers free.
  const std::string &getExplanation() const { return explanation; }

private:
  /// What ptxas said of a kernel.
  struct Verdict {
    int64_t spilled = 0;
    std::string problem; ///< empty if it fits
  };
  /// The same of the kernels of an origin.
  struct Finding {
    int64_t spilled = 0;
    /// Why they do not fit; empty if they do.
    std::string problem;
    /// Which of them do not.
    bool isOfScheduled = false, isOfPlain = false;
    /// The same where only a plain kernel does not that stands in for a
    /// scheduled one, in tiles that nobody may change.
    std::string ofFallback;
  };
  struct Attempt {
    KernelForm form;
    Finding finding;
  };
  struct Search {
    mlir::Location place;
    /// The compiler chose the tiles and may choose others.
    bool leavesTiles;
    bool hadRecipe = false;
    std::vector<Attempt> done = {};

    /// The form to try after the last one; none if that fits, or if nothing is
    /// left that may help.
    std::optional<KernelForm> getNext() const;
    const Attempt &getBest() const;
  };

  using ReadVerdict = llvm::function_ref<Verdict(mlir::LLVM::LLVMFuncOp)>;

  Verdict read(mlir::LLVM::LLVMFuncOp kernel, const PtxasReport &report);
  void learn(mlir::ModuleOp code, const PtxasReport &report);
  std::map<Origin, Finding> judge(mlir::ModuleOp code, ReadVerdict read);
  Search begin(Origin origin, mlir::Operation *kernel, Finding finding);
  mlir::LogicalResult ask(mlir::ModuleOp code);
  mlir::LogicalResult tryNext(const std::set<Origin> &pending);
  mlir::LogicalResult settle();
  mlir::LogicalResult tell(Origin origin, const Search &search);

  Lowering &lowering;
  const CompileOptions &options;
  TargetWork &work;
  std::map<Origin, Search> searches;
  /// By the text of the kernel: other forms may leave some as they were.
  llvm::StringMap<Verdict> verdicts;
  KernelForms forms;
  std::string explanation;
};

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_REGISTERFIT_H
