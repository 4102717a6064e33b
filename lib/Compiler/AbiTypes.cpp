//===- AbiTypes.cpp - IR types in the words of an artefact ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/AbiTypes.h"

#include "lib/Layout/OrderSpec.h"

using namespace mlir;
using namespace ringlet;

abi::DType ringlet::toAbi(Type elementType) {
  if (elementType.isF16())
    return abi::DType::F16;
  if (elementType.isBF16())
    return abi::DType::BF16;
  if (elementType.isF32())
    return abi::DType::F32;
  if (elementType.isF64())
    return abi::DType::F64;
  if (isa<Float8E4M3FNType>(elementType))
    return abi::DType::F8E4M3FN;
  if (elementType.isInteger(1))
    return abi::DType::Bool;
  if (elementType.isUnsignedInteger(8))
    return abi::DType::U8;
  if (elementType.isInteger(8))
    return abi::DType::I8;
  if (elementType.isInteger(16))
    return abi::DType::I16;
  if (elementType.isInteger(32))
    return abi::DType::I32;
  if (elementType.isInteger(64) || elementType.isIndex())
    return abi::DType::I64;
  return abi::DType::None;
}

std::vector<int64_t> ringlet::toAbiSizes(ArrayRef<int64_t> sizes) {
  std::vector<int64_t> result;
  for (int64_t size : sizes)
    result.push_back(ShapedType::isDynamic(size) ? -1 : size);
  return result;
}

std::unique_ptr<abi::OrderT> ringlet::toAbi(rlayout::OrderAttr order) {
  layout::OrderSpec spec = order.getSpec();
  auto result = std::make_unique<abi::OrderT>();
  result->curve = spec.curve;
  result->rate = spec.rate;
  result->grid = spec.grid;
  result->chunk = spec.chunk;
  result->table = spec.table;
  return result;
}

FailureOr<uint32_t>
ringlet::addConstant(DenseElementsAttr value,
                     std::vector<std::unique_ptr<abi::ConstantT>> &constants) {
  auto constant = std::make_unique<abi::ConstantT>();
  constant->dtype = toAbi(value.getElementType());
  if (constant->dtype == abi::DType::None)
    return failure();
  constant->sizes = toAbiSizes(value.getType().getShape());
  if (constant->dtype == abi::DType::Bool) {
    // A byte each, however MLIR packs them.
    for (bool element : value.getValues<bool>())
      constant->data.push_back(element);
  } else {
    ArrayRef<char> raw = value.getRawData();
    int64_t copies = value.isSplat() ? value.getNumElements() : 1;
    for (int64_t i = 0; i < copies; ++i)
      constant->data.insert(constant->data.end(), raw.begin(), raw.end());
  }
  auto same = llvm::find_if(constants, [&](const auto &other) {
    return other->dtype == constant->dtype && other->sizes == constant->sizes &&
           other->data == constant->data;
  });
  auto number = static_cast<uint32_t>(same - constants.begin());
  if (same == constants.end())
    constants.push_back(std::move(constant));
  return number;
}

FailureOr<std::unique_ptr<abi::KernelParamT>> ringlet::toAbiParam(Type type) {
  auto param = std::make_unique<abi::KernelParamT>();
  if (type.isIndex()) {
    param->kind = abi::ParamKind::Scalar;
    return param;
  }
  auto buffer = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!buffer || failed(buffer.getStridesAndOffset(strides, offset)) ||
      offset != 0)
    return failure();
  param->kind = abi::ParamKind::Buffer;
  param->dtype = toAbi(buffer.getElementType());
  if (param->dtype == abi::DType::None)
    return failure();
  param->sizes = toAbiSizes(buffer.getShape());
  param->strides = toAbiSizes(strides);
  return param;
}
