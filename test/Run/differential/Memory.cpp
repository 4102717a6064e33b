//===- Memory.cpp - The caller's tensors, under guard -----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Memory.h"

#include "lib/Layout/Order.h"
#include "lib/Oracle/Pages.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace ringlet::differential {

namespace {

/// What integers of 8 bits are about to be multiplied with.
constexpr double kScaleOfIntegers = 1.0 / 32;

/// A quiet NaN that no computation makes, or for integers an unlikely number.
uint64_t poisonOf(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return 0x7e5a;
  case DType::bf16:
    return 0x7fda;
  case DType::f32:
    return 0x7fc0dead;
  case DType::f8E4M3FN:
    return 0x7f;
  default:
    return 0x5a5a5a5a5a5a5a5a;
  }
}

void poison(Tensor &tensor) {
  uint64_t pattern = poisonOf(tensor.dtype());
  int64_t size = sizeOf(tensor.dtype());
  auto *bytes = static_cast<char *>(tensor.data());
  for (int64_t i = 0; i < tensor.elements(); ++i)
    std::memcpy(bytes + i * size, &pattern, static_cast<size_t>(size));
}

} // namespace

Memory::Memory(const Graph &graph, const Configuration &configuration)
    : configuration(configuration) {
  for (auto [elements, dtype] : configuration.allocations) {
    allocations.emplace_back(dtype, Shape{elements});
    poison(allocations.back());
  }
  auto view = [&](const Placement &placement) {
    Tensor &memory = allocations[placement.allocation];
    char *base = static_cast<char *>(memory.data()) +
                 placement.offset * sizeOf(memory.dtype());
    return MutableTensorView(base, memory.dtype(), placement.sizes,
                             placement.strides);
  };
  for (int i = 0; i < graph.arguments; ++i) {
    if (graph.names[i] == "pages")
      pages = i;
    if (graph.names[i] == "k_lengths")
      keyLengths = i;
  }
  for (size_t i = 0; i < configuration.arguments.size(); ++i) {
    writableInputs.push_back(view(configuration.arguments[i]));
    fillInput(graph, static_cast<int>(i), writableInputs.back());
    inputViews.push_back(writableInputs.back());
  }
  if (pages)
    poisonPages(graph);
  for (const Operation &op : graph.operations) {
    if (!op.pages && (op.offsetOperand || op.offsetConstant))
      poisonUnseen(graph, op);
    for (int operand = 0; operand < 3; ++operand) {
      bool isQuery = operand == 0;
      if (!isQuery && op.pages)
        continue;
      if (op.lengths)
        poisonPast(graph, op.operands[operand],
                   isQuery ? op.lengths->first : op.lengths->second);
      if (op.starts)
        poisonPastLast(op.operands[operand],
                       isQuery ? op.starts->first : op.starts->second);
      if (op.begins && !isQuery)
        poisonBefore(graph, op, op.operands[operand]);
    }
  }
  for (const Placement &placement : configuration.results) {
    outputViews.push_back(view(placement));
    outputAllocations.push_back(placement.allocation);
  }
  originals = allocations;
}

