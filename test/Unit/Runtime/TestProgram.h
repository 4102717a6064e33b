//===- TestProgram.h - Artefacts made in tests ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_RUNTIME_TESTPROGRAM_H
#define RINGLET_TEST_UNIT_RUNTIME_TESTPROGRAM_H

#include "ringlet/abi/ArtifactGenerated.h"
#include "ringlet/runtime.h"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace ringlet::test {

/// The bytes of the compiled Kernels.c.
const std::vector<uint8_t> &kernelCode();

//===----------------------------------------------------------------------===//
// Terms of expressions
//===----------------------------------------------------------------------===//

abi::ExprTerm constant(int64_t value);
abi::ExprTerm dim(uint32_t argument, uint8_t axis);
abi::ExprTerm stride(uint32_t argument, uint8_t axis);
abi::ExprTerm scalar(uint32_t argument);
abi::ExprTerm ref(uint32_t expr);
abi::ExprTerm op(abi::ExprOp op);

//===----------------------------------------------------------------------===//
// Artefacts
//===----------------------------------------------------------------------===//

/// Builds artefacts that run the kernels of Kernels.c.
class Builder {
public:
  /// With one code object for `target`, and a constant f32 [1] = 1.
  explicit Builder(const std::string &target = "x86-64",
                   const std::vector<uint8_t> &code = kernelCode());

  abi::ArtifactT artifact;

  /// Starts a function with one plan for code object 0.
  void function(const std::string &name);
  uint32_t argument(const std::string &name, abi::DType dtype,
                    std::vector<int64_t> sizes, bool output = false,
                    std::vector<uint32_t> sizeExprs = {});
  uint32_t expr(std::initializer_list<abi::ExprTerm> terms,
                const std::string &name = "");
  uint32_t argumentBuffer(uint32_t argument);
  uint32_t constantBuffer(uint32_t constant);
  uint32_t workspace(abi::DType dtype, std::vector<uint32_t> sizes);
  /// Which the launch of step `first` makes.
  uint32_t aligned(uint32_t argument, uint32_t worth, uint32_t first);
  uint32_t orderTable(abi::OrderT order, uint32_t length, bool inverse);
  void require(abi::Compare compare, uint32_t lhs, uint32_t rhs,
               const std::string &message, const std::string &rule = "");
  void launch(uint32_t kernel, std::vector<uint32_t> grid,
              std::vector<abi::LaunchArg> args);
  void copy(uint32_t source, uint32_t destination);
  /// What the last step, a launch, does where a map of its kernel cannot be
  /// made.
  void otherwise(uint32_t kernel, std::vector<uint32_t> grid,
                 std::vector<abi::LaunchArg> args);
  /// The queue of the last step, and the steps that it waits for.
  void queue(abi::Queue queue, std::vector<uint32_t> waits = {});
  void waitFor(std::vector<uint32_t> steps) {
    queue(abi::Queue::Compute, std::move(steps));
  }

  abi::FunctionT &function() { return *artifact.functions.back(); }
  abi::PlanT &plan() { return *function().plans.back(); }

  /// A kernel of Kernels.c.
  uint32_t kernel(const std::string &symbol, uint8_t gridRank,
                  uint64_t scratch = 0);
  /// Adds a parameter to the last kernel.
  void param(abi::DType dtype, std::vector<int64_t> sizes,
             std::vector<int64_t> strides, bool writes = false);
  void scalarParam();

private:
  abi::StepT &step();
};

abi::LaunchArg buffer(uint32_t index);
abi::LaunchArg value(uint32_t expr);
abi::OrderT order(const std::string &curve, std::vector<int64_t> grid = {},
                  int64_t chunk = 0, int64_t rate = 0);

/// Entry "affine": result0[i, j] = x[i, j] * s + 1, in two launches by way of a
/// workspace; s is a rank-0 i64 input and at least 1 (rule B1).
void addAffine(Builder &builder);
/// Entry "reorder": result0[m, :] = x[pi(m), :] for the order.
void addReorder(Builder &builder, const std::string &name, abi::OrderT order,
                bool inverse = false);
/// Entry "visit": result0[i, j, k] += 1 + number of the grid point.
void addVisit(Builder &builder);
/// Entry "probe": result0[item] = 1 if the scratch of its thread is good.
void addProbe(Builder &builder);
/// Entry "copy": result0 = x, by a copy step.
void addCopy(Builder &builder);
/// Entry "beside": result0 = x * s + y, f32 [?, ?], the sum by kernel "shift"
/// of one element, c. The queue exchange copies c while the queue compute
/// scales x; both wait for nothing, and the last step for both.
void addBeside(Builder &builder);
/// Entry "mapped": result0[i] = 2 where the kernel "mark" runs, 1 where the
/// kernel "plain" does in its place; x is bf16 [?, ?, ?] and i one of its rows,
/// axis 1. The kernel has no tensor maps yet.
void addMapped(Builder &builder);
/// Entry "total": result0[i] is the sum of row i of x, as in "mapped", by way
/// of an aligned x, which is worth a copy from 8 rows on. The last kernel has
/// no tensor maps yet.
void addTotal(Builder &builder);
/// The map of x: rows on axis 1, columns on axis 2, axis 0 fixed, 64 x 32.
std::unique_ptr<abi::TensorMapT> mapOfRows(int64_t rate = 1);
/// Adds a reference graph: attention over q, k, v, then a reorder. The function
/// has no plan.
void addGraph(Builder &builder);

/// The payload, and the whole file.
std::vector<uint8_t> payloadOf(const abi::ArtifactT &artifact);
std::vector<uint8_t> fileOf(const abi::ArtifactT &artifact);

//===----------------------------------------------------------------------===//
// Handles and tensors
//===----------------------------------------------------------------------===//

struct DestroyContext {
  void operator()(rl_context *context) const { rl_context_destroy(context); }
};
struct DestroyProgram {
  void operator()(rl_program *program) const { rl_program_destroy(program); }
};
using ContextPtr = std::unique_ptr<rl_context, DestroyContext>;
using ProgramPtr = std::unique_ptr<rl_program, DestroyProgram>;

/// A context with these many threads; fails the test if there is none.
ContextPtr makeContext(uint32_t threads = 2, uint64_t memoryLimit = 0);
ProgramPtr loadProgram(rl_context *context, const abi::ArtifactT &artifact);
uint32_t findEntry(const rl_program *program, const std::string &name);

/// An rl_tensor with the storage of its sizes and strides.
struct TensorArg {
  TensorArg(void *data, rl_dtype dtype, std::vector<int64_t> sizes,
            std::vector<int64_t> strides = {});
  void *data;
  int32_t dtype;
  std::vector<int64_t> sizes, strides;
};

/// Runs the entry, or with `estimate` only asks what it would take.
rl_status run(const rl_program *program, uint32_t entry,
              const std::vector<TensorArg> &tensors,
              rl_estimate *estimate = nullptr);
std::vector<rl_tensor> toTensors(const std::vector<TensorArg> &tensors);

} // namespace ringlet::test

#endif // RINGLET_TEST_UNIT_RUNTIME_TESTPROGRAM_H
