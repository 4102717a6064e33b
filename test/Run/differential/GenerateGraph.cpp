//===- GenerateGraph.cpp - Random graphs ------------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/GraphDraw.h"

#include "lib/Layout/Order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace ringlet::differential {

using oracle::Branch;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

void GraphDraw::drawStaticSizes() {
  auto fix = [&](Variable variable, int64_t size) {
    drawn.fixed[variable] = size;
    isStatic[variable] = true;
  };
  int64_t kind = dice.between(0, 99);
  if (kind >= 60 || dice.oneIn(8))
    fix(kBatch, dice.between(1, 3));
  if (kind >= 75)
    fix(kKeys, dice.pick<int64_t>({1, 16, 33, 64, 65, 100, 127}));
  if (kind >= 85)
    fix(kQueries, dice.pick<int64_t>({1, 16, 33, 64, 65, 100, 127}));
}

/// Types may know the sizes that orders ask for, and others.
void GraphDraw::drawSizesOfTypes() {
  if (!sizeDice.oneIn(3))
    return;
  int64_t longest = drawn.volume.value_or(100);
  for (Variable side : {kKeys, kQueries}) {
    std::optional<int64_t> &size = drawn.fixed[side];
    if (!size)
      size = sizeDice.between(1, longest);
    isStatic[side] = true;
  }
  if (drawn.isNeverNegative && *drawn.fixed[kQueries] > *drawn.fixed[kKeys])
    std::swap(drawn.fixed[kQueries], drawn.fixed[kKeys]);
  drawn.fixed[kBatch] = sizeDice.between(1, 3);
  isStatic[kBatch] = true;
}

/// That of packed sequences restarts with each, so it has a chunk.
layout::OrderSpec GraphDraw::drawOrder(std::optional<int64_t> &length) {
  return isPacked ? drawChunkedOrder(dice)
                  : differential::drawOrder(dice, length);
}

/// For tensors of any length, whatever else has a say in it.
std::optional<layout::OrderSpec> GraphDraw::maybeDrawOrder() {
  if (orderDice.oneIn(2))
    return std::nullopt;
  return drawChunkedOrder(orderDice);
}

/// Gives query, key and value their orders.
void GraphDraw::setOrders(const std::optional<layout::OrderSpec> &ofQueries,
                          const std::optional<layout::OrderSpec> &ofKeys) {
  for (int value : {q, k, v}) {
    if (value != q && pages)
      continue;
    graph().values[value].order = value == q ? ofQueries : ofKeys;
    graph().values[value].axis = isPacked ? 0 : 1;
  }
}

/// Lets keys lie in pages (S4): before all that follows from their sizes, and
/// not beside what says where they lie.
void GraphDraw::maybeDrawPages(int64_t every) {
  if (forRoles || pattern || !pageDice.oneIn(every))
    return;
  int64_t rows = pageDice.pick<int64_t>({16, 16, 1, 4, 5, 8, 32, 64, 100});
  drawn.pageRows = rows;
  std::optional<int64_t> &keys = drawn.fixed[kKeys];
  if (!keys)
    return;
  *keys -= *keys % rows;
  if (drawn.isNeverNegative && drawn.fixed[kQueries])
    drawn.fixed[kQueries] = std::min(*drawn.fixed[kQueries], *keys);
}

/// A number for each head of keys, or one for each of each sequence.
std::optional<int> GraphDraw::maybeDrawScale(const std::string &name) {
  if (!narrow || narrowDice.oneIn(4))
    return std::nullopt;
  ValueType scales;
  scales.dtype = DType::f32;
  scales.shape = {keyHeads};
  scales.variables = {-1};
  if (narrowDice.oneIn(2)) {
    scales.shape.insert(scales.shape.begin(), sizeInType(kBatch));
    scales.variables.insert(scales.variables.begin(), kBatch);
  }
  int value = graph().addValue(scales, name);
  graph().arguments = static_cast<int>(graph().values.size());
  return value;
}

