//===- OrderInterface.td - what an op does to orders ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LAYOUT_ORDERINTERFACE
#define RINGLET_LAYOUT_ORDERINTERFACE

include "mlir/IR/OpBase.td"

def RLayout_OrderInterface : OpInterface<"OrderInterface"> {
  let cppNamespace = "::ringlet::rlayout";
  let description = [{
    An operation that may touch a tensor whose type has an order (rule O1),
    because it says along which axes it treats every token alike.

    An *order group* is a set of axes of operands and results that count the
    same tokens: an operation whose axes of one group are all permuted alike
    computes the same for each token. An elementwise operation has a group for
    each axis; a projection has one for the axis of its tokens, of which the
    weights are no part; an attention has one for its queries, output and lse,
    and one for its keys and values.
  }];
  let methods = [
    InterfaceMethod<[{
        The order groups of the operation. An axis is in one group at most; one
        that is in none has to be in linear order.
      }],
      "::llvm::SmallVector<::ringlet::rlayout::OrderGroup>", "getOrderGroups">,
    InterfaceMethod<[{
        Whether the result is the same for every token, so that it is cheaper
        to make it in another order than to reorder it.
      }],
      "bool", "isAlikeForAllTokens", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Makes the result of an operation that is alike for all tokens once more,
        of the given type, whose order alone differs.
      }],
      "::mlir::Value", "makeWithType",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::RankedTensorType":$type),
      [{}], [{ return {}; }]>
  ];
}

#endif // RINGLET_LAYOUT_ORDERINTERFACE
