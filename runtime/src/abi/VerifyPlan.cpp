//===- VerifyPlan.cpp - Rules of expressions and steps ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"
#include "ringlet/abi/Format.h"

using namespace ringlet::abi;

static bool isOperator(ExprOp op) {
  return op >= ExprOp::Add && op <= ExprOp::Max;
}

static bool isOfMachine(ExprOp op) { return op >= ExprOp::Multiprocessors; }

bool Verifier::verifyExprs(const std::string &place, const Function &function) {
  uint32_t count = sizeOf(function.exprs());
  uint32_t arguments = sizeOf(function.arguments());
  if (!checkCount(place, "expressions", count, kMaxExprs))
    return false;
  readsMore.assign(count, false);
  for (uint32_t i = 0; i < count; ++i) {
    const Expr &expr = *function.exprs()->Get(i);
    std::string at = formatText("{}, expression {}", place, i);
    if (!checkText(at, "name", expr.name()) ||
        !checkCount(at, "terms", expr.terms()->size(), kMaxExprTerms) ||
        !checkAligned(at, expr.terms(), alignof(ExprTerm)))
      return false;

    uint32_t depth = 0;
    for (const ExprTerm *term : *expr.terms()) {
      if (term->op() > ExprOp::MAX)
        return fail(at,
                    formatText("expected an operation from 0 to {}, found {}",
                               int(ExprOp::MAX), int(term->op())));
      if (isOperator(term->op())) {
        if (depth < 2)
          return fail(
              at,
              formatText("an operator finds {} operands, expected 2", depth));
        --depth;
        continue;
      }
      if (++depth > kMaxExprStack)
        return fail(at, formatText("expected a stack of at most {} values",
                                   kMaxExprStack));
      if (term->op() == ExprOp::Const)
        continue;
      if (isOfMachine(term->op())) {
        readsMore[i] = true;
        continue;
      }
      if (term->op() == ExprOp::Ref) {
        if (!checkIndex(at, "an earlier expression", term->index(), i))
          return false;
        if (readsMore[term->index()])
          readsMore[i] = true;
        continue;
      }
      if (!checkIndex(at, "an argument", term->index(), arguments))
        return false;
      const Argument &argument = *function.arguments()->Get(term->index());
      if (term->op() == ExprOp::Scalar) {
        if (argument.is_output() || argument.dtype() != DType::I64 ||
            sizeOf(argument.sizes()) != 0)
          return fail(at, "expected a rank-0 i64 input to read, found '" +
                              argument.name()->str() + "'");
        continue;
      }
      if (!checkIndex(at, "an axis", term->axis(), sizeOf(argument.sizes())))
        return false;
      if (argument.is_output())
        readsMore[i] = true;
    }
    if (depth != 1)
      return fail(at,
                  formatText("expected one value at the end, found {}", depth));
  }
  return true;
}

BufferType ringlet::abi::bufferType(const Artifact &artifact,
                                    const Function &function,
                                    const Buffer &buffer) {
  switch (buffer.kind()) {
  case BufferKind::Argument:
  case BufferKind::Aligned: {
    const Argument &argument = *function.arguments()->Get(buffer.index());
    return {argument.dtype(), sizeOf(argument.sizes()), argument.sizes()};
  }
  case BufferKind::Constant: {
    const Constant &constant = *artifact.constants()->Get(buffer.index());
    return {constant.dtype(), sizeOf(constant.sizes()), constant.sizes()};
  }
  case BufferKind::Workspace:
    return {buffer.dtype(), sizeOf(buffer.sizes()), nullptr};
  case BufferKind::OrderTable:
  case BufferKind::OrdinalTable:
  case BufferKind::TileIndex:
    break;
  }
  return {DType::I64, 1, nullptr};
}

bool Verifier::verifyFill(const std::string &place, const Plan &plan,
                          uint32_t index) {
  if (!checkIndex(place, "a kernel", index, sizeOf(artifact.kernels())))
    return false;
  const Kernel &kernel = *artifact.kernels()->Get(index);
  const KernelParam *param =
      sizeOf(kernel.params()) == 1 ? kernel.params()->Get(0) : nullptr;
  bool fits = param && kernel.grid_rank() == 1 &&
              param->kind() == ParamKind::Buffer &&
              param->dtype() == DType::I64 && param->writes() &&
              sizeOf(param->sizes()) == 1 && param->sizes()->Get(0) == -1 &&
              param->strides()->Get(0) == 1;
  if (!fits)
    return fail(place, "expected a kernel that writes one i64 [?] to fill the "
                       "table, found '" +
                           kernel.name()->str() + "'");
  return checkCode(place, kernel, plan);
}

