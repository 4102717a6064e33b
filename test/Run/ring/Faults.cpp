//===- Faults.cpp - What ends a call on all ranks ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/ring/Ring.h"

#include <chrono>
#include <cstdio>
#include <thread>
#include <tuple>

namespace ringlet::ringtest {

namespace {

const char *const text = R"(
#ring = #rlayout.layout<ring = #rlayout.ring<?, zigzag>>
#rows = #rlayout.layout<ring = #rlayout.ring<?, zigzag>, axis = 2>
func.func @main(%q: tensor<1x?x2x8xf32, #ring>, %k: tensor<1x?x2x8xf32, #ring>,
                %v: tensor<1x?x2x8xf32, #ring>)
    -> (tensor<1x?x2x8xf32, #ring>) {
  %o, %l = ringlet.attention %q, %k, %v branches [<w = *, r = 1>] causal
    : (tensor<1x?x2x8xf32, #ring>, tensor<1x?x2x8xf32, #ring>,
       tensor<1x?x2x8xf32, #ring>)
    -> (tensor<1x?x2x8xf32, #ring>, tensor<1x2x?xf32, #rows>)
  return %o : tensor<1x?x2x8xf32, #ring>
}
)";

/// The same of padded sequences.
std::string paddedText() {
  std::string text = ringtest::text;
  auto replace = [&](const std::string &from, const std::string &to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("%v: tensor<1x?x2x8xf32, #ring>)",
          "%v: tensor<1x?x2x8xf32, #ring>, %n: tensor<1xi64>)");
  replace("causal", "lengths(%n, %n)");
  replace("tensor<1x?x2x8xf32, #ring>)\n    -> (tensor<1x?x2x8xf32, #ring>, ",
          "tensor<1x?x2x8xf32, #ring>, tensor<1xi64>, tensor<1xi64>)\n"
          "    -> (tensor<1x?x2x8xf32, #ring>, ");
  return text;
}

/// A call with `rows` rows on this rank; of padded sequences, a length of them.
std::string call(rl_ring *ring, const Program &program, int64_t rows,
                 std::optional<int64_t> length = std::nullopt) {
  std::vector<float> memory[4];
  int64_t sizes[] = {1, rows, 2, 8}, one = 1;
  std::vector<rl_tensor> tensors;
  for (auto &tensor : memory) {
    tensor.assign(size_t(rows * 16 + 1), 1.0f);
    if (length && tensors.size() == 3)
      tensors.push_back(RL_TENSOR_INIT(&*length, RL_I64, 1, &one, nullptr));
    tensors.push_back(RL_TENSOR_INIT(tensor.data(), RL_F32, 4, sizes, nullptr));
  }
  if (rl_ring_run(ring, program.program, 0, tensors.data(),
                  uint32_t(tensors.size())) != RL_OK)
    return rl_last_error();
  return "";
}

struct Case {
  const char *name;
  /// What one rank, number 1, does in place of a call.
  std::function<std::string(rl_ring *)> odd;
  /// What the others say.
  std::string expected;
  /// Whether the next call succeeds.
  bool goesOn = false;
  /// What the others do in place of a call of the first artefact.
  std::function<std::string(rl_ring *)> others = nullptr;
};

bool holds(const Case &one, const Program &program,
           const std::string &transport) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> messages =
      onRing(3, transport, 2, [&](rl_ring *ring) -> std::string {
        std::string message = rl_ring_rank(ring) == 1 ? one.odd(ring)
                              : one.others            ? one.others(ring)
                                                      : call(ring, program, 8);
        if (!one.goesOn)
          return message;
        std::string next = call(ring, program, 8);
        return next.empty() ? message : "afterwards: " + next;
      });
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  bool good = seconds < 2 + 5;
  for (int rank : {0, 2})
    good &= messages[rank].find(one.expected) != std::string::npos;
  std::printf("%s, %s: %s (%.1f s)\n", good ? "good" : "BAD", one.name,
              messages[0].c_str(), seconds);
  if (!good)
    std::printf("  others say: %s\n", messages[2].c_str());
  return good;
}

} // namespace

int runFaults(const Setup &setup) {
  const std::string plain = text;
  std::string otherText = plain;
  otherText.replace(plain.find("causal"), 6, "      ");
  Program program, other, padded;
  for (const auto &[to, name, from] :
       {std::tuple(&program, "fault", plain),
        std::tuple(&other, "other-fault", otherText),
        std::tuple(&padded, "padded-fault", paddedText())}) {
    std::string error = compileGraph(setup, name, from);
    if (error.empty())
      error = to->load(setup, name);
    if (!error.empty()) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 1;
    }
  }
  // A call of all ranks, of which rank 1 has another length.
  auto callPadded = [&](rl_ring *ring) {
    return call(ring, padded, 8, rl_ring_rank(ring) == 1 ? 6 : 7);
  };
  const Case cases[] = {
      {"another artefact", [&](rl_ring *ring) { return call(ring, other, 8); },
       "rank 1: expected artefact", true},
      {"a part of another size",
       [&](rl_ring *ring) { return call(ring, program, 11); },
       "rows, its part of 27", true},
      {"other lengths of sequences", callPadded,
       "rank 1: expected the starts, lengths and positions of sequences of "
       "rank 0, found others (G3)",
       true, callPadded},
      {"gives up",
       [&](rl_ring *ring) {
         rl_ring_abort(ring, "enough");
         return std::string();
       },
       "rank 1"},
      {"never calls",
       [&](rl_ring *ring) {
         while (rl_ring_status(ring) == RL_OK)
           std::this_thread::sleep_for(std::chrono::milliseconds(20));
         return std::string();
       },
       "rank 1"},
  };
  int bad = 0;
  for (const char *transport : {"inprocess", "socket"})
    for (const Case &one : cases)
      bad += !holds(one, program, transport);
  return bad;
}

} // namespace ringlet::ringtest
