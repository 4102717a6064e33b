//===- GPUBuilder.cpp - Code of one GPU thread with short names -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/GPUBuilder.h"

#include "passes/TileCode/Elementwise.h"
#include "passes/TileToNVVM/AsmBlock.h"
#include "passes/TileToNVVM/Decisions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet::gpu;

namespace {

// Address spaces of NVPTX.
enum : unsigned { Global = 1, Shared = 3 };

constexpr int64_t allLanes = -1;

} // namespace

Value GPUBuilder::intrinsic(StringRef name, Type result, ValueRange operands) {
  StringAttr attr = getStringAttr(name);
  if (!result) {
    LLVM::CallIntrinsicOp::create(*this, attr, operands);
    return Value();
  }
  return LLVM::CallIntrinsicOp::create(*this, result, attr, operands)
      .getResult(0);
}

Value GPUBuilder::assembly(Type result, StringRef text, StringRef constraints,
                           ValueRange operands) {
  auto op = LLVM::InlineAsmOp::create(
      *this, result ? TypeRange(result) : TypeRange(), operands, text,
      constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  return result ? op.getResult(0) : Value();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value GPUBuilder::add(Value a, int64_t b) {
  return b == 0 ? a : CodeBuilder::add(a, integer(a.getType(), b));
}
Value GPUBuilder::flipBits(Value pointer, int64_t bits) {
  Value address = LLVM::PtrToIntOp::create(*this, getI64Type(), pointer);
  // Shared memory has addresses of 32 bits.
  Value flipped = arith::XOrIOp::create(*this, toI32(address), i32(bits));
  return LLVM::IntToPtrOp::create(*this, pointer.getType(), flipped);
}
Value GPUBuilder::remUnsigned(Value a, int64_t b) {
  return arith::RemUIOp::create(*this, a, integer(a.getType(), b));
}
Value GPUBuilder::opaque(Value value) {
  bool isWide = value.getType().isInteger(64);
  return assembly(value.getType(),
                  isWide ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;",
                  isWide ? "=l,l" : "=r,r", value);
}
Value GPUBuilder::toI32(Value value) {
  return arith::TruncIOp::create(*this, getI32Type(), value);
}
Value GPUBuilder::toI64(Value value) {
  return arith::ExtSIOp::create(*this, getI64Type(), value);
}
Value GPUBuilder::clampToI32(Value value) {
  // Far more than a tile has rows or columns.
  constexpr int64_t far = 1 << 20;
  return toI32(max(min(value, i64(far)), i64(-far)));
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value GPUBuilder::threadIndex() {
  return NVVM::ThreadIdXOp::create(*this, getI32Type());
}
Value GPUBuilder::blockIndex() {
  return NVVM::BlockIdXOp::create(*this, getI32Type());
}
Value GPUBuilder::blockCount() {
  return NVVM::GridDimXOp::create(*this, getI32Type());
}
void GPUBuilder::blockBarrier() { NVVM::BarrierOp::create(*this); }
void GPUBuilder::warpBarrier() {
  NVVM::SyncWarpOp::create(*this, i32(allLanes));
}
void GPUBuilder::meetLaunches() {
  // Not by the operation of the NVVM dialect: its intrinsic claims to touch no
  // memory, so that loads could move in front of the wait.
  assembly(Type(), "griddepcontrol.launch_dependents;", "~{memory}", {});
  assembly(Type(), "griddepcontrol.wait;", "~{memory}", {});
}
Value GPUBuilder::anyInWarp(Value condition) {
  return NVVM::VoteSyncOp::create(*this, getI1Type(), i32(allLanes), condition,
                                  NVVM::VoteSyncKind::any);
}

Value GPUBuilder::anyInBlock(Value predicate) {
  AsmBlock block;
  std::string any = block.result(getI1Type());
  block += "bar.red.or.pred " + any + ", 0, " + block.use(predicate) + ";";
  return block.emit(*this).front();
}
Value GPUBuilder::shuffleXor(Value value, int64_t mask) {
  Value lanes = i32(allLanes), distance = i32(mask), last = i32(31);
  return NVVM::ShflOp::create(*this, getF32Type(), lanes, value, distance, last,
                              NVVM::ShflKind::bfly, UnitAttr());
}

void GPUBuilder::forbidUnrolling(ValueRange results) {
  keepRolled(results.front().getDefiningOp());
}

void GPUBuilder::keepRolled(Operation *loop) {
  auto yes = BoolAttr::get(getContext(), true);
  auto unroll = LLVM::LoopUnrollAttr::get(getContext(), /*disable=*/yes, {}, {},
                                          {}, {}, {}, {});
  // Becomes that of the branch back to the loop's head.
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(
                                       getContext(), {}, {}, {}, unroll, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {}, {}));
}

void GPUBuilder::rolledLoop(Value begin, Value end, Value step,
                            function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(*this, begin, end, step);
  keepRolled(loop);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

Value GPUBuilder::globalPointer(Value word) {
  return LLVM::IntToPtrOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), Global), word);
}