void Memory::fillInput(const Graph &graph, int argument,
                       const MutableTensorView &view) {
  Dice dice(configuration.dataSeed, static_cast<uint64_t>(argument));
  const std::string &name = graph.names[argument];
  if (name == "pages")
    return fillPages(view, dice);
  if (name == "q_lengths" || name == "k_lengths") {
    fillLengths(view, name == "k_lengths", dice);
    return;
  }
  if (name == "q_starts" || name == "k_starts") {
    fillStarts(view, name == "k_starts", dice);
    return;
  }
  if (name == "k_begins")
    return fillBegins(view, dice);
  if (view.dtype() == DType::i64) {
    forEachIndex(view.sizes(), [&](const int64_t *indices) {
      int64_t distance = view.rank() ? dice.between(-40, 40) : 0;
      auto size = configuration.sizes.find(argument);
      int64_t value = size != configuration.sizes.end()
                          ? size->second
                          : std::clamp(configuration.offset + distance,
                                       configuration.leastOffset,
                                       configuration.greatestOffset);
      std::memcpy(static_cast<char *>(view.data()) +
                      view.offsetOf(indices) * sizeof value,
                  &value, sizeof value);
    });
    return;
  }
  if (view.dtype() == DType::i1) {
    int64_t share = dice.pick<int64_t>({20, 50, 90});
    forEachIndex(view.sizes(), [&](const int64_t *indices) {
      view.set(indices, dice.percent(share));
    });
    return;
  }
  if (name == "sink" && configuration.data == Data::Far) {
    double infinity = std::numeric_limits<double>::infinity();
    forEachIndex(view.sizes(), [&](const int64_t *indices) {
      view.set(indices, dice.pick({0.0, 1e6, -1e6, 1e30, 2.4e38, 3.3e38, -3e38,
                                   infinity, -infinity}));
    });
    return;
  }
  if (name == "sink") {
    forEachIndex(view.sizes(), [&](const int64_t *indices) {
      view.set(indices, 4 * dice.normal());
    });
    return;
  }
  if (name == "k_scale" || name == "v_scale")
    return fillScales(view, dice);
  Data data = name == "q" || name == "k" ? configuration.data : Data::Normal;
  double root =
      view.rank() ? std::sqrt(static_cast<double>(view.sizes().back())) : 1;
  // That of tokens, packed or not.
  int axis = view.rank() - 3;
  auto rows = static_cast<double>(axis >= 0 ? view.size(axis) : 1);
  double surge = data == Data::Surge ? 9 + 101 * dice.uniform() : 0;
  // What query and key have of the size of a product.
  int64_t most = view.dtype() == DType::f16 ? 28 : 122;
  Dice ofBoth(configuration.dataSeed, 1000);
  int64_t size = ofBoth.between(8, most);
  double far =
      std::ldexp(1, static_cast<int>(name == "q" ? size / 2 : size - size / 2));
  auto element = [&](double row) {
    switch (data) {
    case Data::Normal:
      return dice.normal();
    case Data::Sharp:
      return 2.5 * dice.normal();
    case Data::Equal:
      return name == "q" ? 0.5 : 0.25;
    case Data::Far:
      return name == "q" ? far * (0.5 + 0.5 * dice.uniform())
                         : far * dice.normal() / root;
    default:
      break;
    }
    // Scores that follow the position of the key alone, or nearly.
    if (name == "q")
      return 0.5 + 0.5 * dice.uniform();
    double noise = 0.1 * dice.normal();
    if (data == Data::Jump)
      return noise + (row == std::floor(0.75 * rows) ? 60 / root : 0);
    if (data == Data::Low)
      return noise - 30 / root;
    // One key has all of the weight but 2^-10 to 2^-120. Its score is about 0,
    // and so is the lse.
    if (data == Data::Surge)
      return noise - (row == std::floor(0.75 * rows) ? 0 : surge / root);
    if (data == Data::Leap)
      return noise + (row == std::floor(0.25 * rows) ? 13000 / root : 0);
    double slope = data == Data::Rising ? 30 : data == Data::Cliff ? -600 : -30;
    return noise + slope * row / (rows * root);
  };
  // Integers have digits where the scale is a small one. What is too far for 8
  // bits is as far as they reach.
  double step = view.dtype() == DType::i8 ? 1 / kScaleOfIntegers : 1;
  double limit = sizeOf(view.dtype()) == 1 ? 448 : HUGE_VAL;
  forEachIndex(view.sizes(), [&](const int64_t *indices) {
    double value = element(axis >= 0 ? static_cast<double>(indices[axis]) : 0);
    view.set(indices, std::clamp(step * value, -limit, limit));
  });
}

/// Of any sign, and none.
void Memory::fillScales(const MutableTensorView &scales, Dice &dice) {
  bool ofIntegers = inputViews[1].dtype() == DType::i8;
  forEachIndex(scales.sizes(), [&](const int64_t *indices) {
    double scale = (0.5 + dice.uniform()) * (ofIntegers ? kScaleOfIntegers : 1);
    scale *= dice.oneIn(6) ? -1 : dice.oneIn(12) ? 0 : 1;
    scales.set(indices, scale);
  });
}

