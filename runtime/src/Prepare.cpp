//===- Prepare.cpp - What a plan makes of given sizes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Maps.h"

#include "abi/Lists.h"
#include "ringlet/abi/Verify.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::rt;
using abi::sizeOf;

namespace {

/// Fills a Prepared from the plan.
class Planner : public Prepared {
public:
  Planner(const Program &program, const Entry &entry,
          const std::vector<TensorView> &arguments, RingPlace place,
          InputCopies copies)
      : program(program), entry(entry), arguments(arguments), place(place),
        inputCopies(copies), order(*entry.plan) {}

  Status plan();

private:
  Status failed(const Status &status) const;
  Status checkRequirements(const ExprValues &exprs) const;
  Status checkOutputs(const ExprValues &exprs) const;
  Status prepareBuffer(uint32_t index, const ExprValues &exprs);
  Status prepareAligned(uint32_t index, const ExprValues &exprs);
  Status addWorkspace(uint32_t index);
  /// The argument whose memory a buffer is, null if it is other memory.
  const TensorView *standsFor(uint32_t buffer) const;
  Status checkPlace(uint32_t buffer) const;
  bool copiesNothing(const abi::Launch &launch, uint32_t step) const;
  void findSpans();
  void addStep(decltype(Step::kind) kind, size_t index, uint32_t number);
  Status prepareLaunch(const abi::Launch &launch, uint32_t step,
                       const ExprValues &exprs);
  Status prepareItems(const abi::Launch &launch, const ExprValues &exprs,
                      int64_t &items);
  Status prepareParam(const abi::Kernel &kernel, uint32_t index,
                      uint32_t buffer);
  Status prepareMaps(const abi::Kernel &kernel, const abi::Launch &launch);
  Status prepareCopy(const abi::Copy &copy, uint32_t step);
  Status prepareExchange(const abi::Exchange &exchange, uint32_t step,
                         const ExprValues &exprs);
  Status planMemory();

  const Program &program;
  const Entry &entry;
  const std::vector<TensorView> &arguments;
  const RingPlace place;
  const InputCopies inputCopies;
  const abi::StepOrder order;
  std::vector<abi::StepSpan> spans; // One for each buffer of the plan.
  /// For each queue: how many of its first steps, by their number in the plan,
  /// are steps here, and have something to do.
  std::array<std::vector<uint32_t>, abi::kQueues> kept;
  abi::QueueCounts added = {};
};

} // namespace

Status Planner::failed(const Status &status) const {
  return failure(status.code(), "entry '", entry.function->name()->str(),
                 "': ", status.message());
}

//===----------------------------------------------------------------------===//
// Requirements
//===----------------------------------------------------------------------===//

static bool holds(abi::Compare compare, int64_t lhs, int64_t rhs) {
  switch (compare) {
  case abi::Compare::Eq:
    return lhs == rhs;
  case abi::Compare::Ne:
    return lhs != rhs;
  case abi::Compare::Lt:
    return lhs < rhs;
  case abi::Compare::Le:
    return lhs <= rhs;
  }
  return false;
}

Status Planner::checkRequirements(const ExprValues &exprs) const {
  for (uint32_t i = 0; i < sizeOf(entry.plan->steps()); ++i) {
    const auto *require = entry.plan->steps()->Get(i)->action_as_Require();
    if (!require)
      continue;
    int64_t lhs, rhs;
    RL_TRY(exprs.get(require->lhs(), lhs));
    RL_TRY(exprs.get(require->rhs(), rhs));
    if (holds(require->compare(), lhs, rhs))
      continue;
    std::string rule;
    if (require->rule() && require->rule()->size())
      rule = text(" (", require->rule()->str(), ")");
    return failed(invalid(require->message()->str(), ", found ", lhs, " and ",
                          rhs, rule));
  }
  return {};
}

