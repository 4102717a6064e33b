//===- ScratchPlan.cpp - Places in scratch memory by lifetime -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/ScratchPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace ringlet::cpu;

/// A cache line, and the widest vector.
static constexpr int64_t alignment = 64;

int64_t ScratchPlan::addPlace(int64_t bytes, std::string shape) {
  int64_t index = places.size();
  places.push_back({bytes, index, 0, std::move(shape), {}, {}, {}});
  return index;
}

void ScratchPlan::addLifetime(int64_t place, Lifetime exact, Lifetime wide) {
  Place &root = places[find(place)];
  root.exact.push_back(exact);
  root.wide.push_back(wide);
}

void ScratchPlan::forbidUpdate(int64_t place, int64_t point) {
  places[find(place)].ordered.insert(point);
}

int64_t ScratchPlan::find(int64_t place) {
  while (places[place].parent != place)
    place = places[place].parent = places[places[place].parent].parent;
  return place;
}

bool ScratchPlan::mayShare(const Place &a, const Place &b) const {
  // True if `from` hands over to `to` where it ends.
  auto handsOver = [](const Place &place, Lifetime from, Lifetime to) {
    return from.end == to.begin && from.begin < to.begin &&
           !place.ordered.contains(from.end);
  };
  for (Lifetime x : a.exact)
    for (Lifetime y : b.exact)
      if (x.begin <= y.end && y.begin <= x.end && !handsOver(a, x, y) &&
          !handsOver(b, y, x))
        return false;
  return true;
}

bool ScratchPlan::tryShare(int64_t a, int64_t b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return true;
  if (places[a].shape != places[b].shape || !mayShare(places[a], places[b]))
    return false;
  places[b].parent = a;
  llvm::append_range(places[a].exact, places[b].exact);
  llvm::append_range(places[a].wide, places[b].wide);
  places[a].ordered.insert(places[b].ordered.begin(), places[b].ordered.end());
  return true;
}

int64_t ScratchPlan::allocate() {
  llvm::SmallVector<int64_t> order;
  for (int64_t index = 0; index < int64_t(places.size()); ++index)
    if (find(index) == index)
      order.push_back(index);
  llvm::stable_sort(order, [&](int64_t a, int64_t b) {
    return places[a].bytes > places[b].bytes;
  });
  auto meet = [](const Place &a, const Place &b) {
    return llvm::any_of(a.wide, [&](Lifetime x) {
      return llvm::any_of(b.wide, [&](Lifetime y) {
        return x.begin <= y.end && y.begin <= x.end;
      });
    });
  };
  int64_t total = 0;
  llvm::SmallVector<int64_t> done;
  for (int64_t index : order) {
    Place &place = places[index];
    llvm::SmallVector<std::pair<int64_t, int64_t>> taken;
    for (int64_t other : done)
      if (meet(place, places[other]))
        taken.push_back(
            {places[other].offset, places[other].offset + places[other].bytes});
    llvm::sort(taken);
    place.offset = 0;
    for (auto [begin, end] : taken) {
      if (begin >= place.offset + place.bytes)
        break;
      place.offset =
          std::max<int64_t>(place.offset, llvm::alignTo(end, alignment));
    }
    total = std::max(total, place.offset + place.bytes);
    done.push_back(index);
  }
  return llvm::alignTo(total, alignment);
}