ValueType GraphDraw::keyTensor(int64_t dim) {
  if (!drawn.pageRows) {
    ValueType type = tensor(kKeys, keyHeads, dim);
    type.dtype = narrow.value_or(dtype);
    return type;
  }
  ValueType type;
  type.dtype = narrow.value_or(dtype);
  type.shape = {kDynamic, *drawn.pageRows, keyHeads, dim};
  type.variables = {kPages, -1, -1, -1};
  return type;
}

void GraphDraw::drawInputs() {
  q = graph().addValue(tensor(kQueries, queryHeads, depth), "q");
  k = graph().addValue(keyTensor(depth), "k");
  v = graph().addValue(keyTensor(width), "v");
  if (drawn.pageRows) {
    ValueType table;
    table.dtype = DType::i32;
    table.shape = {sizeInType(kBatch),
                   isStatic[kKeys] ? *drawn.fixed[kKeys] / *drawn.pageRows
                                   : kDynamic};
    table.variables = {kBatch, kPagesOfSequence};
    pages = graph().addValue(table, "pages");
  }
  if (dice.oneIn(near || blockSize ? 2 : 4) || hasOffsets) {
    ValueType position;
    position.dtype = DType::i64;
    if (further.oneIn(2) || hasOffsets) {
      position.shape = {sizeInType(kBatch)};
      position.variables = {kBatch};
    }
    offset = graph().addValue(position, "position");
  }
  if (further.oneIn(4)) {
    ValueType logits;
    logits.dtype = DType::f32;
    logits.shape = {queryHeads};
    logits.variables = {-1};
    sink = graph().addValue(logits, "sink");
  }
  if (blockSize) {
    ValueType blocks;
    blocks.dtype = DType::i1;
    blocks.shape = {sizeInType(kQueryBlocks), sizeInType(kKeyBlocks)};
    blocks.variables = {kQueryBlocks, kKeyBlocks};
    mask = graph().addValue(blocks, "blocks");
  }
  drawSizes();
  graph().arguments = static_cast<int>(graph().values.size());
}

/// w or r, or both, that the call gives.
void GraphDraw::drawSizes() {
  if (!sizeDice.oneIn(3))
    return;
  ValueType number;
  number.dtype = DType::i64;
  int64_t kind = sizeDice.between(0, 3);
  if (kind != 0)
    sizes.w = graph().addValue(number, "w");
  if (kind != 1)
    sizes.r = graph().addValue(number, "r");
}

/// A length for each sequence, or where each begins, after all other inputs.
void GraphDraw::drawLengths() {
  if (!isPacked && (hasOffsets || !lengthDice.oneIn(pages ? 1 : 4)))
    return;
  bool isUnknown = !isPacked && lengthDice.oneIn(4);
  int64_t known = isUnknown ? kDynamic : sizeInType(kBatch);
  ValueType list;
  list.dtype = DType::i64;
  list.shape = {isPacked && known != kDynamic ? known + 1 : known};
  list.variables = {isPacked ? kStarts : kBatch};
  std::string what = isPacked ? "starts" : "lengths";
  int queries = graph().addValue(list, "q_" + what);
  int keys = graph().addValue(list, "k_" + what);
  (isPacked ? starts : lengths) = std::pair(queries, keys);
  graph().arguments = static_cast<int>(graph().values.size());
}

/// Where keys of padded sequences begin. Planted mistakes of recipes want sums
/// of many keys.
void GraphDraw::drawBegins() {
  if (forRoles || isPacked || !beginDice.oneIn(pages ? 2 : 3))
    return;
  ValueType list;
  list.dtype = beginDice.oneIn(2) ? DType::i32 : DType::i64;
  list.shape = {sizeInType(kBatch)};
  list.variables = {kBatch};
  begins = graph().addValue(list, "k_begins");
  graph().arguments = static_cast<int>(graph().values.size());
}

/// Whether there are several branches and no head has two.
static bool areHeadsApart(const oracle::AttentionSpec &spec,
                          int64_t queryHeads) {
  std::vector<int64_t> counts(queryHeads);
  for (const Branch &branch : spec.branches) {
    oracle::HeadRange heads =
        branch.heads.value_or(oracle::HeadRange{0, queryHeads});
    for (int64_t head = heads.begin; head < heads.end; ++head)
      if (++counts[head] > 1)
        return false;
  }
  return spec.branches.size() > 1;
}

