//===- Channels.h - Slots and maps of scheduled kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_CHANNELS_H
#define RINGLET_PASSES_TILETONVVM_CHANNELS_H

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Arch/GPU.h"

#include "llvm/Support/MathExtras.h"

namespace ringlet {
namespace gpu {

// rtile-gpu-plan-maps: the maps of a kernel, and the numbers of those that a
// copy reads through: one for all residues, or one for shorter and one for
// longer ones.
inline constexpr llvm::StringLiteral mapsAttr = "rtile.maps";
inline constexpr llvm::StringLiteral mapsOfCopyAttr = "rtile.maps_of_copy";
// rtile-to-nvvm: blocks go on to further points of the grid; how many of them a
// multiprocessor is to hold.
inline constexpr llvm::StringLiteral persistentAttr = "rtile.persistent";
// The same: the kernel waits for the launch in front of it.
inline constexpr llvm::StringLiteral startsEarlyAttr = "rtile.starts_early";
// The same: the last word is the address of a 32-bit counter, 0 at the start
// and at the end.
inline constexpr llvm::StringLiteral counterAttr = "rtile.counter";
// rtile-gpu-assign-channels: where roles hand each other the next point.
inline constexpr llvm::StringLiteral mailboxAttr = "rtile.mailbox";

/// Bytes of a tensor map (cuTensorMapEncodeTiled).
inline constexpr int64_t mapBytes = 128;
/// Bytes of one barrier, and of the place that AsyncBuilder::pin names.
inline constexpr int64_t barrierBytes = 8, pinBytes = 8;

// The same: the address at which shared memory begins, if kernels may know it.
inline constexpr llvm::StringLiteral sharedBaseAttr = "rtile.shared_base";

/// Where the dynamic shared memory of a block begins on architectures with the
/// scheduled form, if there is no static one.
inline constexpr int64_t sharedBaseAddress = 1024;

/// A tile in a slot, as `#rtile.swizzled` says; of one axis, a row of it.
struct SlotImage {
  static constexpr int64_t rowBytes = 128;
  int64_t rows, panels, panelColumns;

  static SlotImage of(mlir::RankedTensorType tile) {
    int64_t columns = tile.getShape().back();
    int64_t inPanel = 8 * rowBytes / tile.getElementTypeBitWidth();
    return {tile.getRank() == 1 ? 1 : tile.getDimSize(0),
            int64_t(llvm::divideCeil(columns, inPanel)), inPanel};
  }
  int64_t panelBytes() const { return rows * rowBytes; }
  int64_t bytes() const { return panels * panelBytes(); }
};

/// Of a kernel whose blocks take points as they come: the role that takes them
/// writes their indices, all others read them. Two letters are under way.
struct Mailbox {
  static constexpr int64_t letters = 2, letterBytes = 16;
  static constexpr int64_t bytes = letters * (letterBytes + 2 * barrierBytes);
  int64_t offset;

  static Mailbox of(rtile::FuncOp func) {
    return {func->getAttrOfType<mlir::IntegerAttr>(mailboxAttr).getInt()};
  }
  int64_t getFull() const { return offset + letters * letterBytes; }
  int64_t getEmpty() const { return getFull() + letters * barrierBytes; }
};

/// True if blocks take points as they come: those of scheduled kernels alone.
bool isDynamic(rtile::FuncOp func);

/// True if one thread runs the role: nothing in it is spread over threads.
bool isSingleThread(rtile::RoleOp role);

/// True if groups of the role wait for each other's turns.
bool hasTurns(rtile::RoleOp role);

/// Number of the block's barrier before the turn of the role's first group;
/// those of the others follow. Barrier 0 is that of the whole block.
int64_t getTurnBarrier(rtile::RoleOp role);

/// Threads of a kernel in the scheduled form.
int64_t getThreads(rtile::FuncOp func);

/// Blocks of it that a multiprocessor holds at once.
int64_t getBlocks(rtile::FuncOp func);

/// Registers that each thread of it begins with.
int64_t getLaunchRegisters(rtile::FuncOp func, const arch::GPUArch &row);

/// How many times a slot is released before it is empty: once by every warp of
/// all roles that read the channel.
int64_t getReleases(rtile::ChannelOp channel);

/// The operation that writes to the channel's slots from registers; null if
/// copies fill them.
rtile::WriteOp getWrite(rtile::ChannelOp channel);

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_CHANNELS_H
