//===- Verify.cpp - Is this payload a well-formed artefact? ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"
#include "ringlet/abi/Format.h"

#include <flatbuffers/util.h>
#include <set>
#include <string_view>

using namespace ringlet::abi;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

const char *ringlet::abi::dtypeName(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return "f16";
  case DType::BF16:
    return "bf16";
  case DType::F32:
    return "f32";
  case DType::F64:
    return "f64";
  case DType::I8:
    return "i8";
  case DType::U8:
    return "u8";
  case DType::I16:
    return "i16";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::Bool:
    return "i1";
  case DType::F8E4M3FN:
    return "f8E4M3FN";
  case DType::None:
    break;
  }
  return "none";
}

size_t ringlet::abi::dtypeSize(DType dtype) {
  switch (dtype) {
  case DType::I8:
  case DType::U8:
  case DType::Bool:
  case DType::F8E4M3FN:
    return 1;
  case DType::F16:
  case DType::BF16:
  case DType::I16:
    return 2;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::None:
    break;
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Checks that many places share
//===----------------------------------------------------------------------===//

bool Verifier::fail(const std::string &place, const std::string &what) {
  error = "malformed artefact: " + (place.empty() ? "" : place + ": ") + what;
  return false;
}

bool Verifier::checkCount(const std::string &place, const char *what,
                          uint32_t count, uint32_t limit) {
  if (count <= limit)
    return true;
  return fail(place, formatText("expected at most {} {}, found {}", limit, what,
                                count));
}

bool Verifier::checkIndex(const std::string &place, const char *what,
                          uint32_t index, uint32_t count) {
  if (index < count)
    return true;
  return fail(place,
              formatText("expected {} below {}, found {}", what, count, index));
}

bool Verifier::checkName(const std::string &place, const char *what,
                         const flatbuffers::String *name) {
  if (!name || name->size() == 0)
    return fail(place, formatText("expected a {}, found none", what));
  if (name->size() > kMaxName)
    return fail(place, formatText("expected a {} of at most {} bytes, found {}",
                                  what, kMaxName, name->size()));
  for (char c : name->string_view())
    if (static_cast<unsigned char>(c) < ' ' || c == 127)
      return fail(place,
                  formatText("expected a printable {}, found the character {}",
                             what, static_cast<unsigned char>(c)));
  const char *next = name->c_str(), *end = next + name->size();
  while (next < end)
    if (flatbuffers::FromUTF8(&next) < 0)
      return fail(place, formatText("expected a {} in UTF-8", what));
  return true;
}

bool Verifier::checkText(const std::string &place, const char *what,
                         const flatbuffers::String *text) {
  if (!text)
    return true;
  if (text->size() > kMaxText)
    return fail(place, formatText("expected a {} of at most {} bytes, found {}",
                                  what, kMaxText, text->size()));
  if (text->string_view().find('\0') != std::string_view::npos)
    return fail(place, formatText("a {} contains a zero byte", what));
  return true;
}

bool Verifier::checkPairs(
    const std::string &place,
    const flatbuffers::Vector<flatbuffers::Offset<KeyValue>> *pairs) {
  if (!checkCount(place, "key-value pairs", sizeOf(pairs), kMaxParams))
    return false;
  for (uint32_t i = 0; i < sizeOf(pairs); ++i)
    if (!checkName(place, "key", pairs->Get(i)->key()) ||
        !checkText(place, "value", pairs->Get(i)->value()))
      return false;
  return true;
}

bool Verifier::checkDType(const std::string &place, DType dtype) {
  if (dtypeSize(dtype) != 0)
    return true;
  return fail(place,
              formatText("expected an element type from 1 to {}, found {}",
                         int(DType::MAX), int(dtype)));
}

bool Verifier::checkOffset(const std::string &place, const uint8_t *data,
                           size_t alignment) {
  auto offset = size_t(data - payload);
  if (offset % alignment == 0)
    return true;
  return fail(
      place,
      formatText("expected a list at a multiple of {} bytes, found it at {}",
                 alignment, offset));
}

bool Verifier::checkSizes(const std::string &place, const char *what,
                          const flatbuffers::Vector<int64_t> *sizes,
                          int64_t least) {
  if (!checkCount(place, "axes", sizeOf(sizes), kMaxRank) ||
      !checkAligned(place, sizes, alignof(int64_t)))
    return false;
  for (uint32_t i = 0; i < sizeOf(sizes); ++i)
    if (sizes->Get(i) < least)
      return fail(
          place, formatText("expected a {} of at least {} on axis {}, found {}",
                            what, least, i, sizes->Get(i)));
  return true;
}

// The numbers only; which curves there are and what they need is lib/Layout's
// to say, when the order is made.
bool Verifier::checkOrder(const std::string &place, const Order &order) {
  if (!checkName(place, "curve", order.curve()))
    return false;
  if (order.chunk() < 0 || order.rate() < 0)
    return fail(place, formatText("expected chunk and rate of an order of at "
                                  "least 0, found {} and {}",
                                  order.chunk(), order.rate()));
  return checkSizes(place, "grid side", order.grid(), 1) &&
         checkAligned(place, order.table(), alignof(int64_t));
}

//===----------------------------------------------------------------------===//
// Code, constants, kernels
//===----------------------------------------------------------------------===//

bool Verifier::verifyCodeObjects() {
  uint32_t count = sizeOf(artifact.code_objects());
  if (!checkCount("", "code objects", count, kMaxCodeObjects))
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    const CodeObject &code = *artifact.code_objects()->Get(i);
    std::string place = formatText("code object {}", i);
    if (!checkName(place, "target", code.target()))
      return false;
    if (code.format() == CodeFormat::None || code.format() > CodeFormat::MAX)
      return fail(place, formatText("expected a format from 1 to {}, found {}",
                                    int(CodeFormat::MAX), int(code.format())));
    if (code.bytes()->size() == 0)
      return fail(place, "expected code, found none");
    if (!checkCount(place, "features", sizeOf(code.min_features()), kMaxParams))
      return false;
    for (uint32_t j = 0; j < sizeOf(code.min_features()); ++j)
      if (!checkName(place, "feature", code.min_features()->Get(j)))
        return false;
  }
  return true;
}

bool Verifier::verifyConstants() {
  uint32_t count = sizeOf(artifact.constants());
  if (!checkCount("", "constants", count, kMaxConstants))
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    const Constant &constant = *artifact.constants()->Get(i);
    std::string place = formatText("constant {}", i);
    if (!checkDType(place, constant.dtype()) ||
        !checkSizes(place, "size", constant.sizes(), 0) ||
        !checkAligned(place, constant.data(), kConstantAlignment))
      return false;
    uint64_t bytes = dtypeSize(constant.dtype());
    for (uint32_t j = 0; j < sizeOf(constant.sizes()); ++j)
      if (__builtin_mul_overflow(bytes, uint64_t(constant.sizes()->Get(j)),
                                 &bytes))
        return fail(place, "its size overflows 64 bits");
    if (bytes != sizeOf(constant.data()))
      return fail(place, formatText("expected {} bytes of data, found {}",
                                    bytes, sizeOf(constant.data())));
  }
  return true;
}