/// Branches that count keys of padding, where B7 allows it.
void GraphDraw::maybeCountPadding(Operation &op, int query, int key) {
  oracle::AttentionSpec &spec = *op.attention;
  bool hasOneOffset =
      !op.offsetOperand || graph().values[*op.offsetOperand].shape.empty();
  bool isLegal = hasOneOffset && !spec.windowLeft && !spec.windowRight &&
                 !spec.gridWindow && !spec.patternOrder && !spec.blockMask &&
                 op.sizes.empty() && !op.lengths && !op.starts && !op.pages &&
                 !op.begins && !graph().values[query].order &&
                 !graph().values[key].order;
  if (!isLegal || paddingDice.oneIn(4))
    return;
  // Under causality there is none to count.
  if (!forRoles)
    spec.causal &= paddingDice.oneIn(4);
  for (Branch &branch : spec.branches)
    branch.countsPadding = !paddingDice.oneIn(4);
}

std::pair<int, int> GraphDraw::addAttention(int query, int key, int value,
                                            std::string suffix) {
  Operation op;
  op.operands = {query, key, value};
  op.attention = drawSpec(dice, queryHeads, drawn.fixed[kKeys].value_or(63));
  if (forRoles)
    op.attention->branches.resize(1);
  if (further.oneIn(4))
    op.attention->softcap = further.pick({0.5, 2.0, 30.0, 1e30});
  if (dtype == DType::f32 && precisionDice.oneIn(3))
    op.attention->precision = precisionDice.pick(
        {Precision::tf32, Precision::tf32x3, Precision::bf16x3});
  op.sink = sink;
  op.lengths = lengths;
  op.starts = starts;
  op.pages = pages;
  op.begins = begins;
  op.keyScale = keyScale;
  op.valueScale = valueScale;
  op.attention->patternOrder = pattern;
  op.attention->gridWindow = near;
  op.attention->blockMask = blockSize;
  if (blockSize)
    op.blockMask = mask;
  if (rateDivisor) {
    Branch &first = op.attention->branches[0];
    first.dilation = rateDivisor * dice.between(1, 2);
    if (first.segment)
      first.segment = std::max(*first.segment, first.dilation);
  }
  if (lookBack) {
    op.attention->windowLeft = lookBack;
    op.attention->branches.resize(1);
    Branch &only = op.attention->branches[0];
    // Segments that the window crosses, and hardly a tile.
    only.dilation = dice.pick<int64_t>({1, 1, 1, 2});
    if (only.segment)
      only.segment = std::max(*only.segment, 4 * *lookBack);
  }
  if (sizes.w || sizes.r) {
    op.sizes.resize(op.attention->branches.size());
    op.sizes[0] = sizes;
    op.attention = withSizes(op, [](int) { return 1; });
  }
  if (offset)
    op.offsetOperand = offset;
  else if (dice.oneIn(4))
    op.offsetConstant =
        drawn.isNeverNegative ? 0
        : pattern ? dice.pick<int64_t>({0, -3, -70})
                  : dice.pick<int64_t>({0, 0, 1, 17, 64, -3, -70, 1000});
  op.isUnion = !lookBack && !rateDivisor && op.sizes.empty() &&
               drawUnion(combineDice, *op.attention, queryHeads, bool(op.sink));
  auto count = static_cast<int64_t>(op.attention->branches.size());
  if (count > 1 && count <= queryHeads && paddingDice.oneIn(6))
    for (int64_t i = 0; i < count; ++i)
      op.attention->branches[i].heads = oracle::HeadRange{
          i * queryHeads / count, (i + 1) * queryHeads / count};
  op.isApart = areHeadsApart(*op.attention, queryHeads) &&
               paddingDice.oneIn(op.isUnion ? 3 : 2);
  op.isUnion &= !op.isApart;
  maybeCountPadding(op, query, key);
  // A step without a mask must fit into the window.
  bool small = op.attention->windowLeft && (lookBack || dice.oneIn(2));
  if (small || dice.oneIn(2))
    for (size_t i = op.isUnion ? 1 : op.attention->branches.size(); i-- > 0;)
      op.tilings.push_back(
          small ? Tiling{dice.pick<int64_t>({4, 5, 8, 16}),
                         dice.pick<int64_t>({3, 4, 8, 16})}
                : Tiling{dice.pick<int64_t>({1, 4, 5, 8, 16, 24, 32, 64, 96}),
                         dice.pick<int64_t>({1, 3, 8, 16, 32, 64, 128})});

  const std::optional<layout::OrderSpec> &order = graph().values[query].order;
  ValueType output = tensor(kQueries, queryHeads, width);
  output.order = order;
  output.axis = graph().values[query].axis;
  ValueType lse;
  lse.dtype = DType::f32;
  lse.shape = {queryHeads, sizeInType(kQueries)};
  lse.variables = {-1, kQueries};
  addBatch(lse);
  if (op.attention->mix == oracle::Mix::Sum) {
    auto branches = static_cast<int64_t>(op.attention->branches.size());
    lse.shape.insert(lse.shape.begin(), branches);
    lse.variables.insert(lse.variables.begin(), -1);
  }
  lse.order = order;
  lse.axis = order ? static_cast<int>(lse.shape.size()) - 1 : 1;
  int o = graph().addValue(output, "o" + suffix);
  int l = graph().addValue(lse, "lse" + suffix);
  op.results = {o, l};
  graph().operations.push_back(std::move(op));
  return {o, l};
}

