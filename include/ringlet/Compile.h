//===- Compile.h - IR in, artefact out --------------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole compiler as one call, for C++ programs; ringlet-c/Compiler.h is the
// same in C. Every call is independent of every other: any number of threads
// may compile at once.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_COMPILE_H
#define RINGLET_COMPILE_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mlir {
class ModuleOp;
class TimingScope;
} // namespace mlir

namespace ringlet {

/// What a compilation gives.
enum class Emit {
  Ringlet,  ///< The graph with every choice written into it, as text.
  RTile,    ///< Host plans and tile programs, as text.
  Schedule, ///< The same after kernels have got roles, where they get any.
  RPlan,    ///< Host plans alone, as text.
  LLVM,     ///< Optimised LLVM IR of the kernels, as text.
  Assembly, ///< Their machine code, as text.
  Object,   ///< Their machine code, as an ELF object.
  Artifact, ///< What the runtime runs.
  PTX,      ///< The kernels for one GPU architecture, as PTX.
  Cubin,    ///< Their machine code, as ptxas makes it.
};

/// What there is to say about the input.
struct CompileMessage {
  /// A note belongs to what came before it.
  enum Severity { Error, Warning, Remark, Note } severity = Error;
  std::string message;
  /// Empty, and 0, where it is about no place. Lines and columns count from 1,
  /// columns in bytes.
  std::string file;
  unsigned line = 0, column = 0;
};

/// Hears of messages while something compiles, in the thread that does.
using MessageListener = std::function<void(const CompileMessage &)>;

struct CompileOptions {
  Emit emit = Emit::Artifact;
  /// Instruction-set levels and GPU architectures to compile for, rows of
  /// lib/Arch, or "cpu" for each CPU level that the module has a use for. None
  /// stands for "cpu" in an artefact, and for the least demanding level
  /// elsewhere, where there can be one only.
  std::vector<std::string> levels;
  /// How kernels of a GPU divide their work: "plain" or a recipe by its
  /// name (see listRecipes()), which a function that no kernel of that kind can
  /// compute refuses; "auto" chooses for each.
  std::string recipe = "auto";
  /// Whether it is an error, and not a warning, that a kernel whose recipe
  /// somebody asked for by its name has to stay plain.
  bool requireRecipe = false;
  /// A curve for the keys of attentions to lie or to be walked along, "linear"
  /// for none, or "auto" to choose by the cost model. It changes no result.
  std::string order = "auto";
  /// How kernels compute several branches of an attention: "chain", one after
  /// the other, "union", which refuses attentions that one kernel cannot
  /// compute, or "auto" to choose by the cost model. It changes no result
  /// beyond rounding.
  std::string combine = "auto";
  /// A picture to draw instead: "order", "pattern" or "tiles", the last of the
  /// first level; the output is then an SVG. Empty: none.
  std::string plot;
  /// Whether the explanation counts what each attention touches in memory, for
  /// its order and for others.
  bool explainMemory = false;
  /// On how many random inputs, drawn from a seed, each function that a pass
  /// rewrites is run beside what it was before; 0: on none. A difference is an
  /// error.
  int64_t verifyDraws = 0;
  uint64_t verifySeed = 1;
  /// What messages call the input.
  std::string inputName = "<input>";
  /// The lld that links an artefact's code; empty: the one beside this program
  /// or on PATH.
  std::string linker;
  /// The ptxas that makes code for GPUs; empty: that of CUDA_HOME or CUDA_PATH,
  /// else the one on PATH or in /usr/local/cuda. Without any, an artefact has
  /// PTX alone.
  std::string ptxas;
  /// Where to write a reproducer if a pass fails or crashes; empty: nowhere.
  std::string reproducer;
  /// Bytecode is read by a process of its own, with limits, and what it says is
  /// checked as text is.
  bool allowBytecode = false;
  /// The ringlet-compile that is that process; empty: a fork of this one, which
  /// is for programs of one thread.
  std::string bytecodeReader;
  /// Hears of each message; CompileResult::diagnostics has them all.
  MessageListener listener;
  /// Timers of what takes time go into this one, which runs: reading, passes,
  /// LLVM, linker and ptxas. Null: nobody wants to know.
  mlir::TimingScope *timing = nullptr;
};

struct CompileResult {
  bool ok = false;
  /// Text or bytes, as Emit says; empty on failure.
  std::string output;
  /// Errors and warnings, ready to print.
  std::string diagnostics;
  /// Every automatic choice with its reason, a line each.
  std::string explanation;
};

/// Compiles text (or, if allowed, bytecode).
CompileResult compile(std::string_view text,
                      const CompileOptions &options = {});

/// Compiles a module, which stays as it is. Dialects that are missing in its
/// context are loaded into it; nothing else may use the context meanwhile.
CompileResult compile(mlir::ModuleOp module,
                      const CompileOptions &options = {});

/// Sets the levels that a list like "cpu", "cpu:LEVEL,LEVEL" or
/// "cpu,sm_80,sm_90a" names. Returns an empty string, or what is wrong.
std::string parseTarget(std::string_view target, CompileOptions &options);

/// Sets what "ringlet", "rtile", "schedule", "rplan", "llvm", "asm", "obj",
/// "ptx", "cubin" or "rla" names. Returns an empty string, or what is wrong.
std::string parseEmit(std::string_view name, CompileOptions &options);

/// Sets the recipe called "auto", "plain" or by its name, with parameters if it
/// has any ("NAME{parameter=value}"). Returns an empty string, or what is
/// wrong.
std::string parseRecipe(std::string_view name, CompileOptions &options);

/// What parseRecipe() reads, as a list for help texts.
std::string listRecipes();

/// Sets the order called "auto" or by the name of a curve. Returns an empty
/// string, or what is wrong.
std::string parseOrder(std::string_view name, CompileOptions &options);

/// Sets how kernels compute several branches: "auto", "chain" or "union".
/// Returns an empty string, or what is wrong.
std::string parseCombine(std::string_view name, CompileOptions &options);

/// Sets what the explanation is to hold beside the choices: nothing, or
/// "memory". Returns an empty string, or what is wrong.
std::string parseExplain(std::string_view topic, CompileOptions &options);

/// Sets what "", "seed=N", "draws=N" or both with a comma between ask of the
/// verification of rewrites. Returns an empty string, or what is wrong.
std::string parseVerifyOrders(std::string_view list, CompileOptions &options);

/// Sets the picture that a file name ends in: "order.svg", "pattern.svg" or
/// "tiles.svg". Returns an empty string, or what is wrong.
std::string parsePlot(std::string_view file, CompileOptions &options);

} // namespace ringlet

#endif // RINGLET_COMPILE_H
