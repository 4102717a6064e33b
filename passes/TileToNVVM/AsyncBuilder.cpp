//===- AsyncBuilder.cpp - Barriers and copies -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA: "mbarrier", "cp.async.bulk.tensor".
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/AsyncBuilder.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet::gpu;

/// Probes of a barrier before a kernel traps. A probe that fails takes about a
/// microsecond.
static constexpr int64_t mostProbes = 20000000;

std::string AsyncBuilder::address(AsmBlock &block, Place place) {
  // PTX has no literal addresses of shared memory.
  if (!place.more)
    return "[" + block.use(b.i32(place.address)) + "]";
  return llvm::formatv("[{0}+{1}]", block.use(place.more), place.address).str();
}

std::string AsyncBuilder::guard(AsmBlock &block, Value predicate) {
  return predicate ? "@" + block.use(predicate) + " " : "";
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void AsyncBuilder::initBarrier(Place barrier, int64_t arrivals) {
  AsmBlock block;
  block += llvm::formatv("mbarrier.init.shared::cta.b64 {0}, {1};",
                         address(block, barrier), arrivals)
               .str();
  block.emit(b);
}

void AsyncBuilder::fenceBarriers() { NVVM::FenceMbarrierInitOp::create(b); }

void AsyncBuilder::arrive(Place barrier, Value predicate) {
  AsmBlock block;
  std::string when = guard(block, predicate);
  block += when + "mbarrier.arrive.shared::cta.b64 _, " +
           address(block, barrier) + ";";
  block.emit(b);
}

void AsyncBuilder::expectBytes(Place barrier, int64_t bytes, Value predicate) {
  AsmBlock block;
  std::string when = guard(block, predicate);
  block +=
      llvm::formatv("{0}mbarrier.arrive.expect_tx.shared::cta.b64 _, {1}, {2};",
                    when, address(block, barrier), bytes)
          .str();
  block.emit(b);
}

void AsyncBuilder::wait(ArrayRef<Wait> waits) {
  AsmBlock block;
  block += "{\n.reg .pred p, q;\n.reg .u32 n;\nmov.u32 n, 0;\nL:\n";
  for (auto [number, wait] : llvm::enumerate(waits)) {
    std::string place = address(block, wait.barrier);
    block += "mbarrier.try_wait.parity.shared::cta.b64 " +
             Twine(number ? "q, " : "p, ") + place + ", " +
             block.use(wait.parity) + ";\n";
    if (number)
      block += "and.pred p, p, q;\n";
  }
  block += "@p bra E;\nadd.u32 n, n, 1;\nsetp.gt.u32 q, n, " +
           Twine(mostProbes) + ";\n@q trap;\nbra L;\nE:\n}";
  block.emit(b);
}

//===----------------------------------------------------------------------===//
// The copy engine
//===----------------------------------------------------------------------===//

void AsyncBuilder::prefetchMap(Value map, Value predicate) {
  AsmBlock block;
  std::string when = guard(block, predicate);
  block += when + "prefetch.tensormap [" + block.use(map) + "];";
  block.emit(b);
}

void AsyncBuilder::copyBox(Place to, Value map, ValueRange coordinates,
                           Place barrier, Value predicate) {
  AsmBlock block;
  std::string when = guard(block, predicate), place = address(block, to);
  std::string source = block.use(map), list;
  for (Value coordinate : coordinates)
    list += (list.empty() ? "" : ", ") + block.use(coordinate);
  block += when + "cp.async.bulk.tensor." + Twine(coordinates.size()) +
           "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes " +
           place + ", [" + source + ", {" + list + "}], " +
           address(block, barrier) + ";";
  block.emit(b);
}

void AsyncBuilder::copyBoxOut(Place from, Value map, ValueRange coordinates,
                              bool add, Value predicate) {
  AsmBlock block;
  std::string when = guard(block, predicate), place = address(block, from);
  std::string target = block.use(map), list;
  for (Value coordinate : coordinates)
    list += (list.empty() ? "" : ", ") + block.use(coordinate);
  std::string dims =
      std::to_string(coordinates.size()) + "d.global.shared::cta.";
  block +=
      when +
      (add ? "cp.reduce.async.bulk.tensor." + dims + "add.tile.bulk_group ["
           : "cp.async.bulk.tensor." + dims + "tile.bulk_group [") +
      target + ", {" + list + "}], " + place + ";";
  block.emit(b);
}

void AsyncBuilder::commitCopiesOut() {
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
}

void AsyncBuilder::waitForReads() {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, /*group=*/0, b.getUnitAttr());
}

void AsyncBuilder::fenceShared() {
  auto space =
      NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_shared, space);
}

/// ".v4" and the braces of that many words.
static std::pair<std::string, std::string> makeVector(size_t count,
                                                      const std::string &list) {
  if (count == 1)
    return {"", list};
  return {".v" + std::to_string(count), "{" + list + "}"};
}

