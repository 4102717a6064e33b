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

/// Sets the counter and runs the body, or ends the loop with what it carries.
static LogicalResult runStep(Machine &machine, const Instruction &instruction,
                             bool isFirst, int64_t i) {
  const Sequence &body = instruction.bodies[0];
  bool goesOn = i < machine.scalar(instruction, 1);
  if (!goesOn) {
    if (!isFirst)
      machine.leave();
    return machine.move(instruction,
                        ArrayRef<uint32_t>(body.arguments).drop_front(),
                        instruction.results);
  }
  machine[body.arguments[0]].ints.assign(1, i);
  if (isFirst)
    machine.enter(instruction, body, i);
  else
    machine.repeat();
  return machine.step(instruction.op);
}

static LogicalResult enterFor(Machine &machine,
                              const Instruction &instruction) {
  if (cast<scf::ForOp>(instruction.op).getUnsignedCmp())
    return machine.fail(instruction, "expected a signed comparison, found an "
                                     "unsigned one: it is not supported");
  int64_t step = machine.scalar(instruction, 2);
  if (step <= 0)
    return machine.fail(instruction,
                        "expected a step of at least 1, found " + Twine(step));
  // The first body argument is the counter, the others are carried.
  const Sequence &body = instruction.bodies[0];
  if (failed(machine.move(instruction,
                          ArrayRef(instruction.operands).drop_front(3),
                          ArrayRef<uint32_t>(body.arguments).drop_front())))
    return failure();
  return runStep(machine, instruction, /*isFirst=*/true,
                 machine.scalar(instruction, 0));
}

static LogicalResult leaveFor(Machine &machine,
                              const Instruction &instruction) {
  const Sequence &body = instruction.bodies[0];
  if (failed(machine.move(instruction, body.yields,
                          ArrayRef<uint32_t>(body.arguments).drop_front())))
    return failure();
  int64_t &counter = machine.counter();
  // Beyond the last number there is no step.
  if (__builtin_add_overflow(counter, machine.scalar(instruction, 2), &counter))
    counter = machine.scalar(instruction, 1);
  return runStep(machine, instruction, /*isFirst=*/false, counter);
}

static LogicalResult enterIf(Machine &machine, const Instruction &instruction) {
  machine.enter(instruction,
                instruction.bodies[machine.scalar(instruction, 0) ? 0 : 1]);
  return success();
}

static LogicalResult leaveIf(Machine &machine, const Instruction &instruction) {
  machine.leave();
  const Sequence &body =
      instruction.bodies[machine.scalar(instruction, 0) ? 0 : 1];
  return machine.move(instruction, body.yields, instruction.results);
}

void ringlet::interpreter::registerControl(HandlerTable &table) {
  table["scf.for"] = {enterFor, leaveFor};
  table["scf.if"] = {enterIf, leaveIf};
}