int GraphDraw::addReorder(int value, std::optional<layout::OrderSpec> order,
                          int axis, std::string name) {
  ValueType type = graph().values[value];
  type.order = std::move(order);
  type.axis = axis;
  Operation op;
  op.operands = {value};
  op.results = {graph().addValue(type, std::move(name))};
  graph().operations.push_back(op);
  return op.results[0];
}

//===----------------------------------------------------------------------===//
// Whole graphs
//===----------------------------------------------------------------------===//

void GraphDraw::drawOneAttention() {
  isPacked = packDice.oneIn(4);
  drawStaticSizes();
  maybeNarrow();
  maybeDrawPages(/*every=*/5);
  drawInputs();
  drawSequences();
  auto [o, l] = addAttention(q, k, v, "");
  graph().results = {o};
  if (dice.percent(75))
    graph().results.push_back(l);
  else if (dice.oneIn(3))
    graph().results = {l};
}

/// Few rows of a tile beside what each of them sees: there are steps behind a
/// left window that need no mask, and first steps of which some rows see
/// nothing.
void GraphDraw::drawWindowedAttention() {
  isPacked = packDice.oneIn(4);
  lookBack = dice.pick<int64_t>({16, 31, 64});
  maybeNarrow();
  maybeDrawPages(/*every=*/3);
  drawInputs();
  drawSequences();
  auto [o, l] = addAttention(q, k, v, "");
  graph().results = {o, l};
}

void GraphDraw::drawTwoAttentions() {
  // A second attention that reads what the first one made is compared in f32
  // only: narrow types would round differently in between, and rightly so.
  bool chain = dtype == DType::f32;
  if (chain)
    width = depth;
  isPacked = packDice.oneIn(4);
  if (orderDice.oneIn(3)) {
    pattern = drawPatternOrder();
    drawn.isNeverNegative = orderDice.oneIn(2);
    if (drawn.isNeverNegative)
      near = drawGridWindow(dice, gridOf(*pattern));
  }
  if (!pattern)
    drawStaticSizes();
  maybeNarrow();
  maybeDrawPages(/*every=*/2);
  drawInputs();
  drawSequences();
  std::optional<layout::OrderSpec> queryOrder = maybeDrawOrder();
  setOrders(queryOrder, maybeDrawOrder());
  auto [first, firstLse] = addAttention(q, k, v, "");
  auto [second, secondLse] = addAttention(chain ? first : q, k, v, "_2");
  graph().results = {second, first, secondLse};
  if (dice.oneIn(2))
    graph().results.push_back(firstLse);
  if (dice.oneIn(3))
    graph().results.push_back(second);
}

