//===- Attention.cpp - What an attention on shards sees ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Attention.h"

#include "Visibility.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <map>
#include <set>

namespace ringlet::ring {

Attention oneSequence(std::vector<Branch> branches, int64_t queries,
                      int64_t keys, int64_t queryHeads, int64_t keyHeads,
                      bool causal) {
  Attention result;
  result.branches = std::move(branches);
  result.queryHeads = queryHeads;
  result.keyHeads = keyHeads;
  result.causal = causal;
  result.sequences.push_back({0, queries, 0, keys, keys - queries});
  return result;
}

int64_t pairsOf(const std::vector<Part> &parts) {
  int64_t pairs = 0;
  for (const Part &part : parts)
    for (const Rows &rows : part.rows)
      pairs += part.heads * rows.size();
  return pairs;
}

namespace {

/// Keys that some query sees: the rows of a class in an interval.
struct Band {
  Interval interval;
  ResidueClass of;
};

/// What one reader's queries see of the keys in an interval.
class BandCollector {
public:
  BandCollector(const Attention &attention, int64_t keyHead)
      : attention(attention), keyHead(keyHead), reach(reachOf(attention)) {}

  /// Of the keys of a stretch, and of what lies between them.
  void collect(const Stretch &queries, const Stretch &owned) {
    keys = hull(owned);
    for (const Branch &branch : attention.branches) {
      auto residues = residuesOf(attention, branch, keyHead);
      if (residues.empty())
        continue;
      forEachSharedSegment(attention, branch, queries, keys,
                           [&](const SharedSegment &shared) {
                             for (auto [residue, heads] : residues)
                               addSegment(queries, branch, shared, residue);
                           });
    }
  }

  std::vector<Band> bands;

private:
  void addSegment(const Stretch &queries, const Branch &branch,
                  const SharedSegment &shared, int64_t residue) {
    ResidueClass ofQueries = shared.queryClass(residue, branch.dilation);
    ResidueClass ofKeys = shared.keyClass(residue, branch.dilation);
    if (reach.left >= kFar) {
      // What the last query sees, all others see, or less.
      add(shared, ofKeys, extent(queries, shared.queries, ofQueries));
      return;
    }
    Interval numbers = repetitionsIn(queries, shared.queries);
    for (int64_t i = numbers.begin; i < numbers.end; ++i) {
      Rows rows =
          rowsIn(overlap(repetition(queries, i), shared.queries), ofQueries);
      if (rows.run > 0)
        add(shared, ofKeys, {rows.first, rows.last() + 1});
    }
  }

  /// Windows of queries of a class that follow each other leave no gap in it.
  void add(const SharedSegment &shared, ResidueClass of, Interval queries) {
    if (queries.empty())
      return;
    int64_t begin = queries.begin + shared.shift - reach.left;
    int64_t end = queries.end + shared.shift + reach.right;
    Interval seen =
        overlap(overlap(shared.keys, keys),
                {reach.left >= kFar ? shared.keys.begin : begin, end});
    if (seen.empty())
      return;
    // Segments whose residues continue each other make one band.
    if (!bands.empty() && bands.back().of == of &&
        bands.back().interval.end >= seen.begin &&
        bands.back().interval.begin <= seen.begin)
      bands.back().interval.end = std::max(bands.back().interval.end, seen.end);
    else
      bands.push_back({seen, of});
  }

