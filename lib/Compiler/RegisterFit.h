//===- RegisterFit.h - Kernels that ptxas takes without spilling -*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_REGISTERFIT_H
#define RINGLET_LIB_COMPILER_REGISTERFIT_H

#include "lib/Compiler/Lowering.h"
#include "lib/Compiler/TargetCode.h"

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
  mlir::LogicalResult translate();
  void emitObjects(const CompileOptions &options);
};

/// Kernels live at the edge of what registers hold, and only ptxas knows on
/// which side. Those that do not fit are tried in other forms, each by itself:
/// with tiles that leave registers free, then without the recipe. What fits in
/// none keeps the form that spills least, with a warning.
class RegisterFit {
public:
  RegisterFit(Lowering &lowering, const CompileOptions &options,
              TargetWork &work)
      : lowering(lowering), options(options), work(work) {}

  mlir::LogicalResult run();
  /// Lines for --explain: which tiles leave registers free.
  const std::string &getExplanation() const { return explanation; }

private:
  /// What ptxas said of the kernels of an origin.
  struct Finding {
    int64_t spilled = 0;
    /// Why they do not fit; empty if they do.
    std::string problem;
  };
  struct Attempt {
    KernelForm form;
    Finding finding;
  };
  struct Search {
    mlir::Location place;
    bool hadRecipe;
    std::vector<KernelForm> ahead;
    std::vector<Attempt> done;

    bool isOver() const {
      return done.back().finding.problem.empty() || ahead.empty();
    }
    const Attempt &getBest() const;
  };

  std::map<Origin, Finding> judge(mlir::ModuleOp code,
                                  const PtxasReport &report);
  Search begin(Origin origin, mlir::Operation *kernel, Finding finding);
  mlir::LogicalResult tryNext(const std::set<Origin> &pending);
  mlir::LogicalResult settle();
  mlir::LogicalResult tell(Origin origin, const Search &search);

  Lowering &lowering;
  const CompileOptions &options;
  TargetWork &work;
  std::map<Origin, Search> searches;
  KernelForms forms;
  std::string explanation;
};

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_REGISTERFIT_H