void AsyncBuilder::writeWords(Place to, ValueRange words, Value predicate) {
  AsmBlock block;
  std::string when = guard(block, predicate), list;
  for (Value word : words)
    list += (list.empty() ? "" : ", ") + block.use(word);
  auto [vector, values] = makeVector(words.size(), list);
  block += when + "st.shared" + vector + ".b32 " + address(block, to) + ", " +
           values + ";";
  block.emit(b);
}

SmallVector<Value> AsyncBuilder::readWords(Place from, int64_t count) {
  AsmBlock block;
  std::string list;
  for (int64_t word = 0; word < count; ++word)
    list += (word ? ", " : "") + block.result(b.getI32Type());
  auto [vector, values] = makeVector(count, list);
  block += "ld.shared" + vector + ".b32 " + values + ", " +
           address(block, from) + ";";
  return block.emit(b);
}

Value AsyncBuilder::countUp(Value counter, Value last) {
  AsmBlock block;
  std::string before = block.result(b.getI32Type());
  std::string from = block.use(counter), wrap = block.use(last);
  block += "atom.relaxed.gpu.global.inc.u32 " + before + ", [" + from + "], " +
           wrap + ";";
  return block.emit(b).front();
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

SmallVector<Value> AsyncBuilder::hold(ValueRange values) {
  AsmBlock block;
  for (Value value : values)
    (void)block.change(value);
  return block.emit(b);
}

Value AsyncBuilder::holdBehind(Value value, Value other) {
  AsmBlock block;
  std::string held = block.change(value);
  std::string bits = block.use(other);
  block += "{\n.reg .pred p;\nsetp.eq.s32 p, " + bits + ", -2;\nselp.b32 " +
           held + ", 0, " + held + ", p;\n}";
  return block.emit(b).front();
}

void AsyncBuilder::pin(ValueRange values, Place place) {
  Type i32 = b.getI32Type();
  Value all;
  for (Value value : values) {
    Value bits = b.bitcast(i32, value);
    all = all ? arith::AndIOp::create(b, all, bits).getResult() : bits;
  }
  AsmBlock block;
  std::string word = block.use(all);
  // The bits of a NaN that no instruction makes.
  block += "{\n.reg .pred p;\nsetp.eq.s32 p, " + word +
           ", -2;\n@p st.shared.b32 " + address(block, place) + ", " + word +
           ";\n}";
  block.emit(b);
}

SmallVector<Value> AsyncBuilder::loadMatrices(Place place) {
  AsmBlock block;
  std::string list;
  for (int64_t word = 0; word < 4; ++word)
    list += (word ? ", " : "") + block.result(b.getI32Type());
  block += "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {" + list + "}, " +
           address(block, place) + ";";
  return block.emit(b);
}

void AsyncBuilder::storeMatrices(Place place, ValueRange words) {
  AsmBlock block;
  std::string list;
  for (Value word : words)
    list += (list.empty() ? "" : ", ") + block.use(word);
  block += "stmatrix.sync.aligned.m8n8.x4.shared.b16 " + address(block, place) +
           ", {" + list + "};";
  block.emit(b);
}

Value AsyncBuilder::blockCount() {
  AsmBlock block;
  block += "mov.u32 " + block.result(b.getI32Type()) + ", %nctaid.x;";
  return block.emit(b).front();
}

void AsyncBuilder::takeTurn(Value barrier) {
  AsmBlock block;
  block += "bar.sync " + block.use(barrier) + ", 256;";
  block.emit(b);
}

void AsyncBuilder::giveTurn(Value barrier, Value predicate) {
  AsmBlock block;
  std::string when = guard(block, predicate);
  block += when + "bar.arrive " + block.use(barrier) + ", 256;";
  block.emit(b);
}

Value AsyncBuilder::uniform(Value value) {
  if (value.getType().isInteger(64)) {
    Value both =
        LLVM::BitcastOp::create(b, b.getVector(b.getI32Type(), 2), value);
    Value high = uniform(b.extract(both, 1));
    Value pair = b.pair(uniform(b.extract(both, 0)), high);
    return LLVM::BitcastOp::create(b, b.getI64Type(), pair);
  }
  AsmBlock block;
  std::string result = block.result(b.getI32Type());
  block +=
      "shfl.sync.idx.b32 " + result + ", " + block.use(value) + ", 0, 31, -1;";
  return block.emit(b).front();
}

Value AsyncBuilder::anyInWarp(Value predicate) {
  AsmBlock block;
  std::string result = block.result(b.getI1Type());
  block +=
      "vote.sync.any.pred " + result + ", " + block.use(predicate) + ", -1;";
  return block.emit(b).front();
}

void AsyncBuilder::setRegisters(int64_t count, int64_t before) {
  NVVM::SetMaxRegisterOp::create(b, count,
                                 count > before
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}

void AsyncBuilder::trap(Value predicate) {
  AsmBlock block;
  block += guard(block, predicate) + "trap;";
  block.emit(b);
}
