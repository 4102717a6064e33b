//===- SideChannel.cpp - Life signs, failures, handshakes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SideChannel.h"

#include <algorithm>
#include <cstdlib>

namespace ringlet::rt::ring {

int64_t blame(int64_t first, const std::vector<Activity> &activities,
              const std::function<bool(int64_t)> &isSilent) {
  int64_t at = first;
  for (size_t i = 0; i < activities.size(); ++i) {
    int64_t next = activities[at].waitsFor;
    if (next < 0 || next == at || isSilent(at))
      return at;
    at = next;
  }
  return first;
}

namespace {

/// With their lengths, so that values may hold any characters.
std::string write(const Facts &facts) {
  std::string out;
  for (const auto &[name, value] : facts)
    for (const std::string *word : {&name, &value})
      out += text(word->size(), ":", *word);
  return out;
}

Facts read(const std::string &words) {
  size_t at = 0;
  auto word = [&]() -> std::string {
    size_t colon = words.find(':', at);
    if (colon == std::string::npos) {
      at = words.size();
      return {};
    }
    size_t size = std::strtoull(words.c_str() + at, nullptr, 10);
    std::string result = words.substr(colon + 1, size);
    at = colon + 1 + result.size();
    return result;
  };
  Facts facts;
  while (at < words.size()) {
    std::string name = word();
    facts.emplace_back(name, word());
  }
  return facts;
}

std::string difference(const Facts &expected, const Facts &found) {
  for (size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
    if (expected[i].first != found[i].first)
      return text("expected ", expected[i].first, " ", expected[i].second,
                  ", found ", found[i].first, " ", found[i].second);
    if (expected[i].second != found[i].second)
      return text("expected ", expected[i].first, " ", expected[i].second,
                  ", found ", found[i].second);
  }
  return text("expected ", expected.size(), " facts of a call, found ",
              found.size());
}

} // namespace

Status agree(SideChannel &channel, const Facts &facts, Deadline deadline) {
  std::vector<std::string> all;
  RL_TRY(channel.gather(write(facts), all, deadline));
  // What most ranks say; where there is no majority, the lowest rank is right.
  size_t most = 0;
  int64_t best = 0;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    int64_t count = std::count(all.begin(), all.end(), all[rank]);
    if (count > best) {
      best = count;
      most = rank;
    }
  }
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != all[most])
      return failure(RL_INVALID_ARGUMENT, "rank ", rank, ": ",
                     difference(read(all[most]), read(all[rank])),
                     ", unlike rank ", most, " (G3)");
  return {};
}

} // namespace ringlet::rt::ring
