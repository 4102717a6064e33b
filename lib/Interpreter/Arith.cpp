//===- Arith.cpp - Integers and selection ---------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer arithmetic of `arith`, on scalars and tiles. Kernels compute modulo
// 2^width, as arith does, unless the operation promises not to overflow; plans
// refuse an overflow, as the runtime does. What arith leaves undefined is an
// error.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include "dialects/Plan/IR/PlanDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

using Wide = __int128;
using UnsignedWide = unsigned __int128;

/// The low `width` bits of `value` as an unsigned number.
static uint64_t unsignedOf(int64_t value, unsigned width) {
  return width == 64
             ? static_cast<uint64_t>(value)
             : static_cast<uint64_t>(value) & ((uint64_t(1) << width) - 1);
}

//===----------------------------------------------------------------------===//
// Operations that may overflow
//===----------------------------------------------------------------------===//

namespace {
struct Add {
  template <typename T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct Subtract {
  template <typename T>
  static T apply(T a, T b) {
    return a - b;
  }
};
struct Multiply {
  template <typename T>
  static T apply(T a, T b) {
    return a * b;
  }
};
} // namespace

template <typename Fn>
static LogicalResult runRing(Machine &machine, const Instruction &instruction) {
  auto flags = cast<arith::ArithIntegerOverflowFlagsInterface>(instruction.op);
  bool inPlan = isa<rplan::FuncOp>(machine.program.function);
  bool checkSigned = inPlan || flags.hasNoSignedWrap();
  bool checkUnsigned = flags.hasNoUnsignedWrap();
  unsigned width = machine.resultType(instruction).width;
  const std::vector<int64_t> &lhs = machine.operand(instruction, 0).ints;
  const std::vector<int64_t> &rhs = machine.operand(instruction, 1).ints;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i) {
    Wide exact = Fn::template apply<Wide>(lhs[i], rhs[i]);
    result[i] = wrap(static_cast<int64_t>(exact), width);
    bool overflow = checkSigned && exact != result[i];
    if (checkUnsigned) {
      // A negative difference becomes a very large number.
      UnsignedWide value = Fn::template apply<UnsignedWide>(
          unsignedOf(lhs[i], width), unsignedOf(rhs[i], width));
      overflow |= value >> width != 0;
    }
    if (overflow)
      return machine.fail(instruction,
                          "expected no overflow of " + Twine(width) +
                              " bits, found operands " + Twine(lhs[i]) +
                              " and " + Twine(rhs[i]));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operations that may be undefined
//===----------------------------------------------------------------------===//

namespace {
/// Functions of two sign-extended operands; false where undefined.
struct DivideSigned {
  static bool apply(int64_t a, int64_t b, unsigned width, int64_t &r) {
    if (b == 0)
      return false;
    Wide exact = Wide(a) / b;
    r = static_cast<int64_t>(exact);
    return exact == wrap(r, width);
  }
};
struct RemainderSigned {
  static bool apply(int64_t a, int64_t b, unsigned, int64_t &r) {
    if (b == 0)
      return false;
    r = static_cast<int64_t>(Wide(a) % b);
    return true;
  }
};
struct FloorDivideSigned {
  static bool apply(int64_t a, int64_t b, unsigned width, int64_t &r) {
    if (b == 0)
      return false;
    Wide exact = Wide(a) / b;
    if (Wide(a) % b != 0 && (a < 0) != (b < 0))
      --exact;
    r = static_cast<int64_t>(exact);
    return exact == wrap(r, width);
  }
};
struct CeilDivideSigned {
  static bool apply(int64_t a, int64_t b, unsigned width, int64_t &r) {
    if (b == 0)
      return false;
    Wide exact = Wide(a) / b;
    if (Wide(a) % b != 0 && (a < 0) == (b < 0))
      ++exact;
    r = static_cast<int64_t>(exact);
    return exact == wrap(r, width);
  }
};
template <int rounding> // -1: remainder, 0: down, 1: up
struct DivideUnsigned {
  static bool apply(int64_t a, int64_t b, unsigned width, int64_t &r) {
    uint64_t x = unsignedOf(a, width), y = unsignedOf(b, width);
    if (y == 0)
      return false;
    uint64_t quotient = x / y + (rounding == 1 && x % y != 0 ? 1 : 0);
    r = static_cast<int64_t>(rounding == -1 ? x % y : quotient);
    return true;
  }
};
template <int direction> // 0: left, 1: right signed, 2: right unsigned
struct Shift {
  static bool apply(int64_t a, int64_t b, unsigned width, int64_t &r) {
    uint64_t amount = unsignedOf(b, width);
    if (amount >= width)
      return false;
    r = direction == 0   ? static_cast<int64_t>(uint64_t(a) << amount)
        : direction == 1 ? a >> amount
                         : static_cast<int64_t>(unsignedOf(a, width) >> amount);
    return true;
  }
};
} // namespace

template <typename Fn>
static LogicalResult runPartial(Machine &machine,
                                const Instruction &instruction) {
  unsigned width = machine.resultType(instruction).width;
  const std::vector<int64_t> &lhs = machine.operand(instruction, 0).ints;
  const std::vector<int64_t> &rhs = machine.operand(instruction, 1).ints;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t value = 0;
    if (!Fn::apply(lhs[i], rhs[i], width, value))
      return machine.fail(instruction, "is undefined for operands " +
                                           Twine(lhs[i]) + " and " +
                                           Twine(rhs[i]));
    result[i] = wrap(value, width);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Total operations
//===----------------------------------------------------------------------===//

namespace {
struct And {
  static int64_t apply(int64_t a, int64_t b) { return a & b; }
};
struct Or {
  static int64_t apply(int64_t a, int64_t b) { return a | b; }
};
struct Xor {
  static int64_t apply(int64_t a, int64_t b) { return a ^ b; }
};
struct MaxSigned {
  static int64_t apply(int64_t a, int64_t b) { return std::max(a, b); }
};
struct MinSigned {
  static int64_t apply(int64_t a, int64_t b) { return std::min(a, b); }
};
/// Sign extension keeps the order of unsigned numbers.
struct MaxUnsigned {
  static int64_t apply(int64_t a, int64_t b) {
    return uint64_t(a) > uint64_t(b) ? a : b;
  }
};
struct MinUnsigned {
  static int64_t apply(int64_t a, int64_t b) {
    return uint64_t(a) < uint64_t(b) ? a : b;
  }
};
} // namespace

template <typename Fn>
static LogicalResult runTotal(Machine &machine,
                              const Instruction &instruction) {
  const std::vector<int64_t> &lhs = machine.operand(instruction, 0).ints;
  const std::vector<int64_t> &rhs = machine.operand(instruction, 1).ints;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = Fn::apply(lhs[i], rhs[i]);
  return success();
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return x < y;
  case arith::CmpIPredicate::ule:
    return x <= y;
  case arith::CmpIPredicate::ugt:
    return x > y;
  case arith::CmpIPredicate::uge:
    return x >= y;
  }
  return false;
}

static LogicalResult runCompare(Machine &machine,
                                const Instruction &instruction) {
  auto predicate = cast<arith::CmpIOp>(instruction.op).getPredicate();
  const std::vector<int64_t> &lhs = machine.operand(instruction, 0).ints;
  const std::vector<int64_t> &rhs = machine.operand(instruction, 1).ints;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = -static_cast<int64_t>(compare(predicate, lhs[i], rhs[i]));
  return success();
}

//===----------------------------------------------------------------------===//
// Selection and casts
//===----------------------------------------------------------------------===//

template <typename T>
static void selectElements(const std::vector<int64_t> &condition,
                           const std::vector<T> &yes, const std::vector<T> &no,
                           std::vector<T> &result) {
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = condition[i] ? yes[i] : no[i];
}

static LogicalResult runSelect(Machine &machine,
                               const Instruction &instruction) {
  const std::vector<int64_t> &condition = machine.operand(instruction, 0).ints;
  const Datum &yes = machine.operand(instruction, 1);
  const Datum &no = machine.operand(instruction, 2);
  const SlotType &type = machine.resultType(instruction);
  bool byElement =
      isa<RankedTensorType>(instruction.op->getOperand(0).getType());
  if (!byElement)
    machine[instruction.results[0]] = condition[0] ? yes : no;
  else if (type.isFloat())
    selectElements(condition, yes.floats, no.floats,
                   machine.floatResult(instruction));
  else
    selectElements(condition, yes.ints, no.ints,
                   machine.intResult(instruction));
  return success();
}

/// index_cast, extsi and trunci: sign-extended values only lose bits.
static LogicalResult runSignedCast(Machine &machine,
                                   const Instruction &instruction) {
  unsigned width = machine.resultType(instruction).width;
  const std::vector<int64_t> &input = machine.operand(instruction, 0).ints;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = wrap(input[i], width);
  return success();
}

static LogicalResult runUnsignedCast(Machine &machine,
                                     const Instruction &instruction) {
  unsigned from = machine.type(instruction.operands[0]).width;
  unsigned to = machine.resultType(instruction).width;
  const std::vector<int64_t> &input = machine.operand(instruction, 0).ints;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = wrap(static_cast<int64_t>(unsignedOf(input[i], from)), to);
  return success();
}

void ringlet::interpreter::registerArith(HandlerTable &table) {
  table["arith.addi"] = runRing<Add>;
  table["arith.subi"] = runRing<Subtract>;
  table["arith.muli"] = runRing<Multiply>;
  table["arith.divsi"] = runPartial<DivideSigned>;
  table["arith.remsi"] = runPartial<RemainderSigned>;
  table["arith.floordivsi"] = runPartial<FloorDivideSigned>;
  table["arith.ceildivsi"] = runPartial<CeilDivideSigned>;
  table["arith.divui"] = runPartial<DivideUnsigned<0>>;
  table["arith.ceildivui"] = runPartial<DivideUnsigned<1>>;
  table["arith.remui"] = runPartial<DivideUnsigned<-1>>;
  table["arith.shli"] = runPartial<Shift<0>>;
  table["arith.shrsi"] = runPartial<Shift<1>>;
  table["arith.shrui"] = runPartial<Shift<2>>;
  table["arith.andi"] = runTotal<And>;
  table["arith.ori"] = runTotal<Or>;
  table["arith.xori"] = runTotal<Xor>;
  table["arith.maxsi"] = runTotal<MaxSigned>;
  table["arith.minsi"] = runTotal<MinSigned>;
  table["arith.maxui"] = runTotal<MaxUnsigned>;
  table["arith.minui"] = runTotal<MinUnsigned>;
  table["arith.cmpi"] = runCompare;
  table["arith.select"] = runSelect;
  table["arith.extsi"] = runSignedCast;
  table["arith.trunci"] = runSignedCast;
  table["arith.index_cast"] = runSignedCast;
  table["arith.extui"] = runUnsignedCast;
  table["arith.index_castui"] = runUnsignedCast;
}
