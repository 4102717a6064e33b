//===- Ptxas.h - NVIDIA's assembler as a child process ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_PTXAS_H
#define RINGLET_LIB_COMPILER_PTXAS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace ringlet {

/// What ptxas says of one kernel.
struct KernelReport {
  std::string name;
  int64_t registers = 0;
  int64_t stackBytes = 0;
  int64_t spillStores = 0, spillLoads = 0;
};

struct PtxasReport {
  std::vector<KernelReport> kernels;
  /// Lines that make a kernel unfit: warnings, and remarks of a performance
  /// loss, which ptxas does not call warnings.
  std::vector<std::string> complaints;

  const KernelReport *find(llvm::StringRef kernel) const;
  /// Why a kernel is unfit: it spills registers, or ptxas complains of it or of
  /// nobody by name. Empty if it is not. `target` is for the message.
  std::string whyUnfit(llvm::StringRef kernel, llvm::StringRef target) const;
};

/// Reads what `ptxas -v` prints.
PtxasReport parsePtxasReport(llvm::StringRef text);

/// An error for the first kernel that spills registers or that ptxas complains
/// of. `target` is for the message.
llvm::Error checkPtxasReport(const PtxasReport &report, llvm::StringRef target);

/// The ptxas to use: `option` if it is not empty, else that of $CUDA_HOME or
/// $CUDA_PATH, else the one on PATH, else /usr/local/cuda's. Nothing if there
/// is none; an error only if `option` names none.
llvm::Expected<std::optional<std::string>> findPtxas(llvm::StringRef option);

struct Assembled {
  std::string cubin;
  PtxasReport report;
};

/// Assembles PTX for an architecture that ptxas knows.
llvm::Expected<Assembled> runPtxas(llvm::StringRef program, llvm::StringRef ptx,
                                   llvm::StringRef arch);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_PTXAS_H
