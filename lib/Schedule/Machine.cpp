//===- Machine.cpp - Which roles use which channels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Machine.h"

using namespace ringlet::schedule;

bool ringlet::schedule::findUsers(const Machine &machine, Fault &fault) {
  // One program fills a channel; of those that read it, the last one that was
  // seen and the groups of all.
  std::vector<unsigned> writers(machine.slots.size(), Step::none);
  std::vector<unsigned> readers(machine.slots.size(), Step::none);
  std::vector<unsigned> groups(machine.slots.size(), 0);
  // Where the channel was first used, for a fault that has no place else.
  auto fail = [&](FaultKind kind, unsigned program, unsigned step,
                  unsigned channel) {
    fault = Fault{kind};
    fault.program = program;
    fault.step = step;
    fault.channel = channel;
    return true;
  };
  std::vector<unsigned> firstSteps(machine.slots.size(), Step::none);
  for (unsigned p = 0; p < machine.programs.size(); ++p) {
    const Program &program = machine.programs[p];
    for (unsigned i = 0; i < program.steps.size(); ++i) {
      const Step &step = program.steps[i];
      bool writes = step.kind == StepKind::Acquire;
      if (!writes && step.kind != StepKind::Await)
        continue;
      unsigned &user = (writes ? writers : readers)[step.channel];
      if (writes && user != Step::none && user != p)
        return fail(FaultKind::TwoWriters, p, i, step.channel);
      if (writes && program.groups > 1)
        return fail(FaultKind::WriterInTurns, p, i, step.channel);
      if (!writes && user != p)
        groups[step.channel] += program.groups;
      if (groups[step.channel] > Machine::maxGroups)
        return fail(FaultKind::TooManyReaders, p, i, step.channel);
      user = p;
      if (firstSteps[step.channel] == Step::none)
        firstSteps[step.channel] = i;
    }
  }
  for (unsigned c = 0; c < machine.slots.size(); ++c) {
    if (writers[c] == Step::none)
      return fail(FaultKind::NoWriter, readers[c], firstSteps[c], c);
    if (readers[c] == Step::none)
      return fail(FaultKind::NoReader, writers[c], firstSteps[c], c);
  }
  return false;
}