static void setNumber(const MutableTensorView &list, int64_t index,
                      int64_t number) {
  std::memcpy(static_cast<char *>(list.data()) +
                  list.offsetOf(&index) * sizeof number,
              &number, sizeof number);
}

/// The numbers of queries in the list before `keys`, as they count.
std::vector<int64_t> Memory::countQueries(bool arePacked) const {
  const TensorView &list = inputViews.back();
  int64_t rows = inputViews[0].size(arePacked ? 0 : 1);
  std::vector<int64_t> counts;
  int64_t before = 0;
  for (int64_t i = 0; i < list.size(0); ++i) {
    int64_t number = std::clamp<int64_t>(list.getInt({i}), 0, rows);
    if (!arePacked)
      counts.push_back(number);
    else if (i > 0)
      counts.push_back(number - before);
    before = number;
  }
  return counts;
}

/// Whole sequences, empty ones, others, and numbers that are no length.
void Memory::fillLengths(const MutableTensorView &lengths, bool ofKeys,
                         Dice &dice) {
  using Limits = std::numeric_limits<int64_t>;
  int64_t rows =
      ofKeys ? countKeyRows(/*arePacked=*/false) : inputViews[0].size(1);
  std::vector<int64_t> least(static_cast<size_t>(lengths.size(0)));
  if (ofKeys && configuration.hasKeyForQuery)
    least = countQueries(/*arePacked=*/false);
  for (int64_t i = 0; i < lengths.size(0); ++i) {
    int64_t length = dice.between(0, rows);
    if (dice.oneIn(3))
      length = dice.pick<int64_t>({0, 1, rows, rows});
    if (dice.oneIn(12))
      length = dice.pick<int64_t>({-1, rows + 1, Limits::min(), Limits::max()});
    setNumber(lengths, i, least[i] > 0 ? std::max(length, least[i]) : length);
  }
}

/// Sequences that fill the rows or leave some, empty ones, and numbers beyond
/// either end, which count as the end.
void Memory::fillStarts(const MutableTensorView &starts, bool ofKeys,
                        Dice &dice) {
  using Limits = std::numeric_limits<int64_t>;
  int64_t rows =
      ofKeys ? countKeyRows(/*arePacked=*/true) : inputViews[0].size(0);
  int64_t count = starts.size(0) - 1;
  std::vector<int64_t> least(static_cast<size_t>(count));
  if (ofKeys && configuration.hasKeyForQuery)
    least = countQueries(/*arePacked=*/true);
  // Cut anywhere what all sequences together have beside the least.
  int64_t rest = rows - std::accumulate(least.begin(), least.end(), int64_t(0));
  std::vector<int64_t> cuts;
  for (int64_t i = 0; i < count; ++i)
    cuts.push_back(!cuts.empty() && dice.oneIn(4) ? cuts.back()
                                                  : dice.between(0, rest));
  if (!cuts.empty() && !dice.oneIn(4))
    cuts.back() = rest;
  std::sort(cuts.begin(), cuts.end());
  setNumber(starts, 0,
            dice.oneIn(10) ? dice.pick<int64_t>({-1, Limits::min()}) : 0);
  int64_t end = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t more = cuts[i] - (i ? cuts[i - 1] : 0);
    end += std::min(least[i] + more, configuration.longest);
    setNumber(starts, i + 1, end);
  }
  if (count > 0 && end == rows && dice.oneIn(3))
    setNumber(starts, count, dice.pick<int64_t>({rows + 3, Limits::max()}));
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

/// Of a sequence, or of all if they are packed.
int64_t Memory::countKeyRows(bool arePacked) const {
  if (!pages)
    return inputViews[1].size(arePacked ? 0 : 1);
  const TensorView &table = inputViews[*pages];
  int64_t rows = table.size(1) * inputViews[1].size(1);
  return arePacked ? table.size(0) * rows : rows;
}

static void setPage(const MutableTensorView &table, const int64_t *indices,
                    int32_t page) {
  std::memcpy(static_cast<char *>(table.data()) +
                  table.offsetOf(indices) * int64_t(sizeof page),
              &page, sizeof page);
}

