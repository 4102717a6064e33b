//===- Passes.td - from ringlet to rtile and rplan ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE
#define RINGLET_PASSES_ATTENTIONTOTILE

include "mlir/Pass/PassBase.td"

def RingletPartitionRing : Pass<"ringlet-partition-ring", "::mlir::ModuleOp"> {
  let summary = "Turn functions of sharded attentions into the plan of a rank";
  let description = [{
    A `func.func` on tensors with an `#rlayout.ring` becomes an `rplan.func` of
    the same name, the same for all ranks, whose arguments are a rank's parts: as
    many rows as the rank has. `rplan.exchange` says which keys a query sees; who
    sends what to whom follows from that and from the number of ranks, when the
    plan is called. `rplan.attend` computes with chunks as they come: own keys
    first, then those of one rank after the other. The softmax of a row goes on
    in f32 from chunk to chunk, and small kernels end it where all keys have
    been.

    For each branch there are two plans, with a kernel each, that `rplan.attend`
    calls for pieces of a chunk: one for whole segments, with the branch's own
    dilation, one for keys of one residue, which travel without those between
    them. A single dense branch of all heads needs one.

    What has no plan on a ring is refused with the rule's number: lengths (S2),
    pattern orders, grid windows, block masks (O2, B5, B6), memory orders (O1),
    mix = sum (R2), w and r that only the call knows (B1).

    Needs `tilings` (see `ringlet-choose-tiling`).
  }];
  let dependentDialects = ["::ringlet::rplan::RPlanDialect",
    "::ringlet::rtile::RTileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"];
}

def RingletToRTile : Pass<"ringlet-to-rtile", "::mlir::ModuleOp"> {
  let summary = "Turn each function of attentions into a plan and its kernels";
  let description = [{
    Each `func.func` becomes an `rplan.func` of the same name, which checks the
    sizes of its arguments, allocates intermediate tensors and launches kernels;
    each kernel is an `rtile.func`.

    An attention becomes one kernel for each branch or, with `combine = union`,
    one for all. A kernel streams over keys with a running maximum and sum. With
    several branches the kernels form a chain: each goes on from the maximum, sum
    and accumulator that the ones before left for its rows, in f32, so that the
    union of all branches goes through one softmax (rule R1). Branches that see
    few rows come first; a branch that covers every row comes last and writes the
    result, and where there is none small kernels finish it. Branches of equal w
    and r share kernels; where there are more than 16 of other w or r, all of them
    do, in kernels that are told w and r.

    The kernel of a union computes tiles of rows of one residue modulo the common
    multiple of all dilations, in one segment of the common divisor of all w. The
    keys that such a tile sees are those of whole segments and residues of these
    sizes. A loop goes through the list of them, computed by division; keys of
    most branches come first, and then the softmax is raised by the logarithm
    that makes each count as often as there are branches with it.

    A single branch with a `recipe` becomes two kernels: one to be scheduled,
    which also marks the rows that it could not compute, and a plain one that
    computes tiles with marked rows again. A single dilated branch of all heads
    also fills the rows that it does not reach (R3), up to 128 columns; otherwise kernels that only fill come first.

    With `split_kv`, calls with few queries run other kernels: the plan makes
    grids and memory of those that are not for a call empty. Each branch has a
    kernel of which a point streams a tile of queries over a part of the keys and
    leaves maximum, sum and accumulator for each row. The plan counts the parts,
    by the number of threads or multiprocessors and that of keys. One more kernel
    merges the parts of all branches, in their order and in f32, and ends the
    softmax. Rows of a tile are the queries of all heads that share keys. Several
    branches are launches of one kernel, which is told w and r.

    Memory orders (O1) and a pattern order (O2) become what a view says of its
    rows: an order where they lie at equal distances, else tables that the plan
    makes.

    A w or r that only the call knows (B1) is required to be legal by the plan
    and handed to the kernel, whose views have `?` for it. Then no order is
    known to put rows at equal distances, and no index of key tiles can be made:
    tables and masks stand in for them.

    The lengths of padded sequences and the starts of packed ones (S2) are the
    kernels' to read, cut to the tensors that they speak of: views of a
    sequence's rows say `within`, and the default q_offset follows (S1). Packed
    sequences share an axis of the grid, which has a point for each tile that
    all rows fill and one or two more for each sequence, whose tiles begin and
    end anywhere; a kernel finds its sequence by bisection. Kernels that come last
    fill what lies past the lengths, or past the last sequence.

    An `arith.constant` becomes an `rplan.constant`, which kernels read as they
    read an argument: lengths, offsets, sinks and masks may be known. The plan
    takes a number, of type `tensor<i64>`, as it is.

    Needs `tilings` (see `ringlet-choose-tiling`). What has no lowering yet is
    refused with the rule's number: rings (G1). Constants of more than 64 MiB and
    operations of other dialects are refused by name.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::ringlet::rtile::RTileDialect",
    "::ringlet::rplan::RPlanDialect"];
}

def RPlanAlignInputs : Pass<"rplan-align-inputs", "::mlir::ModuleOp"> {
  let summary = "Copy inputs that GPU kernels would read element by element";
  let description = [{
    GPU kernels load pieces of 16 bytes, and copy engines take nothing else:
    they want addresses and strides that are multiples of that. An input that
    lies otherwise is read element by element, which is many times slower. This
    pass puts `rplan.aligned` between an input and the launches that read it in
    a loop, or by a recipe, with a kernel that copies it. The caller's tensor
    decides at each call.

    A copy reads each row once. So it is `worth` it where a launch reads more
    rows than there are, by as many as the launch of the copy takes time for.
    Rows that a launch reads are counted as if each point of its grid read all
    rows of a segment and residue. For sizes that are known and too small there
    is no copy at all. Changes nothing for a CPU `level`.
  }];
  let options = [Option<"level", "level", "std::string", "\"sm_80\"",
    "CPU level or GPU architecture, a row of the tables of targets">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::ringlet::rtile::RTileDialect", "::ringlet::rplan::RPlanDialect"];
}

#endif // RINGLET_PASSES_ATTENTIONTOTILE
