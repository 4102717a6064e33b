//===- PiecesTest.cpp - Pieces are what queries see ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each piece is taken as a kernel takes it, row by row; together they are what
// the oracle sees, each triple of a branch, a query and a key once.
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "ringlet/abi/ring/Pieces.h"

#include "lib/Layout/Dilation.h"
#include "lib/Oracle/Pattern.h"

#include "gtest/gtest.h"

#include <map>
#include <tuple>

using namespace ringlet;
using namespace ringlet::ring;

namespace {

/// Branch, query head, query row, key row.
using Triple = std::tuple<int64_t, int64_t, int64_t, int64_t>;

std::vector<int64_t> rowsByPlace(const Shards &shards, int64_t rank) {
  std::vector<int64_t> rows(shards.size(rank));
  for (const Stretch &stretch : shards.of(rank))
    for (int64_t i = 0; i < stretch.rows.size(); ++i)
      rows[stretch.local + i % stretch.rows.run +
           i / stretch.rows.run * stretch.localStride] = stretch.rows.at(i);
  return rows;
}

/// What a kernel computes of a piece.
class Taker {
public:
  Taker(const ShardedAttention &sharded, int64_t rank, int64_t owner,
        const std::vector<Part> *layout)
      : attention(sharded.attention), isOwn(!layout),
        queries(rowsByPlace(sharded.queries, rank)),
        keys(rowsByPlace(sharded.keys, owner)) {
    if (!layout)
      return;
    for (const Part &part : *layout)
      for (const Rows &rows : part.rows)
        for (int64_t i = 0; i < rows.size(); ++i)
          for (int64_t head = part.head; head < part.head + part.heads; ++head)
            pairs.emplace_back(head, rows.at(i));
  }

  void take(const Piece &piece) {
    int64_t group = attention.queryHeads / attention.keyHeads;
    for (int64_t n = 0; n < piece.heads.count; ++n) {
      int64_t head = piece.heads.first + n * piece.heads.step;
      if (!piece.grouped) {
        int64_t step = piece.whole ? n / group : n;
        takeHead(piece, head, head / group, step);
        continue;
      }
      for (int64_t i = 0; i < group; ++i)
        takeHead(piece, head * group + i, head, n);
    }
  }

  std::map<Triple, int> seen;

private:
  void takeHead(const Piece &piece, int64_t head, int64_t keyHead,
                int64_t number) {
    for (int64_t i = 0; i < piece.queries.count; ++i)
      for (int64_t j = 0; j < piece.keys.count; ++j) {
        if (!sees(piece, head, i, j))
          continue;
        int64_t query =
            queries.at(piece.queries.first + i * piece.queries.step);
        int64_t place = piece.keys.first + j * piece.keys.step;
        int64_t key;
        if (isOwn) {
          ASSERT_EQ(piece.keyHead + number * piece.keyHeadStep, keyHead);
          key = keys.at(place);
        } else {
          auto pair = pairs.at(place + number * piece.keyHeadStep);
          ASSERT_EQ(pair.first, keyHead);
          key = pair.second;
        }
        ++seen[{piece.branch, head, query, key}];
      }
  }

  bool sees(const Piece &piece, int64_t head, int64_t i, int64_t j) const {
    const Branch &branch = attention.branches[piece.branch];
    int64_t rate = piece.whole ? 1 : branch.dilation;
    int64_t ahead = i + piece.offset - j;
    if ((attention.causal && ahead < 0) ||
        (attention.left && ahead > *attention.left / rate) ||
        (attention.right && -ahead > *attention.right / rate))
      return false;
    if (!piece.whole)
      return true;
    if (head < branch.headBegin || head >= branch.headEnd)
      return false;
    int64_t group = attention.queryHeads / attention.keyHeads;
    int64_t residue = layout::headResidue(
        static_cast<layout::OffsetRule>(branch.offset),
        branch.offsetByQuery ? head : head / group,
        branch.offsetByQuery ? attention.queryHeads : attention.keyHeads,
        branch.dilation, branch.constant);
    int64_t w = branch.segment, position = i + piece.offset;
    int64_t segment = w ? layout::floorDiv(position, w) : 0;
    if (w && layout::floorDiv(j, w) != segment)
      return false;
    return layout::floorMod(position - segment * w - residue,
                            branch.dilation) == 0 &&
           layout::floorMod(j - segment * w - residue, branch.dilation) == 0;
  }

