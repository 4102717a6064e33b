//===- Entry.cpp - From a module and tensors to a run ---------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"

#include <deque>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

/// The symbol `name` of a valid module, or null.
template <typename FunctionOp>
static FunctionOp find(ModuleOp module, StringRef name, std::string *error) {
  std::string diagnostics;
  // Handlers rely on what verifiers check: numbers and types of operands.
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (diagnostics.empty())
                                      diagnostics = diagnostic.str();
                                    return success();
                                  });
  if (failed(verify(module))) {
    *error = "expected a valid module, found: " + diagnostics;
    return nullptr;
  }
  Operation *symbol = SymbolTable::lookupSymbolIn(module, name);
  auto function = dyn_cast_or_null<FunctionOp>(symbol);
  if (!function)
    *error = ("expected an " + FunctionOp::getOperationName() + " named '" +
              name + "', found " +
              (symbol ? "'" + symbol->getName().getStringRef() + "'"
                      : Twine("none")))
                 .str();
  return function;
}

/// Whether nothing waits for what a launch writes.
static bool isOneLaunch(rplan::FuncOp plan) {
  int launches = 0;
  WalkResult result = plan.walk([&](Operation *op) {
    if (isa<rplan::LaunchOp>(op))
      return ++launches > 1 ? WalkResult::interrupt() : WalkResult::advance();
    return isa<rplan::CopyOp, rplan::AlignedOp, rplan::ExchangeOp,
               rplan::AttendOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return launches == 1 && !result.wasInterrupted();
}

LogicalResult interpreter::interpret(ModuleOp module, StringRef entry,
                                     ArrayRef<MutableTensorView> arguments,
                                     std::string *error,
                                     const Options &options) {
  auto plan = find<rplan::FuncOp>(module, entry, error);
  if (!plan)
    return failure();
  Run run(options);
  if (isOneLaunch(plan))
    run.sampling = options.sampling;
  Program program;
  auto attempt = [&]() -> LogicalResult {
    if (!program.compile(plan, &run.error))
      return failure();
    if (options.seed)
      drawStepOrder(program, *options.seed);
    auto parameters = plan.getBody().getArguments();
    if (arguments.size() != parameters.size())
      return run.fail(plan, "expected " + Twine(parameters.size()) +
                                " arguments, found " + Twine(arguments.size()));
    SmallVector<Buffer *> buffers;
    for (auto [i, parameter] : llvm::enumerate(parameters)) {
      Buffer &buffer = run.addBuffer();
      StringRef name = cast<StringAttr>(plan.getNames()[i]).getValue();
      if (failed(run.bind(buffer, arguments[i],
                          cast<MemRefType>(parameter.getType()), plan,
                          "'" + name + "'")))
        return failure();
      buffer.readOnly = i < plan.getNumInputs();
      buffers.push_back(&buffer);
    }
    if (failed(run.addShadows(buffers, plan)))
      return failure();

    for (bool checking : {true, false}) {
      run.checking = checking;
      if (!checking && options.poison)
        run.poisonOutputs(buffers, plan.getNumInputs());
      Machine machine(run, program);
      for (auto [slot, buffer] : llvm::zip(program.body.arguments, buffers))
        machine[slot].buffer = buffer;
      if (failed(machine.execute(program.body)))
        return failure();
    }
    return success();
  };
  LogicalResult result = attempt();
  *error = run.error;
  return result;
}

LogicalResult interpreter::interpretKernel(ModuleOp module, StringRef kernel,
                                           ArrayRef<KernelArgument> arguments,
                                           ArrayRef<int64_t> grid,
                                           std::string *error,
                                           const Options &options) {
  auto function = find<rtile::FuncOp>(module, kernel, error);
  if (!function)
    return failure();
  Run run(options);
  auto attempt = [&]() -> LogicalResult {
    auto parameters = function.getParameters();
    if (arguments.size() != parameters.size())
      return run.fail(function, "expected " + Twine(parameters.size()) +
                                    " arguments, found " +
                                    Twine(arguments.size()));
    std::deque<Datum> data;
    SmallVector<const Datum *> pointers;
    SmallVector<Buffer *> buffers;
    for (auto [i, parameter] : llvm::enumerate(parameters)) {
      Datum &datum = data.emplace_back();
      pointers.push_back(&datum);
      auto type = dyn_cast<MemRefType>(parameter.getType());
      const auto *tensor = std::get_if<MutableTensorView>(&arguments[i]);
      if (!type != !tensor)
        return run.fail(function, "expected " +
                                      Twine(type ? "a buffer" : "an index") +
                                      " for argument " + Twine(i) + ", found " +
                                      Twine(type ? "an index" : "a buffer"));
      if (!type) {
        datum.ints.assign(1, std::get<int64_t>(arguments[i]));
        continue;
      }
      Buffer &buffer = run.addBuffer();
      if (failed(run.bind(buffer, *tensor, type, function,
                          "argument " + Twine(i))))
        return failure();
      datum.buffer = &buffer;
      buffers.push_back(&buffer);
    }
    if (failed(run.addShadows(buffers, function)))
      return failure();
    return run.launchKernel(function, function, grid, pointers);
  };
  LogicalResult result = attempt();
  *error = run.error;
  return result;
}
