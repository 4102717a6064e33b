//===- propagate-orders.mlir - Where reorders go ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rlayout-verify-encodings --ringlet-propagate-orders --rlayout-verify-encodings | FileCheck %s

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
#h2 = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>, axis = 2>
#s = #rlayout.layout<order = #rlayout.order<snake, grid = [2, 2]>>
#row = affine_map<(b, s, e) -> (b, s, e)>
#sums = affine_map<(b, s, e) -> (b, s)>
#feature = affine_map<(b, s, e) -> (e)>
#in = affine_map<(b, s, o, i) -> (b, s, i)>
#weight = affine_map<(b, s, o, i) -> (i, o)>
#out = affine_map<(b, s, o, i) -> (b, s, o)>
!t = tensor<1x4x8xf32>
!h = tensor<1x4x8xf32, #h>
!s = tensor<1x4x8xf32, #s>
!narrow = tensor<1x4x2xf32>
!narrow_h = tensor<1x4x2xf32, #h>
!sums_h = tensor<1x4xf32, #h>
!q = tensor<1x4x2x4xf32>
!qh = tensor<1x4x2x4xf32, #h>
!lse = tensor<1x2x4xf32>
!lse_h = tensor<1x2x4xf32, #h2>

//===----------------------------------------------------------------------===//
// Reorders alone
//===----------------------------------------------------------------------===//

// A reorder and its inverse are nothing, with work between them as without.

// CHECK-LABEL: func @elementwise(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x8xf32>, %[[Y:.+]]: tensor<1x4x8xf32>)
// CHECK-NEXT:    %[[E:.+]] = math.exp %[[X]] : tensor<1x4x8xf32>
// CHECK-NEXT:    %[[A:.+]] = arith.addf %[[E]], %[[Y]] : tensor<1x4x8xf32>
// CHECK-NEXT:    return %[[A]]
func.func @elementwise(%x: !t, %y: !t) -> !t {
  %xh = ringlet.reorder %x : !t to !h
  %yh = ringlet.reorder %y : !t to !h
  %e = math.exp %xh : !h
  %a = arith.addf %e, %yh : !h
  %r = ringlet.reorder %a : !h to !t
  return %r : !t
}

// A chain goes straight from its first order to its last, wherever in it the
// work is done.

// CHECK-LABEL: func @chain(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x8xf32, #rlayout.layout<order = <snake, grid = [2, 2]>>>)
// CHECK-NEXT:    %[[E:.+]] = math.exp %[[X]] : tensor<1x4x8xf32, #rlayout.layout<order = <snake,
// CHECK-NEXT:    %[[R:.+]] = ringlet.reorder %[[E]] : tensor<1x4x8xf32, #rlayout.layout<order = <snake, grid = [2, 2]>>> to tensor<1x4x8xf32, #rlayout.layout<order = <hilbert,
// CHECK-NEXT:    return %[[R]]
func.func @chain(%x: !s) -> !h {
  %linear = ringlet.reorder %x : !s to !t
  %e = math.exp %linear : !t
  %r = ringlet.reorder %e : !t to !h
  return %r : !h
}

// One reorder serves all who want its order, and stands before the first.

// CHECK-LABEL: func @shared(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x8xf32>)
// CHECK-NEXT:    %[[R:.+]] = ringlet.reorder %[[X]] : {{.*}} to tensor<1x4x8xf32, #rlayout.layout<order = <hilbert,
// CHECK-NEXT:    %[[E:.+]] = math.exp %[[X]]
// CHECK-NEXT:    return %[[R]], %[[R]], %[[E]]
func.func @shared(%x: !t) -> (!h, !h, !t) {
  %e = math.exp %x : !t
  %a = ringlet.reorder %x : !t to !h
  %b = ringlet.reorder %x : !t to !h
  return %a, %b, %e : !h, !h, !t
}

//===----------------------------------------------------------------------===//
// Through operations that treat tokens alike
//===----------------------------------------------------------------------===//

// A normalisation over features: sums have the order of their tokens, and the
// gain, which has no tokens, none. What sums start from is made in that order.

