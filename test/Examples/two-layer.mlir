//===- two-layer.mlir - A transformer on a grid of tokens ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Two layers over 8x8 tokens, each of which attends to its neighbours on the
// grid. They stand before and after each attention in linear order, as one
// writes it, and ringlet-propagate-orders leaves one reorder at each edge:
//
//   ringlet-opt test/Examples/two-layer.mlir --ringlet-propagate-orders

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [8, 8]>>
#hilbert_lse = #rlayout.layout<
    order = #rlayout.order<hilbert, grid = [8, 8]>, axis = 2>
#row = affine_map<(b, s, e) -> (b, s, e)>
#sums = affine_map<(b, s, e) -> (b, s)>
#feature = affine_map<(b, s, e) -> (e)>
#in = affine_map<(b, s, o, i) -> (b, s, i)>
#weight = affine_map<(b, s, o, i) -> (i, o)>
#out = affine_map<(b, s, o, i) -> (b, s, o)>
!x = tensor<1x64x32xf32>
!sums = tensor<1x64xf32>
!wide = tensor<1x64x96xf32>
!heads = tensor<1x64x2x16xf32>
!ordered = tensor<1x64x2x16xf32, #hilbert>
!lse = tensor<1x2x64xf32, #hilbert_lse>
!w = tensor<32x32xf32>
!up = tensor<32x96xf32>
!down = tensor<96x32xf32>