/// Few rows before the keys, many, all, and numbers of no row.
void Memory::fillBegins(const MutableTensorView &begins, Dice &dice) {
  using Limits = std::numeric_limits<int32_t>;
  int64_t rows = countKeyRows(/*arePacked=*/false);
  std::vector<int64_t> queries(static_cast<size_t>(begins.size(0)),
                               inputViews[0].size(1));
  for (int64_t i = 0; i < begins.size(0); ++i) {
    int64_t end = rows;
    if (keyLengths) {
      end = std::clamp<int64_t>(inputViews[*keyLengths].getInt({i}), 0, rows);
      const TensorView &lengths = inputViews[*keyLengths - 1];
      queries[i] = std::clamp<int64_t>(lengths.getInt({i}), 0, queries[i]);
    }
    int64_t begin = dice.between(0, dice.oneIn(3) ? end : end / 4);
    if (dice.oneIn(10))
      begin = dice.pick<int64_t>(
          {-1, end, end + 1, rows + 1, Limits::min(), Limits::max()});
    if (configuration.hasKeyForQuery && queries[i] > 0)
      begin = std::min(begin, end - queries[i]);
    if (begins.dtype() == DType::i64)
      setNumber(begins, i, begin);
    else
      setPage(begins, &i, static_cast<int32_t>(begin));
  }
}

/// The first row of the keys of a sequence, or the end where it has none.
int64_t Memory::getBegin(const Operation &op, int64_t sequence) const {
  if (!op.begins)
    return 0;
  int64_t end = countKeyRows(/*arePacked=*/false);
  if (op.lengths)
    end = std::clamp<int64_t>(inputViews[op.lengths->second].getInt({sequence}),
                              0, end);
  return std::clamp<int64_t>(inputViews[*op.begins].getInt({sequence}), 0, end);
}

/// The pages of the pool in any order, again and again if they are few.
void Memory::fillPages(const MutableTensorView &table, Dice &dice) {
  std::vector<int32_t> order(static_cast<size_t>(inputViews[1].size(0)));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1],
              order[dice.between(0, static_cast<int64_t>(i) - 1)]);
  size_t next = 0;
  forEachIndex(table.sizes(), [&](const int64_t *indices) {
    setPage(table, indices, order[next++ % order.size()]);
  });
}

/// Behind which row of a sequence in pages no key counts, or all are behind
/// what its queries reach.
int64_t Memory::countKeys(const Operation &op, int64_t sequence) const {
  int64_t keys = countKeyRows(/*arePacked=*/false);
  if (op.lengths)
    keys = std::clamp<int64_t>(
        inputViews[op.lengths->second].getInt({sequence}), 0, keys);
  if (op.starts) {
    Tensor counts =
        oracle::countKeysInPages(inputViews[op.starts->second], keys);
    keys = counts.as<int64_t>()[sequence];
  }
  bool hasReach = op.attention->causal || op.attention->windowRight;
  if (hasReach && (op.offsetOperand || op.offsetConstant))
    keys = std::min(keys, getBegin(op, sequence) + countSeen(op, sequence));
  return keys;
}

/// No number of a page behind the keys of a sequence, and no row of the pool
/// that no sequence has, matters (S4).
void Memory::poisonPages(const Graph &graph) {
  using Limits = std::numeric_limits<int32_t>;
  const MutableTensorView &table = writableInputs[*pages];
  int64_t rows = inputViews[1].size(1), pool = inputViews[1].size(0);
  std::vector<bool> needed(static_cast<size_t>(pool * rows));
  Dice dice(configuration.dataSeed, 2000);
  forEachIndex(table.sizes(), [&](const int64_t *indices) {
    // All operations have the same begins.
    int64_t keys = 0, begin = 0;
    for (const Operation &op : graph.operations)
      if (op.pages) {
        keys = std::max(keys, countKeys(op, indices[0]));
        begin = getBegin(op, indices[0]);
      }
    int64_t before = indices[1] * rows;
    int64_t page = inputViews[*pages].getInt({indices[0], indices[1]});
    for (int64_t row = std::max<int64_t>(begin - before, 0);
         row < std::min(keys - before, rows); ++row)
      needed[page * rows + row] = true;
    if (before >= keys || before + rows <= begin)
      setPage(table, indices,
              dice.pick<int32_t>({-1, Limits::min(), Limits::max(),
                                  static_cast<int32_t>(pool), 0}));
  });
  for (int argument : {1, 2}) {
    const MutableTensorView &view = writableInputs[argument];
    if (view.strides()[0] == 0 || view.strides()[1] == 0)
      continue;
    forEachIndex(view.sizes(), [&](const int64_t *indices) {
      if (!needed[indices[0] * rows + indices[1]])
        view.set(indices, std::numeric_limits<double>::quiet_NaN());
    });
  }
}

