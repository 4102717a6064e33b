//===- TileToCPU.cpp - Kernels as llvm.func -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Emitter.h"
#include "passes/TileToCPU/Kernel.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILETOCPU
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

/// Reads the words of the parameters one after the other.
class ParameterReader {
public:
  ParameterReader(CodeBuilder &b, Value words) : b(b), words(words) {}

  Value next(Type type) { return b.load(type, b.at(words, 8 * count++), 8); }

  Buffer nextBuffer(MemRefType type) {
    Buffer buffer{next(b.getPointer()), {}, {}};
    SmallVector<int64_t> strides;
    int64_t offset;
    // The verifier of rtile.func has seen to it.
    (void)type.getStridesAndOffset(strides, offset);
    auto read = [&](ArrayRef<int64_t> known, SmallVectorImpl<Value> &values) {
      for (int64_t value : known)
        values.push_back(ShapedType::isDynamic(value) ? next(b.getI64Type())
                                                      : b.i64(value));
    };
    read(type.getShape(), buffer.sizes);
    read(strides, buffer.strides);
    return buffer;
  }

private:
  CodeBuilder &b;
  Value words;
  int64_t count = 0;
};

void emit(rtile::FuncOp func, const arch::CPULevel &level) {
  OpBuilder builder(func);
  auto scratchBytes = func->getAttrOfType<IntegerAttr>(scratchAttr);
  LLVM::LLVMFuncOp result =
      createKernel(builder, func.getLoc(), func.getSymName(),
                   ValueRange(func.getParameters()), func.getGridRank(),
                   scratchBytes.getInt(), level);
  Block *entry = result.addEntryBlock(builder);
  CodeBuilder b(func.getLoc(), OpBuilder::atBlockBegin(entry));
  Emitter emitter(func, b, entry->getArgument(Scratch));

  ParameterReader reader(b, entry->getArgument(Parameters));
  for (Value parameter : func.getParameters()) {
    if (auto type = dyn_cast<MemRefType>(parameter.getType()))
      emitter.bind(parameter, reader.nextBuffer(type));
    else
      emitter.bind(parameter, reader.next(b.getI64Type()));
  }
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < int64_t(func.getGridRank()); ++axis)
    extents.push_back(reader.next(b.getI64Type()));
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, extents.size()));
  if (auto given = func->getAttrOfType<DenseI64ArrayAttr>(gridOrderAttr))
    order.assign(given.asArrayRef().begin(), given.asArrayRef().end());

  bool usesAMX = func.walk([](rtile::DotOp dot) {
                       return dot->hasAttr(amxAttr) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
                     })
                     .wasInterrupted();
  if (usesAMX)
    setUpTileRegisters(b);
  b.loop(entry->getArgument(Begin), entry->getArgument(End), b.i64(1),
         [&](Value item) {
           for (auto [place, axis] : llvm::enumerate(order)) {
             Value point = item;
             if (place + 1 < order.size()) {
               point = arith::RemUIOp::create(b, item, extents[axis]);
               item = arith::DivUIOp::create(b, item, extents[axis]);
             }
             emitter.bind(func.getGridPoint()[axis], point);
           }
           emitter.emitBlock(func.getBody().front());
         });
  b.setLoc(func.getLoc());
  if (usesAMX)
    releaseTileRegisters(b);
  LLVM::ReturnOp::create(b, ValueRange());
  func.erase();
}

struct TileToCPU : ringlet::impl::RTileToCPUBase<TileToCPU> {
  using Base::Base;

  void runOnOperation() override {
    const arch::CPULevel *row = lookupLevel(getOperation(), level);
    if (!row)
      return signalPassFailure();
    auto funcs = llvm::to_vector(getOperation().getOps<rtile::FuncOp>());
    for (rtile::FuncOp func : funcs) {
      if (func->hasAttr(scratchAttr) && Geometry::isDecided(func))
        continue;
      func.emitOpError("expected the decisions of rtile-assign-scratch");
      return signalPassFailure();
    }
    for (rtile::FuncOp func : funcs)
      emit(func, *row);
  }
};

} // namespace