func.func @two_layer(
    %x: !x,
    %gain1: tensor<32xf32>, %wq1: !w, %wk1: !w,
    %wv1: !w, %wo1: !w, %mlp_gain1: tensor<32xf32>,
    %up1: !up, %down1: !down,
    %gain2: tensor<32xf32>, %wq2: !w, %wk2: !w,
    %wv2: !w, %wo2: !w, %mlp_gain2: tensor<32xf32>,
    %up2: !up, %down2: !down) -> !x {
  %c0 = arith.constant 0.0 : f32
  %features = arith.constant 32.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %slope = arith.constant dense<-1.702> : !wide
  %one = arith.constant dense<1.0> : !wide
  %empty = tensor.empty() : !x
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : !x) -> !x
  %no_sums = arith.constant dense<0.0> : !sums
  %wide_zero = arith.constant dense<0.0> : !wide

  // Layer 1: attention on normalised tokens, in the order of the grid.
  %s1 = linalg.generic {indexing_maps = [#row, #sums],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : !x) outs(%no_sums : !sums) {
  ^bb0(%a: f32, %sum: f32):
    %aa = arith.mulf %a, %a : f32
    %next = arith.addf %sum, %aa : f32
    linalg.yield %next : f32
  } -> !sums
  %n1 = linalg.generic {indexing_maps = [#row, #sums, #feature, #row],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %s1, %gain1 : !x, !sums, tensor<32xf32>) outs(%empty : !x) {
  ^bb0(%a: f32, %sum: f32, %gain: f32, %out: f32):
    %mean = arith.divf %sum, %features : f32
    %safe = arith.addf %mean, %epsilon : f32
    %norm = math.rsqrt %safe : f32
    %scaled = arith.mulf %a, %norm : f32
    %result = arith.mulf %scaled, %gain : f32
    linalg.yield %result : f32
  } -> !x
  %q1 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%n1, %wq1 : !x, !w) outs(%zero : !x) -> !x
  %k1 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%n1, %wk1 : !x, !w) outs(%zero : !x) -> !x
  %v1 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%n1, %wv1 : !x, !w) outs(%zero : !x) -> !x
  %qh1 = tensor.expand_shape %q1 [[0], [1], [2, 3]]
      output_shape [1, 64, 2, 16] : !x into !heads
  %qr1 = ringlet.reorder %qh1 : !heads to !ordered
  %kh1 = tensor.expand_shape %k1 [[0], [1], [2, 3]]
      output_shape [1, 64, 2, 16] : !x into !heads
  %kr1 = ringlet.reorder %kh1 : !heads to !ordered
  %vh1 = tensor.expand_shape %v1 [[0], [1], [2, 3]]
      output_shape [1, 64, 2, 16] : !x into !heads
  %vr1 = ringlet.reorder %vh1 : !heads to !ordered
  %o1, %lse1 = ringlet.attention %qr1, %kr1, %vr1
      branches [<w = *, r = 1>] grid_window = <grid = [8, 8], reach = [2, 2]>
      : (!ordered, !ordered, !ordered) -> (!ordered, !lse)
  %or1 = ringlet.reorder %o1 : !ordered to !heads
  %oc1 = tensor.collapse_shape %or1 [[0], [1], [2, 3]] : !heads into !x
  %p1 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%oc1, %wo1 : !x, !w) outs(%zero : !x) -> !x
  %m1 = arith.addf %x, %p1 : !x

  // The MLP with x * sigmoid(1.702 x), close to GELU.
  %sm1 = linalg.generic {indexing_maps = [#row, #sums],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%m1 : !x) outs(%no_sums : !sums) {
  ^bb0(%a: f32, %sum: f32):
    %aa = arith.mulf %a, %a : f32
    %next = arith.addf %sum, %aa : f32
    linalg.yield %next : f32
  } -> !sums
  %mn1 = linalg.generic {indexing_maps = [#row, #sums, #feature, #row],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%m1, %sm1, %mlp_gain1 : !x, !sums, tensor<32xf32>) outs(%empty : !x) {
  ^bb0(%a: f32, %sum: f32, %gain: f32, %out: f32):
    %mean = arith.divf %sum, %features : f32
    %safe = arith.addf %mean, %epsilon : f32
    %norm = math.rsqrt %safe : f32
    %scaled = arith.mulf %a, %norm : f32
    %result = arith.mulf %scaled, %gain : f32
    linalg.yield %result : f32
  } -> !x
  %u1 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%mn1, %up1 : !x, !up) outs(%wide_zero : !wide) -> !wide
  %t1 = arith.mulf %u1, %slope : !wide
  %e1 = math.exp %t1 : !wide
  %d1 = arith.addf %e1, %one : !wide
  %g1 = arith.divf %u1, %d1 : !wide
  %f1 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%g1, %down1 : !wide, !down) outs(%zero : !x) -> !x
  %y = arith.addf %m1, %f1 : !x

  // Layer 2: attention on normalised tokens, in the order of the grid.
  %s2 = linalg.generic {indexing_maps = [#row, #sums],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y : !x) outs(%no_sums : !sums) {
  ^bb0(%a: f32, %sum: f32):
    %aa = arith.mulf %a, %a : f32
    %next = arith.addf %sum, %aa : f32
    linalg.yield %next : f32
  } -> !sums
  %n2 = linalg.generic {indexing_maps = [#row, #sums, #feature, #row],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y, %s2, %gain2 : !x, !sums, tensor<32xf32>) outs(%empty : !x) {
  ^bb0(%a: f32, %sum: f32, %gain: f32, %out: f32):
    %mean = arith.divf %sum, %features : f32
    %safe = arith.addf %mean, %epsilon : f32
    %norm = math.rsqrt %safe : f32
    %scaled = arith.mulf %a, %norm : f32
    %result = arith.mulf %scaled, %gain : f32
    linalg.yield %result : f32
  } -> !x
  %q2 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%n2, %wq2 : !x, !w) outs(%zero : !x) -> !x
  %k2 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%n2, %wk2 : !x, !w) outs(%zero : !x) -> !x
  %v2 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%n2, %wv2 : !x, !w) outs(%zero : !x) -> !x
  %qh2 = tensor.expand_shape %q2 [[0], [1], [2, 3]]
      output_shape [1, 64, 2, 16] : !x into !heads
  %qr2 = ringlet.reorder %qh2 : !heads to !ordered
  %kh2 = tensor.expand_shape %k2 [[0], [1], [2, 3]]
      output_shape [1, 64, 2, 16] : !x into !heads
  %kr2 = ringlet.reorder %kh2 : !heads to !ordered
  %vh2 = tensor.expand_shape %v2 [[0], [1], [2, 3]]
      output_shape [1, 64, 2, 16] : !x into !heads
  %vr2 = ringlet.reorder %vh2 : !heads to !ordered
  %o2, %lse2 = ringlet.attention %qr2, %kr2, %vr2
      branches [<w = *, r = 1>] grid_window = <grid = [8, 8], reach = [2, 2]>
      : (!ordered, !ordered, !ordered) -> (!ordered, !lse)
  %or2 = ringlet.reorder %o2 : !ordered to !heads
  %oc2 = tensor.collapse_shape %or2 [[0], [1], [2, 3]] : !heads into !x
  %p2 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%oc2, %wo2 : !x, !w) outs(%zero : !x) -> !x
  %m2 = arith.addf %y, %p2 : !x

  // The MLP with x * sigmoid(1.702 x), close to GELU.
  %sm2 = linalg.generic {indexing_maps = [#row, #sums],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%m2 : !x) outs(%no_sums : !sums) {
  ^bb0(%a: f32, %sum: f32):
    %aa = arith.mulf %a, %a : f32
    %next = arith.addf %sum, %aa : f32
    linalg.yield %next : f32
  } -> !sums
  %mn2 = linalg.generic {indexing_maps = [#row, #sums, #feature, #row],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%m2, %sm2, %mlp_gain2 : !x, !sums, tensor<32xf32>) outs(%empty : !x) {
  ^bb0(%a: f32, %sum: f32, %gain: f32, %out: f32):
    %mean = arith.divf %sum, %features : f32
    %safe = arith.addf %mean, %epsilon : f32
    %norm = math.rsqrt %safe : f32
    %scaled = arith.mulf %a, %norm : f32
    %result = arith.mulf %scaled, %gain : f32
    linalg.yield %result : f32
  } -> !x
  %u2 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%mn2, %up2 : !x, !up) outs(%wide_zero : !wide) -> !wide
  %t2 = arith.mulf %u2, %slope : !wide
  %e2 = math.exp %t2 : !wide
  %d2 = arith.addf %e2, %one : !wide
  %g2 = arith.divf %u2, %d2 : !wide
  %f2 = linalg.contract indexing_maps = [#in, #weight, #out]
      ins(%g2, %down2 : !wide, !down) outs(%zero : !x) -> !x
  %z = arith.addf %m2, %f2 : !x
  return %z : !x
}
