//===- ScheduleTest.cpp - Roles, channels, products, turns ----------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

/// O = sum over key tiles of (Q K') V, in whole numbers: every result is exact.
/// The product with the values is one step late, as in attention.
static const char *const kProducts = R"(
!mem = memref<?x16xbf16, strided<[?, 1]>>
!out = memref<?x16xf32, strided<[?, 1]>>
!tall = !rtile.view<128x16xbf16>
!view = !rtile.view<16x16xbf16>
!sums_view = !rtile.view<128x16xf32>
!query_chan = !rtile.channel<128x16xbf16>
!query_slot = !rtile.slot<128x16xbf16>
!chan = !rtile.channel<16x16xbf16>
!slot = !rtile.slot<16x16xbf16>
!sums = tensor<128x16xf32, #rtile.fragment<8>>
!left = tensor<128x16xbf16, #rtile.fragment<8>>
!smem = tensor<16x16xbf16, #rtile.swizzled>
rtile.func @products(%Q: !mem, %K: !mem, %V: !mem, %O: !out, %steps: index)
    grid(%tile: index, %twin: index) scheduled walk = <WALK> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %q = rtile.view %Q[*, *] : !mem to !tall
  %k = rtile.view %K[*, *] : !mem to !view
  %v = rtile.view %V[*, *] : !mem to !view
  %o = rtile.view %O[*, *] : !out to !sums_view
  %twice = arith.muli %tile, %c2 : index
  %item = arith.addi %twice, %twin : index
  %row = arith.muli %item, %c128 : index
  %rest = arith.subi %steps, %c1 : index
  %last = arith.muli %rest, %c16 : index
  %qs = rtile.channel slots = 1 : !query_chan
  %ks = rtile.channel slots = 2 : !chan // @keys
  %vs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 registers = 40 {
    %q_slot = rtile.acquire %qs : !query_chan
    rtile.copy %q[%row, %c0] to %q_slot : !tall, !query_slot // @copy-q
    %k_slot0 = rtile.acquire %ks : !chan
    rtile.copy %k[%c0, %c0] to %k_slot0 : !view, !slot
    scf.for %n = %c0 to %last step %c16 {
      %next = arith.addi %n, %c16 : index
      %k_slot = rtile.acquire %ks : !chan
      rtile.copy %k[%next, %c0] to %k_slot : !view, !slot // @copy-k
      %v_slot = rtile.acquire %vs : !chan
      rtile.copy %v[%n, %c0] to %v_slot : !view, !slot // @copy-v
    }
    %v_slot1 = rtile.acquire %vs : !chan // @acquire-v1
    rtile.copy %v[%last, %c0] to %v_slot1 : !view, !slot // @copy-v1
  }
  rtile.role "compute" warps = 8 registers = 232 {
    %zero = arith.constant dense<0.0> : !sums
    %q_slot = rtile.await %qs : !query_chan
    %q_tile = rtile.read %q_slot : !query_slot -> !left
    rtile.release %q_slot : !query_slot // @release-q
    %k_slot0 = rtile.await %ks : !chan
    %k_tile0 = rtile.read %k_slot0 : !slot -> !smem
    %s0 = rtile.start_dot %q_tile, %k_tile0 transposed : !left, !smem -> !sums
    %scores0 = rtile.finish_dot %s0 : !sums // @finish-0
    rtile.release %k_slot0 : !slot // @release-k0
    %p0 = arith.truncf %scores0 : !sums to !left
    %acc, %p = scf.for %n = %c0 to %last step %c16
        iter_args(%acc_before = %zero, %p_before = %p0) -> (!sums, !left) {
      %k_slot, %v_slot = rtile.await %ks, %vs : !chan, !chan
      %k_tile = rtile.read %k_slot : !slot -> !smem // @read-k
      %v_tile = rtile.read %v_slot : !slot -> !smem // @read-v
      %s, %a = rtile.in_turn
          -> !rtile.pending<!sums>, !rtile.pending<!sums> { // @turn
        %t = rtile.start_dot %q_tile, %k_tile transposed : !left, !smem -> !sums // @start-s
        %u = rtile.start_dot %p_before, %v_tile init(%acc_before) : !left, !smem -> !sums // @start-a
        rtile.yield %t, %u : !rtile.pending<!sums>, !rtile.pending<!sums>
      }
      %scores = rtile.finish_dot %s : !sums // @finish-s
      rtile.release %k_slot : !slot // @release-k
      %acc_next = rtile.finish_dot %a : !sums // @finish-a
      rtile.release %v_slot : !slot // @release-v
      %p_next = arith.truncf %scores : !sums to !left
      scf.yield %acc_next, %p_next : !sums, !left
    } // @end
    %v_slot1 = rtile.await %vs : !chan
    %v_tile1 = rtile.read %v_slot1 : !slot -> !smem
    %a1 = rtile.start_dot %p, %v_tile1 init(%acc) : !left, !smem -> !sums // @start-1
    %sum = rtile.finish_dot %a1 : !sums // @finish-1
    rtile.release %v_slot1 : !slot // @release-1
    rtile.store %sum, %o[%row, %c0] : !sums, !sums_view // @store
  }
  rtile.return
}
)";

