//===- Pieces.cpp - What a rank computes with a chunk of keys ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Pieces.h"

#include "Visibility.h"

#include "lib/Layout/Dilation.h"

#include <algorithm>
#include <map>

namespace ringlet::ring {

using layout::ceilDiv;
using layout::floorDiv;
using layout::floorMod;

bool takesGroups(const Attention &attention, const Branch &branch) {
  int64_t group = attention.queryHeads / attention.keyHeads;
  return (!branch.offsetByQuery || branch.dilation == 1) &&
         branch.headBegin % group == 0 && branch.headEnd % group == 0;
}

namespace {

/// Rows of a progression, and where they lie.
struct Run {
  int64_t row = 0, step = 1, count = 0;
  int64_t place = 0, placeStep = 1;

  int64_t last() const { return row + (count - 1) * step; }
  int64_t end() const { return last() + 1; }
};

/// Rows `begin` to before `end` of a run of step 1.
Run cut(const Run &run, Interval rows) {
  rows = overlap(rows, {run.row, run.end()});
  Run result = run;
  result.row = rows.begin;
  result.count = std::max<int64_t>(0, rows.end - rows.begin);
  result.place += (rows.begin - run.row) * run.placeStep;
  return result;
}

/// The rows of a class in an interval.
Run select(const Run &run, Interval rows, ResidueClass of) {
  Rows wanted = rowsIn(overlap(rows, {run.row, run.end()}), of);
  Rows own = {run.row, run.count, run.step, 1, 1};
  Rows both = intersect(own, wanted);
  Run result;
  result.row = both.first;
  result.count = both.run;
  result.step = both.run > 1 ? both.step : of.rate;
  int64_t step = run.count > 1 ? run.step : 1;
  result.place = run.place + (both.first - run.row) / step * run.placeStep;
  result.placeStep =
      both.run > 1 ? both.step / step * run.placeStep : run.placeStep;
  return result;
}

/// The repetitions of a stretch as runs.
void appendRuns(const Stretch &stretch, std::vector<Run> &runs) {
  for (int64_t i = 0; i < stretch.rows.count; ++i)
    runs.push_back({stretch.rows.first + i * stretch.rows.stride, 1,
                    stretch.rows.run, stretch.local + i * stretch.localStride,
                    1});
}

/// The runs of a set whose rows lie one after the other from `place` on.
void appendRuns(const Rows &rows, int64_t place, std::vector<Run> &runs) {
  if (rows.run == 1 && rows.count > 1) {
    runs.push_back({rows.first, rows.stride, rows.count, place, 1});
    return;
  }
  for (int64_t i = 0; i < rows.count; ++i)
    runs.push_back({rows.first + i * rows.stride, rows.step, rows.run,
                    place + i * rows.run, 1});
}

/// Heads whose keys lie in the same way, one beside the other.
struct HeadClass {
  Lane heads;
  int64_t residue = 0;
  int64_t keyHead = 0, keyHeadStep = 0;
  /// The part of the layout with these keys, or 0.
  size_t part = 0;
};

class PieceMaker {
public:
  PieceMaker(const ShardedAttention &sharded, int64_t rank, int64_t owner,
             const std::vector<Part> *layout)
      : attention(sharded.attention), queries(sharded.queries.of(rank)),
        owned(sharded.keys.of(owner)), layout(layout),
        group(attention.queryHeads / attention.keyHeads),
        reach(reachOf(attention)) {}

