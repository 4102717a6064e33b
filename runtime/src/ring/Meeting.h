//===- ring/Meeting.h - Both ends of a message, before it travels -*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_MEETING_H
#define RINGLET_RUNTIME_RING_MEETING_H

#include "Transport.h"

namespace ringlet::rt::ring {

/// Messages of devices have no names, and what moves them does not know when
/// their ends are ready. So the ends of each tell each other over `control`,
/// which outlives the meeting, as does the abort.
class Meeting {
public:
  /// The most bytes that a receiver tells its sender.
  static constexpr size_t kMostWords = 84;
  using WaitsFor = std::function<void(int64_t)>;

  Meeting(int64_t rank, Transport &control, Abort &abort)
      : rank(rank), control(control), abort(abort) {}

  /// Returns when both ends of all messages have come to them and agree on
  /// their sizes. `words`, if there are any, are what each receiver tells its
  /// sender; `heard`, if it is not null, becomes what this rank hears as one.
  std::optional<Trouble> begin(const Exchange &exchange, Deadline deadline,
                               const WaitsFor &waitsFor,
                               const std::vector<std::string> &words = {},
                               std::vector<std::string> *heard = nullptr);
  /// Tells receivers that what this rank sends is there; returns when it has
  /// heard so of all that it receives.
  std::optional<Trouble> end(const Exchange &exchange, Deadline deadline,
                             const WaitsFor &waitsFor);

private:
  const int64_t rank;
  Transport &control;
  Abort &abort;
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_MEETING_H
