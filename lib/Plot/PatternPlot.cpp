//===- PatternPlot.cpp - Visible keys as a matrix ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plot/PatternPlot.h"

#include "lib/Layout/Dilation.h"
#include "lib/Oracle/Pattern.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <map>
#include <set>

namespace ringlet::plot {

namespace {

using oracle::HeadRange;

/// The most pairs that a picture may walk: about a second.
constexpr double kMostPairs = 1 << 29;

std::string text(int64_t value) { return std::to_string(value); }

/// An attention that the rules allow, with its pattern.
class Walk {
public:
  Walk(const Attention &attention, size_t branch)
      : attention(attention), branch(attention.spec.branches[branch]) {}

  bool open(std::string &error) {
    for (int64_t length : {attention.queries, attention.keys})
      if (length < 1 || length > kMostPositions) {
        error = formatText(
            "expected 1 to {} queries and keys to draw, found {}; nearest {}",
            kMostPositions, length, length < 1 ? 1 : kMostPositions);
        return false;
      }
    // The pattern reads shapes only.
    inputs.query = TensorView(nullptr, DType::f32,
                              {1, attention.queries, attention.queryHeads, 1});
    inputs.key = TensorView(nullptr, DType::f32,
                            {1, attention.keys, attention.keyHeads, 1});
    inputs.value = inputs.key;
    if (!oracle::validate(attention.spec, inputs, &error))
      return false;
    pattern.emplace(attention.spec, inputs);
    HeadRange range = branch.heads.value_or(HeadRange{0, attention.queryHeads});
    std::set<int64_t> residues;
    for (int64_t head = range.begin; head < range.end; ++head)
      if (residues.insert(residueOf(head)).second)
        heads.push_back(head);
    return true;
  }

  /// Whether walking `heads` heads takes a reasonable time.
  bool isShort(size_t heads, std::string &error) const {
    double reach = static_cast<double>(attention.keys);
    if (attention.spec.patternOrder)
      if (auto order = layout::makeOrder(*attention.spec.patternOrder))
        reach = std::max(reach, static_cast<double>(order->period()));
    if (branch.segment)
      reach = std::min(reach, static_cast<double>(*branch.segment));
    double rate = static_cast<double>(branch.dilation);
    double rows = static_cast<double>(attention.queries);
    double pairs = static_cast<double>(heads) *
                   (rows + (rows / rate + 1) * (reach / rate + 1));
    if (pairs <= kMostPairs)
      return true;
    error = formatText(
        "expected a pattern of at most 2^29 pairs of queries and keys to draw, "
        "found a branch of about {}; shorten the sequence or take fewer heads",
        static_cast<int64_t>(std::min(pairs, 1e18)));
    return false;
  }

  const Attention &attention;
  const oracle::Branch &branch;
  oracle::AttentionInputs inputs;
  std::optional<oracle::Pattern> pattern;
  /// The first head of each residue that occurs (B2): others see no other keys.
  std::vector<int64_t> heads;

private:
  int64_t residueOf(int64_t head) const {
    bool byQuery = branch.offsetByQuery;
    return layout::headResidue(
        branch.offset, byQuery ? head : pattern->keyHead(head),
        byQuery ? attention.queryHeads : attention.keyHeads, branch.dilation,
        branch.constant);
  }
};

void resize(Matrix &matrix, int64_t rows, int64_t columns) {
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.cells.assign(rows * columns, Cell());
}

/// Colour and opacity of a cell; none is empty or full.
using Look = std::pair<std::string, std::string>;

/// The cells of a matrix, as thick lines along its rows, one path for all that
/// look alike. `style` gives the look of a cell.
template <typename Style>
std::string drawMatrix(const Matrix &matrix, Style style) {
  double side =
      kSide / static_cast<double>(std::max(matrix.rows, matrix.columns));
  std::map<Look, std::string> paths;
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns;) {
      Look look = style(matrix.at(row, column));
      int64_t end = column + 1;
      while (end < matrix.columns && style(matrix.at(row, end)) == look)
        ++end;
      if (!look.first.empty())
        paths[look] += "M" + number(side * static_cast<double>(column)) + " " +
                       number(side * (static_cast<double>(row) + 0.5)) + "h" +
                       number(side * static_cast<double>(end - column));
      column = end;
    }
  std::string out = "<g stroke-width=\"" + number(side) +
                    "\" shape-rendering=\"crispEdges\">\n";
  for (const auto &[look, path] : paths)
    out +=
        "<path stroke=\"" + look.first + "\"" +
        (look.second.empty() ? "" : " stroke-opacity=\"" + look.second + "\"") +
        " d=\"" + path + "\"/>\n";
  return out + "</g>\n<rect width=\"" +
         number(side * static_cast<double>(matrix.columns)) + "\" height=\"" +
         number(side * static_cast<double>(matrix.rows)) +
         "\" fill=\"none\" stroke=\"#808080\"/>\n";
}

std::string titleOf(const Attention &attention, size_t index) {
  const oracle::Branch &branch = attention.spec.branches[index];
  std::string out =
      formatText("branch {}: w = {}, r = {}", index,
                 branch.segment ? text(*branch.segment) : "*", branch.dilation);
  if (attention.spec.causal)
    out += ", causal";
  if (attention.spec.windowLeft || attention.spec.windowRight)
    out += ", window";
  return out;
}

} // namespace