  const Attention &attention;
  int64_t keyHead;
  Interval keys;
  Reach reach;
};

/// Calls `visit` for stretches of rows in which the same classes are seen.
void sweep(
    const std::vector<Band> &bands,
    const std::function<void(Interval, const std::vector<ResidueClass> &)>
        &visit) {
  struct Event {
    int64_t row;
    ResidueClass of;
    int change;
  };
  std::vector<Event> events;
  for (const Band &band : bands) {
    events.push_back({band.interval.begin, band.of, 1});
    events.push_back({band.interval.end, band.of, -1});
  }
  std::sort(events.begin(), events.end(),
            [](const Event &a, const Event &b) { return a.row < b.row; });
  std::map<ResidueClass, int64_t> active;
  std::vector<ResidueClass> classes;
  int64_t begin = 0;
  for (size_t i = 0; i < events.size();) {
    int64_t row = events[i].row;
    for (; i < events.size() && events[i].row == row; ++i)
      if ((active[events[i].of] += events[i].change) == 0)
        active.erase(events[i].of);
    std::vector<ResidueClass> next;
    for (const auto &[of, count] : active)
      next.push_back(of);
    if (next == classes)
      continue;
    if (!classes.empty())
      visit({begin, row}, classes);
    begin = row;
    classes.swap(next);
  }
}

/// The rows that a rank holds of what bands show.
std::vector<LocalRows> rowsOf(const std::vector<Band> &bands,
                              const std::vector<Stretch> &owned) {
  std::vector<LocalRows> result;
  sweep(bands,
        [&](Interval interval, const std::vector<ResidueClass> &classes) {
          std::vector<Rows> progressions;
          for (ResidueClass of : classes)
            progressions.push_back(rowsIn(interval, of));
          for (const Rows &rows : unite(progressions))
            for (const Stretch &stretch : owned)
              appendShared(stretch, rows, result);
        });
  joinRows(result);
  return result;
}

} // namespace

std::vector<Part> neededKeys(const ShardedAttention &sharded,
                             const std::vector<int64_t> &readers,
                             int64_t owner) {
  const Attention &attention = sharded.attention;
  const std::vector<Stretch> &owned = sharded.keys.of(owner);
  std::vector<Part> result;
  if (owned.empty())
    return result;
  // Heads with the same residues see the same.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> signature, previous;
  for (int64_t head = 0; head < attention.keyHeads; ++head) {
    signature.clear();
    for (const Branch &branch : attention.branches) {
      signature.push_back(residuesOf(attention, branch, head));
      for (auto &[residue, heads] : signature.back())
        heads = 1;
    }
    if (head > 0 && signature == previous) {
      if (!result.empty() && result.back().head + result.back().heads == head)
        ++result.back().heads;
      continue;
    }
    previous = signature;
    BandCollector collector(attention, head);
    for (int64_t reader : readers)
      if (reader != owner)
        for (const Stretch &stretch : sharded.queries.of(reader))
          for (const Stretch &keys : owned)
            collector.collect(stretch, keys);
    std::vector<LocalRows> rows = rowsOf(collector.bands, owned);
    if (rows.empty())
      continue;
    Part part;
    part.head = head;
    part.heads = 1;
    for (const LocalRows &set : rows) {
      part.rows.push_back(set.rows);
      part.local.push_back(set.local);
      part.localStride.push_back(set.localStride);
    }
    result.push_back(std::move(part));
  }
  return result;
}

double countScores(const Attention &attention, const Branch &branch,
                   const std::vector<Stretch> &queries,
                   const std::vector<Stretch> &keys) {
  Reach reach = reachOf(attention);
  // Heads with one residue have one number of scores.
  std::map<int64_t, int64_t> heads;
  for (int64_t head = 0; head < attention.keyHeads; ++head)
    for (auto [residue, count] : residuesOf(attention, branch, head))
      heads[residue] += count;
  double sum = 0;
  for (const Stretch &own : queries)
    for (const Stretch &theirs : keys)
      forEachSharedSegment(
          attention, branch, own, hull(theirs),
          [&](const SharedSegment &shared) {
            Interval numbers = repetitionsIn(own, shared.queries);
            for (auto [residue, count] : heads) {
              ResidueClass of = shared.queryClass(residue, branch.dilation);
              for (int64_t i = numbers.begin; i < numbers.end; ++i)
                sum +=
                    static_cast<double>(count) *
                    countPairs(
                        rowsIn(overlap(repetition(own, i), shared.queries), of),
                        shared.shift, theirs, shared.keys,
                        shared.keyClass(residue, branch.dilation), reach.left,
                        reach.right);
            }
          });
  return sum;
}

double countScores(const ShardedAttention &sharded, int64_t reader,
                   int64_t owner) {
  double sum = 0;
  for (const Branch &branch : sharded.attention.branches)
    sum += countScores(sharded.attention, branch, sharded.queries.of(reader),
                       sharded.keys.of(owner));
  return sum;
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

namespace {

bool refuse(std::string *error, const std::string &expected, int64_t found,
            const char *rule) {
  if (error)
    *error = formatText("expected {}, found {} ({})", expected, found, rule);
  return false;
}

bool checkBranch(const Attention &attention, const Branch &branch,
                 std::string *error) {
  if (branch.segment < 0 || branch.segment > kFar)
    return refuse(
        error, formatText("a segment length from 1 to {}, or 0 for none", kFar),
        branch.segment, "B1");
  int64_t most = branch.segment == 0 ? kFar : branch.segment;
  if (branch.dilation < 1 || branch.dilation > most)
    return refuse(error, formatText("a dilation from 1 to {}", most),
                  branch.dilation, "B1");
  if (branch.offset > OffsetRule::Constant)
    return refuse(error, "an offset rule below 3",
                  static_cast<int64_t>(branch.offset), "B2");
  if (branch.headBegin < 0 || branch.headEnd > attention.queryHeads ||
      branch.headBegin > branch.headEnd)
    return refuse(
        error, formatText("heads from 0 to at most {}", attention.queryHeads),
        branch.headBegin < 0 ? branch.headBegin : branch.headEnd, "B3");
  return true;
}

bool checkSequences(const ShardedAttention &sharded, std::string *error) {
  int64_t query = 0, key = 0;
  for (const Sequence &at : sharded.attention.sequences) {
    if (at.query < query || at.queries < 0 ||
        at.queries > sharded.queries.length() - at.query)
      return refuse(error,
                    formatText("query rows of a sequence from {} to {}", query,
                               sharded.queries.length()),
                    at.query < query ? at.query : at.query + at.queries, "S2");
    if (at.key < key || at.keys < 0 || at.keys > sharded.keys.length() - at.key)
      return refuse(error,
                    formatText("key rows of a sequence from {} to {}", key,
                               sharded.keys.length()),
                    at.key < key ? at.key : at.key + at.keys, "S2");
    if (at.offset < -kMaxOffset || at.offset > kMaxOffset)
      return refuse(error,
                    formatText("an offset of queries within +-{}", kMaxOffset),
                    at.offset, "S1");
    query = at.query + at.queries;
    key = at.key + at.keys;
  }
  return true;
}

} // namespace

bool validate(const ShardedAttention &sharded, std::string *error) {
  const Attention &attention = sharded.attention;
  if (sharded.queries.ranks() != sharded.keys.ranks())
    return refuse(
        error,
        formatText("queries on {} ranks, as keys are", sharded.keys.ranks()),
        sharded.queries.ranks(), "G1");
  if (attention.keyHeads < 1 || attention.queryHeads < attention.keyHeads ||
      attention.queryHeads % attention.keyHeads != 0)
    return refuse(error,
                  formatText("a multiple of {} key heads, at least 1",
                             attention.keyHeads),
                  attention.queryHeads, "section 1");
  for (auto side : {attention.left, attention.right})
    if (side && *side < 0)
      return refuse(error, "a window of at least 0", *side, "B4");
  for (const Branch &branch : attention.branches)
    if (!checkBranch(attention, branch, error))
      return false;
  return checkSequences(sharded, error);
}

} // namespace ringlet::ring
