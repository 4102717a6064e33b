//===- AlignInputs.cpp - Copies of inputs that lie badly -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Arch/Target.h"
#include "lib/Cost/InputCopies.h"
#include "passes/AttentionToTile/KernelBuilder.h"
#include "passes/AttentionToTile/Kernels.h"
#include "passes/AttentionToTile/Passes.h"
#include "ringlet/abi/Limits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RPLANALIGNINPUTS
#include "passes/AttentionToTile/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// Bounds a number of rows, so that products of sizes stay in 64 bits.
constexpr int64_t mostRows = int64_t(1) << 20;

/// A launch that reads an input.
struct Reading {
  rplan::LaunchOp launch;
  unsigned argument;
  /// The rows of the input that tiles are loaded from.
  rtile::ViewOp view;
  /// What its kernel walks along, the input or what must be read with it.
  unsigned streamedArgument;
  rtile::ViewOp streamed;
};

enum class Where { Anywhere, InLoop };

/// A view of a parameter that tiles of several rows are loaded from; null if
/// there is none.
rtile::ViewOp findLoaded(Value parameter, Where where) {
  for (Operation *user : parameter.getUsers()) {
    auto view = dyn_cast<rtile::ViewOp>(user);
    // Of a pool of pages a call need not read most.
    if (!view || view.getBuffer() != parameter || view.getPages() ||
        view.getType().getRank() != 2)
      continue;
    for (Operation *access : view->getUsers())
      if (isa<rtile::LoadOp>(access) &&
          (where == Where::Anywhere ||
           access->getParentOfType<LoopLikeOpInterface>()))
        return view;
  }
  return nullptr;
}

/// True where a row-major copy is aligned: all of its rows are multiples of 16
/// bytes. What is widened is never stored.
bool canBeAligned(MemRefType type) {
  if (type.getRank() < 2 || !isa<FloatType>(type.getElementType()) ||
      rtile::isWidenedElement(type.getElementType()) ||
      type.isDynamicDim(type.getRank() - 1))
    return false;
  int64_t columns = type.getDimSize(type.getRank() - 1);
  return columns * type.getElementTypeBitWidth() / 8 % abi::kMapAlignment == 0;
}

/// Copies one input of a plan.
class Alignment {
public:
  Alignment(rplan::FuncOp plan, BlockArgument input, SymbolTable &symbols,
            EqualKernels &kernels);
  void run();

private:
  void addReading(rplan::LaunchOp launch, unsigned argument);
  /// Moves what sizes are computed from in front of the first launch.
  void hoistSizes();
  bool isKnown(Value value);
  Value countRows(HostPlan &host, Reading reading);

  rplan::FuncOp plan;
  BlockArgument input;
  SymbolTable &symbols;
  /// Those that copy: one for inputs of one type.
  EqualKernels &kernels;
  SmallVector<Reading> readings;
};

} // namespace

Alignment::Alignment(rplan::FuncOp plan, BlockArgument input,
                     SymbolTable &symbols, EqualKernels &kernels)
    : plan(plan), input(input), symbols(symbols), kernels(kernels) {
  for (auto launch : plan.getBody().getOps<rplan::LaunchOp>())
    for (auto [argument, value] : llvm::enumerate(launch.getArgs()))
      if (value == input)
        addReading(launch, argument);
}

/// A kernel that streams the input reads it again and again. One with a recipe
/// reads nothing unless all that it loads is aligned, so that what it loads
/// once counts as often as what it streams.
void Alignment::addReading(rplan::LaunchOp launch, unsigned argument) {
  auto kernel = symbols.lookup<rtile::FuncOp>(launch.getKernel());
  if (!kernel)
    return;
  auto parameters = kernel.getParameters();
  rtile::ViewOp view = findLoaded(parameters[argument], Where::InLoop);
  if (view)
    return readings.push_back({launch, argument, view, argument, view});
  view = findLoaded(parameters[argument], Where::Anywhere);
  if (!view || !kernel.getRecipe())
    return;
  for (auto [other, parameter] : llvm::enumerate(parameters))
    if (rtile::ViewOp streamed = findLoaded(parameter, Where::InLoop))
      return readings.push_back(
          {launch, argument, view, static_cast<unsigned>(other), streamed});
}

void Alignment::hoistSizes() {
  Operation *first = readings.front().launch;
  for (Operation &op : llvm::make_early_inc_range(
           llvm::make_range(first->getIterator(), first->getBlock()->end()))) {
    bool isReady = llvm::all_of(
        op.getOperands(), [&](Value operand) { return isKnown(operand); });
    if (isMemoryEffectFree(&op) && !op.hasTrait<OpTrait::IsTerminator>() &&
        isReady)
      op.moveBefore(first);
  }
}

