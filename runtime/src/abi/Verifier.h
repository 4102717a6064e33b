//===- Verifier.h - Shared state of the artefact verifier ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each check returns true, or records one message and returns false. Messages
// name the place first ("function 'f', plan 0, step 3"), then what was expected
// and what was found.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_ABI_VERIFIER_H
#define RINGLET_RUNTIME_ABI_VERIFIER_H

#include "Lists.h"

#include "ringlet/abi/ArtifactGenerated.h"
#include "ringlet/abi/Limits.h"
#include "ringlet/abi/Verify.h"

#include <string>
#include <vector>

namespace ringlet::abi {

class Verifier {
public:
  Verifier(const Artifact &artifact, const uint8_t *payload)
      : artifact(artifact), payload(payload) {}

  bool verify();
  std::string error;

private:
  bool fail(const std::string &place, const std::string &what);
  /// `count` things where at most `limit` are allowed.
  bool checkCount(const std::string &place, const char *what, uint32_t count,
                  uint32_t limit);
  bool checkIndex(const std::string &place, const char *what, uint32_t index,
                  uint32_t count);
  /// A printable name of moderate length.
  bool checkName(const std::string &place, const char *what,
                 const flatbuffers::String *name);
  /// Any text without a zero byte; may be null.
  bool checkText(const std::string &place, const char *what,
                 const flatbuffers::String *text);
  bool
  checkPairs(const std::string &place,
             const flatbuffers::Vector<flatbuffers::Offset<KeyValue>> *pairs);
  bool checkDType(const std::string &place, DType dtype);
  /// FlatBuffers sees to the alignment of tables, but not to that of elements
  /// that are larger than the count in front of them.
  template <typename T>
  bool checkAligned(const std::string &place,
                    const flatbuffers::Vector<T> *list, size_t alignment) {
    return sizeOf(list) == 0 || checkOffset(place, list->Data(), alignment);
  }
  bool checkOffset(const std::string &place, const uint8_t *data,
                   size_t alignment);
  /// Rank within bounds, every size at least `least`.
  bool checkSizes(const std::string &place, const char *what,
                  const flatbuffers::Vector<int64_t> *sizes, int64_t least);
  bool checkOrder(const std::string &place, const Order &order);

  bool verifyCodeObjects();
  bool verifyConstants();
  bool verifyKernel(const std::string &place, const Kernel &kernel);
  bool verifyMaps(const std::string &place, const Kernel &kernel,
                  const KernelCode &code);
  bool verifyMap(const std::string &place, const Kernel &kernel,
                 const TensorMap &map);
  bool verifyFunction(const std::string &place, const Function &function);

  // VerifyPlan.cpp
  bool verifyExprs(const std::string &place, const Function &function);
  bool verifyPlan(const std::string &place, const Function &function,
                  const Plan &plan);
  bool verifyBuffer(const std::string &place, const Function &function,
                    const Plan &plan, const Buffer &buffer);
  /// Of an order table, by the kernel `index`.
  bool verifyFill(const std::string &place, const Plan &plan, uint32_t index);
  bool verifyAligned(const std::string &place, const Function &function,
                     const Plan &plan, const Buffer &buffer);
  /// That a launch does nothing but the copy, if it makes one.
  bool verifyCopying(const std::string &place, const Plan &plan, uint32_t step,
                     const Launch &launch);
  bool checkCode(const std::string &place, const Kernel &kernel,
                 const Plan &plan);
  bool verifyLaunch(const std::string &place, const Function &function,
                    const Plan &plan, uint32_t step, const Launch &launch);
  bool verifyFallback(const std::string &place, const Function &function,
                      const Plan &plan, uint32_t step, const Launch &launch);
  bool verifyRequire(const std::string &place, const Function &function,
                     const Require &require);
  bool verifyCopy(const std::string &place, const Function &function,
                  const Plan &plan, uint32_t step, const Copy &copy);
  bool checkUse(const std::string &place, const Function &function,
                const Plan &plan, uint32_t step, uint32_t buffer, bool writes);

  // VerifyRing.cpp
  struct PieceTypes {
    DType query, key, value;
    int64_t queryHeads, keyHeads, dim, valueDim;
    /// Where last pieces may end the softmax.
    std::optional<DType> output;
    bool hasLse = false;
  };
  /// That function `index` computes with pieces of such tensors.
  bool verifyPieces(const std::string &place, uint32_t index,
                    const PieceTypes &types);
  /// `whole` are the types of its pieces of whole segments.
  bool verifyRingBranch(const std::string &place, const Exchange &exchange,
                        uint32_t index, const PieceTypes &whole);
  bool verifyExchange(const std::string &place, const Function &function,
                      const Plan &plan, uint32_t step,
                      const Exchange &exchange);
  bool verifyAttend(const std::string &place, const Function &function,
                    const Plan &plan, uint32_t step, const Attend &attend);
  /// What last pieces may write, in tensors of `rank` axes.
  bool verifyEnds(const std::string &place, const Function &function,
                  const Plan &plan, uint32_t step, const Attend &attend,
                  uint32_t rank);

  // VerifyOrder.cpp
  bool verifyWaits(const std::string &place, const Plan &plan, uint32_t step);
  /// That steps of two queues never touch what one of them writes at once.
  bool verifyRaces(const std::string &place, const Plan &plan);

  // VerifyGraph.cpp
  bool verifyGraph(const std::string &place, const Function &function,
                   const Graph &graph);
  bool verifyValue(const std::string &place, const Function &function,
                   const GraphValue &value);
  bool verifyScales(const std::string &place, const Graph &graph,
                    const Attention &node);
  bool verifyAttention(const std::string &place, const Graph &graph,
                       const Attention &attention);
  bool verifyBranch(const std::string &place, const Graph &graph,
                    const Branch &branch);
  bool checkOperand(const std::string &place, const Graph &graph,
                    const char *what, int32_t value, bool needed);
  bool checkScalar(const std::string &place, const Graph &graph,
                   const char *what, int32_t value);
  bool define(const std::string &place, const Function &function,
              const Graph &graph, const char *what, int32_t value);

  const Artifact &artifact;
  const uint8_t *payload;
  /// For each expression of the current function: depends on more than inputs.
  std::vector<bool> readsMore;
  /// For each value of the current graph: input, or result of a node so far.
  std::vector<bool> defined;
};

/// Type of a buffer as far as the plan alone tells it.
struct BufferType {
  DType dtype;
  uint32_t rank;
  /// Null where no size is static.
  const flatbuffers::Vector<int64_t> *sizes;
};
BufferType bufferType(const Artifact &artifact, const Function &function,
                      const Buffer &buffer);

} // namespace ringlet::abi

#endif // RINGLET_RUNTIME_ABI_VERIFIER_H