  std::vector<Piece> make();

private:
  struct Segment {
    SharedSegment shared;
    const Stretch *stretch;
    std::vector<Run> keys;
  };
  void readKeys();
  bool isUniform() const;
  void addBranch(int64_t number);
  std::vector<HeadClass> classesOf(const Branch &branch) const;
  void addWhole(const Branch &branch, std::vector<Run> &keys);
  void addWhole(const Branch &branch, const Sequence &sequence,
                const Run &keys);
  void addClass(const Branch &branch, const HeadClass &heads,
                const std::vector<Run> &keys);
  void addRun(const Run &own, const std::vector<Run> &keys, int64_t shift,
              int64_t rate);
  void addMasked(const Run &own, const Run &keys, int64_t shift, int64_t rate);
  bool showsAll(const Run &own, const Run &keys, int64_t rate) const;
  void addUnmasked(const Run &own, const Run &keys, int64_t rate);
  void add(const Run &own, const Run &keys, int64_t offset);

  const Attention &attention;
  const std::vector<Stretch> &queries;
  const std::vector<Stretch> &owned;
  const std::vector<Part> *layout;
  int64_t group;
  Reach reach;
  /// Of each part of the layout; one list for own keys.
  std::vector<std::vector<Run>> runs;
  /// Of each part, its first pair.
  std::vector<int64_t> bases;
  /// Pairs from a row to the next one in what the piece is about.
  int64_t beside = 1;
  /// All of a piece but its rows.
  Piece form;
  std::vector<Piece> pieces;
};

void PieceMaker::readKeys() {
  if (!layout) {
    runs.emplace_back();
    for (const Stretch &stretch : owned)
      appendRuns(stretch, runs.back());
    return;
  }
  int64_t base = 0;
  for (const Part &part : *layout) {
    runs.emplace_back();
    int64_t place = 0;
    for (const Rows &rows : part.rows) {
      appendRuns(rows, place, runs.back());
      place += rows.size();
    }
    bases.push_back(base);
    base += part.heads * place;
  }
  for (std::vector<Run> &list : runs)
    std::sort(list.begin(), list.end(),
              [](const Run &a, const Run &b) { return a.row < b.row; });
}

/// Whether all heads have the same rows, at equal distances.
bool PieceMaker::isUniform() const {
  return !layout || (layout->size() == 1 && layout->front().head == 0 &&
                     layout->front().heads == attention.keyHeads);
}

std::vector<Piece> PieceMaker::make() {
  readKeys();
  if (!runs.empty())
    for (size_t i = 0; i < attention.branches.size(); ++i)
      addBranch(static_cast<int64_t>(i));
  return std::move(pieces);
}

void PieceMaker::add(const Run &own, const Run &keys, int64_t offset) {
  Piece piece = form;
  piece.ofOwn = !layout;
  piece.queries = {own.place, own.count > 1 ? own.placeStep : 1, own.count};
  piece.keys = {keys.place * beside,
                keys.count > 1 ? keys.placeStep * beside : beside, keys.count};
  if (layout)
    piece.keys.first += piece.whole ? bases[0] : form.keys.first;
  piece.offset = offset;
  pieces.push_back(piece);
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

std::vector<HeadClass> PieceMaker::classesOf(const Branch &branch) const {
  bool grouped = takesGroups(attention, branch);
  int64_t begin = grouped ? branch.headBegin / group : branch.headBegin;
  int64_t end = grouped ? branch.headEnd / group : branch.headEnd;
  std::vector<HeadClass> result;
  for (int64_t head = begin; head < end; ++head) {
    HeadClass next;
    int64_t keyHead = grouped ? head : head / group;
    Branch one = branch;
    one.headBegin = grouped ? head * group : head;
    one.headEnd = one.headBegin + 1;
    next.residue = residuesOf(attention, one, keyHead).front().first;
    next.heads = {head, 1, 1};
    next.keyHead = keyHead;
    if (layout) {
      size_t part = 0;
      while (part < layout->size() &&
             ((*layout)[part].head > keyHead ||
              (*layout)[part].head + (*layout)[part].heads <= keyHead))
        ++part;
      if (part == layout->size())
        continue; // It sees none of them.
      next.part = part;
      next.keyHead = bases[part] + (keyHead - (*layout)[part].head);
    }
    // Joins a class whose heads it continues.
    bool joined = false;
    for (HeadClass &with : result) {
      int64_t step =
          head - (with.heads.first + (with.heads.count - 1) * with.heads.step);
      int64_t keyStep = next.keyHead - (with.keyHead + (with.heads.count - 1) *
                                                           with.keyHeadStep);
      bool same = with.residue == next.residue &&
                  (!layout || with.part == next.part ||
                   ((*layout)[with.part].rows == (*layout)[next.part].rows &&
                    (*layout)[with.part].heads == (*layout)[next.part].heads));
      if (!same || (with.heads.count > 1 &&
                    (step != with.heads.step || keyStep != with.keyHeadStep)))
        continue;
      with.heads.step = step;
      with.keyHeadStep = keyStep;
      ++with.heads.count;
      joined = true;
      break;
    }
    if (!joined)
      result.push_back(next);
  }
  return result;
}

void PieceMaker::addBranch(int64_t number) {
  const Branch &branch = attention.branches[number];
  form = Piece();
  form.branch = number;
  bool isDense = branch.segment == 0 && branch.dilation == 1;
  bool hasAllHeads =
      branch.headBegin == 0 && branch.headEnd == attention.queryHeads;
  std::vector<Run> left;
  bool isLeft = isUniform() && !(isDense && hasAllHeads);
  if (isLeft) {
    left = runs.front();
    beside = layout ? layout->front().heads : 1;
    form.whole = true;
    form.heads = {0, 1, attention.queryHeads};
    form.keyHeadStep = 1;
    addWhole(branch, left);
    form.whole = false;
  }
  form.grouped = takesGroups(attention, branch);
  for (const HeadClass &heads : classesOf(branch)) {
    form.heads = heads.heads;
    form.keyHead = layout ? 0 : heads.keyHead;
    form.keys.first = layout ? heads.keyHead : 0;
    form.keyHeadStep = heads.keyHeadStep;
    beside = layout ? (*layout)[heads.part].heads : 1;
    // One kernel does for both.
    if (isDense && hasAllHeads && isUniform()) {
      form.whole = true;
      form.grouped = false;
      form.heads = {0, 1, attention.queryHeads};
      form.keyHeadStep = 1;
    }
    addClass(branch, heads, isLeft ? left : runs[heads.part]);
  }
}

//===----------------------------------------------------------------------===//
// Whole segments
//===----------------------------------------------------------------------===//

/// Takes what begins with a segment, or with residue 0 of a single one, out of
/// the runs.
void PieceMaker::addWhole(const Branch &branch, std::vector<Run> &keys) {
  auto rowsIn = [](const Sequence &sequence, const Run &run) {
    return overlap({sequence.key, sequence.key + sequence.keys},
                   {run.row, run.end()});
  };
  // Of blocks that are dealt out, each with each would be too many.
  std::vector<bool> isDealt;
  for (const Sequence &sequence : attention.sequences)
    isDealt.push_back(
        branch.segment == 0 &&
        std::count_if(keys.begin(), keys.end(), [&](const Run &run) {
          return !rowsIn(sequence, run).empty();
        }) > 4);
  std::vector<Run> rest;
  for (const Run &run : keys) {
    if (run.step != 1 || run.count == 1) {
      rest.push_back(run);
      continue;
    }
    int64_t row = run.row;
    for (size_t i = 0; i < attention.sequences.size(); ++i) {
      const Sequence &sequence = attention.sequences[i];
      Interval rows = rowsIn(sequence, run);
      if (rows.empty() || isDealt[i])
        continue;
      int64_t unit = branch.segment ? branch.segment : branch.dilation;
      int64_t begin =
          sequence.key + ceilDiv(rows.begin - sequence.key, unit) * unit;
      if (begin >= rows.end)
        continue;
      if (begin > row)
        rest.push_back(cut(run, {row, begin}));
      addWhole(branch, sequence, cut(run, {begin, rows.end}));
      row = rows.end;
    }
    if (row < run.end())
      rest.push_back(cut(run, {row, run.end()}));
  }
  keys.swap(rest);
}

/// Keys that begin with a segment, and all queries of these segments.
void PieceMaker::addWhole(const Branch &branch, const Sequence &sequence,
                          const Run &keys) {
  int64_t shift = sequence.key + sequence.offset - sequence.query;
  Interval seen = {keys.row, kFar};
  if (branch.segment)
    seen.end =
        sequence.key +
        ceilDiv(keys.end() - sequence.key, branch.segment) * branch.segment;
  else
    seen.begin = -kFar;
  // Queries that see a key at all, by their key rows.
  if (reach.right < kFar)
    seen.begin = std::max(seen.begin, keys.row - reach.right);
  if (reach.left < kFar)
    seen.end = std::min(seen.end, keys.end() + reach.left);
  Interval rows = overlap({seen.begin - shift, seen.end - shift},
                          {sequence.query, sequence.query + sequence.queries});
  for (const Stretch &stretch : queries) {
    Interval numbers = repetitionsIn(stretch, rows);
    for (int64_t i = numbers.begin; i < numbers.end; ++i) {
      Interval whole = repetition(stretch, i);
      Run own = cut({whole.begin, 1, whole.end - whole.begin,
                     stretch.local + i * stretch.localStride, 1},
                    rows);
      if (own.count > 0)
        add(own, keys, own.row + shift - keys.row);
    }
  }
}

//===----------------------------------------------------------------------===//
// Residues of segments
//===----------------------------------------------------------------------===//

void PieceMaker::addClass(const Branch &branch, const HeadClass &heads,
                          const std::vector<Run> &keys) {
  for (const Stretch &stretch : queries) {
    std::map<std::pair<int64_t, int64_t>, Segment> segments;
    for (const Run &run : keys)
      forEachSharedSegment(
          attention, branch, stretch, {run.row, run.end()},
          [&](const SharedSegment &shared) {
            Run rows = select(run, shared.keys,
                              shared.keyClass(heads.residue, branch.dilation));
            if (rows.count == 0)
              return;
            Segment &segment = segments[{shared.origin, shared.shift}];
            segment.shared = shared;
            segment.stretch = &stretch;
            segment.keys.push_back(rows);
          });
    for (auto &[place, segment] : segments) {
      SharedSegment &shared = segment.shared;
      ResidueClass of = shared.queryClass(heads.residue, branch.dilation);
      std::vector<Run> own;
      Interval numbers = repetitionsIn(stretch, shared.queries);
      for (int64_t i = numbers.begin; i < numbers.end; ++i) {
        Interval rows = repetition(stretch, i);
        Run run = {rows.begin, 1, rows.end - rows.begin,
                   stretch.local + i * stretch.localStride, 1};
        run = select(run, shared.queries, of);
        if (run.count > 0)
          own.push_back(run);
      }
      // Without a mask, all queries that lie at equal distances are as one.
      if (reach.left >= kFar && reach.right >= kFar) {
        std::vector<Run> joined;
        for (const Run &run : own) {
          Run *last = joined.empty() ? nullptr : &joined.back();
          if (last && run.placeStep == last->placeStep &&
              run.place == last->place + last->count * last->placeStep)
            last->count += run.count;
          else
            joined.push_back(run);
        }
        own.swap(joined);
      }
      for (const Run &run : own)
        addRun(run, segment.keys, shared.shift, branch.dilation);
    }
  }
}

void PieceMaker::addRun(const Run &own, const std::vector<Run> &keys,
                        int64_t shift, int64_t rate) {
  int64_t first = own.row + shift, last = own.last() + shift;
  bool noMask = reach.left >= kFar && reach.right >= kFar;
  // What every query sees is put together as long as it lies at equal
  // distances: then its positions do not matter.
  Run seen;
  auto flush = [&] {
    if (seen.count > 0 && showsAll(own, seen, rate))
      addUnmasked(own, seen, rate);
    else if (seen.count > 0)
      addMasked(own, seen, shift, rate);
    seen.count = 0;
  };
  for (const Run &run : keys) {
    bool none = !noMask && (run.row > last + reach.right ||
                            run.last() < first - reach.left);
    if (none)
      continue;
    bool all = noMask || (run.last() <= first + reach.right &&
                          run.row >= last - reach.left);
    if (!all) {
      addMasked(own, run, shift, rate);
      continue;
    }
    int64_t step = seen.count > 1  ? seen.placeStep
                   : run.count > 1 ? run.placeStep
                                   : run.place - seen.place;
    Run longer = seen;
    longer.placeStep = step;
    longer.count += run.count;
    bool continues = seen.count > 0 && step > 0 &&
                     (run.count == 1 || run.placeStep == step) &&
                     run.place == seen.place + seen.count * step &&
                     showsAll(own, longer, rate);
    if (continues) {
      seen = longer;
      continue;
    }
    flush();
    seen = run;
  }
  flush();
}

/// Whether some offset lets a kernel show all of these keys to all queries.
bool PieceMaker::showsAll(const Run &own, const Run &keys, int64_t rate) const {
  return reach.left >= kFar || reach.right >= kFar ||
         own.count + keys.count - 2 <= reach.left / rate + reach.right / rate;
}

/// Keys that every query sees: -right <= i + offset - j <= left for all i, j.
void PieceMaker::addUnmasked(const Run &own, const Run &keys, int64_t rate) {
  int64_t offset = 0;
  if (reach.right < kFar)
    offset = keys.count - 1 - reach.right / rate;
  else if (reach.left < kFar)
    offset = reach.left / rate - (own.count - 1);
  add(own, keys, offset);
}

/// Keys of which a query sees some, by how far they are.
void PieceMaker::addMasked(const Run &own, const Run &keys, int64_t shift,
                           int64_t rate) {
  int64_t step = keys.count > 1 ? keys.step : rate;
  int64_t left = reach.left / rate, right = reach.right / rate;
  if (step == rate || reach.left >= kFar || reach.right >= kFar) {
    // Queries between the keys fall into as many classes, each of which has
    // them at equal distances.
    int64_t classes = step / rate;
    for (int64_t i = 0; i < std::min(classes, own.count); ++i) {
      Run some = own;
      some.row += i * own.step;
      some.place += i * own.placeStep;
      some.count = (own.count - i - 1) / classes + 1;
      some.step *= classes;
      some.placeStep *= classes;
      int64_t ahead = some.row + shift - keys.row;
      add(some, keys,
          reach.right < kFar ? floorDiv(ahead + reach.right, step) - right
                             : ceilDiv(ahead - reach.left, step) + left);
    }
    return;
  }
  // Each query alone sees all keys of an interval.
  for (int64_t i = 0; i < own.count; ++i) {
    int64_t row = own.row + i * own.step + shift;
    int64_t begin =
        std::max<int64_t>(0, ceilDiv(row - reach.left - keys.row, step));
    int64_t end =
        std::min(keys.count, floorDiv(row + reach.right - keys.row, step) + 1);
    // No longer than what the window of the kernel shows at once.
    int64_t most = left + right + 1;
    Run one = own;
    one.row = own.row + i * own.step;
    one.place = own.place + i * own.placeStep;
    one.count = 1;
    for (int64_t at = begin; at < end; at += most) {
      Run some = keys;
      some.row += at * step;
      some.place += at * keys.placeStep;
      some.count = std::min(most, end - at);
      addUnmasked(one, some, rate);
    }
  }
}

} // namespace

std::vector<Piece> piecesOf(const ShardedAttention &sharded, int64_t rank,
                            int64_t owner, const std::vector<Part> *layout) {
  if (sharded.queries.size(rank) == 0)
    return {};
  return PieceMaker(sharded, rank, owner, layout).make();
}

} // namespace ringlet::ring
