//===- Program.h - A function made ready to run -----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. Every SSA value of a function gets a slot and every
// operation a handler, once; running is then a walk over arrays.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_INTERPRETER_PROGRAM_H
#define RINGLET_LIB_INTERPRETER_PROGRAM_H

#include "lib/Layout/Order.h"
#include "lib/Tensor/Tensor.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace ringlet::interpreter {

class Machine;
class Shadow;
struct Sequence;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

enum class Kind : uint8_t {
  Integer,
  F16,
  BF16,
  F32,
  Buffer,
  View,
  /// Of scheduled kernels: a number of a channel, a slot of one, a product.
  Channel,
  Slot,
  Pending
};

/// What a slot can hold. Scalars are tiles of one element.
struct SlotType {
  Kind kind = Kind::Integer;
  /// Bits of an integer; an index has 64.
  uint8_t width = 64;
  int64_t count = 1;

  bool isFloat() const { return kind >= Kind::F16 && kind <= Kind::F32; }
};

/// Memory with a shape, owned by the caller or the run.
struct Buffer {
  char *data = nullptr;
  DType dtype = DType::f32;
  llvm::SmallVector<int64_t, 4> sizes;
  llvm::SmallVector<int64_t, 4> strides;
  /// Null when accesses are not recorded.
  Shadow *shadow = nullptr;
  bool readOnly = false;
  /// In the caller's memory, readable before anything runs.
  bool isArgument = false;
};

/// What rtile.view makes.
struct View {
  const Buffer *buffer = nullptr;
  const Buffer *rows = nullptr;
  const Buffer *positions = nullptr;
  /// The pages of sequences, if rows lie in pages (S4).
  const Buffer *pages = nullptr;
  std::shared_ptr<const layout::Order> order;
  mlir::Operation *definition = nullptr;
  llvm::SmallVector<int64_t, 4> fixed;
  int64_t origin = 0;
  int64_t segment = 0;
  int64_t residue = 0;
  /// Segment length (0: one segment) and distance of rows.
  int64_t w = 0, rate = 1;
  /// The numbers that rows have, first and one past the last.
  int64_t first = 0, end = std::numeric_limits<int64_t>::max();
};

/// A slot of a channel that a role has: by which of its acquires, or awaits,
/// counted from 0.
struct Visit {
  int64_t channel = 0;
  int64_t number = 0;
  /// Awaited, not acquired.
  bool isRead = false;

  bool operator==(const Visit &other) const {
    return channel == other.channel && number == other.number &&
           isRead == other.isRead;
  }
};

/// One value. Integers of any width are kept sign-extended (a true i1 is -1),
/// 16-bit floats widened. Memory is kept from one execution to the next.
struct Datum {
  std::vector<int64_t> ints;
  std::vector<float> floats;
  const Buffer *buffer = nullptr;
  /// Of chunks: keys, values and queries, and the starts of packed ones; `ints`
  /// is their offset, if there is one.
  llvm::SmallVector<const Buffer *, 5> parts;
  View view;
  /// In a role: the slot that this is, or that the tile lies in.
  std::optional<Visit> visit;
  /// In a role: the product that this is, or that adds to the tile. 0: none.
  int64_t product = 0;
};

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

struct Instruction;
using Handler = mlir::LogicalResult (*)(Machine &, const Instruction &);

struct Instruction {
  Handler handler = nullptr;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<uint32_t, 4> operands;
  llvm::SmallVector<uint32_t, 2> results;
  /// One for each region; empty regions have empty sequences.
  std::vector<Sequence> bodies;
  /// Runs at the end of a body that the handler has entered.
  Handler leave = nullptr;
};

/// A block.
struct Sequence {
  std::vector<Instruction> code;
  llvm::SmallVector<uint32_t, 4> arguments;
  /// Operands of the terminator.
  llvm::SmallVector<uint32_t, 4> yields;
};

struct Handlers {
  Handlers(Handler run = nullptr, Handler leave = nullptr)
      : run(run), leave(leave) {}

  Handler run, leave;
};

using HandlerTable = llvm::StringMap<Handlers>;

/// A role of a scheduled kernel.
struct RoleCode {
  mlir::Operation *op = nullptr;
  /// Groups of four warps that are not at the same place, since they take
  /// turns; 1 if all warps of the role go alike.
  unsigned groups = 1;
  Sequence body;
};

/// A channel of a scheduled kernel.
struct ChannelCode {
  mlir::Operation *op = nullptr;
  /// Where values of the program hold the channel.
  uint32_t slot = 0;
  /// Roles that acquire and that await its slots.
  llvm::SmallVector<unsigned, 2> writers, readers;
};

struct Program {
  mlir::Operation *function = nullptr;
  std::vector<SlotType> types;
  /// Slots of constants with their values.
  std::vector<std::pair<uint32_t, Datum>> constants;
  /// Of a scheduled kernel: what all roles know.
  Sequence body;
  std::vector<RoleCode> roles;
  std::vector<ChannelCode> channels;

  /// Reads a function whose body is one block. False: `*error` says what
  /// cannot be run, and where.
  bool compile(mlir::Operation *function, std::string *error);
};

/// "file:line:column: 'op' op ".
std::string describe(mlir::Operation *op);

void registerArith(HandlerTable &table);
void registerArithFloat(HandlerTable &table);
void registerMath(HandlerTable &table);
void registerControl(HandlerTable &table);
void registerViews(HandlerTable &table);
void registerVisibility(HandlerTable &table);
void registerElements(HandlerTable &table);
void registerTiles(HandlerTable &table);
void registerPlan(HandlerTable &table);
void registerRing(HandlerTable &table);
void registerRoles(HandlerTable &table);

/// Puts the launches and copies of a plan behind all else, in a legal order of
/// its queues that is drawn from `seed`.
void drawStepOrder(Program &program, uint64_t seed);

} // namespace ringlet::interpreter

#endif // RINGLET_LIB_INTERPRETER_PROGRAM_H