bool Verifier::verifyKernel(const std::string &place, const Kernel &kernel) {
  if (!checkCount(place, "grid dimensions", kernel.grid_rank(), kMaxGridRank) ||
      !checkCount(place, "parameters", sizeOf(kernel.params()), kMaxParams) ||
      !checkCount(place, "code entries", sizeOf(kernel.code()),
                  kMaxCodeObjects) ||
      !checkPairs(place, kernel.decisions()))
    return false;
  for (uint32_t i = 0; i < sizeOf(kernel.params()); ++i) {
    const KernelParam &param = *kernel.params()->Get(i);
    std::string at = formatText("{}, parameter {}", place, i);
    if (!checkText(at, "name", param.name()))
      return false;
    if (param.kind() > ParamKind::MAX)
      return fail(
          at, formatText("expected kind 0 or 1, found {}", int(param.kind())));
    if (param.kind() == ParamKind::Scalar)
      continue;
    if (!checkDType(at, param.dtype()) ||
        !checkSizes(at, "size", param.sizes(), -1) ||
        !checkSizes(at, "stride", param.strides(), -1))
      return false;
    if (sizeOf(param.strides()) != sizeOf(param.sizes()))
      return fail(
          at, formatText("expected one stride for each of {} sizes, found {}",
                         sizeOf(param.sizes()), sizeOf(param.strides())));
  }
  std::set<uint32_t> objects;
  for (uint32_t i = 0; i < sizeOf(kernel.code()); ++i) {
    const KernelCode &code = *kernel.code()->Get(i);
    if (!checkIndex(place, "a code object", code.code_object(),
                    sizeOf(artifact.code_objects())) ||
        !checkName(place, "symbol", code.symbol()) ||
        !checkPairs(place, code.resources()))
      return false;
    if (!objects.insert(code.code_object()).second)
      return fail(place, formatText("two symbols in code object {}",
                                    code.code_object()));
    if (code.scratch_bytes() > kMaxScratch)
      return fail(place,
                  formatText("expected at most {} bytes of scratch, found {}",
                             kMaxScratch, code.scratch_bytes()));
    if (!verifyMaps(place, kernel, code))
      return false;
  }
  return true;
}