/// True where the plan has a value in front of the first launch.
bool Alignment::isKnown(Value value) {
  Operation *def = value.getDefiningOp();
  return !def || def->isBeforeInBlock(readings.front().launch);
}

/// How many rows a launch reads of what it streams: at most those of a segment
/// and residue for each point of its grid. Null if that is not known in time.
Value Alignment::countRows(HostPlan &host, Reading reading) {
  rtile::ViewType type = reading.streamed.getType();
  Value buffer = reading.launch.getArgs()[reading.streamedArgument];
  if (auto aligned = buffer.getDefiningOp<rplan::AlignedOp>())
    buffer = aligned.getInput();
  if (!isKnown(buffer) || !llvm::all_of(reading.launch.getGrid(),
                                        [&](Value v) { return isKnown(v); }))
    return nullptr;
  Value rows = host.getTensor(buffer).sizes[reading.streamed.getAxes()[0]];
  if (type.isSegmented() && !type.hasRuntimeW())
    rows = host.min(rows, host.constant(type.getSegmentLength()));
  if (!type.hasRuntimeRate())
    rows = host.ceilDiv(rows, type.getRate());
  // So that the product stays in 64 bits.
  rows = host.min(rows, host.constant(mostRows));
  for (Value extent : reading.launch.getGrid())
    rows = host.mul(rows, extent);
  return rows;
}

void Alignment::run() {
  if (readings.empty())
    return;
  hoistSizes();
  HostPlan host(plan, readings.front().launch, symbols);
  HostTensor tensor = host.getTensor(input);
  Value copied = host.constant(1), read;
  for (Value size : ArrayRef(tensor.sizes).drop_back())
    copied = host.mul(copied, size);
  for (Reading &reading : readings) {
    Value rows = countRows(host, reading);
    if (rows)
      read = read ? host.max(read, rows) : rows;
  }
  if (!read)
    return;
  Value least = host.add(copied, host.constant(cost::rowsOfLaunch));
  std::string name =
      llvm::formatv("{0}_align{1}", plan.getSymName(), input.getArgNumber())
          .str();
  auto options =
      remark::RemarkOpts::name("AlignInputs").category("rplan-align-inputs");
  std::string text =
      ": input '" +
      cast<StringAttr>(plan.getNames()[input.getArgNumber()]).str() + "' ";
  Value worth = host.atLeast(read, least);
  if (getConstant(worth) == 0) {
    remark::missed(host.getLoc(), options)
        << llvm::formatv("{0}{1}is read where it lies: {2} rows are fewer "
                         "than the {3} from which on a copy pays",
                         plan.getSymName(), text, *getConstant(read),
                         *getConstant(least))
               .str();
    return;
  }
  Value aligned = emitAligned(host, name, readings.front().view.getAxes()[0],
                              tensor, worth);
  auto copy = aligned.getDefiningOp<rplan::AlignedOp>();
  copy.setKernel(kernels.share(copy.getKernel()));
  for (Reading &reading : readings) {
    reading.launch.getArgsMutable()[reading.argument].set(aligned);
    // What runs in its place reads the same.
    for (OpOperand &operand : reading.launch.getFallbackArgsMutable())
      if (operand.get() == input)
        operand.set(aligned);
  }
  remark::passed(host.getLoc(), options)
      << llvm::formatv(
             "{0}{1}is copied if it does not lie at multiples of {2} bytes "
             "and a launch reads {3} rows more than it has",
             copy.getKernel(), text, abi::kMapAlignment, cost::rowsOfLaunch)
             .str();
}

namespace {

struct AlignInputs : ringlet::impl::RPlanAlignInputsBase<AlignInputs> {
  using RPlanAlignInputsBase::RPlanAlignInputsBase;

  void runOnOperation() override {
    std::string error;
    arch::Target target = arch::lookupTarget(level, &error);
    if (!target) {
      emitError(getOperation()->getLoc()) << error;
      return signalPassFailure();
    }
    // CPUs load from any address.
    if (!target.gpu)
      return;
    SymbolTable symbols(getOperation());
    EqualKernels kernels(symbols);
    for (auto plan : getOperation().getOps<rplan::FuncOp>())
      for (BlockArgument input : plan.getInputs())
        if (canBeAligned(cast<MemRefType>(input.getType())))
          Alignment(plan, input, symbols, kernels).run();
  }
};

} // namespace