bool Verifier::verifyAligned(const std::string &place, const Function &function,
                             const Plan &plan, const Buffer &buffer) {
  if (!checkIndex(place, "an argument", buffer.index(),
                  sizeOf(function.arguments())) ||
      !checkIndex(place, "an expression", buffer.worth(),
                  sizeOf(function.exprs())) ||
      !checkIndex(place, "a first step", buffer.first_step(),
                  sizeOf(plan.steps())))
    return false;
  const Argument &argument = *function.arguments()->Get(buffer.index());
  if (argument.is_output() || sizeOf(argument.sizes()) == 0)
    return fail(place, "expected an input of 1 axis or more to align, found '" +
                           argument.name()->str() + "'");
  const Step &step = *plan.steps()->Get(buffer.first_step());
  return (step.action_as_Launch() && step.queue() == Queue::Compute) ||
         fail(place, formatText("expected a launch of the queue compute as "
                                "step {}, which makes the copy",
                                buffer.first_step()));
}

bool Verifier::verifyCopying(const std::string &place, const Plan &plan,
                             uint32_t step, const Launch &launch) {
  auto getBuffer = [&](uint32_t i) -> const Buffer * {
    const LaunchArg &arg = *launch.args()->Get(i);
    return arg.kind() == LaunchArgKind::Buffer
               ? plan.buffers()->Get(arg.index())
               : nullptr;
  };
  uint32_t count = sizeOf(launch.args());
  for (uint32_t i = 0; i < count; ++i) {
    const Buffer *copy = getBuffer(i);
    if (!copy || copy->kind() != BufferKind::Aligned ||
        copy->first_step() != step)
      continue;
    const Buffer *source = getBuffer(0);
    const Kernel &kernel = *artifact.kernels()->Get(launch.kernel());
    if (count != 2 || i != 1 || launch.otherwise() || !source ||
        source->kind() != BufferKind::Argument ||
        source->index() != copy->index() || !kernel.params()->Get(i)->writes())
      return fail(place,
                  formatText("expected a launch that copies input {} to "
                             "buffer {} and does nothing else",
                             copy->index(), launch.args()->Get(i)->index()));
  }
  return true;
}

bool Verifier::verifyBuffer(const std::string &place, const Function &function,
                            const Plan &plan, const Buffer &buffer) {
  uint32_t exprs = sizeOf(function.exprs());
  switch (buffer.kind()) {
  case BufferKind::Argument:
    return checkIndex(place, "an argument", buffer.index(),
                      sizeOf(function.arguments()));
  case BufferKind::Constant:
    return checkIndex(place, "a constant", buffer.index(),
                      sizeOf(artifact.constants()));
  case BufferKind::Workspace:
    if (!checkDType(place, buffer.dtype()) ||
        !checkCount(place, "axes", sizeOf(buffer.sizes()), kMaxRank))
      return false;
    for (uint32_t i = 0; i < sizeOf(buffer.sizes()); ++i)
      if (!checkIndex(place, "an expression", buffer.sizes()->Get(i), exprs))
        return false;
    return true;
  case BufferKind::OrderTable:
    if (!buffer.order())
      return fail(place, "expected an order, found none");
    return checkOrder(place, *buffer.order()) &&
           checkIndex(place, "an expression", buffer.length(), exprs) &&
           (buffer.fill() == -1 ||
            verifyFill(place, plan, uint32_t(buffer.fill())));
  case BufferKind::OrdinalTable:
    if (!buffer.order())
      return fail(place, "expected an order, found none");
    return checkOrder(place, *buffer.order()) &&
           (!buffer.memory() || checkOrder(place, *buffer.memory())) &&
           checkIndex(place, "an expression", buffer.first(), exprs) &&
           checkIndex(place, "an expression", buffer.length(), exprs) &&
           checkIndex(place, "an expression", buffer.offset(), exprs);
  case BufferKind::TileIndex: {
    const TileIndex *tiles = buffer.tiles();
    if (!tiles)
      return fail(place, "expected a tile index, found none");
    if ((tiles->order() && !checkOrder(place, *tiles->order())) ||
        !checkAligned(place, tiles->grid(), alignof(int64_t)) ||
        !checkAligned(place, tiles->reach(), alignof(int64_t)))
      return false;
    for (uint32_t expr :
         {tiles->query_length(), tiles->query_offset(), tiles->key_length(),
          tiles->tiles(), tiles->segments(), tiles->first_segment()})
      if (!checkIndex(place, "an expression", expr, exprs))
        return false;
    return true;
  }
  case BufferKind::Aligned:
    return verifyAligned(place, function, plan, buffer);
  }
  return fail(place, formatText("expected a kind from 0 to {}, found {}",
                                int(BufferKind::MAX), int(buffer.kind())));
}