//===----------------------------------------------------------------------===//
// What does not matter
//===----------------------------------------------------------------------===//

/// What rows past a length hold must not matter (S2).
void Memory::poisonPast(const Graph &graph, int argument, int lengths) {
  // Results of other operations are not there yet. Rows that lie at one place
  // may be inside of another sequence.
  if (argument >= static_cast<int>(writableInputs.size()))
    return;
  const MutableTensorView &rows = writableInputs[argument];
  if (rows.strides()[0] == 0 || rows.strides()[1] == 0)
    return;
  const TensorView &list = inputViews[lengths];
  // Lengths count tokens, wherever they lie.
  const auto &spec = graph.values[argument].order;
  auto order = layout::makeOrder(spec.value_or(layout::OrderSpec()));
  forEachIndex(rows.sizes(), [&](const int64_t *indices) {
    if (order->token(indices[1], rows.size(1)) >= list.getInt({indices[0]}))
      rows.set(indices, std::numeric_limits<double>::quiet_NaN());
  });
}

/// Nor what rows before the first key hold (S5).
void Memory::poisonBefore(const Graph &graph, const Operation &op,
                          int argument) {
  if (argument >= static_cast<int>(writableInputs.size()))
    return;
  const MutableTensorView &rows = writableInputs[argument];
  if (rows.strides()[0] == 0 || rows.strides()[1] == 0)
    return;
  const auto &spec = graph.values[argument].order;
  auto order = layout::makeOrder(spec.value_or(layout::OrderSpec()));
  forEachIndex(rows.sizes(), [&](const int64_t *indices) {
    if (order->token(indices[1], rows.size(1)) < getBegin(op, indices[0]))
      rows.set(indices, std::numeric_limits<double>::quiet_NaN());
  });
}

/// Nor what rows of no sequence hold.
void Memory::poisonPastLast(int argument, int starts) {
  if (argument >= static_cast<int>(writableInputs.size()))
    return;
  const TensorView &list = inputViews[starts];
  int64_t end = list.getInt({list.size(0) - 1});
  const MutableTensorView &rows = writableInputs[argument];
  if (rows.strides()[0] == 0)
    return;
  forEachIndex(rows.sizes(), [&](const int64_t *indices) {
    if (indices[0] >= end)
      rows.set(indices, std::numeric_limits<double>::quiet_NaN());
  });
}

/// Where a packed sequence begins in a tensor of `rows` rows.
static int64_t getStart(const TensorView &starts, int64_t sequence,
                        int64_t rows) {
  return std::clamp<int64_t>(starts.getInt({sequence}), 0, rows);
}

/// How many keys of a sequence are not behind all that its queries reach.
int64_t Memory::countSeen(const Operation &op, int64_t sequence) const {
  const oracle::AttentionSpec &spec = *op.attention;
  constexpr int64_t farthest = int64_t(1) << 61;
  int64_t reach = spec.causal ? 0 : std::min(*spec.windowRight, farthest);
  int64_t queries = inputViews[0].size(op.sequenceAxis());
  if (op.lengths) {
    int64_t length = inputViews[op.lengths->first].getInt({sequence});
    queries = std::clamp<int64_t>(length, 0, queries);
  } else if (op.starts) {
    const TensorView &starts = inputViews[op.starts->first];
    queries = getStart(starts, sequence + 1, queries) -
              getStart(starts, sequence, queries);
  }
  int64_t offset = op.offsetConstant.value_or(0);
  if (op.offsetOperand) {
    const TensorView &offsets = inputViews[*op.offsetOperand];
    offset = offsets.rank() ? offsets.getInt({sequence}) : offsets.getInt({});
  }
  return offset + queries + reach;
}

