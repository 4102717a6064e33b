//===- Programs.h - Short notation for programs of roles -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_SCHEDULE_PROGRAMS_H
#define RINGLET_TEST_UNIT_SCHEDULE_PROGRAMS_H

#include "lib/Schedule/Machine.h"

#include <functional>

namespace ringlet::schedule {

/// Writes a program step by step.
class Writer {
public:
  explicit Writer(std::string name, unsigned groups = 1) {
    program.name = std::move(name);
    program.groups = groups;
  }

  unsigned slot() { return program.addVar(VarKind::Slot); }
  unsigned product() { return program.addVar(VarKind::Product); }
  unsigned registers() { return program.addVar(VarKind::Register); }

  unsigned acquire(unsigned channel) {
    return wait(StepKind::Acquire, channel, slot());
  }
  unsigned await(unsigned channel) {
    return wait(StepKind::Await, channel, slot());
  }
  void copy(unsigned slot) { add(StepKind::Copy, slot); }
  void read(unsigned slot) { add(StepKind::Read, slot); }
  void release(unsigned slot) { add(StepKind::Release, slot); }
  unsigned start(std::vector<unsigned> slots, unsigned left = Step::none,
                 unsigned sums = Step::none) {
    Step step{StepKind::Start};
    step.var = product();
    step.reads = std::move(slots);
    step.left = left;
    step.sums = sums;
    unsigned var = step.var;
    program.add(std::move(step));
    return var;
  }
  /// A product that goes on with the sums of another one.
  unsigned startOnto(unsigned before, std::vector<unsigned> slots) {
    unsigned started = start(std::move(slots));
    program.steps.back().onto = before;
    return started;
  }
  void finish(unsigned product) { add(StepKind::Finish, product); }
  void waitFor(unsigned product) { add(StepKind::Wait, product); }
  void use(unsigned registers) { add(StepKind::Use, registers); }
  void write(unsigned registers) { add(StepKind::Write, registers); }
  void enter() { program.add(Step{StepKind::Enter}); }
  void leave() { program.add(Step{StepKind::Leave}); }
  void meet() { program.add(Step{StepKind::Meet}); }
  void move(std::vector<Step::VarMove> moves) {
    Step step{StepKind::Move};
    step.moves = std::move(moves);
    program.add(std::move(step));
  }
  void drop(std::vector<unsigned> vars) {
    Step step{StepKind::Drop};
    step.reads = std::move(vars);
    program.add(std::move(step));
  }

  /// A loop whose variables end with each step.
  void loop(unsigned decision, const std::function<void()> &body) {
    Step head{StepKind::Decide};
    head.decision = decision;
    loop(std::move(head), body);
  }
  void repeat(unsigned limit, const std::function<void()> &body) {
    Step head{StepKind::Count};
    head.counter = program.counters++;
    head.limit = limit;
    loop(std::move(head), body);
  }
  void branch(unsigned decision, const std::function<void()> &body) {
    Step head{StepKind::Decide};
    head.decision = decision;
    unsigned begin = program.add(std::move(head));
    body();
    program.steps[begin].target = program.steps.size();
  }

  /// What was written, and the end of all variables.
  Program take() {
    std::vector<unsigned> all;
    for (unsigned v = 0; v < program.vars.size(); ++v)
      if (program.vars[v] != VarKind::Register)
        all.push_back(v);
    drop(all);
    for (unsigned i = 0; i < program.steps.size(); ++i)
      program.steps[i].place = i;
    return std::move(program);
  }

private:
  void add(StepKind kind, unsigned var) {
    Step step{kind};
    step.var = var;
    program.add(std::move(step));
  }
  unsigned wait(StepKind kind, unsigned channel, unsigned var) {
    Step step{kind};
    step.channel = channel;
    step.var = var;
    program.add(std::move(step));
    return var;
  }
  void loop(Step head, const std::function<void()> &body) {
    unsigned begin = program.add(std::move(head));
    unsigned firstVar = program.vars.size();
    body();
    std::vector<unsigned> vars;
    for (unsigned v = firstVar; v < program.vars.size(); ++v)
      if (program.vars[v] != VarKind::Register)
        vars.push_back(v);
    drop(vars);
    Step back{StepKind::Jump};
    back.target = begin;
    program.add(std::move(back));
    program.steps[begin].target = program.steps.size();
  }

  Program program;
};

} // namespace ringlet::schedule

#endif // RINGLET_TEST_UNIT_SCHEDULE_PROGRAMS_H
