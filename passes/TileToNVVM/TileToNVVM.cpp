//===- TileToNVVM.cpp - Kernels as llvm.func for NVPTX -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "passes/TileToNVVM/Passes.h"
#include "passes/TileToNVVM/PlainEmitter.h"
#include "passes/TileToNVVM/RoleEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILETONVVM
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// Name of the dynamic shared memory of a block.
constexpr StringLiteral sharedSymbol = "ringlet_shared";

/// Sizes and strides of a buffer, of which the dynamic ones are parameters.
SmallVector<int64_t> getExtents(MemRefType type) {
  SmallVector<int64_t> extents(type.getShape()), strides;
  int64_t offset;
  // The verifier of rtile.func has seen to it.
  (void)type.getStridesAndOffset(strides, offset);
  extents.append(strides);
  return extents;
}

/// Words of the parameters of a kernel, the extents of the grid included.
int64_t countWords(rtile::FuncOp func) {
  int64_t words = func.getParameters().size() + func.getGridRank() +
                  (isDynamic(func) ? 1 : 0);
  for (Value parameter : func.getParameters())
    if (auto type = dyn_cast<MemRefType>(parameter.getType()))
      words += llvm::count_if(getExtents(type), ShapedType::isDynamic);
  return words;
}

/// Tensor maps come before all words, as bytes of the parameters themselves.
void addMaps(LLVM::LLVMFuncOp result, ArrayAttr maps) {
  Builder builder(result.getContext());
  Type bytes =
      LLVM::LLVMArrayType::get(builder.getI8Type(), maps.size() * mapBytes);
  result.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(),
                    TypeAttr::get(bytes));
  result.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(),
                    builder.getI64IntegerAttr(64));
  result.setArgAttr(0, NVVM::NVVMDialect::getGridConstantAttrName(),
                    builder.getUnitAttr());
  result->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  result->setAttr(mapsAttr, maps);
}

ArrayAttr getMaps(rtile::FuncOp func) {
  auto maps = func->getAttrOfType<ArrayAttr>(mapsAttr);
  return maps && !maps.empty() ? maps : nullptr;
}

/// The function without a body.
LLVM::LLVMFuncOp createFunction(OpBuilder &builder, rtile::FuncOp func) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> words(countWords(func), builder.getI64Type());
  ArrayAttr maps = getMaps(func);
  if (maps)
    words.insert(words.begin(), LLVM::LLVMPointerType::get(context));
  int64_t threads =
      func.getScheduled() ? getThreads(func) : Fragments::of(func).threads();
  LLVM::LLVMFuncOp result =
      createKernel(builder, func.getLoc(), func.getSymName(), words,
                   TypeRange(func.getParameters()), func.getGridRank(), threads,
                   getBlocks(func));
  if (maps)
    addMaps(result, maps);
  result->setAttr(sharedBytesAttr, func->getAttr(sharedBytesAttr));
  // A block of a plain kernel is for one point, whatever walk is asked for.
  if (rtile::WalkAttr walk = func.getWalkAttr();
      func.getScheduled() && walk &&
      walk.getDispatch() != rtile::Dispatch::each)
    result->setAttr(persistentAttr, builder.getI64IntegerAttr(getBlocks(func)));
  if (isDynamic(func))
    result->setAttr(counterAttr, builder.getUnitAttr());
  if (func->hasAttr(rtile::kBesideAttr))
    result->setAttr(rtile::kBesideAttr, builder.getUnitAttr());
  return result;
}

/// Says where the kernel finds its parameters; the words behind them.
ValueRange bindParameters(rtile::FuncOp func, TileEmitter &emitter,
                          GPUBuilder &b, ValueRange words) {
  for (Value parameter : func.getParameters()) {
    auto take = [&] {
      Value word = words.front();
      words = words.drop_front();
      return word;
    };
    auto type = dyn_cast<MemRefType>(parameter.getType());
    if (!type) {
      emitter.bind(parameter, take());
      continue;
    }
    Buffer buffer;
    buffer.base = b.globalPointer(take());
    for (auto [index, extent] : llvm::enumerate(getExtents(type))) {
      Value value = ShapedType::isDynamic(extent) ? take() : b.i64(extent);
      (int64_t(index) < type.getRank() ? buffer.sizes : buffer.strides)
          .push_back(value);
    }
    emitter.bind(parameter, std::move(buffer));
  }
  return words;
}

