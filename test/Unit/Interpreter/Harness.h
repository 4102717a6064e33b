//===- Harness.h - Programs as text in, tensors out -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_INTERPRETER_HARNESS_H
#define RINGLET_TEST_UNIT_INTERPRETER_HARNESS_H

#include "lib/Interpreter/Interpreter.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace ringlet::interpreter::test {

/// A parsed module; parsing must succeed.
class Module {
public:
  explicit Module(const std::string &text);
  mlir::ModuleOp operator*() const { return module.get(); }

  /// Runs a plan or a kernel. The empty string, or the error.
  std::string run(const std::string &entry,
                  std::vector<MutableTensorView> arguments,
                  const Options &options = {}) const;
  std::string runKernel(const std::string &kernel,
                        std::vector<KernelArgument> arguments,
                        std::vector<int64_t> grid,
                        const Options &options = {}) const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// All the elements, in order.
std::vector<double> elements(const Tensor &tensor);
Tensor makeTensor(DType dtype, Shape shape, std::vector<double> values);
/// 0, 1, 2, ... plus `start`.
Tensor iota(DType dtype, Shape shape, double start = 0);
Tensor filled(DType dtype, Shape shape, double value);

/// Runs `body`, which must define %r as a tile of `count` f32, once.
std::vector<double> evaluate(const std::string &body, int64_t count);
/// The error that `body`, as above, ends with.
std::string errorOf(const std::string &body, int64_t count);

/// `[1, 2, 3]`, as in dense<[1, 2, 3]>; floats as bits of f32 when not finite.
std::string list(const std::vector<int64_t> &values);
std::string list(const std::vector<double> &values);

/// A small random number generator, the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// In [low, high].
  int64_t pick(int64_t low, int64_t high) {
    return low +
           static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  int64_t oneOf(std::initializer_list<int64_t> choices) {
    return choices.begin()[next() % choices.size()];
  }
  bool flip() { return next() & 1; }
  /// In [-1, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1.0; }

private:
  uint64_t state;
};

} // namespace ringlet::interpreter::test

#endif // RINGLET_TEST_UNIT_INTERPRETER_HARNESS_H