namespace {

constexpr int64_t kDepth = 16, kQueryRows = 128, kKeyRows = 16;

/// One line of the kernel, which ends in "// @" and a name, becomes another.
struct Edit {
  const char *line;
  /// "$" stands for the line as it is.
  std::string text;
};

std::string edit(std::string program, const std::vector<Edit> &edits,
                 const std::string &walk = "strided") {
  auto replace = [&](const std::string &what, const std::string &with) {
    size_t at = program.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    program.replace(at, what.size(), with);
  };
  replace("WALK", walk);
  for (const Edit &change : edits) {
    size_t mark = program.find("// @" + std::string(change.line) + "\n");
    if (mark == std::string::npos) {
      ADD_FAILURE() << "no line " << change.line;
      return program;
    }
    size_t begin = program.rfind('\n', mark) + 1;
    std::string line = program.substr(begin, mark - begin), text = change.text;
    if (size_t dollar = text.find('$'); dollar != std::string::npos)
      text.replace(dollar, 1, line);
    program.replace(begin, mark - begin, text + " ");
  }
  return program;
}

/// A call with random small numbers.
class Call {
public:
  Call(int64_t tiles, int64_t steps)
      : tiles(tiles), steps(steps), q(makeRandom(tiles * 2 * kQueryRows)),
        k(makeRandom(steps * kKeyRows)), v(makeRandom(steps * kKeyRows)),
        o(DType::f32, {tiles * 2 * kQueryRows, kDepth}) {}

  /// Runs a kernel. The empty string, the error, or what differs.
  std::string run(const std::string &program, const Options &options = {}) {
    std::string error = Module(program).runKernel(
        "products", {q.view(), k.view(), v.view(), o.view(), steps}, {tiles, 2},
        options);
    if (!error.empty())
      return error;
    return elements(o) == expect() ? "" : "the values differ";
  }

private:
  Tensor makeRandom(int64_t rows) {
    std::vector<double> values(rows * kDepth);
    for (double &value : values)
      value = static_cast<double>(random.pick(-1, 1));
    return makeTensor(DType::bf16, {rows, kDepth}, values);
  }
  std::vector<double> expect() const {
    std::vector<double> left = elements(q), keys = elements(k),
                        values = elements(v),
                        sums(tiles * 2 * kQueryRows * kDepth);
    for (int64_t i = 0; i < tiles * 2 * kQueryRows; ++i)
      for (int64_t n = 0; n < steps * kKeyRows; ++n) {
        double score = 0;
        for (int64_t d = 0; d < kDepth; ++d)
          score += left[i * kDepth + d] * keys[n * kDepth + d];
        for (int64_t d = 0; d < kDepth; ++d)
          sums[i * kDepth + d] += score * values[n * kDepth + d];
      }
    return sums;
  }

  Random random{20261129};
  int64_t tiles, steps;
  Tensor q, k, v, o;
};

} // namespace

TEST(Schedule, EveryInterleavingHasOneResult) {
  for (const char *walk :
       {"strided", "dynamic", "each", "strided, order = [1, 0]",
        "strided, order = [1, 0], reversed = [0]",
        "each, order = [0, 1], section = 1",
        "dynamic, section = 1, rows = 20, length = [1, 0]",
        "each, section = 1, per_block = 2"})
    for (int64_t steps : {1, 2, 5}) {
      std::string program = edit(kProducts, {}, walk);
      for (int64_t seed = -1; seed < 12; ++seed) {
        Options options;
        if (seed >= 0)
          options.interleaving = seed;
        Call call(/*tiles=*/seed % 3 + 2, steps);
        EXPECT_EQ(call.run(program, options), "")
            << walk << ", " << steps << " steps, seed " << seed;
      }
    }
}

TEST(Schedule, EmptyGridAndNoSteps) {
  EXPECT_EQ(Call(0, 1).run(edit(kProducts, {})), "");
}

/// Every mistake is noticed, whatever goes first.
static void expectFault(const std::vector<Edit> &edits,
                        const std::vector<std::string> &parts) {
  std::string program = edit(kProducts, edits);
  for (int64_t seed = -1; seed < 6; ++seed) {
    Options options;
    if (seed >= 0)
      options.interleaving = seed;
    std::string error = Call(2, 5).run(program, options);
    for (const std::string &part : parts)
      EXPECT_NE(error.find(part), std::string::npos)
          << "expected '" << part << "' with seed " << seed << " in: " << error;
  }
}

TEST(Schedule, TilesThatNobodyCopies) {
  expectFault({{"acquire-v1", ""}, {"copy-v1", ""}},
              {"'rtile.func' op expected some role to go on, found all of them "
               "waiting or at their end: role 'load' has ended; role 'compute'",
               "waits for a full slot of channel 2",
               "channel 2: 2 empty, 0 full, 0 awaited and not released"});
  expectFault({{"copy-v1", ""}},
              {"'rtile.role' op expected every acquired slot to be filled, "
               "found one of channel 2 that is not at the end of the point, in "
               "role 'load', at point ("});
}