bool Verifier::checkUse(const std::string &place, const Function &function,
                        const Plan &plan, uint32_t step, uint32_t index,
                        bool writes) {
  const Buffer &buffer = *plan.buffers()->Get(index);
  std::string name = formatText("buffer {}", index);
  if (buffer.kind() == BufferKind::Aligned && step < buffer.first_step())
    return fail(place, formatText("{} is used at step {}, but made by step {}",
                                  name, step, buffer.first_step()));
  // Behind its first step an aligned buffer may be the caller's input.
  if (!writes || buffer.kind() == BufferKind::Workspace ||
      (buffer.kind() == BufferKind::Aligned && step == buffer.first_step()))
    return true;
  if (buffer.kind() == BufferKind::Argument &&
      function.arguments()->Get(buffer.index())->is_output())
    return true;
  return fail(place, name + " is written, but is neither an output nor a "
                            "workspace");
}

bool Verifier::checkCode(const std::string &place, const Kernel &kernel,
                         const Plan &plan) {
  for (uint32_t object : *plan.code_objects()) {
    bool found = false;
    for (uint32_t i = 0; i < sizeOf(kernel.code()); ++i)
      found |= kernel.code()->Get(i)->code_object() == object;
    if (!found)
      return fail(place, formatText("kernel '{}' has no code in code object {}",
                                    kernel.name()->str(), object));
  }
  return true;
}

bool Verifier::verifyLaunch(const std::string &place, const Function &function,
                            const Plan &plan, uint32_t step,
                            const Launch &launch) {
  if (!checkIndex(place, "a kernel", launch.kernel(),
                  sizeOf(artifact.kernels())))
    return false;
  const Kernel &kernel = *artifact.kernels()->Get(launch.kernel());
  std::string name = "kernel '" + kernel.name()->str() + "'";
  if (sizeOf(launch.grid()) != kernel.grid_rank())
    return fail(place,
                formatText("{} expects a grid of rank {}, found {}", name,
                           kernel.grid_rank(), sizeOf(launch.grid())));
  for (uint32_t i = 0; i < sizeOf(launch.grid()); ++i)
    if (!checkIndex(place, "an expression", launch.grid()->Get(i),
                    sizeOf(function.exprs())))
      return false;
  if (sizeOf(launch.args()) != sizeOf(kernel.params()))
    return fail(place,
                formatText("{} expects {} arguments, found {}", name,
                           sizeOf(kernel.params()), sizeOf(launch.args())));

  if (!checkCode(place, kernel, plan))
    return false;

  for (uint32_t i = 0; i < sizeOf(launch.args()); ++i) {
    const LaunchArg &arg = *launch.args()->Get(i);
    const KernelParam &param = *kernel.params()->Get(i);
    std::string at = formatText("{}, argument {}", place, i);
    bool isBuffer = param.kind() == ParamKind::Buffer;
    if (arg.kind() != (isBuffer ? LaunchArgKind::Buffer : LaunchArgKind::Expr))
      return fail(at, formatText("{} expects a {}, found kind {}", name,
                                 (isBuffer ? "buffer" : "scalar"),
                                 int(arg.kind())));
    if (!isBuffer) {
      if (!checkIndex(at, "an expression", arg.index(),
                      sizeOf(function.exprs())))
        return false;
      continue;
    }
    if (!checkIndex(at, "a buffer", arg.index(), sizeOf(plan.buffers())) ||
        !checkUse(at, function, plan, step, arg.index(), param.writes()))
      return false;
    BufferType type =
        bufferType(artifact, function, *plan.buffers()->Get(arg.index()));
    if (type.dtype != param.dtype() || type.rank != sizeOf(param.sizes()))
      return fail(
          at, formatText("{} expects {} of rank {}, found {} of rank {}", name,
                         dtypeName(param.dtype()), sizeOf(param.sizes()),
                         dtypeName(type.dtype), type.rank));
    for (uint32_t axis = 0; type.sizes && axis < type.rank; ++axis) {
      int64_t wanted = param.sizes()->Get(axis), given = type.sizes->Get(axis);
      if (wanted != -1 && given != -1 && wanted != given)
        return fail(at, formatText("{} expects size {} on axis {}, found {}",
                                   name, wanted, axis, given));
    }
  }
  return verifyCopying(place, plan, step, launch) &&
         verifyFallback(place, function, plan, step, launch);
}

