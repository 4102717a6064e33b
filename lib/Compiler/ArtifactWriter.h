//===- ArtifactWriter.h - From lowered modules to an artefact -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_ARTIFACTWRITER_H
#define RINGLET_LIB_COMPILER_ARTIFACTWRITER_H

#include "lib/Compiler/Decisions.h"
#include "lib/Compiler/PlanWriter.h"
#include "lib/Compiler/Ptxas.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"

namespace ringlet {

/// Collects what an artefact consists of: first the graphs, then one level
/// after the other.
class ArtifactWriter {
public:
  explicit ArtifactWriter(llvm::StringRef moduleName);
  ~ArtifactWriter();

  /// Records what the functions of `source` compute and the text of their
  /// types' encodings, and that of plans and their kernels. Call before
  /// lowering.
  void addGraphs(mlir::ModuleOp source);

  /// Code for one target. `report` may be null; it says what the kernels of a
  /// GPU need.
  struct Code {
    llvm::StringRef target;
    abi::CodeFormat format;
    llvm::StringRef bytes;
    const PtxasReport *report = nullptr;
  };

  /// Adds code for one target: `tiles` holds the kernels as rtile.funcs,
  /// `lowered` the rplan.funcs and the kernels that they launch as llvm.funcs.
  /// Targets whose tile programs are the same, to the letter, share plans and
  /// kernels.
  mlir::LogicalResult addLevel(mlir::ModuleOp tiles, mlir::ModuleOp lowered,
                               const Code &code, const Decisions &decisions);

  /// The artefact file, checked as a reader would.
  mlir::FailureOr<std::vector<uint8_t>> finish(mlir::Location loc);

private:
  struct Group;

  mlir::FailureOr<std::unique_ptr<abi::KernelT>>
  makeKernel(mlir::Operation *tile, mlir::Operation *code);
  mlir::LogicalResult addCode(Group &group, mlir::ModuleOp lowered,
                              uint32_t codeObject, const PtxasReport *report);
  void addFunctions(mlir::ModuleOp lowered);

  abi::ArtifactT artifact;
  /// By name, in the order of the first level's plans.
  struct Entry {
    abi::FunctionT *function = nullptr;
    std::unique_ptr<PlanWriter> writer;
  };
  llvm::StringMap<Entry> entries;
  llvm::StringMap<uint32_t> functions; // Numbers in the artefact.
  struct Source {
    std::unique_ptr<abi::GraphT> graph;
    std::vector<std::string> layouts;
  };
  llvm::StringMap<Source> sources;
  std::vector<std::unique_ptr<Group>> groups;
};

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_ARTIFACTWRITER_H
