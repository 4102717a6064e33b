//===- Call.h - One call of an entry ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CALL_H
#define RINGLET_RUNTIME_CALL_H

#include "Expr.h"
#include "Prepared.h"
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
  Status failed(const Status &status) const;
  Status checkAddresses() const;
  /// That a tensor map cannot have this address of a buffer.
  Status misplaced(const Prepared::Launch &launch, uint32_t buffer,
                   const char *address) const;
  Status obtain(Stream stream, Workspace &workspace);
  Status runStep(const Prepared::Step &step, const std::vector<char *> &places,
                 const std::vector<int64_t> &words, char *scratch,
                 Stream stream) const;
  Status runLaunch(const Prepared::Launch &launch,
                   const std::vector<char *> &places,
                   const std::vector<int64_t> &words, char *scratch,
                   Stream stream) const;
  Status fill(uint32_t buffer, const std::vector<char *> &places,
              Stream stream) const;
  std::string needs() const;

  const Program &program;
  const Entry &entry;
  std::vector<TensorView> arguments;
  std::shared_ptr<const Prepared> shape;
  std::vector<std::shared_ptr<const OrderTable>> tables; // Of its tableUses.
};

/// The sizes of an entry's outputs, RL_MAX_RANK values for each.
Status outputSizes(const Entry &entry, const rl_tensor *tensors, uint32_t count,
                   int64_t *sizes);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_CALL_H
