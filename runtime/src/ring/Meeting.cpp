//===- ring/Meeting.cpp - Both ends of a message, before it travels -*- C++
//-*-//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Meeting.h"

#include <algorithm>
#include <cstring>

namespace ringlet::rt::ring {

namespace {

/// What the ends of a message tell each other.
enum Said : int64_t { Announced, Expected, Arrived, kSaid };

MessageId wordOf(MessageId id, Said said) {
  id.part = kSaid * id.part + said;
  return id;
}

struct Word {
  uint64_t size = 0;
  uint32_t count = 0;
  char text[Meeting::kMostWords] = {};
};
static_assert(sizeof(Word) == 96, "no padding travels");

std::string otherSize(uint64_t wanted, uint64_t found) {
  return text("expected a message of ", wanted, " bytes, found ", found);
}

} // namespace

std::optional<Trouble> Meeting::begin(const Exchange &exchange,
                                      Deadline deadline,
                                      const WaitsFor &waitsFor,
                                      const std::vector<std::string> &words,
                                      std::vector<std::string> *heard) {
  const size_t sends = exchange.sends.size();
  const size_t all = sends + exchange.receives.size();
  std::vector<Word> own(all), other(all);
  Exchange talk;
  talk.step = exchange.step;
  talk.queue = exchange.queue;
  auto add = [&](size_t i, int64_t peer, MessageId out, MessageId in,
                 size_t size) {
    own[i].size = size;
    talk.sends.push_back({peer, out, &own[i], sizeof own[i]});
    talk.receives.push_back({peer, in, &other[i], sizeof other[i]});
  };
  for (size_t i = 0; i < sends; ++i) {
    const Outgoing &send = exchange.sends[i];
    add(i, send.to, wordOf(send.id, Announced), wordOf(send.id, Expected),
        send.size);
  }
  for (size_t i = sends; i < all; ++i) {
    const Incoming &receive = exchange.receives[i - sends];
    add(i, receive.from, wordOf(receive.id, Expected),
        wordOf(receive.id, Announced), receive.size);
    if (words.empty())
      continue;
    const std::string &text = words[i - sends];
    own[i].count = static_cast<uint32_t>(std::min(text.size(), kMostWords));
    std::memcpy(own[i].text, text.data(), own[i].count);
  }
  if (auto trouble = control.exchange(talk, deadline, waitsFor))
    return trouble;
  for (size_t i = sends; i < all; ++i)
    if (own[i].size != other[i].size)
      return Trouble{{talk.receives[i].from, exchange.step,
                      otherSize(own[i].size, other[i].size)}};
  // Receivers tell of the sender; where that is this rank, they have begun to.
  for (size_t i = 0; i < sends; ++i)
    if (own[i].size != other[i].size)
      return abort.raisedWithin(kReasonGrace)
                 ? Trouble{*abort.failure()}
                 : Trouble{{rank, exchange.step,
                            otherSize(other[i].size, own[i].size)}};
  if (heard)
    for (size_t i = 0; i < sends; ++i)
      heard->emplace_back(other[i].text,
                          std::min<size_t>(other[i].count, kMostWords));
  return std::nullopt;
}

std::optional<Trouble> Meeting::end(const Exchange &exchange, Deadline deadline,
                                    const WaitsFor &waitsFor) {
  Exchange talk;
  talk.step = exchange.step;
  talk.queue = exchange.queue;
  for (const Outgoing &send : exchange.sends)
    talk.sends.push_back({send.to, wordOf(send.id, Arrived), nullptr, 0});
  for (const Incoming &receive : exchange.receives)
    talk.receives.push_back(
        {receive.from, wordOf(receive.id, Arrived), nullptr, 0});
  return control.exchange(talk, deadline, waitsFor);
}

} // namespace ringlet::rt::ring