/// Names of a register of that width in constraints and instructions.
static std::pair<StringRef, StringRef> getRegister(unsigned bits) {
  if (bits == 16)
    return {"h", "b16"};
  return bits == 32 ? std::pair<StringRef, StringRef>{"r", "b32"}
                    : std::pair<StringRef, StringRef>{"l", "b64"};
}

Value GPUBuilder::loadGlobal(Type type, Value pointer, Value predicate) {
  unsigned bits = type.getIntOrFloatBitWidth();
  auto [name, suffix] = getRegister(bits);
  std::string text =
      ("mov." + suffix + " $0, 0; @$2 ld.global." + suffix + " $0, [$1];")
          .str();
  Value loaded =
      assembly(getIntegerType(bits), text,
               ("=&" + name + ",l,b,~{memory}").str(), {pointer, predicate});
  return isa<FloatType>(type) ? bitcast(type, loaded) : loaded;
}

Value GPUBuilder::loadGlobalByte(Value pointer, Value predicate) {
  return assembly(getI32Type(), "mov.u32 $0, 0; @$2 ld.global.u8 $0, [$1];",
                  "=&r,l,b,~{memory}", {pointer, predicate});
}

Value GPUBuilder::loadGlobal16(Value pointer, Value predicate) {
  Type i32 = getI32Type();
  Type words =
      LLVM::LLVMStructType::getLiteral(getContext(), {i32, i32, i32, i32});
  Value loaded =
      assembly(words,
               "mov.b32 $0, 0; mov.b32 $1, 0; mov.b32 $2, 0; mov.b32 $3, 0; "
               "@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];",
               "=&r,=&r,=&r,=&r,l,b,~{memory}", {pointer, predicate});
  Type type = getVector(i32, 4);
  Value vector = LLVM::PoisonOp::create(*this, type);
  for (int64_t word = 0; word < 4; ++word)
    vector = LLVM::InsertElementOp::create(
        *this, type, vector, LLVM::ExtractValueOp::create(*this, loaded, word),
        i64(word));
  return vector;
}

void GPUBuilder::storeGlobal(Value value, Value pointer, Value predicate) {
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  auto [name, suffix] = getRegister(bits);
  if (isa<FloatType>(value.getType()))
    value = bitcast(getIntegerType(bits), value);
  assembly(Type(), ("@$2 st.global." + suffix + " [$1], $0;").str(),
           (name + ",l,b,~{memory}").str(), {value, pointer, predicate});
}

void GPUBuilder::storeGlobalPair(Value first, Value second, Value pointer,
                                 Value predicate) {
  if (first.getType().getIntOrFloatBitWidth() == 16)
    return storeGlobalVector(toWord(first, second), pointer, 0, predicate);
  storeGlobalVector({first, second}, pointer, 0, predicate);
}

void GPUBuilder::storeGlobalVector(ValueRange values, Value pointer,
                                   int64_t bytes, Value predicate) {
  AsmBlock block;
  std::string list;
  for (Value value : values)
    list += (list.empty() ? "" : ", ") + block.use(value);
  std::string suffix = values.front().getType().isF32() ? ".f32 " : ".b32 ";
  std::string count =
      values.size() == 1 ? "" : ".v" + std::to_string(values.size());
  std::string when = block.use(predicate), place = block.use(pointer);
  block += llvm::formatv("@{0} st.global{1}{2}[{3}+{4}], {5};", when, count,
                         suffix, place, bytes,
                         (values.size() == 1 ? list : "{" + list + "}"))
               .str();
  block.emit(*this);
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value GPUBuilder::sharedBase(StringRef symbol) {
  return LLVM::AddressOfOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), Shared), symbol);
}