// CHECK-LABEL: func @normalise(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x8xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>, %[[GAIN:.+]]: tensor<8xf32>)
// CHECK-NOT:     ringlet.reorder
// CHECK:         %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<1x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>
// CHECK:         %[[SUMS:.+]] = linalg.generic
// CHECK-SAME:        ins(%[[X]] : {{.*}}) outs(%[[ZERO]] :
// CHECK:         } -> tensor<1x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>
// CHECK:         %[[EMPTY:.+]] = tensor.empty() : tensor<1x4x8xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>
// CHECK:         %[[Y:.+]] = linalg.generic
// CHECK-SAME:        ins(%[[X]], %[[SUMS]], %[[GAIN]] : {{.*}}) outs(%[[EMPTY]] :
// CHECK-NOT:     ringlet.reorder
// CHECK:         return %[[Y]]
func.func @normalise(%x: !h, %gain: tensor<8xf32>) -> !h {
  %linear = ringlet.reorder %x : !h to !t
  %zero = arith.constant dense<0.0> : tensor<1x4xf32>
  %sums = linalg.generic {indexing_maps = [#row, #sums], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%linear : !t) outs(%zero : tensor<1x4xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %aa = arith.mulf %a, %a : f32
    %next = arith.addf %sum, %aa : f32
    linalg.yield %next : f32
  } -> tensor<1x4xf32>
  %empty = tensor.empty() : !t
  %y = linalg.generic {indexing_maps = [#row, #sums, #feature, #row], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%linear, %sums, %gain : !t, tensor<1x4xf32>, tensor<8xf32>) outs(%empty : !t) {
  ^bb0(%a: f32, %sum: f32, %g: f32, %o: f32):
    %n = math.rsqrt %sum : f32
    %an = arith.mulf %a, %n : f32
    %r = arith.mulf %an, %g : f32
    linalg.yield %r : f32
  } -> !t
  %r = ringlet.reorder %y : !t to !h
  return %r : !h
}

// A softmax over features.

// CHECK-LABEL: func @softmax(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x8xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>)
// CHECK-NEXT:    %[[EMPTY:.+]] = tensor.empty() : tensor<1x4x8xf32, #rlayout.layout<order = <hilbert,
// CHECK-NEXT:    %[[Y:.+]] = linalg.softmax dimension(2) ins(%[[X]] : {{.*}}) outs(%[[EMPTY]] : {{.*}})
// CHECK-NEXT:    return %[[Y]]
func.func @softmax(%x: !h) -> !h {
  %linear = ringlet.reorder %x : !h to !t
  %empty = tensor.empty() : !t
  %y = linalg.softmax dimension(2) ins(%linear : !t) outs(%empty : !t) -> !t
  %r = ringlet.reorder %y : !t to !h
  return %r : !h
}

// Projections of one tensor: one reorder of what all three read, which is less
// than one of each result. What they add to is made anew.

// CHECK-LABEL: func @projections(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x8xf32>, %[[W:.+]]: tensor<8x8xf32>)
// CHECK-NEXT:    %[[XH:.+]] = ringlet.reorder %[[X]] : {{.*}} to tensor<1x4x8xf32, #rlayout.layout<order = <hilbert,
// CHECK-NEXT:    %[[C0:.+]] = arith.constant
// CHECK-NEXT:    %[[EMPTY:.+]] = tensor.empty() : tensor<1x4x8xf32, #rlayout.layout<order = <hilbert,
// CHECK-NEXT:    %[[ZERO:.+]] = linalg.fill ins(%[[C0]] : f32) outs(%[[EMPTY]]
// CHECK-NEXT:    %[[Q:.+]] = linalg.contract {{.*}} ins(%[[XH]], %[[W]] : {{.*}}) outs(%[[ZERO]] :
// CHECK-NEXT:    %[[K:.+]] = linalg.contract {{.*}} ins(%[[XH]], %[[W]] : {{.*}}) outs(%[[ZERO]] :
// CHECK-NEXT:    return %[[Q]], %[[K]]
func.func @projections(%x: !t, %w: tensor<8x8xf32>) -> (!h, !h) {
  %c0 = arith.constant 0.0 : f32
  %empty = tensor.empty() : !t
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : !t) -> !t
  %q = linalg.contract indexing_maps = [#in, #weight, #out] ins(%x, %w : !t, tensor<8x8xf32>) outs(%zero : !t) -> !t
  %k = linalg.contract indexing_maps = [#in, #weight, #out] ins(%x, %w : !t, tensor<8x8xf32>) outs(%zero : !t) -> !t
  %qh = ringlet.reorder %q : !t to !h
  %kh = ringlet.reorder %k : !t to !h
  return %qh, %kh : !h, !h
}

// Of two places for one reorder, the one where a token has fewer bytes.

// CHECK-LABEL: func @narrow(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x2xf32>, %[[W:.+]]: tensor<2x8xf32>)
// CHECK-NEXT:    %[[XH:.+]] = ringlet.reorder %[[X]] : tensor<1x4x2xf32> to tensor<1x4x2xf32, #rlayout.layout<order = <hilbert,
// CHECK-NEXT:    %[[ZERO:.+]] = arith.constant
// CHECK-NEXT:    %[[Y:.+]] = linalg.contract {{.*}} ins(%[[XH]], %[[W]] : {{.*}}) outs(%[[ZERO]] :
// CHECK-NEXT:    return %[[Y]]
func.func @narrow(%x: !narrow, %w: tensor<2x8xf32>) -> !h {
  %zero = arith.constant dense<0.0> : !t
  %y = linalg.contract indexing_maps = [#in, #weight, #out] ins(%x, %w : !narrow, tensor<2x8xf32>) outs(%zero : !t) -> !t
  %r = ringlet.reorder %y : !t to !h
  return %r : !h
}

// Heads come and go beside the tokens; an axis of size 1 may join them.

// CHECK-LABEL: func @reshape(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x8xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>)
// CHECK-NEXT:    %[[E:.+]] = tensor.expand_shape %[[X]] {{.*}} into tensor<1x4x2x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>
// CHECK-NEXT:    %[[C:.+]] = tensor.collapse_shape %[[E]] {{.*}} into tensor<4x8xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>, axis = 0>>
// CHECK-NEXT:    return %[[C]]
#h0 = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>, axis = 0>
func.func @reshape(%x: !h) -> tensor<4x8xf32, #h0> {
  %linear = ringlet.reorder %x : !h to !t
  %e = tensor.expand_shape %linear [[0], [1], [2, 3]] output_shape [1, 4, 2, 4] : !t into !q
  %c = tensor.collapse_shape %e [[0, 1], [2, 3]] : !q into tensor<4x8xf32>
  %r = ringlet.reorder %c : tensor<4x8xf32> to tensor<4x8xf32, #h0>
  return %r : tensor<4x8xf32, #h0>
}

// A transposition carries the order to the other axis.

// CHECK-LABEL: func @transpose(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x8xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>)
// CHECK-NEXT:    %[[EMPTY:.+]] = tensor.empty() : tensor<1x8x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>, axis = 2>>
// CHECK-NEXT:    %[[T:.+]] = linalg.transpose ins(%[[X]] : {{.*}}) outs(%[[EMPTY]] : {{.*}}) permutation = [0, 2, 1]
// CHECK-NEXT:    return %[[T]]
func.func @transpose(%x: !h) -> tensor<1x8x4xf32, #h2> {
  %linear = ringlet.reorder %x : !h to !t
  %empty = tensor.empty() : tensor<1x8x4xf32>
  %t = linalg.transpose ins(%linear : !t) outs(%empty : tensor<1x8x4xf32>) permutation = [0, 2, 1]
  %r = ringlet.reorder %t : tensor<1x8x4xf32> to tensor<1x8x4xf32, #h2>
  return %r : tensor<1x8x4xf32, #h2>
}

// Comparisons and selections in between; their booleans go along.

// CHECK-LABEL: func @select(
// CHECK-NOT:     ringlet.reorder
// CHECK:         arith.select %{{.+}}, %{{.+}}, %{{.+}} : tensor<1x4x8xi1, #rlayout.layout<order = <hilbert,
// CHECK-NOT:     ringlet.reorder
// CHECK:         return
func.func @select(%x: !h) -> !h {
  %linear = ringlet.reorder %x : !h to !t
  %zero = arith.constant dense<0.0> : !t
  %positive = arith.cmpf ogt, %linear, %zero : !t
  %y = arith.select %positive, %linear, %zero : tensor<1x4x8xi1>, !t
  %r = ringlet.reorder %y : !t to !h
  return %r : !h
}

// Lengths that nothing says: the order restarts in each chunk. Sizes are those
// of any order.

#chunk = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2], chunk = 4>>
// CHECK-LABEL: func @dynamic(
// CHECK-SAME:      %[[X:.+]]: tensor<1x?x8xf32, #rlayout.layout<order = <hilbert, grid = [2, 2], chunk = 4>>>)
// CHECK-NEXT:    %[[C1:.+]] = arith.constant 1
// CHECK-NEXT:    %[[E:.+]] = math.exp %[[X]]
// CHECK-NEXT:    %[[D:.+]] = tensor.dim %[[E]], %[[C1]] : tensor<1x?x8xf32, #rlayout.layout<order = <hilbert, grid = [2, 2], chunk = 4>>>
// CHECK-NEXT:    return %[[E]], %[[D]]
func.func @dynamic(%x: tensor<1x?x8xf32, #chunk>) -> (tensor<1x?x8xf32, #chunk>, index) {
  %c1 = arith.constant 1 : index
  %linear = ringlet.reorder %x : tensor<1x?x8xf32, #chunk> to tensor<1x?x8xf32>
  %e = math.exp %linear : tensor<1x?x8xf32>
  %d = tensor.dim %e, %c1 : tensor<1x?x8xf32>
  %r = ringlet.reorder %e : tensor<1x?x8xf32> to tensor<1x?x8xf32, #chunk>
  return %r, %d : tensor<1x?x8xf32, #chunk>, index
}

//===----------------------------------------------------------------------===//
// Through attention
//===----------------------------------------------------------------------===//

// Keys and values alone: an attention in linear order reads them as they lie.
// Causality is about positions, so that nothing else changes.

// CHECK-LABEL: func @keys_and_values(
// CHECK-SAME:      %[[Q:.+]]: tensor<1x4x2x4xf32>, %[[K:.+]]: tensor<1x4x2x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>, %[[V:[^:]+]]:
// CHECK-NEXT:    %[[O:.+]], %{{.+}} = ringlet.attention %[[Q]], %[[K]], %[[V]] branches [<w = 2, r = 1>] causal :
// CHECK-SAME:        -> (tensor<1x4x2x4xf32>, tensor<1x2x4xf32>)
// CHECK-NEXT:    return %[[O]]
func.func @keys_and_values(%q: !q, %k: !qh, %v: !qh) -> !q {
  %kl = ringlet.reorder %k : !qh to !q
  %vl = ringlet.reorder %v : !qh to !q
  %o, %lse = ringlet.attention %q, %kl, %vl branches [<w = 2, r = 1>] causal : (!q, !q, !q) -> (!q, !lse)
  return %o : !q
}

// Queries, keys and values: output and lse have the order of the queries.

// CHECK-LABEL: func @queries_keys_and_values(
// CHECK-SAME:      %[[Q:[^:]+]]: {{[^%]*}}, %[[K:[^:]+]]: {{[^%]*}}, %[[V:[^:]+]]:
// CHECK-NEXT:    %[[O:.+]], %[[LSE:.+]] = ringlet.attention %[[Q]], %[[K]], %[[V]] branches [<w = 4, r = 2>] causal window = [2, -1] :
// CHECK-SAME:        -> (tensor<1x4x2x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>, tensor<1x2x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>, axis = 2>>)
// CHECK-NEXT:    return %[[O]], %[[LSE]]
func.func @queries_keys_and_values(%q: !qh, %k: !qh, %v: !qh) -> (!qh, !lse_h) {
  %ql = ringlet.reorder %q : !qh to !q
  %kl = ringlet.reorder %k : !qh to !q
  %vl = ringlet.reorder %v : !qh to !q
  %o, %lse = ringlet.attention %ql, %kl, %vl branches [<w = 4, r = 2>] causal window = [2, -1] : (!q, !q, !q) -> (!q, !lse)
  %oh = ringlet.reorder %o : !q to !qh
  %lse_h = ringlet.reorder %lse : !lse to !lse_h
  return %oh, %lse_h : !qh, !lse_h
}

// Lengths of padded sequences count tokens, wherever these lie (O1).

// CHECK-LABEL: func @lengths(
// CHECK-SAME:      %[[Q:[^:]+]]: {{[^%]*}}, %[[K:[^:]+]]: {{[^%]*}}, %[[V:[^:]+]]: {{[^%]*}}, %[[N:[^:]+]]:
// CHECK-NEXT:    %[[O:.+]], %[[LSE:.+]] = ringlet.attention %[[Q]], %[[K]], %[[V]] branches [<w = *, r = 1>] lengths(%[[N]], %[[N]]) :
// CHECK-NEXT:    return %[[O]], %[[LSE]]
func.func @lengths(%q: !qh, %k: !qh, %v: !qh, %n: tensor<1xi64>) -> (!qh, !lse_h) {
  %ql = ringlet.reorder %q : !qh to !q
  %kl = ringlet.reorder %k : !qh to !q
  %vl = ringlet.reorder %v : !qh to !q
  %o, %lse = ringlet.attention %ql, %kl, %vl branches [<w = *, r = 1>] lengths(%n, %n)
      : (!q, !q, !q, tensor<1xi64>, tensor<1xi64>) -> (!q, !lse)
  %oh = ringlet.reorder %o : !q to !qh
  %lse_h = ringlet.reorder %lse : !lse to !lse_h
  return %oh, %lse_h : !qh, !lse_h
}

// A reader of lse in linear order costs a reorder of lse, which is less than
// those of queries and output.

// CHECK-LABEL: func @lse_in_linear_order(
// CHECK-SAME:      %[[Q:[^:]+]]: {{[^%]*}}, %[[K:[^:]+]]: {{[^%]*}}, %[[V:[^:]+]]:
// CHECK-NEXT:    %[[O:.+]], %[[LSE:.+]] = ringlet.attention %[[Q]], %[[K]], %[[V]]
// CHECK-NEXT:    %[[R:.+]] = ringlet.reorder %[[LSE]] : {{.*}} to tensor<1x2x4xf32>
// CHECK-NEXT:    return %[[O]], %[[R]]
func.func @lse_in_linear_order(%q: !qh, %k: !q, %v: !q) -> (!qh, !lse) {
  %ql = ringlet.reorder %q : !qh to !q
  %o, %lse = ringlet.attention %ql, %k, %v branches [<w = *, r = 1>] : (!q, !q, !q) -> (!q, !lse)
  %oh = ringlet.reorder %o : !q to !qh
  return %oh, %lse : !qh, !lse
}

// An order that an attention's types name is a choice. What is between two
// attentions of this order takes it; arguments and results stay.

// CHECK-LABEL: func @choice(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x2x4xf32>)
// CHECK-NEXT:    %[[XH:.+]] = ringlet.reorder %[[X]]
// CHECK-NEXT:    %[[O:.+]], %{{.+}} = ringlet.attention %[[XH]], %[[XH]], %[[XH]]
// CHECK-NEXT:    %[[A:.+]] = arith.addf %[[XH]], %[[O]] : tensor<1x4x2x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>
// CHECK-NEXT:    %[[P:.+]], %{{.+}} = ringlet.attention %[[A]], %[[A]], %[[A]]
// CHECK-NEXT:    %[[R:.+]] = ringlet.reorder %[[P]] : {{.*}} to tensor<1x4x2x4xf32>
// CHECK-NEXT:    return %[[R]]
func.func @choice(%x: !q) -> !q {
  %xh = ringlet.reorder %x : !q to !qh
  %o, %lse = ringlet.attention %xh, %xh, %xh branches [<w = *, r = 1>] : (!qh, !qh, !qh) -> (!qh, !lse_h)
  %ol = ringlet.reorder %o : !qh to !q
  %a = arith.addf %x, %ol : !q
  %ah = ringlet.reorder %a : !q to !qh
  %p, %lse2 = ringlet.attention %ah, %ah, %ah branches [<w = *, r = 1>] : (!qh, !qh, !qh) -> (!qh, !lse_h)
  %pl = ringlet.reorder %p : !qh to !q
  return %pl : !q
}

//===----------------------------------------------------------------------===//
// What layouts say beside an order
//===----------------------------------------------------------------------===//

// A tensor in one order and its transposition in the same on the other axis:
// what both start from is made for each.

// CHECK-LABEL: func @alike_for_two_axes(
// CHECK-SAME:      %[[X:.+]]: tensor<1x4x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>)
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<1x4x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>>>
// CHECK-DAG:     %[[ZERO2:.+]] = arith.constant dense<0.000000e+00> : tensor<1x4x4xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>, axis = 2>>
// CHECK-DAG:     %[[T:.+]] = linalg.transpose ins(%[[X]] : {{.*}}) outs(%[[ZERO2]] :
// CHECK-DAG:     %[[S:.+]] = arith.addf %[[X]], %[[ZERO]]
// CHECK-NOT:     ringlet.reorder
// CHECK:         return %[[S]], %[[T]]
func.func @alike_for_two_axes(%x: tensor<1x4x4xf32, #h>)
    -> (tensor<1x4x4xf32, #h>, tensor<1x4x4xf32, #h2>) {
  %zero = arith.constant dense<0.0> : tensor<1x4x4xf32>
  %l = ringlet.reorder %x : tensor<1x4x4xf32, #h> to tensor<1x4x4xf32>
  %t = linalg.transpose ins(%l : tensor<1x4x4xf32>) outs(%zero : tensor<1x4x4xf32>) permutation = [0, 2, 1]
  %s = arith.addf %l, %zero : tensor<1x4x4xf32>
  %a = ringlet.reorder %s : tensor<1x4x4xf32> to tensor<1x4x4xf32, #h>
  %b = ringlet.reorder %t : tensor<1x4x4xf32> to tensor<1x4x4xf32, #h2>
  return %a, %b : tensor<1x4x4xf32, #h>, tensor<1x4x4xf32, #h2>
}

// The same curve in chunks of another size is another order.

#chunk4 = #rlayout.layout<order = #rlayout.order<residue<2>, chunk = 4>>
#chunk8 = #rlayout.layout<order = #rlayout.order<residue<2>, chunk = 8>>
// CHECK-LABEL: func @chunks(
// CHECK-SAME:      %[[X:[^:]+]]:
// CHECK-NEXT:    %[[E:.+]] = math.exp %[[X]]
// CHECK-NEXT:    %[[R:.+]] = ringlet.reorder %[[E]] : {{.*}}<residue<2>, chunk = 4>>> to {{.*}}<residue<2>, chunk = 8>>>
// CHECK-NEXT:    return %[[R]]
func.func @chunks(%x: tensor<1x16x8xf32, #chunk4>) -> tensor<1x16x8xf32, #chunk8> {
  %l = ringlet.reorder %x : tensor<1x16x8xf32, #chunk4> to tensor<1x16x8xf32>
  %e = math.exp %l : tensor<1x16x8xf32>
  %r = ringlet.reorder %e : tensor<1x16x8xf32> to tensor<1x16x8xf32, #chunk8>
  return %r : tensor<1x16x8xf32, #chunk8>
}

// Shards of a ring keep their ring in every order.

#ring = #rlayout.layout<ring = #rlayout.ring<2, contiguous>>
#ring_h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>, ring = #rlayout.ring<2, contiguous>>
// CHECK-LABEL: func @ring(
// CHECK-SAME:      %[[X:[^:]+]]:
// CHECK-NEXT:    %[[E:.+]] = math.exp %[[X]] : tensor<1x4x8xf32, #rlayout.layout<order = <hilbert, grid = [2, 2]>, ring = <2, contiguous>>>
// CHECK-NEXT:    return %[[E]]
func.func @ring(%x: tensor<1x4x8xf32, #ring_h>) -> tensor<1x4x8xf32, #ring_h> {
  %l = ringlet.reorder %x : tensor<1x4x8xf32, #ring_h> to tensor<1x4x8xf32, #ring>
  %e = math.exp %l : tensor<1x4x8xf32, #ring>
  %r = ringlet.reorder %e : tensor<1x4x8xf32, #ring> to tensor<1x4x8xf32, #ring_h>
  return %r : tensor<1x4x8xf32, #ring_h>
}

// An encoding of another dialect is none of our business.

// CHECK-LABEL: func @foreign(
// CHECK-SAME:      %[[X:[^:]+]]: {{.*}}, %[[Y:[^:]+]]: tensor<1x4x8xf32, 1 : i32>)
// CHECK-NEXT:    %[[E:.+]] = math.exp %[[X]]
// CHECK-NEXT:    %[[F:.+]] = math.exp %[[Y]] : tensor<1x4x8xf32, 1 : i32>
// CHECK-NEXT:    return %[[E]], %[[F]]
func.func @foreign(%x: !h, %y: tensor<1x4x8xf32, 1 : i32>) -> (!h, tensor<1x4x8xf32, 1 : i32>) {
  %l = ringlet.reorder %x : !h to !t
  %e = math.exp %l : !t
  %r = ringlet.reorder %e : !t to !h
  %f = math.exp %y : tensor<1x4x8xf32, 1 : i32>
  return %r, %f : !h, tensor<1x4x8xf32, 1 : i32>
}