void emitRoles(rtile::FuncOp func, const arch::GPUArch &row, GPUBuilder &b,
               Value shared, ValueRange words) {
  RoleEmitter emitter(func, row, b, shared);
  Value maps;
  if (getMaps(func)) {
    maps = words.front();
    words = words.drop_front();
  }
  ValueRange rest = bindParameters(func, emitter, b, words);
  Value counter = isDynamic(func) ? b.globalPointer(rest.back()) : Value();
  emitter.emitRoles(rest.take_front(func.getGridRank()), maps, counter);
}

void emitPlain(rtile::FuncOp func, const arch::GPUArch &row, GPUBuilder &b,
               Value shared, ValueRange words) {
  PlainEmitter emitter(func, row, b, shared);
  ValueRange extents = bindParameters(func, emitter, b, words);
  // Grids have less than 2^31 blocks.
  Value item = b.blockIndex();
  for (auto [axis, point] : llvm::enumerate(func.getGridPoint())) {
    Value here = item, extent = b.toI32(extents[axis]);
    if (axis + 1 < size_t(func.getGridRank())) {
      here = arith::RemUIOp::create(b, item, extent);
      item = arith::DivUIOp::create(b, item, extent);
    }
    emitter.bind(point, b.toI64(here));
  }
  emitter.emitKernel();
  b.setLoc(func.getLoc());
  emitter.finish();
}

void emit(rtile::FuncOp func, const arch::GPUArch &row) {
  OpBuilder builder(func);
  LLVM::LLVMFuncOp result = createFunction(builder, func);
  Block *entry = result.addEntryBlock(builder);
  GPUBuilder b(func.getLoc(), OpBuilder::atBlockBegin(entry));
  // What is read and written behind this is nobody else's any more.
  if (row.hasEarlyStart) {
    b.meetLaunches();
    result->setAttr(startsEarlyAttr, builder.getUnitAttr());
  }
  bool hasShared = func->getAttrOfType<IntegerAttr>(sharedBytesAttr).getInt();
  Value shared = hasShared ? b.sharedBase(sharedSymbol) : Value();
  auto emitBody = func.getScheduled() ? emitRoles : emitPlain;
  emitBody(func, row, b, shared, entry->getArguments());
  b.setLoc(func.getLoc());
  LLVM::ReturnOp::create(b, ValueRange());
  func.erase();
}

struct TileToNVVM : ringlet::impl::RTileToNVVMBase<TileToNVVM> {
  using Base::Base;

  void runOnOperation() override {
    const arch::GPUArch *row = lookupArch(getOperation(), arch);
    if (!row)
      return signalPassFailure();
    auto funcs = llvm::to_vector(getOperation().getOps<rtile::FuncOp>());
    bool hasShared = false, hasChannels = false;
    for (rtile::FuncOp func : funcs) {
      auto bytes = func->getAttrOfType<IntegerAttr>(sharedBytesAttr);
      if (func.getScheduled() ? !bytes || !func->hasAttr(mapsAttr)
                              : !bytes || !func->hasAttr(warpsAttr)) {
        func.emitOpError("expected the decisions of ")
            << (func.getScheduled()
                    ? "rtile-gpu-plan-maps and rtile-gpu-assign-channels"
                    : "rtile-gpu-choose-warps and rtile-gpu-assign-shared");
        return signalPassFailure();
      }
      hasShared |= bytes.getInt() > 0;
      hasChannels |= func.getScheduled();
    }
    if (hasShared) {
      OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
      LLVM::GlobalOp::create(
          builder, getOperation().getLoc(),
          LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
          /*isConstant=*/false, LLVM::Linkage::External, sharedSymbol,
          Attribute(),
          /*alignment=*/hasChannels ? 1024 : Image::rowOfBanks,
          /*addrSpace=*/3);
    }
    for (rtile::FuncOp func : funcs)
      emit(func, *row);
  }
};

} // namespace