bool Verifier::verifyFallback(const std::string &place,
                              const Function &function, const Plan &plan,
                              uint32_t step, const Launch &launch) {
  const Launch *other = launch.otherwise();
  if (!other)
    return true;
  std::string at = place + ", otherwise";
  if (other->otherwise())
    return fail(at, "expected a launch without another choice, found one");
  if (!verifyLaunch(at, function, plan, step, *other))
    return false;
  const Kernel &kernel = *artifact.kernels()->Get(other->kernel());
  for (uint32_t i = 0; i < sizeOf(kernel.code()); ++i)
    if (sizeOf(kernel.code()->Get(i)->maps()) != 0)
      return fail(at, "expected a kernel without tensor maps, found '" +
                          kernel.name()->str() + "'");
  return true;
}

bool Verifier::verifyRequire(const std::string &place, const Function &function,
                             const Require &require) {
  uint32_t exprs = sizeOf(function.exprs());
  if (require.compare() > Compare::MAX)
    return fail(place,
                formatText("expected a comparison from 0 to {}, found {}",
                           int(Compare::MAX), int(require.compare())));
  return checkIndex(place, "an expression", require.lhs(), exprs) &&
         checkIndex(place, "an expression", require.rhs(), exprs) &&
         checkText(place, "message", require.message()) &&
         checkText(place, "rule", require.rule());
}

bool Verifier::verifyCopy(const std::string &place, const Function &function,
                          const Plan &plan, uint32_t step, const Copy &copy) {
  uint32_t buffers = sizeOf(plan.buffers());
  if (!checkIndex(place, "a buffer", copy.source(), buffers) ||
      !checkIndex(place, "a buffer", copy.destination(), buffers) ||
      !checkUse(place, function, plan, step, copy.source(), false) ||
      !checkUse(place, function, plan, step, copy.destination(), true))
    return false;
  if (copy.source() == copy.destination())
    return fail(place, formatText("copies buffer {} to itself", copy.source()));
  BufferType source =
      bufferType(artifact, function, *plan.buffers()->Get(copy.source()));
  BufferType destination =
      bufferType(artifact, function, *plan.buffers()->Get(copy.destination()));
  if (source.dtype != destination.dtype || source.rank != destination.rank)
    return fail(place,
                formatText("copies {} of rank {} to {} of rank {}",
                           dtypeName(source.dtype), source.rank,
                           dtypeName(destination.dtype), destination.rank));
  return true;
}

bool Verifier::verifyPlan(const std::string &place, const Function &function,
                          const Plan &plan) {
  if (plan.code_objects()->size() == 0)
    return fail(place, "expected a code object, found none");
  if (!checkCount(place, "buffers", sizeOf(plan.buffers()), kMaxBuffers) ||
      !checkCount(place, "steps", sizeOf(plan.steps()), kMaxSteps))
    return false;
  for (uint32_t i = 0; i < sizeOf(plan.buffers()); ++i)
    if (!verifyBuffer(formatText("{}, buffer {}", place, i), function, plan,
                      *plan.buffers()->Get(i)))
      return false;
  for (uint32_t i = 0; i < sizeOf(plan.steps()); ++i) {
    const Step &step = *plan.steps()->Get(i);
    std::string at = formatText("{}, step {}", place, i);
    if (!verifyWaits(at, plan, i))
      return false;
    bool good;
    if (const Launch *launch = step.action_as_Launch())
      good = verifyLaunch(at, function, plan, i, *launch);
    else if (const Require *require = step.action_as_Require())
      good = verifyRequire(at, function, *require);
    else if (const Copy *copy = step.action_as_Copy())
      good = verifyCopy(at, function, plan, i, *copy);
    else if (const Exchange *exchange = step.action_as_Exchange())
      good = verifyExchange(at, function, plan, i, *exchange);
    else if (const Attend *attend = step.action_as_Attend())
      good = verifyAttend(at, function, plan, i, *attend);
    else
      good =
          fail(at, formatText("expected an action from 1 to {}, found {}",
                              int(StepAction::MAX), int(step.action_type())));
    if (!good)
      return false;
  }
  return verifyRaces(place, plan);
}