TEST(Schedule, TilesThatNobodyReads) {
  // One point alone, so that nobody comes to read it.
  std::string program =
      edit(kProducts,
           {{"copy-v1", "$ %x = rtile.acquire %qs : !query_chan\n"
                        "rtile.copy %q[%c0, %c0] to %x : !tall, "
                        "!query_slot"}},
           "each");
  std::string error = Call(1, 3).run(program);
  EXPECT_NE(
      error.find("'rtile.channel' op expected all slots of the channel to "
                 "be empty after the last point of a block, found channel "
                 "0: 0 empty, 1 full, 0 awaited and not released"),
      std::string::npos)
      << error;
}

TEST(Schedule, SlotsThatAreUsedTooLate) {
  expectFault({{"release-k0", ""}, {"end", "$ rtile.release %k_slot0 : !slot"}},
              {"expected some role to go on, found all of them waiting",
               "role 'load', at point (",
               "waits for an empty slot of channel 1",
               "waits for a full slot of channel 1",
               "channel 1: 1 empty, 0 full, 1 awaited and not released"});
  expectFault(
      {{"release-k", ""}, {"read-k", "rtile.release %k_slot : !slot\n$"}},
      {"'rtile.read' op expected a slot that the role has not released",
       "in role 'compute', group "});
  expectFault(
      {{"release-k", ""}, {"turn", "$ rtile.release %k_slot : !slot\n"}},
      {"'rtile.start_dot' op reads a tile in a slot: expected a slot "
       "that the role has not released, found it released"});
  expectFault(
      {{"release-k", ""}, {"finish-s", "rtile.release %k_slot : !slot\n$"}},
      {"'rtile.release' op expected the products that read the slot to "
       "be finished before its release, found one under way"});
  expectFault({{"release-k", "$ rtile.release %k_slot : !slot"}},
              {"expected a slot that the role has not released"});
}

TEST(Schedule, SlotsThatAreLeft) {
  expectFault({{"release-q", ""}},
              {"'rtile.role' op expected every awaited slot to be released, "
               "found one of channel 0 that is not at the end of the point",
               "in role 'compute'"});
  expectFault(
      {{"copy-k", "$ rtile.copy %k[%next, %c0] to %k_slot : !view, !slot"}},
      {"'rtile.copy' op expected a slot to be filled once, found a "
       "second time, in role 'load', at point ("});
}

TEST(Schedule, Products) {
  expectFault({{"finish-a", ""},
               {"finish-s", "%acc_next = rtile.finish_dot %a : !sums\n$"}},
              {"'rtile.finish_dot' op expected products to be finished in the "
               "order in which they were started, found an earlier one"});
  expectFault({{"finish-0", "$ %again = rtile.finish_dot %s0 : !sums"}},
              {"expected one rtile.finish_dot of a product, found a second "
               "one"});
  expectFault({{"finish-1", "%sum = arith.addf %zero, %zero : !sums"},
               {"release-1", "scf.if %c { rtile.release %v_slot1 : !slot }"},
               {"start-1", "$ %c = arith.cmpi slt, %steps, %c0 : index"}},
              {"expected every product to be finished, found one under way at "
               "the end of the point"});
  expectFault(
      {{"finish-s", "$ %w = arith.addf %acc_before, %acc_before : !sums"}},
      {"'arith.addf' op expected the sums that a product adds to not "
       "to be used before it is finished"});
  expectFault({{"finish-a", "%acc_next = arith.addf %scores, %scores : !sums"},
               {"release-v", ""}},
              {"expected the registers that a product reads not to be written "
               "before it is finished"});
}

TEST(Schedule, WrongTiles) {
  // Nothing is wrong with the order here: the values show it.
  for (const std::vector<Edit> &edits : std::vector<std::vector<Edit>>{
           {{"copy-k", "rtile.copy %k[%n, %c0] to %k_slot : !view, !slot"}},
           {{"copy-v", "rtile.copy %v[%next, %c0] to %v_slot : !view, !slot"}},
           {{"copy-v1", "rtile.copy %v[%c0, %c0] to %v_slot1 : !view, !slot"}},
           {{"start-s", "%t = rtile.start_dot %q_tile, %k_tile : !left, !smem "
                        "-> !sums"}}})
    expectFault(edits, {"the values differ"});
}

TEST(Schedule, TurnsCannotWaitForEachOther) {
  // The second group waits for its turn while the first one, in its own, waits
  // for a slot that both have to release.
  expectFault(
      {{"keys", "%ks = rtile.channel slots = 1 : !chan"},
       {"start-s", "rtile.release %k_slot : !slot\n%k_slot2 = rtile.await %ks "
                   ": !chan\n%k_tile2 = rtile.read %k_slot2 : !slot -> !smem\n"
                   "%t = rtile.start_dot %q_tile, %k_tile2 transposed : !left, "
                   "!smem -> !sums"},
       {"release-k", ""}},
      {"expected some role to go on", "waits for its turn"});
}