void GraphDraw::drawReorderedAttention() {
  layout::OrderSpec queryOrder, keyOrder;
  if (orderDice.oneIn(3)) {
    pattern = drawPatternOrder();
    queryOrder = drawChunkedOrder(orderDice);
    keyOrder = drawChunkedOrder(orderDice);
  } else {
    queryOrder = drawOrder(drawn.fixed[kQueries]);
    keyOrder = drawOrder(drawn.fixed[kKeys]);
  }
  drawSizesOfTypes();
  drawInputs();
  drawSequences();
  setOrders(queryOrder, keyOrder);
  // The attention is in linear order, or in another one than its inputs.
  std::optional<layout::OrderSpec> innerQuery = maybeDrawOrder();
  std::optional<layout::OrderSpec> innerKey = maybeDrawOrder();
  int movedQ = addReorder(q, innerQuery, 1, "q_moved");
  int movedK = addReorder(k, innerKey, 1, "k_moved");
  int movedV = addReorder(v, innerKey, 1, "v_moved");
  auto [o, l] = addAttention(movedQ, movedK, movedV, "");
  int o2 = addReorder(o, queryOrder, 1, "o_ordered");
  graph().results = {o2};
  if (dice.oneIn(2)) {
    int axis = static_cast<int>(graph().values[l].shape.size()) - 1;
    graph().results.push_back(addReorder(l, queryOrder, axis, "lse_ordered"));
  }
  if (dice.oneIn(3))
    graph().results.push_back(o);
}

/// Tokens that lie in an order, or ordinals that count along one.
void GraphDraw::drawOrderedAttention() {
  isPacked = packDice.oneIn(3);
  std::optional<int64_t> &queries = drawn.fixed[kQueries];
  std::optional<int64_t> &keys = drawn.fixed[kKeys];
  std::optional<layout::OrderSpec> queryOrder, keyOrder;
  // What has most places for mistakes comes first. Those orders whose length is
  // free leave it to the case.
  switch (number / kKinds * 2 + number % 2) {
  case 1:
  case 2:
  case 3: {
    layout::OrderSpec residues;
    residues.curve = "residue";
    residues.rate = rateDivisor = dice.between(2, 5);
    if (dice.oneIn(2) || isPacked)
      residues.chunk = dice.pick<int64_t>({100, 128, 256});
    keyOrder = residues;
    if (dice.oneIn(2))
      queryOrder = residues;
    break;
  }
  case 4:
    keyOrder = drawOrder(keys);
    break;
  case 5:
    queryOrder = drawOrder(queries);
    break;
  case 6:
  case 7:
    queryOrder = drawOrder(queries);
    keyOrder = drawOrder(keys);
    break;
  case 8:
  case 9:
  case 10:
    pattern = drawPatternOrder();
    break;
  case 11:
  case 12:
    pattern = queryOrder = keyOrder = drawPatternOrder();
    if (isPacked)
      queryOrder->chunk = keyOrder->chunk = *drawn.volume;
    else if (pattern->chunk == 0)
      queries = keys = drawn.volume;
    break;
  case 13:
    pattern = drawPatternOrder();
    keyOrder = layout::OrderSpec{
        "residue", dice.between(2, 9), {}, isPacked ? 40 : 0, {}};
    break;
  default:
    pattern = drawPatternOrder();
    queryOrder = layout::OrderSpec{
        "residue", dice.between(2, 9), {}, isPacked ? 23 : 0, {}};
    keyOrder = layout::OrderSpec{"snake", 0, {3, 5}, 15, {}};
    break;
  }
  drawSizesOfTypes();
  maybeNarrow();
  drawInputs();
  drawSequences();
  setOrders(queryOrder, keyOrder);
  auto [o, l] = addAttention(q, k, v, "");
  graph().results = {o, l};
}