void GPUBuilder::copyAsync16(Value shared, Value global, Value predicate,
                             Value writes) {
  Value bytes = select(predicate, i32(16), i32(0));
  if (!writes)
    NVVM::CpAsyncOp::create(*this, shared, global, 16,
                            NVVM::LoadCacheModifierKind::CG, bytes);
  else
    assembly(Type(), "@$3 cp.async.cg.shared.global [$0], [$1], 16, $2;",
             "l,l,r,b,~{memory}", {shared, global, bytes, writes});
}

void GPUBuilder::storeShared16(Value words, Value shared, Value writes) {
  if (!writes)
    return store(words, shared, 16);
  SmallVector<Value> operands{shared};
  for (int64_t word = 0; word < 4; ++word)
    operands.push_back(extract(words, word));
  operands.push_back(writes);
  assembly(Type(), "@$5 st.shared.v4.b32 [$0], {$1, $2, $3, $4};",
           "l,r,r,r,r,b,~{memory}", operands);
}

void GPUBuilder::waitForCopies() {
  intrinsic("llvm.nvvm.cp.async.wait.all", Type(), {});
}

SmallVector<Value> GPUBuilder::loadMatrices(Value pointer, bool transposed) {
  Type i32 = getI32Type();
  Type words =
      LLVM::LLVMStructType::getLiteral(getContext(), {i32, i32, i32, i32});
  Value loaded = NVVM::LdMatrixOp::create(
      *this, words, pointer, 4,
      transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> result;
  for (int64_t word = 0; word < 4; ++word)
    result.push_back(LLVM::ExtractValueOp::create(*this, loaded, word));
  return result;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value GPUBuilder::extract(Value vector, int64_t index) {
  return LLVM::ExtractElementOp::create(*this, vector, i64(index));
}

Value GPUBuilder::pair(Value first, Value second) {
  Type type = getVector(first.getType(), 2);
  Value vector = LLVM::PoisonOp::create(*this, type);
  vector = LLVM::InsertElementOp::create(*this, type, vector, first, i64(0));
  return LLVM::InsertElementOp::create(*this, type, vector, second, i64(1));
}

Value GPUBuilder::permuteBytes(Value low, Value high, int64_t selector) {
  return intrinsic("llvm.nvvm.prmt", getI32Type(), {low, high, i32(selector)});
}

Value GPUBuilder::widenE4M3(Value bytes) {
  return intrinsic("llvm.nvvm.e4m3x2.to.f16x2.rn", getVector(getF16Type(), 2),
                   bytes);
}

Value GPUBuilder::toWord(Value pair) {
  return LLVM::BitcastOp::create(*this, getI32Type(), pair);
}

Value GPUBuilder::toWord(Value first, Value second) {
  auto getExact = [](Value value) -> Value {
    auto round = value.getDefiningOp<arith::TruncFOp>();
    return round && round.getIn().getType().isF32() ? round.getIn() : Value();
  };
  Value low = getExact(first), high = getExact(second), both;
  if (low && high)
    both = convertFloat(getVector(first.getType(), 2), pair(low, high));
  else
    both = pair(first, second);
  return toWord(both);
}

Value GPUBuilder::roundToTF32(Value value) {
  return NVVM::ConvertFloatToTF32Op::create(*this, getI32Type(), value,
                                            NVVM::FPRoundingMode::RNA);
}

Value GPUBuilder::roundPair(Type element, Value first, Value second) {
  // The first operand of the instruction becomes the upper half.
  Type type = getVector(element, 2);
  auto round = [&](auto op) -> Value {
    return decltype(op)::create(*this, type, second, first, Value(),
                                NVVM::FPRoundingMode::RN);
  };
  return toWord(element.isF16() ? round(NVVM::ConvertF32x2ToF16x2Op())
                                : round(NVVM::ConvertF32x2ToBF16x2Op()));
}

// The instruction lg2.approx is off by 2^-22 next to 1, where a logarithm is
// small. That of plain kernels with quotients that need no call; their divisors
// lie between 1 and 3, where the approximate reciprocal is off by 2^-23.
Value GPUBuilder::log(Value x) {
  return code::emitLog(*this, x, /*isBinary=*/false, [&](Value a, Value b) {
    return arith::MulFOp::create(*this, a, reciprocal(b));
  });
}

Value GPUBuilder::log2(Value x) {
  return code::emitLog(*this, x, /*isBinary=*/true, [&](Value a, Value b) {
    return arith::MulFOp::create(*this, a, reciprocal(b));
  });
}

Value GPUBuilder::reciprocal(Value x) {
  return NVVM::RcpApproxFtzF32Op::create(*this, getF32Type(), x);
}

Value GPUBuilder::divideFast(Value x, Value y) {
  return intrinsic("llvm.nvvm.div.full", getF32Type(), {x, y});
}

Value GPUBuilder::exp2(Value x) {
  return intrinsic("llvm.nvvm.ex2.approx.ftz", getF32Type(), x);
}

Value GPUBuilder::tanh(Value x) {
  // The instruction tanh.approx is off by 2^-11, which is more than weights
  // lose when they are rounded to 16 bits.
  return code::emitTanh(*this, x, [&](Value size) -> Value {
    Value power = exp2(arith::MulFOp::create(
        *this, size, real(getF32Type(), 2.0 * 1.44269504088896340736)));
    Value one = real(getF32Type(), 1.0);
    return divideFast(real(getF32Type(), 2.0),
                      arith::AddFOp::create(*this, power, one));
  });
}

Value GPUBuilder::maximum(Value x, Value y) {
  return LLVM::MaximumOp::create(*this, x, y);
}
Value GPUBuilder::minimum(Value x, Value y) {
  return LLVM::MinimumOp::create(*this, x, y);
}

void GPUBuilder::mma(Type element, int64_t depth, MutableArrayRef<Value> d,
                     ValueRange a, ValueRange b) {
  bool isF16 = element.isF16();
  auto getOperand = [&](ValueRange words) {
    SmallVector<Value> operand;
    for (Value word : words)
      operand.push_back(isF16 ? Value(LLVM::BitcastOp::create(
                                    *this, getVector(element, 2), word))
                              : word);
    return operand;
  };
  SmallVector<Value> left = getOperand(a), right = getOperand(b);
  Type f32 = getF32Type();
  Type sums =
      LLVM::LLVMStructType::getLiteral(getContext(), {f32, f32, f32, f32});
  NVVM::MMATypes type = isF16              ? NVVM::MMATypes::f16
                        : element.isBF16() ? NVVM::MMATypes::bf16
                                           : NVVM::MMATypes::tf32;
  Value result = NVVM::MmaOp::create(
      *this, sums, left, right, ValueRange(d), {16, 8, depth}, std::nullopt,
      std::nullopt, std::array{type, type},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [index, sum] : llvm::enumerate(d))
    sum = LLVM::ExtractValueOp::create(*this, result, int64_t(index));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp
ringlet::gpu::createKernel(OpBuilder &builder, Location loc, StringRef name,
                           ArrayRef<Type> words, TypeRange parameters,
                           int64_t gridRank, int64_t threads, int64_t blocks) {
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), words);
  auto kernel = LLVM::LLVMFuncOp::create(
      builder, loc, name, type, LLVM::Linkage::External,
      /*dsoLocal=*/false, LLVM::CConv::PTX_Kernel);
  auto pair = [&](StringRef key, const Twine &value) -> Attribute {
    return builder.getArrayAttr(
        {builder.getStringAttr(key), builder.getStringAttr(value)});
  };
  // Without the second, ptxas would rather spill a few registers than let a
  // multiprocessor have one block less.
  kernel.setPassthroughAttr(
      builder.getArrayAttr({pair("nvvm.maxntid", Twine(threads)),
                            pair("nvvm.minctasm", Twine(blocks)),
                            builder.getStringAttr("nounwind")}));
  kernel->setAttr(parametersAttr, builder.getTypeArrayAttr(parameters));
  kernel->setAttr(gridRankAttr, builder.getI64IntegerAttr(gridRank));
  kernel->setAttr(scratchAttr, builder.getI64IntegerAttr(0));
  kernel->setAttr(threadsAttr, builder.getI64IntegerAttr(threads));
  return kernel;
}