/// Nor what keys behind all that queries reach hold, such as the rest of a
/// cache.
void Memory::poisonUnseen(const Graph &graph, const Operation &op) {
  if (!op.attention->causal && !op.attention->windowRight)
    return;
  int64_t readers[2] = {0, 0};
  for (const Operation &other : graph.operations)
    for (int value : other.operands)
      for (int side : {0, 1})
        readers[side] += value == op.operands[1 + side];
  for (int side : {0, 1}) {
    int argument = op.operands[1 + side];
    if (argument >= static_cast<int>(writableInputs.size()) ||
        readers[side] > 1 ||
        std::count(graph.results.begin(), graph.results.end(), argument))
      continue;
    const MutableTensorView &rows = writableInputs[argument];
    if (rows.strides()[0] == 0 || rows.strides()[op.sequenceAxis()] == 0)
      continue;
    const auto &spec = graph.values[argument].order;
    auto order = layout::makeOrder(spec.value_or(layout::OrderSpec()));
    auto isUnseen = [&](int64_t sequence, int64_t slot, int64_t length,
                        int64_t begin) {
      return order->token(slot, length) >= begin + countSeen(op, sequence);
    };
    double nan = std::numeric_limits<double>::quiet_NaN();
    if (!op.starts) {
      forEachIndex(rows.sizes(), [&](const int64_t *indices) {
        if (isUnseen(indices[0], indices[1], rows.size(1),
                     getBegin(op, indices[0])))
          rows.set(indices, nan);
      });
      continue;
    }
    const TensorView &starts = inputViews[op.starts->second];
    std::vector<bool> unseen(static_cast<size_t>(rows.size(0)));
    for (int64_t i = 0; i + 1 < starts.size(0); ++i) {
      int64_t first = getStart(starts, i, rows.size(0));
      int64_t length = getStart(starts, i + 1, rows.size(0)) - first;
      for (int64_t slot = 0; slot < length; ++slot)
        unseen[first + slot] = isUnseen(i, slot, length, 0);
    }
    forEachIndex(rows.sizes(), [&](const int64_t *indices) {
      if (unseen[indices[0]])
        rows.set(indices, nan);
    });
  }
}

std::vector<MutableTensorView> Memory::arguments() const {
  std::vector<MutableTensorView> all = writableInputs;
  all.insert(all.end(), outputViews.begin(), outputViews.end());
  return all;
}

void Memory::reset() {
  for (int allocation : outputAllocations)
    poison(allocations[allocation]);
}

std::string Memory::check() const {
  for (size_t i = 0; i < allocations.size(); ++i) {
    const Tensor &memory = allocations[i];
    const Tensor &original = originals[i];
    int64_t size = sizeOf(memory.dtype());
    std::vector<bool> writable(static_cast<size_t>(memory.elements()));
    std::string what = "an input";
    for (size_t output = 0; output < outputAllocations.size(); ++output) {
      if (outputAllocations[output] != static_cast<int>(i))
        continue;
      what = "the surroundings of result " + std::to_string(output);
      const TensorView &view = outputViews[output];
      forEachIndex(view.sizes(), [&](const int64_t *indices) {
        writable[configuration.results[output].offset +
                 view.offsetOf(indices)] = true;
      });
    }
    auto bytesOf = [&](const Tensor &tensor, int64_t element) {
      return static_cast<const char *>(tensor.data()) + element * size;
    };
    for (int64_t element = 0; element < memory.elements(); ++element)
      if (!writable[element] &&
          std::memcmp(bytesOf(memory, element), bytesOf(original, element),
                      static_cast<size_t>(size)) != 0)
        return "memory of " + what + " was changed, element " +
               std::to_string(element) + " of " +
               std::to_string(memory.elements());
  }
  return "";
}

} // namespace ringlet::differential
