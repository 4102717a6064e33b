//===- Doubling.h - A lowered module written by hand ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y[i] = 2 x[i] at both of the levels that the artefact writer meets: as a tile
// program and as a kernel of the llvm dialect.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_COMPILER_DOUBLING_H
#define RINGLET_TEST_UNIT_COMPILER_DOUBLING_H

#include <string>

namespace ringlet {

inline const std::string kDoublingKernel = R"mlir(
rtile.func @double(%x: memref<?xf32, strided<[1]>>,
                   %y: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %c1 = arith.constant 1 : index
  %row = arith.muli %i, %c1 : index
  %xs = rtile.view %x[*] : memref<?xf32, strided<[1]>> to !rtile.view<1xf32>
  %ys = rtile.view %y[*] : memref<?xf32, strided<[1]>> to !rtile.view<1xf32>
  %t = rtile.load %xs[%row] : !rtile.view<1xf32>
  %u = arith.addf %t, %t : tensor<1xf32>
  rtile.store %u, %ys[%row] : !rtile.view<1xf32>
  rtile.return
}
)mlir";

inline const std::string kDoublingPlan = R"mlir(
rplan.func @main(%x: memref<?xf32, strided<[1]>>)
    outputs(%y: memref<?xf32, strided<[1]>>) names ["x", "result0"] {
  %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
  %m = rplan.size %y[0] : memref<?xf32, strided<[1]>>
  rplan.require eq %n, %m, "expected result0 to have the size of x"
  rplan.launch @double grid(%n) args(%x, %y)
      : memref<?xf32, strided<[1]>>, memref<?xf32, strided<[1]>>
  rplan.return
}
)mlir";

inline const std::string kDoublingTiles = kDoublingKernel + kDoublingPlan;

// The parameters are x, its size, y, its size, then the extent of the grid.
inline const std::string kDoublingCode = kDoublingPlan + R"mlir(
llvm.func @double(%params: !llvm.ptr, %begin: i64, %end: i64,
                  %scratch: !llvm.ptr)
    attributes {rtile.grid_rank = 1 : i64, rtile.scratch_bytes = 64 : i64,
                rtile.parameters = [memref<?xf32, strided<[1]>>,
                                    memref<?xf32, strided<[1]>>]} {
  %one = llvm.mlir.constant(1 : i64) : i64
  %x = llvm.load %params : !llvm.ptr -> !llvm.ptr
  %yp = llvm.getelementptr %params[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %y = llvm.load %yp : !llvm.ptr -> !llvm.ptr
  llvm.br ^head(%begin : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %more, ^body, ^exit
^body:
  %xi = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %a = llvm.load %xi : !llvm.ptr -> f32
  %b = llvm.fadd %a, %a : f32
  %yi = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %b, %yi : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^head(%next : i64)
^exit:
  llvm.return
}
)mlir";

} // namespace ringlet

#endif // RINGLET_TEST_UNIT_COMPILER_DOUBLING_H
