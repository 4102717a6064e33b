//===- Control.cpp - Loops and branches -----------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet::interpreter;

static LogicalResult runFor(Machine &machine, const Instruction &instruction) {
  auto loop = cast<scf::ForOp>(instruction.op);
  const Sequence &body = instruction.bodies[0];
  int64_t lower = machine.scalar(instruction, 0);
  int64_t upper = machine.scalar(instruction, 1);
  int64_t step = machine.scalar(instruction, 2);
  if (loop.getUnsignedCmp())
    return machine.fail(instruction, "expected a signed comparison, found an "
                                     "unsigned one: it is not supported");
  if (step <= 0)
    return machine.fail(instruction,
                        "expected a step of at least 1, found " + Twine(step));

  // The first body argument is the counter, the others are carried.
  auto carried = ArrayRef<uint32_t>(body.arguments).drop_front();
  for (auto [slot, initial] :
       llvm::zip(carried, ArrayRef(instruction.operands).drop_front(3)))
    machine[slot] = machine[initial];
  std::vector<Datum> next(carried.size());
  for (int64_t i = lower; i < upper;) {
    machine[body.arguments[0]].ints.assign(1, i);
    if (failed(machine.step(instruction.op)) || failed(machine.execute(body)))
      return failure();
    // All at once: what is yielded may be another carried value.
    for (size_t k = 0; k < next.size(); ++k)
      next[k] = machine[body.yields[k]];
    for (size_t k = 0; k < next.size(); ++k)
      std::swap(machine[carried[k]], next[k]);
    if (__builtin_add_overflow(i, step, &i))
      break;
  }
  for (auto [slot, result] : llvm::zip(carried, instruction.results))
    machine[result] = machine[slot];
  return success();
}

static LogicalResult runIf(Machine &machine, const Instruction &instruction) {
  const Sequence &body =
      instruction.bodies[machine.scalar(instruction, 0) ? 0 : 1];
  if (failed(machine.execute(body)))
    return failure();
  for (auto [yielded, result] : llvm::zip(body.yields, instruction.results))
    machine[result] = machine[yielded];
  return success();
}

void ringlet::interpreter::registerControl(HandlerTable &table) {
  table["scf.for"] = runFor;
  table["scf.if"] = runIf;
}
