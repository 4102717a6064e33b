//===- PlanRingOps.td - steps of a plan on a ring ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks hold parts of a sequence. What a rank lacks travels to it chunk by
// chunk, one for each other rank, and is computed with as it comes.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PLAN_RING_OPS
#define RINGLET_PLAN_RING_OPS

def RPlan_RingBranchAttr : AttrDef<RPlan_Dialect, "RingBranch"> {
  let mnemonic = "ring_branch";
  let summary = "Which keys a branch shows, for a ring";
  let description = [{
    Segments of `w` positions (0: one holds all), every `rate`-th of them from
    an offset on that the head picks by `offset` (rules B1 to B3). The head is
    the key head, or the query head with `by_query`. Query heads `begin` to
    before `end` take part.

    Example:

    ```mlir
    #branch = #rplan.ring_branch<w = 64, rate = 2, begin = 0, end = 4>
    ```
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$w,
    DefaultValuedParameter<"int64_t", "1">:$rate,
    DefaultValuedParameter<"::ringlet::rplan::OffsetRule",
                           "::ringlet::rplan::OffsetRule::modulo">:$offset,
    DefaultValuedParameter<"int64_t", "0">:$constant,
    DefaultValuedParameter<"bool", "false">:$by_query,
    "int64_t":$begin, "int64_t":$end);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def RPlan_ChunksType : TypeDef<RPlan_Dialect, "Chunks"> {
  let mnemonic = "chunks";
  let summary = "Keys of all ranks, under way";
  let description = [{
    Example: see `rplan.exchange`.
  }];
  let assemblyFormat = "";
}

def RPlan_ExchangeOp : RPlan_Op<"exchange", [AttrSizedOperandSegments]> {
  let summary = "Begins to send keys to the ranks whose queries see them";
  let description = [{
    `key`, `value` and `query` are this rank's parts of `[batch, sequence, head,
    dim]` or, of packed sequences, `[sequence, head, dim]`; `ring` says which
    ones. `branches`, `causal` and `window` say which keys a query sees (section
    2 of the specification). The first query of the whole sequence has the
    position `offset` (absent: the last query that of the last key). `rows` are
    those that all ranks together have of queries and of keys, -1 where only the
    call knows. With `starts`, packed sequences begin at these rows of the whole
    axes; with `lengths`, each sequence of the batch has so many first rows of
    them; and with `offsets`, each has a position of its first query. The host
    reads these lists, which are the same on all ranks.

    From that, and from the number of this rank and of ranks, follow the pairs of
    a key and a head that this rank sends and receives, and when, the same on
    all ranks: those that queries see and their rank does not hold (rule G2). The
    step begins the exchange and does not wait for others. The result is used
    once, by `rplan.attend`. `key` and `value` stay as they are until that
    has ended.

    Example: two branches, one kernel plan for each.

    ```mlir
    rplan.func @near(%q: memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>,
                     %k: memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>,
                     %v: memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>,
                     %offset: memref<i64>)
        outputs(%acc: memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>,
                %maximum: memref<?x2x?x1xf32, strided<[?, ?, ?, 1]>>,
                %sum: memref<?x2x?x1xf32, strided<[?, ?, ?, 1]>>)
        names ["q", "k", "v", "offset", "acc", "maximum", "sum"] {
      rplan.return
    }
    rplan.func @part(%q: memref<?x?x1x64xf32, strided<[?, ?, ?, 1]>>,
                     %k: memref<?x?x1x64xf32, strided<[?, ?, ?, 1]>>,
                     %v: memref<?x?x1x64xf32, strided<[?, ?, ?, 1]>>,
                     %offset: memref<i64>)
        outputs(%acc: memref<?x?x1x64xf32, strided<[?, ?, ?, 1]>>,
                %maximum: memref<?x1x?x1xf32, strided<[?, ?, ?, 1]>>,
                %sum: memref<?x1x?x1xf32, strided<[?, ?, ?, 1]>>)
        names ["q", "k", "v", "offset", "acc", "maximum", "sum"] {
      rplan.return
    }
    rplan.func @main(%q: memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>,
                     %k: memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>,
                     %v: memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>)
        outputs() names ["q", "k", "v"] {
      %b = rplan.size %q[0] : memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>
      %n = rplan.size %q[1] : memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>
      %acc = rplan.workspace(%b, %n) : memref<?x?x2x64xf32>
      %maximum = rplan.workspace(%b, %n) : memref<?x2x?xf32>
      %sum = rplan.workspace(%b, %n) : memref<?x2x?xf32>
      %chunks = rplan.exchange keys(%k, %v) queries(%q)
          ring(#rlayout.ring<?, zigzag>)
          branches [#rplan.ring_branch<w = 64, begin = 0, end = 2>,
                    #rplan.ring_branch<rate = 2, begin = 0, end = 2>] causal
          : memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>,
            memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>,
            memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>
      rplan.attend %chunks queries(%q) state(%acc, %maximum, %sum)
          whole [@near, @near] part [@part, @part]
          : memref<?x?x2x64xf32, strided<[?, ?, ?, 1]>>, memref<?x?x2x64xf32>,
            memref<?x2x?xf32>, memref<?x2x?xf32>
      rplan.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$key, AnyMemRef:$value, AnyMemRef:$query,
    RLayout_RingAttr:$ring,
    TypedArrayAttrBase<RPlan_RingBranchAttr, "branches">:$branches,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>>:$rows,
    UnitAttr:$causal,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>>:$window,
    Optional<Index>:$offset,
    Optional<MemRefRankOf<[I64], [1]>>:$queryStarts,
    Optional<MemRefRankOf<[I64], [1]>>:$keyStarts,
    Optional<MemRefRankOf<[I64], [1]>>:$queryLengths,
    Optional<MemRefRankOf<[I64], [1]>>:$keyLengths,
    Optional<MemRefRankOf<[I64], [1]>>:$offsets);
  let results = (outs RPlan_ChunksType:$chunks);
  let assemblyFormat = [{
    `keys` `(` $key `,` $value `)` `queries` `(` $query `)`
    `ring` `(` qualified($ring) `)` `branches` $branches
    (`rows` `=` custom<Window>($rows)^)? (`causal` $causal^)?
    (`window` `=` custom<Window>($window)^)? (`offset` `(` $offset^ `)`)?
    (`starts` `(` $queryStarts^ `:` type($queryStarts) `,` $keyStarts `:`
     type($keyStarts) `)`)?
    (`lengths` `(` $queryLengths^ `:` type($queryLengths) `,` $keyLengths `:`
     type($keyLengths) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    attr-dict `:` type($key) `,` type($value) `,` type($query)
  }];
  let extraClassDeclaration = [{
    /// All of the attention that is known before the sizes are.
    ::ringlet::ring::Attention getAttention();
    /// The axis of the sequence: 1, or 0 of packed sequences.
    int64_t getAxis();
  }];
  let hasVerifier = 1;
}

def RPlan_AttendOp : RPlan_Op<"attend", [AttrSizedOperandSegments,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Waits for keys chunk by chunk, and computes with each";
  let description = [{
    Own keys come first, then the chunk of each other rank, in the order of the
    ring's steps; those of the next steps travel meanwhile. For each chunk,
    branches follow each other, and of each the *pieces* of the chunk: rows of
    queries with rows of keys that lie at equal distances in memory. A piece is a
    call of a plan, one of two for each branch:

      * `whole`: all heads, and rows that follow each other, from the first
        position of a segment of the branch on;
      * `part`: keys of one residue in one segment, all of which a query sees
        but for causality and window. Axis 0 of its tensors is over heads whose
        rows lie in the same places, and the axis of heads has the query heads
        of one key head, or one.

    The inputs of either are queries, keys and values, `[batch, sequence, head,
    dim]`, and the position of the first query if the first key has position 0
    (rows that are `rate` positions apart count as one). The outputs are the
    `accumulator`, `maximum` and `sum` of the softmax so far, in f32, from which
    the plan goes on: it reads them, and leaves those of the keys before and its
    own together. The last two are `[batch, head, sequence]`, to the plan with one
    more axis of size 1. `maximum` is in the unit of the plans' kernels; where the
    sum is 0, the others are not read. So chunks meet in the state of one softmax, and nothing is merged.

    With `ends`, plans have one more input and one or two more outputs. The
    input, `edge`, says of a piece whether none comes before it with any of its
    rows and heads (bit 0), and whether none comes behind it (bit 1); the outputs
    are `output` and, with an axis of size 1 more, `lse`. A first piece finds sums
    of 0 and needs to read no more of the state. A last one may write output and
    lse in place of the state, and -1 as the sum: then it has ended the softmax of
    the row. Others leave the state, as last ones may, too.

    The step begins when `chunks` has begun, and ends when all has been computed
    and this rank has sent what others need. Where a rank fails, it ends with an
    error on every rank (rule G3).

    Example: see `rplan.exchange`.
  }];
  let arguments = (ins RPlan_ChunksType:$chunks, AnyMemRef:$query,
    AnyMemRef:$accumulator, AnyMemRef:$maximum, AnyMemRef:$sum,
    Optional<AnyMemRef>:$output, Optional<AnyMemRef>:$lse,
    TypedArrayAttrBase<FlatSymbolRefAttr, "plans">:$whole,
    TypedArrayAttrBase<FlatSymbolRefAttr, "plans">:$part);
  let assemblyFormat = [{
    $chunks `queries` `(` $query `)`
    `state` `(` $accumulator `,` $maximum `,` $sum `)`
    (`ends` `(` $output^ `:` type($output) (`,` $lse^ `:` type($lse))? `)`)?
    `whole` $whole `part` $part attr-dict `:` type($query) `,`
    type($accumulator) `,` type($maximum) `,` type($sum)
  }];
  let hasVerifier = 1;
}

#endif // RINGLET_PLAN_RING_OPS
