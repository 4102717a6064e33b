//===- Call.h - One call of an entry ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CALL_H
#define RINGLET_RUNTIME_CALL_H

#include "Expr.h"
#include "Memory.h"
#include "OrderTables.h"
#include "Program.h"
#include "Tensors.h"

#include <memory>
#include <vector>

namespace ringlet::rt {

/// A call goes through two phases. prepare() checks everything that can be
/// wrong and computes everything that does not need memory; execute() takes
/// memory and works through the steps. Only execute() has effects.
class Call {
public:
  Call(const Program &program, const Entry &entry)
      : program(program), entry(entry) {}

  Status prepare(const rl_tensor *tensors, uint32_t count, Binding binding);
  void fill(rl_estimate &estimate) const;
  /// Queues the steps; complete on return where the driver has no queues.
  Status execute(Stream stream);

private:
  /// A kernel of the plan with its parameters in `words`.
  struct Launch {
    uint32_t kernel;
    uint32_t firstWord, wordCount;
    int64_t items;
  };
  /// A word that receives the address of a buffer once it is known.
  struct Address {
    uint32_t word, buffer;
  };
  struct Copy {
    uint32_t source, destination;
  };
  struct Step {
    enum { LaunchStep, CopyStep } kind;
    uint32_t index;
  };

  Status failed(const Status &status) const;
  Status checkRequirements(const ExprValues &exprs) const;
  Status checkOutputs(const ExprValues &exprs) const;
  Status prepareBuffer(uint32_t index, const ExprValues &exprs);
  Status prepareLaunch(const abi::Launch &launch, const ExprValues &exprs);
  Status prepareParam(const abi::Kernel &kernel, uint32_t index,
                      uint32_t buffer);
  Status prepareCopy(const abi::Copy &copy);
  Status checkPlace(uint32_t buffer) const;
  Status planMemory();
  Status obtain(Stream stream, bool captured, Workspace &workspace);
  std::string needs() const;

  const Program &program;
  const Entry &entry;
  std::vector<TensorView> arguments;
  /// One for each buffer of the plan; data is null until execute() where the
  /// runtime provides the memory.
  std::vector<TensorView> buffers;
  std::vector<int64_t> words;
  std::vector<Address> addresses;
  std::vector<Launch> launches;
  std::vector<Copy> copies;
  std::vector<Step> steps;
  struct BlockUse {
    uint32_t buffer;
    OrderTableKey key;
  };
  std::vector<BlockUse> tableUses;
  std::vector<uint32_t> workspaceBuffers;
  std::vector<Lifetime> lifetimes; // One for each of workspaceBuffers.
  std::vector<std::shared_ptr<const OrderTable>> tables; // And of tableUses.
  uint64_t workspaceBytes = 0, scratchPerThread = 0, scratchBytes = 0;
  uint64_t tableBytes = 0, totalBytes = 0;
};

/// The sizes of an entry's outputs, RL_MAX_RANK values for each.
Status outputSizes(const Entry &entry, const rl_tensor *tensors, uint32_t count,
                   int64_t *sizes);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_CALL_H