bool countPattern(const Attention &attention, size_t branch, Matrix &matrix,
                  std::string &error) {
  Walk walk(attention, branch);
  if (!walk.open(error) || !walk.isShort(walk.heads.size(), error))
    return false;
  int64_t longer = std::max(attention.queries, attention.keys);
  int64_t square = layout::ceilDiv(longer, kMostCells);
  resize(matrix, layout::ceilDiv(attention.queries, square),
         layout::ceilDiv(attention.keys, square));
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column)
      matrix.at(row, column).pairs =
          std::min(square, attention.queries - row * square) *
          std::min(square, attention.keys - column * square);

  // The query that last saw a key: two heads may see the same pair.
  std::vector<int64_t> seenBy(attention.keys, -1);
  for (int64_t i = 0; i < attention.queries; ++i) {
    oracle::QueryRow query = walk.pattern->locate(0, i);
    for (int64_t head : walk.heads)
      walk.pattern->forEachKey(walk.branch, query, head, [&](int64_t key) {
        if (seenBy[key] == i)
          return;
        seenBy[key] = i;
        Cell &cell = matrix.at(i / square, key / square);
        cell.head = cell.head < 0 ? head : std::min(cell.head, head);
        ++cell.seen;
      });
  }
  return true;
}

bool countTiles(const Attention &attention, size_t branch, int64_t queryRows,
                int64_t keyRows, Matrix &matrix, std::string &error) {
  if (queryRows < 1 || keyRows < 1) {
    error = formatText("expected tiles of at least 1 x 1, found {} x {}",
                       queryRows, keyRows);
    return false;
  }
  Walk walk(attention, branch);
  if (!walk.open(error) || !walk.isShort(1, error))
    return false;
  if (attention.spec.patternOrder) {
    error = "expected tiles of an attention without a pattern order, found " +
            layout::describe(*attention.spec.patternOrder) + " (O2)";
    return false;
  }
  if (walk.heads.empty()) {
    error = "expected a branch with a head to draw, found none (B1)";
    return false;
  }
  int64_t head = walk.heads.front();
  int64_t width = walk.branch.segment.value_or(layout::unboundedSegment);

  // The rows of one segment and residue are numbered without gaps, and cut
  // into tiles from the first one that there is.
  struct Tiles {
    std::vector<int64_t> tileOf, rows;
    int64_t segment = 0;

    void add(int64_t ownSegment, int64_t size) {
      if (rows.empty() || segment != ownSegment || rows.back() == size)
        rows.push_back(0);
      segment = ownSegment;
      ++rows.back();
      tileOf.push_back(static_cast<int64_t>(rows.size()) - 1);
    }
    void skip() { tileOf.push_back(-1); }
  } queries, keys;
  int64_t residue = -1;
  for (int64_t i = 0; i < attention.queries; ++i) {
    oracle::QueryRow query = walk.pattern->locate(0, i);
    if (!walk.pattern->isIn(walk.branch, query, head)) {
      queries.skip();
      continue;
    }
    queries.add(layout::segmentOf(query.position, width), queryRows);
    residue = layout::residueOf(query.position, width, walk.branch.dilation);
  }
  for (int64_t key = 0; key < attention.keys; ++key)
    if (layout::residueOf(key, width, walk.branch.dilation) == residue)
      keys.add(layout::segmentOf(key, width), keyRows);
    else
      keys.skip();
  for (size_t tiles : {queries.rows.size(), keys.rows.size()})
    if (tiles < 1 || tiles > static_cast<size_t>(kMostCells)) {
      error = formatText(
          "expected 1 to {} tiles of queries and of keys to draw, found {}{}",
          kMostCells, tiles, tiles ? "; shorten the sequence" : "");
      return false;
    }

  resize(matrix, queries.rows.size(), keys.rows.size());
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column)
      matrix.at(row, column).pairs = queries.rows[row] * keys.rows[column];
  for (int64_t i = 0; i < attention.queries; ++i)
    walk.pattern->forEachKey(
        walk.branch, walk.pattern->locate(0, i), head, [&](int64_t key) {
          Cell &cell = matrix.at(queries.tileOf[i], keys.tileOf[key]);
          cell.head = head;
          ++cell.seen;
        });
  return true;
}

