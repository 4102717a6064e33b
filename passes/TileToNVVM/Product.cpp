//===- Product.cpp - Ways to multiply tiles on a GPU -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Product.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

/// Those that take few operands first.
static ArrayRef<const BlockProduct *> getBlockProducts() {
  static const BlockProduct *const products[] = {
      &getMmaProduct(), &getPartsProduct(), &getSimtProduct()};
  return products;
}

const BlockProduct &ringlet::gpu::chooseProduct(rtile::DotOp op,
                                                const arch::GPUArch &arch) {
  return **llvm::find_if(getBlockProducts(), [&](const BlockProduct *product) {
    return product->takes(op, arch);
  });
}

const BlockProduct &ringlet::gpu::getBlockProduct(Operation *dot) {
  auto name = dot->getAttrOfType<StringAttr>(dotAttr);
  for (const BlockProduct *product : getBlockProducts())
    if (name && name == product->getName())
      return *product;
  return *getBlockProducts().back();
}

const AsyncProduct &ringlet::gpu::getAsyncProduct() {
  return getWgmmaProduct();
}