bool Verifier::verifyMaps(const std::string &place, const Kernel &kernel,
                          const KernelCode &code) {
  uint32_t count = sizeOf(code.maps());
  uint32_t blocks = code.blocks_per_multiprocessor();
  std::string at = formatText("{}, code object {}", place, code.code_object());
  if (!checkCount(at, "tensor maps", count, kMaxMaps) ||
      !checkCount(at, "blocks a multiprocessor", blocks,
                  kMaxBlocksPerMultiprocessor))
    return false;
  const CodeObject &object = *artifact.code_objects()->Get(code.code_object());
  if (code.counts_items() && !blocks)
    return fail(at, "expected blocks a multiprocessor where items are counted, "
                    "found none");
  if (object.format() == CodeFormat::SharedObject && (count || blocks))
    return fail(at,
                formatText("expected neither tensor maps nor blocks a "
                           "multiprocessor in code for a CPU, found {} and {}",
                           count, blocks));
  for (uint32_t i = 0; i < count; ++i)
    if (!verifyMap(formatText("{}, tensor map {}", at, i), kernel,
                   *code.maps()->Get(i)))
      return false;
  return true;
}

bool Verifier::verifyMap(const std::string &place, const Kernel &kernel,
                         const TensorMap &map) {
  if (!checkIndex(place, "a parameter", map.param(), sizeOf(kernel.params())))
    return false;
  const KernelParam &param = *kernel.params()->Get(map.param());
  uint64_t element = dtypeSize(param.dtype());
  if (param.kind() != ParamKind::Buffer ||
      (element != 2 && param.dtype() != DType::F32))
    return fail(place, formatText("expected parameter {} to be a buffer of "
                                  "16-bit elements or f32, found {}",
                                  map.param(),
                                  (param.kind() == ParamKind::Buffer
                                       ? dtypeName(param.dtype())
                                       : "a scalar")));
  if (map.rate() < 1)
    return fail(place, formatText("expected a rate of at least 1, found {}",
                                  map.rate()));
  if (map.residues() > Residues::MAX)
    return fail(place, formatText("expected residues of 0 to {}, found {}",
                                  int(Residues::MAX), int(map.residues())));
  if (map.rate() == 1 && map.residues() != Residues::All)
    return fail(place, formatText("expected all residues at rate 1, found {}",
                                  int(map.residues())));

  uint32_t most = kMaxMapRank - 2 - (map.rate() > 1);
  if (!checkCount(place, "fixed axes", sizeOf(map.fixed()), most))
    return false;
  std::vector<uint32_t> axes = {map.rows(), map.columns()};
  for (uint32_t i = 0; i < sizeOf(map.fixed()); ++i)
    axes.push_back(map.fixed()->Get(i));
  std::set<uint32_t> seen;
  for (uint32_t axis : axes) {
    if (!checkIndex(place, "an axis of the buffer", axis,
                    sizeOf(param.sizes())))
      return false;
    if (!seen.insert(axis).second)
      return fail(place, formatText("axis {} comes twice", axis));
  }
  int64_t stride = param.strides()->Get(map.columns());
  if (stride != 1)
    return fail(
        place, formatText("expected stride 1 on axis {}, the columns, found {}",
                          map.columns(), stride));
  uint64_t least = kMapAlignment / element,
           mostColumns = kMaxBoxBytes / element;
  if (map.box_rows() < 1 || map.box_rows() > kMaxBoxRows ||
      map.box_columns() < 1 || map.box_columns() > mostColumns ||
      map.box_columns() % least != 0)
    return fail(place,
                formatText("expected a box of 1 to {} rows of {} to {} "
                           "columns, a multiple of {}, found {} rows of {}",
                           kMaxBoxRows, least, mostColumns, least,
                           map.box_rows(), map.box_columns()));
  return true;
}

//===----------------------------------------------------------------------===//
// Functions and the whole
//===----------------------------------------------------------------------===//

