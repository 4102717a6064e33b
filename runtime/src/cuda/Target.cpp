//===- cuda/Target.cpp - Which code a GPU runs ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Target.h"

#include "../Status.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::cuda;

namespace {

/// PTX that came with each CUDA, the oldest first.
const struct {
  int cuda, ptx;
} ptxVersions[] = {
    {11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74},
    {11050, 75}, {11060, 76}, {11070, 77}, {11080, 78}, {12000, 80},
    {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85},
    {12060, 85}, {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90},
};

struct Target {
  int capability = 0;
  char suffix = 0; // 'a', 'f' or none.
};

bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool parse(const std::string &name, Target &target) {
  if (name.compare(0, 3, "sm_") != 0)
    return false;
  size_t at = 3;
  while (at < name.size() && at < 6 && isDigit(name[at]))
    target.capability = target.capability * 10 + (name[at++] - '0');
  if (at < name.size() && (name[at] == 'a' || name[at] == 'f'))
    target.suffix = name[at++];
  return at == name.size() && target.capability >= 10;
}

/// The number of the text's first ".version" directive times ten, or 0.
int ptxVersion(const flatbuffers::Vector<uint8_t> &bytes) {
  static const std::string directive = ".version";
  auto end = bytes.end();
  auto at = std::search(bytes.begin(), end, directive.begin(), directive.end());
  if (at == end)
    return 0;
  at += int(directive.size());
  auto skipTo = [&](auto wanted) {
    while (at != end && !wanted(char(*at)))
      ++at;
  };
  skipTo([](char c) { return c != ' ' && c != '\t'; });
  int major = 0;
  for (; at != end && isDigit(char(*at)) && major < 1000; ++at)
    major = major * 10 + (*at - '0');
  if (major == 0 || at == end || *at != '.' || ++at == end ||
      !isDigit(char(*at)))
    return 0;
  return major * 10 + (*at - '0');
}

std::string dotted(int times10) {
  return text(times10 / 10, ".", times10 % 10);
}

} // namespace

int cuda::newestPtx(int cudaVersion) {
  int newest = 0;
  for (const auto &row : ptxVersions)
    if (row.cuda <= cudaVersion)
      newest = row.ptx;
  return newest;
}

int cuda::rankTarget(const abi::CodeObject &code, const Machine &machine,
                     std::string &why) {
  bool ptx = code.format() == abi::CodeFormat::Ptx;
  Target target;
  if ((!ptx && code.format() != abi::CodeFormat::Cubin) ||
      !parse(code.target()->str(), target)) {
    why = "is not code for an NVIDIA GPU";
    return -1;
  }
  std::string here = text("the device is ", machine.architecture());
  bool sameMajor = target.capability / 10 == machine.capability / 10;
  if (target.suffix == 'a' && target.capability != machine.capability) {
    why = text("runs on sm_", target.capability, " only, ", here);
    return -1;
  }
  if (target.capability > machine.capability) {
    why = text("needs sm_", target.capability, " or later, ", here);
    return -1;
  }
  if (!sameMajor && (!ptx || target.suffix == 'f')) {
    why = text("is for sm_", target.capability / 10, "x, ", here);
    return -1;
  }
  if (code.min_features() && code.min_features()->size()) {
    why = text("needs ", code.min_features()->Get(0)->str(), ", ", here);
    return -1;
  }
  if (ptx) {
    int version = ptxVersion(*code.bytes());
    int newest = newestPtx(machine.cudaVersion);
    if (version == 0) {
      why = "has PTX without a .version";
      return -1;
    }
    // A driver beyond the table may know more than the table does.
    bool beyond = machine.cudaVersion >= std::end(ptxVersions)[-1].cuda + 10;
    if (version > newest && !beyond) {
      why =
          text("has PTX ", dotted(version), ", the driver for CUDA ",
               machine.cudaVersion / 1000, ".", machine.cudaVersion % 1000 / 10,
               " takes PTX up to ", dotted(newest), "; ", here);
      return -1;
    }
  }
  int own = target.suffix == 'a' ? 4 : target.suffix == 'f' ? 2 : 0;
  return target.capability * 10 + own + !ptx;
}
