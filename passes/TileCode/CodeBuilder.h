//===- CodeBuilder.h - Vector code with short names -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few operations of the llvm dialect that the emission needs, behind a
// header that does not include the dialect, and arith and scf in short form.
//
// At most one argument of a call may create operations: in which order C++
// evaluates arguments is up to the host's compiler, and so would be the code.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILECODE_CODEBUILDER_H
#define RINGLET_PASSES_TILECODE_CODEBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ringlet {
namespace code {

/// Who decides how often the body of a loop stands in the code.
enum class Unroll { Never, ByLLVM };

class CodeBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Type getPointer();
  /// Vector of `lanes` elements, or the element itself for one lane.
  Type getVector(Type element, int64_t lanes);

  // Scalars.
  Value i64(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value divUnsigned(Value a, int64_t b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value less(Value a, Value b);
  Value lessEqual(Value a, Value b);
  Value both(Value a, Value b);
  /// begin <= x < end.
  Value inRange(Value begin, Value x, Value end);

  // Constants in every lane of `type`, a vector or scalar.
  Value real(Type type, double value);
  Value integer(Type type, int64_t value);

  // Memory. Addresses are pointers and distances in bytes.
  Value at(Value pointer, Value bytes);
  Value at(Value pointer, int64_t bytes);
  Value load(Type type, Value pointer, int64_t alignment);
  void store(Value value, Value pointer, int64_t alignment);

  // Vectors.
  Value splat(Value scalar, int64_t lanes);
  /// A vector of scalars, one a lane.
  Value gather(llvm::ArrayRef<Value> lanes);
  Value shuffle(Value a, Value b, llvm::ArrayRef<int32_t> mask);
  /// 0, 1, 2, ... as i32.
  Value iota(int64_t lanes);
  Value fma(Value a, Value b, Value c);
  Value bitcast(Type element, Value vector);
  Value convertFloat(Type type, Value vector);
  Value squareRoot(Value vector);
  Value absolute(Value vector);
  Value floor(Value vector);
  Value ceil(Value vector);
  Value roundEven(Value vector);
  Value copySign(Value magnitude, Value sign);
  Value select(Value condition, Value a, Value b);
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b);
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b);

  // Control. Bounds are i64.
  void loop(Value begin, Value end, Value step,
            llvm::function_ref<void(Value)> body,
            Unroll unroll = Unroll::Never);
  void loop(int64_t begin, int64_t end, int64_t step,
            llvm::function_ref<void(Value)> body,
            Unroll unroll = Unroll::Never);
  llvm::SmallVector<Value>
  loop(Value begin, Value end, int64_t step, mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>
           body);
  llvm::SmallVector<Value>
  loop(int64_t begin, int64_t end, int64_t step, mlir::ValueRange inits,
       llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>
           body);
  void ifElse(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise);
  /// The value that one of the two gives.
  Value choose(Value condition, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise);

  /// Type of a vector (or scalar) with other elements.
  static Type withElement(Type type, Type element);
  static int64_t lanesOf(Value value);
};

} // namespace code
} // namespace ringlet

#endif // RINGLET_PASSES_TILECODE_CODEBUILDER_H