bool Verifier::verifyFunction(const std::string &place,
                              const Function &function) {
  uint32_t count = sizeOf(function.arguments());
  if (!checkCount(place, "arguments", count, kMaxArguments))
    return false;
  std::set<std::string_view> names;
  bool outputs = false;
  for (uint32_t i = 0; i < count; ++i) {
    const Argument &argument = *function.arguments()->Get(i);
    std::string at = formatText("{}, argument {}", place, i);
    if (!checkName(at, "name", argument.name()) ||
        !checkDType(at, argument.dtype()) ||
        !checkSizes(at, "size", argument.sizes(), -1) ||
        !checkText(at, "layout", argument.layout()))
      return false;
    if (!names.insert(argument.name()->string_view()).second)
      return fail(at,
                  "a second argument named '" + argument.name()->str() + "'");
    if (outputs && !argument.is_output())
      return fail(at, "an input after an output");
    outputs |= argument.is_output();
  }

  if (!verifyExprs(place, function))
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    const Argument &argument = *function.arguments()->Get(i);
    uint32_t exprs = sizeOf(argument.size_exprs());
    if (exprs == 0)
      continue;
    std::string at = formatText("{}, argument {}", place, i);
    if (!argument.is_output() || exprs != sizeOf(argument.sizes()))
      return fail(at, formatText("expected size expressions on an output "
                                 "only, one for each axis, found {}",
                                 exprs));
    for (uint32_t j = 0; j < exprs; ++j) {
      uint32_t expr = argument.size_exprs()->Get(j);
      if (!checkIndex(at, "an expression", expr, sizeOf(function.exprs())))
        return false;
      if (readsMore[expr])
        return fail(
            at,
            formatText(
                "the size of axis {} depends on an output or on the machine",
                j));
    }
  }

  if (!checkCount(place, "plans", sizeOf(function.plans()), kMaxCodeObjects))
    return false;
  std::set<uint32_t> planned;
  for (uint32_t i = 0; i < sizeOf(function.plans()); ++i) {
    const Plan &plan = *function.plans()->Get(i);
    std::string at = formatText("{}, plan {}", place, i);
    for (uint32_t object : *plan.code_objects()) {
      if (!checkIndex(at, "a code object", object,
                      sizeOf(artifact.code_objects())))
        return false;
      if (!planned.insert(object).second)
        return fail(at, formatText("a second plan for code object {}", object));
    }
    if (!verifyPlan(at, function, plan))
      return false;
  }
  return !function.graph() || verifyGraph(place, function, *function.graph());
}

bool Verifier::verify() {
  if (!checkText("", "compiler id", artifact.compiler()) ||
      !checkText("", "module name", artifact.module_name()) ||
      !checkText("", "source", artifact.source()) || !verifyCodeObjects() ||
      !verifyConstants() ||
      !checkCount("", "kernels", sizeOf(artifact.kernels()), kMaxKernels) ||
      !checkCount("", "functions", sizeOf(artifact.functions()), kMaxFunctions))
    return false;
  for (uint32_t i = 0; i < sizeOf(artifact.kernels()); ++i) {
    const Kernel &kernel = *artifact.kernels()->Get(i);
    std::string place = formatText("kernel {}", i);
    if (!checkName(place, "name", kernel.name()) ||
        !verifyKernel("kernel '" + kernel.name()->str() + "'", kernel))
      return false;
  }
  std::set<std::string_view> names;
  bool isPrivate = false;
  for (uint32_t i = 0; i < sizeOf(artifact.functions()); ++i) {
    const Function &function = *artifact.functions()->Get(i);
    std::string place = formatText("function {}", i);
    if (isPrivate && !function.is_private())
      return fail(place, "expected private functions behind all others");
    isPrivate = function.is_private();
    if (!checkName(place, "name", function.name()))
      return false;
    if (!names.insert(function.name()->string_view()).second)
      return fail(place,
                  "a second function named '" + function.name()->str() + "'");
    if (!verifyFunction("function '" + function.name()->str() + "'", function))
      return false;
  }
  return true;
}

std::string ringlet::abi::verifyArtifact(const uint8_t *payload, size_t size,
                                         const Artifact *&artifact) {
  artifact = nullptr;
  if (size > kMaxPayload)
    return formatText(
        "malformed artefact: expected a payload of at most {} bytes, found {}",
        kMaxPayload, size);
  if (reinterpret_cast<uintptr_t>(payload) % alignof(int64_t) != 0)
    return formatText(
        "expected a payload at an address that is a multiple of {}",
        alignof(int64_t));
  // Deeper than the schema nests. A table counts once for each way that leads
  // to it: this bounds the time that a file of shared tables can take.
  flatbuffers::Verifier structure(payload, size, /*max_depth=*/16,
                                  /*max_tables=*/1000000);
  if (!VerifyArtifactBuffer(structure))
    return "malformed artefact: the payload is not a FlatBuffer of the "
           "artefact schema";
  const Artifact *root = GetArtifact(payload);
  Verifier verifier(*root, payload);
  if (!verifier.verify())
    return verifier.error;
  artifact = root;
  return {};
}
