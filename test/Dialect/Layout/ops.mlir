//===- ops.mlir - Orders, rings and layouts are printed as they are read ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --mlir-print-op-generic | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --emit-bytecode | ringlet-opt --allow-bytecode \
// RUN:   | FileCheck %s

// Every curve, with the parameters that it takes.

// CHECK-LABEL: func.func private @curves()
// CHECK-SAME:    a = #rlayout.order<linear>
// CHECK-SAME:    b = #rlayout.order<linear, grid = [4, 6], chunk = 24>
// CHECK-SAME:    c = #rlayout.order<hilbert, grid = [5, 3]>
// CHECK-SAME:    d = #rlayout.order<hilbert, grid = [4, 4, 4], chunk = 64>
// CHECK-SAME:    e = #rlayout.order<morton, grid = [8, 8]>
// CHECK-SAME:    f = #rlayout.order<snake, grid = [3, 7]>
// CHECK-SAME:    g = #rlayout.order<residue<4>>
// CHECK-SAME:    h = #rlayout.order<residue<4>, chunk = 4096>
// CHECK-SAME:    i = #rlayout.order<table<[2, 0, 1]>>
func.func private @curves() attributes {
  a = #rlayout.order<linear>,
  b = #rlayout.order<linear, chunk = 24, grid = [4, 6]>,
  c = #rlayout.order<hilbert, grid = [5, 3]>,
  d = #rlayout.order<hilbert, grid = [4, 4, 4], chunk = 64>,
  e = #rlayout.order<morton, grid = [8, 8]>,
  f = #rlayout.order<snake, grid = [3, 7]>,
  g = #rlayout.order<residue<4>>,
  h = #rlayout.order<residue<4>, chunk = 4096>,
  i = #rlayout.order<table<[2, 0, 1]>>
}

// A grid of nearly 2^63 cells is arithmetic, not memory.

// CHECK-LABEL: func.func private @vast()
// CHECK-SAME:    #rlayout.order<hilbert, grid = [3037000499, 3037000499]>
// CHECK-SAME:    #rlayout.order<residue<9223372036854775807>>
func.func private @vast() attributes {
  a = #rlayout.order<hilbert, grid = [3037000499, 3037000499]>,
  b = #rlayout.order<residue<9223372036854775807>>
}

// The block of a ring belongs to `striped` only.

// CHECK-LABEL: func.func private @rings()
// CHECK-SAME:    #rlayout.ring<4, contiguous>
// CHECK-SAME:    #rlayout.ring<8, zigzag>
// CHECK-SAME:    #rlayout.ring<2, striped, 128>
// CHECK-SAME:    #rlayout.ring<?, zigzag>
func.func private @rings() attributes {
  a = #rlayout.ring<4, contiguous>, b = #rlayout.ring<8, zigzag>,
  c = #rlayout.ring<2, striped, 128>, d = #rlayout.ring<?, zigzag>
}

// Axis 1 is the default and not printed. What is in linear order, of any number of
// axes, may say so.

// CHECK-LABEL: func.func private @layouts(
// CHECK-SAME:    tensor<1x64x2xf32, #rlayout.layout<order = <hilbert, grid = [8, 8]>>>
// CHECK-SAME:    tensor<1x2x?xf32, #rlayout.layout<order = <residue<4>>, axis = 2>>
// CHECK-SAME:    tensor<1x64x2xf32, #rlayout.layout<ring = <4, zigzag>>>
// CHECK-SAME:    tensor<1x64x2xf32, #rlayout.layout<order = <snake, grid = [4, 4], chunk = 16>, ring = <2, striped, 16>>>
// CHECK-SAME:    tensor<1x64xf32, #rlayout.layout<>>
// CHECK-SAME:    tensor<64xf32, #rlayout.layout<>>
// CHECK-SAME:    tensor<f32, #rlayout.layout<order = <linear>>>
func.func private @layouts(
  tensor<1x64x2xf32,
         #rlayout.layout<order = #rlayout.order<hilbert, grid = [8, 8]>,
                         axis = 1>>,
  tensor<1x2x?xf32, #rlayout.layout<axis = 2, order = <residue<4>>>>,
  tensor<1x64x2xf32, #rlayout.layout<ring = <4, zigzag>>>,
  tensor<1x64x2xf32,
         #rlayout.layout<order = <snake, grid = [4, 4], chunk = 16>,
                         ring = <2, striped, 16>>>,
  tensor<1x64xf32, #rlayout.layout<>>,
  tensor<64xf32, #rlayout.layout<>>,
  tensor<f32, #rlayout.layout<order = <linear>>>)