  const Attention &attention;
  bool isOwn;
  std::vector<int64_t> queries, keys;
  std::vector<std::pair<int64_t, int64_t>> pairs;
};

std::map<Triple, int> askOracleFor(const ShardedAttention &sharded,
                                   int64_t rank, int64_t owner) {
  OracleProblem problem = problemOf(sharded.attention, sharded.queries.length(),
                                    sharded.keys.length(), 1, 1);
  oracle::AttentionInputs inputs = problem.inputs();
  oracle::Pattern pattern(problem.spec, inputs);
  std::vector<int64_t> owners = ownersOf(sharded.keys);
  std::map<Triple, int> seen;
  for (int64_t row : rowsByPlace(sharded.queries, rank)) {
    oracle::QueryRow at = pattern.locate(0, row);
    if (at.sequence < 0)
      continue;
    int64_t first = problem.firstKey(at.sequence);
    for (int64_t head = 0; head < sharded.attention.queryHeads; ++head)
      for (size_t b = 0; b < problem.spec.branches.size(); ++b)
        pattern.forEachKey(problem.spec.branches[b], at, head, [&](int64_t u) {
          if (owners[first + u] == owner)
            ++seen[{static_cast<int64_t>(b), head, row, first + u}];
        });
  }
  return seen;
}

void expectExact(const ShardedAttention &sharded, int64_t perHost) {
  std::string error;
  ASSERT_TRUE(validate(sharded, &error)) << error << "\n" << describe(sharded);
  for (int64_t rank = 0; rank < sharded.ranks(); ++rank)
    for (int64_t owner = 0; owner < sharded.ranks(); ++owner) {
      SCOPED_TRACE("rank " + std::to_string(rank) + " owner " +
                   std::to_string(owner));
      std::vector<int64_t> readers;
      for (int64_t i = 0; i < perHost; ++i)
        readers.push_back((rank / perHost * perHost + i) % sharded.ranks());
      std::vector<Part> layout = neededKeys(sharded, readers, owner);
      const std::vector<Part> *chunk = rank == owner ? nullptr : &layout;
      Taker taker(sharded, rank, owner, chunk);
      for (const Piece &piece : piecesOf(sharded, rank, owner, chunk))
        taker.take(piece);
      ASSERT_EQ(taker.seen, askOracleFor(sharded, rank, owner))
          << describe(sharded);
    }
}

// Any branches, masks, sequences and shards.
TEST(PiecesTest, ExactlyWhatTheOracleSees) {
  Random random(71);
  for (int i = 0; i < 1200 && !HasFatalFailure(); ++i)
    expectExact(drawSharded(random, draw(random, 1, 5), 50), 1);
}

// Chunks that hold what others of the host see, too.
TEST(PiecesTest, ChunksOfAHost) {
  Random random(72);
  for (int i = 0; i < 200 && !HasFatalFailure(); ++i)
    expectExact(drawSharded(random, 4, 50), 2);
}

size_t countPieces(Sharding kind, int64_t length, Branch branch, bool causal,
                   int64_t ranks, int64_t block) {
  Shards shards = *Shards::even(kind, length, ranks, block, nullptr);
  branch.headEnd = 4;
  ShardedAttention sharded = {
      oneSequence({branch}, length, length, 4, 4, causal), shards, shards};
  size_t most = 0;
  for (int64_t owner = 0; owner < ranks; ++owner) {
    std::vector<Part> layout = neededKeys(sharded, {1}, owner);
    most = std::max(
        most,
        piecesOf(sharded, 1, owner, owner == 1 ? nullptr : &layout).size());
  }
  return most;
}

// Few calls, however long the sequence.
TEST(PiecesTest, FewPieces) {
  int64_t length = int64_t{1} << 24;
  Branch dense, local, dilated;
  local.segment = 2048;
  dilated.segment = 1 << 20;
  dilated.dilation = 16;
  EXPECT_EQ(countPieces(Sharding::Contiguous, length, dense, true, 4, 0), 1u);
  EXPECT_LE(countPieces(Sharding::Zigzag, length, dense, true, 4, 0), 4u);
  EXPECT_EQ(countPieces(Sharding::Contiguous, length, local, true, 4, 0), 1u);
  EXPECT_LE(countPieces(Sharding::Contiguous, length, dilated, true, 4, 0), 1u);
  // Two for each block of queries: those that it sees whole, and the last one.
  EXPECT_LE(countPieces(Sharding::Striped, length, dense, true, 4, 4096),
            2u * (length / 4 / 4096));
  // Without a mask it does not matter where a query is.
  EXPECT_EQ(countPieces(Sharding::Striped, length, dense, false, 4, 4096), 1u);
}

} // namespace
