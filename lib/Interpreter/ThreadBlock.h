//===- ThreadBlock.h - A block of a scheduled kernel ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. Roles run as coroutines: each is a machine with a
// stack of its own, which goes on until something that it waits for is not
// there. A role whose groups of warps take turns is run once for each group,
// since they are not at the same place then. Such an agent computes whole
// tiles, and writes the rows of its own warps.
//
// Copies arrive when the scheduler of the launch says so, not when they are
// started. Products are the values of the time when they were started: that
// nothing they read or add to changes before they are finished is checked.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_INTERPRETER_THREADBLOCK_H
#define RINGLET_LIB_INTERPRETER_THREADBLOCK_H

#include "lib/Interpreter/Channel.h"
#include "lib/Interpreter/Machine.h"

#include "dialects/Tile/IR/TileDialect.h"

#include <deque>

namespace ringlet::interpreter {

class Agent;
class ThreadBlock;

/// Where the points of a launch come from.
class Points {
public:
  virtual ~Points() = default;
  /// Sets the indices and the number of the point that `block` runs after
  /// `count` others; false if there is none.
  virtual bool take(ThreadBlock &block, int64_t count, Machine &machine) = 0;
};

/// A product between its start and its finish.
struct Product {
  /// Products of an agent are numbered from 1.
  int64_t number = 0;
  /// The slots that it reads.
  llvm::SmallVector<Visit, 2> reads;
  /// The value that holds a left operand in registers.
  std::optional<uint32_t> left;
  /// Another product goes on with its sums.
  bool isContinued = false;
  std::vector<float> result;
};

/// A copy under way.
struct Transfer {
  enum class Kind {
    In,  ///< from memory to a slot
    Out, ///< from a slot to memory
    Add, ///< from a slot, added to memory
  };
  Kind kind = Kind::In;
  Agent *agent = nullptr;
  const Instruction *instruction = nullptr;
  View view;
  rtile::ViewType type;
  llvm::SmallVector<int64_t, 2> offsets;
  Stamp stamp;
  /// Among the copies of the agent.
  int64_t order = 0;
  Visit visit;
};

/// A role of a block, or one group of its warps.
class Agent {
public:
  Agent(ThreadBlock &block, unsigned number, unsigned role, unsigned group);

  /// Goes on until it ends, waits or pauses.
  mlir::LogicalResult resume();
  bool hasEnded() const { return ended; }
  /// "role 'compute', group 1, at point (0, 2)".
  std::string describe() const;
  std::string describe(int64_t point) const;
  /// "waits for a full slot of channel 1".
  std::string describeWait() const { return waitsFor; }

  //===--------------------------------------------------------------------===//
  // Before every instruction
  //===--------------------------------------------------------------------===//

  /// Checks that what `instruction` reads is there and what it writes is free.
  mlir::LogicalResult check(const Instruction &instruction);
  /// Checks that no product reads the registers of these values.
  mlir::LogicalResult checkWrites(const Instruction &instruction,
                                  llvm::ArrayRef<uint32_t> values);

  //===--------------------------------------------------------------------===//
  // For handlers
  //===--------------------------------------------------------------------===//

  /// Stops before the present instruction.
  mlir::LogicalResult wait(const llvm::Twine &what) {
    waitsFor = ("waits for " + what).str();
    machine.wait();
    return mlir::success();
  }
  /// The channel that a value names.
  Channel &channelOf(const Datum &datum);
  /// Hands a copy between `view` and a slot to the copy engine.
  void startCopy(Transfer::Kind kind, const Instruction &instruction,
                 const Datum &slot, const Datum &view, rtile::ViewType type,
                 llvm::ArrayRef<uint32_t> offsets);
  /// True if copies of this agent still read a slot.
  bool isCopiedFrom(const Visit &visit) const;
  /// Starts a product.
  Product &start();
  mlir::LogicalResult finish(const Instruction &instruction, int64_t product,
                             std::vector<float> &result,
                             bool isContinued = false);
  /// The sums of a product under way, which go on in the one that is started.
  mlir::LogicalResult takeSums(const Instruction &instruction, int64_t product,
                               std::vector<float> &sums);
  /// Checks that no product reads the slot.
  mlir::LogicalResult checkUnread(const Instruction &instruction,
                                  const Visit &visit);
  /// True if the warps of this agent hold row `row` of a tile.
  bool owns(int64_t row) const;
  /// Waits until all groups of the role are here.
  mlir::LogicalResult meet();

  ThreadBlock &block;
  /// Among the agents of the block; of the role; among those of the role.
  const unsigned number, role, group;
  Machine machine;
  /// True if the last call of `resume` has changed anything.
  bool progressed = false;
  /// For the scheduler: it waited, and nothing has changed since.
  bool isStuck = false;

private:
  const RoleCode &code() const;
  /// Checks that nothing is left open, and begins the next point.
  mlir::LogicalResult beginPoint();

  std::deque<Product> running;
  int64_t started = 0;
  /// Copies that were started.
  int64_t copies = 0;
  /// Points that were begun.
  int64_t points = 0;
  bool ended = false;
  std::string waitsFor;
  int64_t meetings = 0;
  bool isMeeting = false;
};

class ThreadBlock {
public:
  ThreadBlock(Run &run, const Program &program, Points &source, int64_t number,
              llvm::ArrayRef<const Datum *> arguments,
              llvm::ArrayRef<int64_t> grid);

  bool hasEnded() const;
  /// Lets copy number `i` of those under way be done.
  mlir::LogicalResult complete(size_t i);
  /// Checks that nothing is left in a channel.
  mlir::LogicalResult checkEnd();
  /// "role 'load' ...; role 'compute' ...; channel 0: ...".
  std::string describe() const;

  Run &run;
  const Program &program;
  Points &source;
  const int64_t number;
  llvm::ArrayRef<int64_t> grid;
  std::deque<Agent> agents;
  std::vector<Channel> channels;
  std::vector<Transfer> transfers;
  /// Of each role, the group whose turn it is.
  std::vector<unsigned> turns;

private:
  mlir::LogicalResult bring(const Transfer &transfer);
  mlir::LogicalResult take(const Transfer &transfer);
};

} // namespace ringlet::interpreter

#endif // RINGLET_LIB_INTERPRETER_THREADBLOCK_H
