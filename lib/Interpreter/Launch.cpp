//===- Launch.cpp - All points of a grid ----------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include "dialects/Tile/IR/TileDialect.h"

#include <chrono>
#include <cstring>
#include <tuple>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

std::string interpreter::describePoint(int64_t point, ArrayRef<int64_t> grid) {
  std::string text;
  for (int64_t extent : grid) {
    text += (text.empty() ? "" : ", ") + std::to_string(point % extent);
    point /= extent;
  }
  return "(" + text + ")";
}

//===----------------------------------------------------------------------===//
// Plain kernels
//===----------------------------------------------------------------------===//

/// A permutation of 0 .. count - 1 drawn from `seed`.
static std::vector<int64_t> shuffled(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(count);
  for (int64_t i = 0; i < count; ++i)
    order[i] = i;
  for (int64_t i = count - 1; i > 0; --i)
    std::swap(order[i], order[mix(seed, {i}) % static_cast<uint64_t>(i + 1)]);
  return order;
}

LogicalResult Run::runPlain(const Program &program, ArrayRef<int64_t> grid,
                            int64_t points, ArrayRef<const Datum *> arguments) {
  Machine machine(*this, program);
  ArrayRef<uint32_t> slots = program.body.arguments;
  for (auto [slot, argument] : llvm::zip(slots, arguments))
    machine[slot] = *argument;
  std::vector<int64_t> order;
  if (options.seed)
    order = shuffled(points, mix(*options.seed, {launch}));
  auto begin = std::chrono::steady_clock::now();
  if (sampling)
    sampling->points = points;
  for (int64_t i = 0; i < points; ++i) {
    if (sampling) {
      std::chrono::duration<double> spent =
          std::chrono::steady_clock::now() - begin;
      if (i > 0 && additions.empty() && spent.count() > sampling->seconds)
        return success();
      sampling->run = i + 1;
    }
    machine.point = options.seed ? order[i] : i;
    int64_t rest = machine.point;
    for (auto [slot, extent] : llvm::zip(slots.take_back(grid.size()), grid)) {
      machine[slot].ints.assign(1, rest % extent);
      rest /= extent;
    }
    if (failed(machine.step(program.function)) ||
        failed(machine.execute(program.body))) {
      error += ", at point " + describePoint(machine.point, grid);
      return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// All kernels
//===----------------------------------------------------------------------===//

LogicalResult Run::reserveAdditions(size_t count, Operation *op) {
  auto wanted =
      static_cast<int64_t>((additions.size() + count) * sizeof(Addition));
  if (wanted <= options.maxBytes - bytes)
    return success();
  return fail(op, "expected additions of one launch in at most " +
                      Twine(options.maxBytes - bytes) +
                      " bytes, found need of " + Twine(wanted));
}

void Run::applyAdditions() {
  llvm::stable_sort(additions, [](const Addition &a, const Addition &b) {
    return std::tie(a.point, a.order) < std::tie(b.point, b.order);
  });
  for (const Addition &addition : additions) {
    float sum;
    std::memcpy(&sum, addition.address, sizeof sum);
    sum += addition.value;
    std::memcpy(addition.address, &sum, sizeof sum);
  }
  additions.clear();
}

LogicalResult Run::launchKernel(Operation *op, Operation *kernel,
                                ArrayRef<int64_t> grid,
                                ArrayRef<const Datum *> arguments) {
  auto function = dyn_cast_or_null<rtile::FuncOp>(kernel);
  if (!function)
    return fail(op, "expected a kernel that is an rtile.func, found " +
                        (kernel ? "'" + kernel->getName().getStringRef() + "'"
                                : Twine("none")));
  if (static_cast<int64_t>(grid.size()) !=
          static_cast<int64_t>(function.getGridRank()) ||
      arguments.size() != function.getParameters().size())
    return fail(op, "expected " + Twine(function.getParameters().size()) +
                        " arguments and a grid of rank " +
                        Twine(function.getGridRank()) + ", found " +
                        Twine(arguments.size()) + " and " + Twine(grid.size()));
  __int128 points = 1;
  for (int64_t extent : grid) {
    if (extent < 0)
      return fail(op, "expected grid extents of at least 0, found " +
                          Twine(extent));
    points = std::min<__int128>(points * extent, __int128(1) << 62);
  }
  if (points > std::min(options.maxSteps - steps, Stamp::kMaxPoints))
    return fail(
        op, "expected a grid of at most " +
                Twine(std::min(options.maxSteps - steps, Stamp::kMaxPoints)) +
                " points, found more: its extents are " +
                toString(Shape(grid.begin(), grid.end())));

  std::unique_ptr<Program> &program = kernels[kernel];
  if (!program) {
    program = std::make_unique<Program>();
    if (!program->compile(kernel, &error))
      return failure();
  }
  ++launch;
  LogicalResult result =
      program->roles.empty()
          ? runPlain(*program, grid, static_cast<int64_t>(points), arguments)
          : runScheduled(*program, grid, arguments);
  applyAdditions();
  if (failed(result))
    error += " of @" + function.getSymName().str();
  return result;
}