Status Planner::checkOutputs(const ExprValues &exprs) const {
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const abi::Argument &argument = *entry.function->arguments()->Get(i);
    for (uint32_t axis = 0; axis < sizeOf(argument.size_exprs()); ++axis) {
      int64_t expected;
      RL_TRY(exprs.get(argument.size_exprs()->Get(axis), expected));
      if (arguments[i].sizes[axis] != expected)
        return failed(invalid("output '", argument.name()->str(),
                              "': expected size ", expected, " on axis ", axis,
                              ", found ", arguments[i].sizes[axis]));
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Status Planner::prepareBuffer(uint32_t index, const ExprValues &exprs) {
  const abi::Buffer &buffer = *entry.plan->buffers()->Get(index);
  TensorView &view = buffers[index];
  switch (buffer.kind()) {
  case abi::BufferKind::Argument:
    view = arguments[buffer.index()];
    view.data = nullptr;
    argumentUses.push_back({index, buffer.index()});
    return {};

  case abi::BufferKind::Constant: {
    const abi::Constant &constant =
        *program.artifact().constants()->Get(buffer.index());
    view.dtype = constant.dtype();
    view.rank = sizeOf(constant.sizes());
    for (uint32_t i = 0; i < view.rank; ++i)
      view.sizes[i] = constant.sizes()->Get(i);
    if (!makeContiguous(view))
      return failed(invalid("constant ", buffer.index(),
                            " has offsets that overflow 64 bits (S3)"));
    // Kernels only read it: the verifier has seen to that.
    view.data = const_cast<char *>(program.constant(buffer.index()));
    return {};
  }

  case abi::BufferKind::Workspace: {
    view.dtype = buffer.dtype();
    view.rank = sizeOf(buffer.sizes());
    for (uint32_t i = 0; i < view.rank; ++i)
      RL_TRY(exprs.getSize(buffer.sizes()->Get(i), "a size", view.sizes[i]));
    return addWorkspace(index);
  }

  case abi::BufferKind::Aligned:
    return prepareAligned(index, exprs);

  case abi::BufferKind::OrderTable:
  case abi::BufferKind::OrdinalTable:
  case abi::BufferKind::TileIndex: {
    layout::IndexTable key = entry.tables[index];
    Status status = setSizes(buffer, exprs, key);
    if (!status.ok())
      return failed(status);
    view.dtype = abi::DType::I64;
    view.rank = 1;
    view.sizes[0] = entryCount(key);
    view.strides[0] = 1;
    void *fill = buffer.fill() < 0
                     ? nullptr
                     : program.kernel(uint32_t(buffer.fill())).code;
    tableUses.push_back({index, std::move(key), fill});
    return {};
  }
  }
  return {};
}

Status Planner::addWorkspace(uint32_t index) {
  TensorView &view = buffers[index];
  if (!makeContiguous(view))
    return failed(failure(RL_OUT_OF_MEMORY, "workspace ", index,
                          " has offsets that overflow 64 bits (S3)"));
  uint64_t bytes = uint64_t(elementCount(view)) * abi::dtypeSize(view.dtype);
  workspaceBuffers.push_back(index);
  lifetimes.push_back({spans[index], bytes});
  return {};
}

Status Planner::prepareAligned(uint32_t index, const ExprValues &exprs) {
  const abi::Buffer &buffer = *entry.plan->buffers()->Get(index);
  const TensorView &input = arguments[buffer.index()];
  buffers[index] = input;
  buffers[index].data = nullptr;
  int64_t worth;
  RL_TRY(exprs.get(buffer.worth(), worth));
  if (inputCopies == InputCopies::None || worth == 0 || isAligned(input) ||
      elementCount(input) == 0) {
    argumentUses.push_back({index, buffer.index()});
    return {};
  }
  copiesInputs = true;
  program.context->logger.log(
      RL_LOG_INFO, nameOfBuffer(*entry.function, *entry.plan, index),
      " is copied, as its rows do not begin at multiples of ",
      abi::kMapAlignment, " bytes");
  return addWorkspace(index);
}

const TensorView *Planner::standsFor(uint32_t buffer) const {
  for (const ArgumentUse &use : argumentUses)
    if (use.buffer == buffer)
      return &arguments[use.argument];
  return nullptr;
}

Status Planner::planMemory() {
  const Driver &driver = *program.context->driver;
  bool fits = layOut(lifetimes, driver.alignment(), workspaceBytes);
  for (const Launch &launch : launches) {
    scratchPerThread =
        std::max(scratchPerThread, program.kernel(launch.kernel).scratchBytes);
    if (launch.countsItems)
      counterBytes = WorkspacePool::counterBytes;
  }
  scratchBytes = driver.scratchBytes(scratchPerThread);
  for (auto use = tableUses.begin(); use != tableUses.end(); ++use) {
    bool again =
        std::any_of(tableUses.begin(), use, [&](const TableUse &other) {
          return other.key == use->key;
        });
    if (!again &&
        __builtin_add_overflow(tableBytes, bytesOf(use->key), &tableBytes))
      fits = false;
  }
  fits = fits &&
         !__builtin_add_overflow(workspaceBytes, scratchBytes, &totalBytes) &&
         !__builtin_add_overflow(totalBytes, counterBytes, &totalBytes) &&
         !__builtin_add_overflow(totalBytes, tableBytes, &totalBytes) &&
         roundUp(workspaceBytes, 64, scratchOffset) &&
         !__builtin_add_overflow(scratchOffset, scratchBytes, &blockBytes) &&
         WorkspacePool::bytesOf(blockBytes, counterBytes > 0, runBytes);
  if (!fits)
    return failed(
        failure(RL_OUT_OF_MEMORY, "needs more than 2^64 bytes of memory"));
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Status Planner::checkPlace(uint32_t index) const {
  const abi::Buffer &buffer = *entry.plan->buffers()->Get(index);
  if (program.context->driver->usesHostMemory() ||
      buffer.kind() != abi::BufferKind::Argument)
    return {};
  const abi::Argument &argument =
      *entry.function->arguments()->Get(buffer.index());
  if (!isHostScalar(argument))
    return {};
  return failed(failure(RL_UNSUPPORTED, "input '", argument.name()->str(),
                        "' is a number of the host; no kernel of ",
                        program.context->driver->name(), " can read it"));
}

Status Planner::prepareParam(const abi::Kernel &kernel, uint32_t index,
                             uint32_t buffer) {
  const abi::KernelParam &param = *kernel.params()->Get(index);
  const TensorView &view = buffers[buffer];
  RL_TRY(checkPlace(buffer));
  addresses.push_back({uint32_t(words.size()), buffer});
  words.push_back(0);
  auto mismatch = [&](const char *what, uint32_t axis, int64_t wanted,
                      int64_t given) {
    return failed(invalid("kernel '", kernel.name()->str(), "' expects ", what,
                          " ", wanted, " on axis ", axis, " of parameter ",
                          index, ", found ", given));
  };
  for (uint32_t axis = 0; axis < view.rank; ++axis) {
    int64_t wanted = param.sizes()->Get(axis);
    if (wanted == -1)
      words.push_back(view.sizes[axis]);
    else if (wanted != view.sizes[axis])
      return mismatch("size", axis, wanted, view.sizes[axis]);
  }
  for (uint32_t axis = 0; axis < view.rank; ++axis) {
    int64_t wanted = param.strides()->Get(axis);
    if (wanted == -1)
      words.push_back(view.strides[axis]);
    // Nobody steps along an axis of one element, or through no elements.
    else if (wanted != view.strides[axis] && view.sizes[axis] > 1 &&
             elementCount(view) != 0)
      return mismatch("stride", axis, wanted, view.strides[axis]);
  }
  return {};
}

/// True for the launch that would copy an input to itself.
bool Planner::copiesNothing(const abi::Launch &launch, uint32_t step) const {
  if (sizeOf(launch.args()) != 2 ||
      launch.args()->Get(1)->kind() != abi::LaunchArgKind::Buffer)
    return false;
  uint32_t index = launch.args()->Get(1)->index();
  const abi::Buffer &buffer = *entry.plan->buffers()->Get(index);
  return buffer.kind() == abi::BufferKind::Aligned &&
         buffer.first_step() == step && standsFor(index);
}

void Planner::findSpans() {
  spans.resize(sizeOf(entry.plan->buffers()));
  for (uint32_t i = 0; i < sizeOf(entry.plan->steps()); ++i)
    abi::forEachUse(
        program.artifact(), *entry.plan, i,
        [&](uint32_t buffer, bool) { spans[buffer].add(order, i); });
}

/// Steps without work fall out: who waits for one waits for those before it.
void Planner::addStep(decltype(Step::kind) kind, size_t index,
                      uint32_t number) {
  Step step = {kind, uint32_t(index), order.queueOf(number),
               order.before(number)};
  for (uint32_t q = 0; q < abi::kQueues; ++q)
    if (step.before[q])
      step.before[q] = kept[q][step.before[q] - 1];
  steps.push_back(step);
  ++added[step.queue];
}

/// The extents of the grid; no items where one of them is 0.
Status Planner::prepareItems(const abi::Launch &launch, const ExprValues &exprs,
                             int64_t &items) {
  const abi::Kernel &kernel =
      *program.artifact().kernels()->Get(launch.kernel());
  bool empty = false, tooMany = false;
  items = 1;
  for (uint32_t i = 0; i < sizeOf(launch.grid()); ++i) {
    int64_t extent;
    RL_TRY(exprs.getSize(launch.grid()->Get(i), "a grid extent", extent));
    words.push_back(extent);
    empty |= extent == 0;
    tooMany |=
        __builtin_mul_overflow(items, std::max<int64_t>(extent, 1), &items);
  }
  if (empty) {
    items = 0;
    return {};
  }
  if (tooMany)
    return failed(invalid("the grid of kernel '", kernel.name()->str(),
                          "' has more than 2^63 items"));
  const abi::KernelCode &code = *program.kernel(launch.kernel()).description;
  int64_t most =
      program.context->driver->mostItems(code.blocks_per_multiprocessor());
  if (items > most)
    return failed(failure(RL_UNSUPPORTED, "the grid of kernel '",
                          kernel.name()->str(), "' has ", items,
                          " items, the device takes ", most));
  return {};
}

Status Planner::prepareLaunch(const abi::Launch &launch, uint32_t step,
                              const ExprValues &exprs) {
  if (copiesNothing(launch, step))
    return {};
  const abi::Kernel &kernel =
      *program.artifact().kernels()->Get(launch.kernel());
  size_t firstWord = words.size(), firstMap = maps.size();
  size_t firstAddress = addresses.size();
  for (uint32_t i = 0; i < sizeOf(launch.args()); ++i) {
    const abi::LaunchArg &arg = *launch.args()->Get(i);
    if (arg.kind() == abi::LaunchArgKind::Buffer) {
      RL_TRY(prepareParam(kernel, i, arg.index()));
      continue;
    }
    int64_t value;
    RL_TRY(exprs.get(arg.index(), value));
    words.push_back(value);
  }
  int64_t items;
  RL_TRY(prepareItems(launch, exprs, items));
  if (items == 0)
    return {};
  bool countsItems =
      program.kernel(launch.kernel()).description->counts_items();
  if (countsItems)
    words.push_back(0);
  Status status = prepareMaps(kernel, launch);
  if (!status.ok()) {
    if (!launch.otherwise())
      return failed(status);
    const abi::Kernel &other =
        *program.artifact().kernels()->Get(launch.otherwise()->kernel());
    program.context->logger.log(RL_LOG_INFO, "kernel '", other.name()->str(),
                                "' runs instead: ", status.message());
    words.resize(firstWord);
    addresses.resize(firstAddress);
    maps.resize(firstMap);
    mapBuffers.resize(firstMap);
    ++fallbacks;
    return prepareLaunch(*launch.otherwise(), step, exprs);
  }
  addStep(Step::LaunchStep, launches.size(), step);
  launches.push_back({launch.kernel(), uint32_t(firstWord),
                      uint32_t(words.size() - firstWord), uint32_t(firstMap),
                      uint32_t(maps.size() - firstMap), items, countsItems});
  return {};
}

Status Planner::prepareMaps(const abi::Kernel &kernel,
                            const abi::Launch &launch) {
  const abi::KernelCode &code = *program.kernel(launch.kernel()).description;
  for (uint32_t i = 0; i < sizeOf(code.maps()); ++i) {
    const abi::TensorMap &map = *code.maps()->Get(i);
    uint32_t buffer = launch.args()->Get(map.param())->index();
    MapShape shape;
    maps.emplace_back();
    mapBuffers.push_back(buffer);
    // Memory of our own always lies well.
    const TensorView *argument = standsFor(buffer);
    if (argument && !isAligned(argument->data))
      return invalid(
          "kernel '", kernel.name()->str(), "' expects ",
          nameOfBuffer(*entry.function, *entry.plan, buffer),
          " at a multiple of ", abi::kMapAlignment, " bytes, found it ",
          reinterpret_cast<uintptr_t>(argument->data) % abi::kMapAlignment,
          " bytes behind one");
    Status status = shapeMap(map, buffers[buffer], shape);
    if (status.ok())
      status = program.context->driver->encodeMap(shape, maps.back());
    if (!status.ok())
      return failure(status.code(), "kernel '", kernel.name()->str(),
                     "' copies ",
                     nameOfBuffer(*entry.function, *entry.plan, buffer), ": ",
                     status.message());
  }
  return {};
}

Status Planner::prepareCopy(const abi::Copy &copy, uint32_t step) {
  const TensorView &source = buffers[copy.source()];
  RL_TRY(checkPlace(copy.source()));
  const TensorView &destination = buffers[copy.destination()];
  for (uint32_t axis = 0; axis < source.rank; ++axis)
    if (source.sizes[axis] != destination.sizes[axis])
      return failed(invalid("expected a destination of size ",
                            source.sizes[axis], " on axis ", axis, ", found ",
                            destination.sizes[axis]));
  if (elementCount(source) == 0)
    return {};
  addStep(Step::CopyStep, copies.size(), step);
  copies.push_back({copy.source(), copy.destination()});
  return {};
}

Status Planner::prepareExchange(const abi::Exchange &exchange, uint32_t step,
                                const ExprValues &exprs) {
  ExchangeUse use = {step, std::nullopt};
  if (exchange.offset() >= 0)
    RL_TRY(exprs.get(uint32_t(exchange.offset()), use.offset.emplace()));
  addStep(Step::ExchangeStep, exchanges.size(), step);
  exchanges.push_back(use);
  return {};
}

Status Planner::plan() {
  const Driver &driver = *program.context->driver;
  const Machine machine = {driver.multiprocessors(), place.rank, place.ranks};
  ExprValues exprs(*entry.function, arguments, &machine);
  RL_TRY(checkRequirements(exprs));
  RL_TRY(checkOutputs(exprs));
  findSpans();
  buffers.assign(sizeOf(entry.plan->buffers()), TensorView());
  for (uint32_t i = 0; i < buffers.size(); ++i)
    RL_TRY(prepareBuffer(i, exprs));
  for (uint32_t i = 0; i < sizeOf(entry.plan->steps()); ++i) {
    const abi::Step &step = *entry.plan->steps()->Get(i);
    if (const auto *launch = step.action_as_Launch())
      RL_TRY(prepareLaunch(*launch, i, exprs));
    else if (const auto *copy = step.action_as_Copy())
      RL_TRY(prepareCopy(*copy, i));
    else if (const auto *exchange = step.action_as_Exchange())
      RL_TRY(prepareExchange(*exchange, i, exprs));
    else if (step.action_as_Attend())
      addStep(Step::AttendStep, i, i);
    kept[order.queueOf(i)].push_back(added[order.queueOf(i)]);
  }
  return planMemory();
}

Status rt::prepare(const Program &program, const Entry &entry,
                   const std::vector<TensorView> &arguments, RingPlace place,
                   InputCopies copies,
                   std::shared_ptr<const Prepared> &prepared) {
  Planner planner(program, entry, arguments, place, copies);
  RL_TRY(planner.plan());
  if (planner.copiesInputs &&
      planner.totalBytes > program.context->account.maximum())
    return prepare(program, entry, arguments, place, InputCopies::None,
                   prepared);
  prepared = std::make_shared<const Prepared>(std::move(planner));
  return {};
}

Status rt::outputSizes(const Entry &entry, const rl_tensor *tensors,
                       uint32_t count, int64_t *sizes) {
  const abi::Function &function = *entry.function;
  std::vector<TensorView> inputs;
  RL_TRY(bindTensors(function, tensors, count, Binding::Inputs,
                     /*driver=*/nullptr, inputs));
  ExprValues exprs(function, inputs, /*machine=*/nullptr);
  int64_t *row = sizes;
  for (uint32_t i = count; i < sizeOf(function.arguments()); ++i) {
    const abi::Argument &output = *function.arguments()->Get(i);
    for (uint32_t axis = 0; axis < sizeOf(output.sizes()); ++axis) {
      row[axis] = output.sizes()->Get(axis);
      if (axis < sizeOf(output.size_exprs()))
        RL_TRY(
            exprs.getSize(output.size_exprs()->Get(axis), "a size", row[axis]));
      else if (row[axis] == -1)
        return failure(RL_UNSUPPORTED, "entry '", function.name()->str(),
                       "': the artefact does not tell the size of axis ", axis,
                       " of output '", output.name()->str(), "'");
    }
    row += RL_MAX_RANK;
  }
  return {};
}