bool plotPattern(const Attention &attention, size_t branch, Panel &panel,
                 std::string &error) {
  Matrix matrix;
  if (!countPattern(attention, branch, matrix, error))
    return false;
  // Few heads differ where there is a legend for each.
  std::set<int64_t> heads;
  for (const Cell &cell : matrix.cells)
    if (cell.seen)
      heads.insert(cell.head);
  panel.title = titleOf(attention, branch);
  int64_t first = attention.keys - attention.queries; // S1
  panel.xLabel = formatText("key position, 0 to {}", attention.keys - 1);
  panel.yLabel =
      formatText("query position, {} to {}", first, attention.keys - 1);
  panel.body = drawMatrix(matrix, [](const Cell &cell) {
    if (!cell.seen)
      return Look();
    // Four steps of how much of a cell is seen.
    int64_t quarters = layout::ceilDiv(4 * cell.seen, cell.pairs);
    return Look(colour(static_cast<size_t>(cell.head)),
                quarters < 4 ? number(0.25 * static_cast<double>(quarters))
                             : "");
  });
  for (int64_t head : heads) {
    if (panel.legend.size() == 8) {
      panel.legend.push_back({"none", "more heads: colours repeat"});
      break;
    }
    panel.legend.push_back(
        {colour(static_cast<size_t>(head)), formatText("head {}", head)});
  }
  return true;
}

bool plotTiles(const Attention &attention, size_t branch, int64_t queryRows,
               int64_t keyRows, Panel &panel, std::string &error) {
  Matrix matrix;
  if (!countTiles(attention, branch, queryRows, keyRows, matrix, error))
    return false;
  int64_t full = 0, partial = 0;
  for (const Cell &cell : matrix.cells) {
    full += cell.seen == cell.pairs;
    partial += cell.seen && cell.seen != cell.pairs;
  }
  panel.title = titleOf(attention, branch);
  panel.xLabel = formatText("{} key tiles of {}", matrix.columns, keyRows);
  panel.yLabel = formatText("{} query tiles of {}", matrix.rows, queryRows);
  panel.body = drawMatrix(matrix, [](const Cell &cell) {
    return cell.seen ? Look(colour(cell.seen == cell.pairs ? 0 : 3), "")
                     : Look();
  });
  int64_t all = matrix.rows * matrix.columns;
  panel.legend = {{colour(0), formatText("seen whole: {}", full)},
                  {colour(3), formatText("seen in part: {}", partial)},
                  {"none", formatText("skipped: {}", all - full - partial)}};
  return true;
}

} // namespace ringlet::plot
