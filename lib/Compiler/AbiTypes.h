//===- AbiTypes.h - Types of the IR in the words of an artefact -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_ABITYPES_H
#define RINGLET_LIB_COMPILER_ABITYPES_H

#include "dialects/Layout/IR/LayoutDialect.h"
#include "lib/Tensor/Precision.h"
#include "ringlet/abi/ArtifactGenerated.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ringlet {

/// DType::None for a type that no tensor of an artefact has.
abi::DType toAbi(mlir::Type elementType);

/// They are numbered alike.
inline abi::Precision toAbi(Precision precision) {
  static_assert(uint8_t(Precision::bf16x3) == uint8_t(abi::Precision::BF16x3));
  return static_cast<abi::Precision>(precision);
}

/// Dynamic sizes become -1.
std::vector<int64_t> toAbiSizes(llvm::ArrayRef<int64_t> sizes);

std::unique_ptr<abi::OrderT> toAbi(rlayout::OrderAttr order);

/// The number of `value` among `constants`, to which it is added if it is new.
/// Fails, without a message, for elements that no tensor of an artefact has.
llvm::FailureOr<uint32_t>
addConstant(mlir::DenseElementsAttr value,
            std::vector<std::unique_ptr<abi::ConstantT>> &constants);

/// Kind, sizes and strides of a kernel's parameter, a memref or an index.
/// Fails, without a message, for any other type.
llvm::FailureOr<std::unique_ptr<abi::KernelParamT>> toAbiParam(mlir::Type type);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_ABITYPES_H