/// Neighbourhoods on a grid, masks of blocks, or both, along a curve or not.
void GraphDraw::drawMaskedAttention() {
  isPacked = packDice.oneIn(4);
  layout::OrderSpec order = drawPatternOrder();
  int64_t volume = *drawn.volume, kind = number / kKinds * 2 + number % 2;
  drawn.isNeverNegative = true;
  // Now and then one that moves nothing, with queries behind the first keys.
  if (kind % 8 == 4) {
    order = layout::OrderSpec{"linear", 0, gridOf(order), 0, {}};
    drawn.fixed[kKeys] = volume;
    drawn.fixed[kQueries] = volume / 2;
  }
  if (kind % 2 == 0)
    pattern = order;
  // Sequences that differ in their positions only, under a mask that leaves
  // far keys to be seen: what lengths make of a kernel hides what these make.
  hasOffsets = kind % 8 == 6;
  isPacked &= !hasOffsets;
  if (!hasOffsets && kind % 4 < 3)
    near = drawGridWindow(dice, gridOf(order));
  if (!near || dice.oneIn(2)) {
    // Blocks that tiles fill, and others.
    auto side = [&] { return dice.pick<int64_t>({1, 5, 16, 32, 64, 96}); };
    blockSize = oracle::BlockSizes{side(), side()};
    drawn.fixed[kQueryBlocks] = layout::ceilDiv(volume, blockSize->query);
    drawn.fixed[kKeyBlocks] =
        layout::ceilDiv(volume, blockSize->key) + dice.between(0, 1);
    isStatic[kQueryBlocks] = isStatic[kKeyBlocks] = dice.oneIn(2);
  }
  drawSizesOfTypes();
  maybeNarrow();
  maybeDrawPages(/*every=*/2);
  drawInputs();
  drawSequences();
  // What the pattern wants is tokens that lie along it.
  layout::OrderSpec along = order;
  along.chunk = volume;
  if (orderDice.oneIn(3))
    setOrders(along, along);
  else if (orderDice.oneIn(2)) {
    std::optional<layout::OrderSpec> queryOrder = maybeDrawOrder();
    setOrders(queryOrder, maybeDrawOrder());
  }
  auto [o, l] = addAttention(q, k, v, "");
  graph().results = {o, l};
}

void GraphDraw::drawReorders() {
  auto rank = static_cast<int>(dice.between(1, 4));
  auto axis = static_cast<int>(dice.between(0, rank - 1));
  ValueType type;
  type.dtype = dtype;
  for (int i = 0; i < rank; ++i) {
    bool dynamic = i == axis || dice.oneIn(2);
    type.shape.push_back(dynamic ? kDynamic
                                 : dice.pick<int64_t>({1, 2, 3, 40, 300}));
    type.variables.push_back(!dynamic    ? -1
                             : i == axis ? kQueries
                             : i == 0    ? kBatch
                                         : kOther);
  }
  std::optional<int64_t> &length = drawn.fixed[kQueries];
  if (dice.oneIn(2)) {
    type.order = drawOrder(length);
    type.axis = axis;
  }
  int value = graph().addValue(type, "x");
  graph().arguments = 1;
  int64_t steps = dice.between(1, 3);
  std::vector<int> made;
  for (int64_t i = 0; i < steps; ++i) {
    std::optional<layout::OrderSpec> order;
    // Somebody must say which axis is the sequence; without a layout it is 1.
    bool mayBeLinear = graph().values[value].order || axis == 1;
    if (!mayBeLinear || !dice.oneIn(4))
      order = drawOrder(length);
    value = addReorder(value, order, axis, "y" + std::to_string(i));
    made.push_back(value);
  }
  graph().results = {value};
  if (dice.oneIn(2))
    graph().results.push_back(made.front());
  if (dice.oneIn(4))
    graph().results.push_back(0);
}

DrawnGraph drawGraph(uint64_t seed, int64_t number, Aim aim) {
  return GraphDraw(seed, number, aim).draw();
}

} // namespace ringlet::differential
