//===- Program.cpp - A loaded artefact ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "RingSteps.h"

#include "abi/Lists.h"
#include "ringlet/abi/Verify.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace ringlet;
using namespace ringlet::rt;
using abi::sizeOf;

/// Kernels of older formats do not leave their counter as it was.
static std::string checkCounting(const abi::Artifact &artifact,
                                 uint32_t version) {
  for (uint32_t i = 0; version < 4 && i < sizeOf(artifact.kernels()); ++i) {
    const abi::Kernel &kernel = *artifact.kernels()->Get(i);
    for (uint32_t j = 0; j < sizeOf(kernel.code()); ++j)
      if (kernel.code()->Get(j)->counts_items())
        return text("kernel '", kernel.name()->str(),
                    "' counts items: expected format version 4 or later, "
                    "found ",
                    version, "; compile the artefact anew");
  }
  return {};
}

Status Program::read(const void *bytes, size_t size) {
  abi::Payload payload;
  std::string error = abi::openContainer(bytes, size, payload);
  if (!error.empty())
    return Status(RL_BAD_ARTIFACT, error);
  storage.resize((payload.size + sizeof(Line) - 1) / sizeof(Line));
  auto *copy = reinterpret_cast<uint8_t *>(storage.data());
  if (payload.size)
    std::memcpy(copy, payload.data, payload.size);
  error = abi::verifyArtifact(copy, payload.size, root);
  if (error.empty())
    error = checkCounting(*root, payload.version);
  if (!error.empty())
    return Status(RL_BAD_ARTIFACT, error);
  for (uint8_t byte : abi::sha256(payload.data, payload.size)) {
    digestText += "0123456789abcdef"[byte >> 4];
    digestText += "0123456789abcdef"[byte & 15];
  }
  for (uint32_t i = 0; i < sizeOf(root->functions()); ++i) {
    Entry entry;
    entry.function = root->functions()->Get(i);
    entry.ringShapes = std::make_shared<RingShapeCache>();
    entryList.push_back(std::move(entry));
  }
  return {};
}

static const abi::Plan *planFor(const abi::Function &function,
                                uint32_t object) {
  for (uint32_t i = 0; i < sizeOf(function.plans()); ++i) {
    const abi::Plan *plan = function.plans()->Get(i);
    const auto &objects = *plan->code_objects();
    if (std::find(objects.begin(), objects.end(), object) != objects.end())
      return plan;
  }
  return nullptr;
}

Status Program::chooseCode(uint32_t &object) const {
  const Driver &driver = *context->driver;
  int best = -1;
  std::string refused;
  for (uint32_t i = 0; i < sizeOf(root->code_objects()); ++i) {
    const abi::CodeObject &code = *root->code_objects()->Get(i);
    std::string why;
    int rank = driver.rank(code, why);
    if (!context->target.empty() && code.target()->str() != context->target) {
      why = "was not asked for";
      rank = -1;
    }
    for (const Entry &entry : entryList) {
      if (rank < 0 || planFor(*entry.function, i))
        continue;
      why = text("has no plan for '", entry.function->name()->str(), "'");
      rank = -1;
    }
    if (rank > best) {
      best = rank;
      object = i;
    }
    if (rank < 0)
      refused += text(refused.empty() ? "" : ", ", code.target()->str(), " (",
                      why, ")");
  }
  if (best >= 0)
    return {};
  return failure(RL_UNSUPPORTED, "expected code for ", driver.name(), " ",
                 context->target.empty()
                     ? text("up to ", driver.description())
                     : text(context->target, " (as asked for)"),
                 ", the artefact has ", refused.empty() ? "no code" : refused);
}

Status Program::loadCode(uint32_t object) {
  const abi::CodeObject &code = *root->code_objects()->Get(object);
  targetName = code.target()->str();
  RL_TRY(context->driver->load(code, context->logger, module));
  kernels.resize(sizeOf(root->kernels()));
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    const abi::Kernel &kernel = *root->kernels()->Get(i);
    for (uint32_t j = 0; j < sizeOf(kernel.code()); ++j) {
      const abi::KernelCode &entry = *kernel.code()->Get(j);
      if (entry.code_object() != object)
        continue;
      RL_TRY(module->find(kernel, entry, kernels[i].code));
      kernels[i].description = &entry;
      // 64-byte aligned for each thread; kMaxScratch leaves room for it.
      if (!roundUp(entry.scratch_bytes(), 64, kernels[i].scratchBytes))
        return failure(RL_BAD_ARTIFACT, "scratch overflows 64 bits");
    }
  }
  for (uint32_t i = 0; i < sizeOf(root->constants()); ++i) {
    const auto *data = root->constants()->Get(i)->data();
    constants.emplace_back();
    if (sizeOf(data))
      RL_TRY(constants.back().make(*context->driver, context->memory,
                                   data->data(), data->size()));
  }
  for (Entry &entry : entryList) {
    entry.plan = planFor(*entry.function, object);
    entry.tables.resize(sizeOf(entry.plan->buffers()));
    for (uint32_t i = 0; i < entry.tables.size(); ++i) {
      const abi::Buffer &buffer = *entry.plan->buffers()->Get(i);
      if (!isTable(buffer))
        continue;
      Status status = makeKey(buffer, entry.tables[i]);
      if (!status.ok())
        return failure(status.code(), "function '",
                       entry.function->name()->str(), "', buffer ", i, ": ",
                       status.message());
    }
  }
  return {};
}

uint32_t Program::publicCount() const {
  return uint32_t(
      std::count_if(entryList.begin(), entryList.end(), [](const Entry &entry) {
        return !entry.function->is_private();
      }));
}

void Program::keep(
    const std::vector<std::shared_ptr<const IndexTable>> &tables) const {
  std::lock_guard<std::mutex> lock(keeping);
  kept.insert(tables.begin(), tables.end());
}

namespace {

struct KernelUse {
  uint32_t kernel;
  /// What takes its place where it cannot read the tensors, or null.
  const abi::Launch *fallback;
};

} // namespace

/// Kernels of the entry in the order of their first launch, over all plans
/// where none is chosen.
static std::vector<KernelUse> kernelsOf(const std::vector<Entry> &entries,
                                        const Entry &entry) {
  std::vector<KernelUse> list;
  std::map<uint32_t, size_t> places;
  auto add = [&](auto &add, const abi::Plan &plan) -> void {
    for (uint32_t i = 0; i < sizeOf(plan.steps()); ++i) {
      const auto *exchange = plan.steps()->Get(i)->action_as_Exchange();
      for (uint32_t j = 0; exchange && j < sizeOf(exchange->branches()); ++j) {
        const abi::RingBranch &branch = *exchange->branches()->Get(j);
        for (uint32_t function : {branch.whole(), branch.part()})
          if (const abi::Plan *plan = entries[function].plan)
            add(add, *plan);
      }
      for (const auto *launch = plan.steps()->Get(i)->action_as_Launch();
           launch; launch = launch->otherwise()) {
        auto [place, isNew] = places.emplace(launch->kernel(), list.size());
        if (isNew)
          list.push_back({launch->kernel(), nullptr});
        if (launch->otherwise())
          list[place->second].fallback = launch->otherwise();
      }
    }
  };
  if (entry.plan)
    add(add, *entry.plan);
  else
    for (uint32_t i = 0; i < sizeOf(entry.function->plans()); ++i)
      add(add, *entry.function->plans()->Get(i));
  return list;
}

/// Bytes of all explanations together. A small file can say a long text many
/// times over.
static const size_t mostExplanation = size_t(16) << 20;

std::string Program::explain(const Entry &entry, int64_t object,
                             size_t budget) const {
  std::string out;
  auto pairs = [&](const auto *list) {
    for (uint32_t i = 0; i < sizeOf(list) && out.size() < budget; ++i)
      out += text("  ", list->Get(i)->key()->str(), ": ",
                  list->Get(i)->value()->str(), "\n");
  };
  for (const KernelUse &use : kernelsOf(entryList, entry)) {
    if (out.size() >= budget)
      return out + "...\n";
    const abi::Kernel &kernel = *root->kernels()->Get(use.kernel);
    out += text("kernel: ", kernel.name()->str(), "\n");
    if (use.fallback)
      out += text("  fallback: ",
                  root->kernels()->Get(use.fallback->kernel())->name()->str(),
                  ", for tensors that no tensor map can describe\n");
    pairs(kernel.decisions());
    for (uint32_t i = 0; i < sizeOf(kernel.code()); ++i) {
      const abi::KernelCode &code = *kernel.code()->Get(i);
      if (object >= 0 && code.code_object() != uint32_t(object))
        continue;
      out +=
          text("  target: ",
               root->code_objects()->Get(code.code_object())->target()->str(),
               "\n  scratch bytes: ", code.scratch_bytes(), "\n");
      if (sizeOf(code.maps()))
        out += text("  tensor maps: ", sizeOf(code.maps()), "\n");
      if (code.blocks_per_multiprocessor())
        out += text("  blocks a multiprocessor: ",
                    uint32_t(code.blocks_per_multiprocessor()), "\n");
      pairs(code.resources());
    }
  }
  return out;
}

Status Program::load(std::shared_ptr<Context> context, const void *bytes,
                     size_t size, std::unique_ptr<Program> &program) {
  std::unique_ptr<Program> loaded(new Program(std::move(context)));
  RL_TRY(loaded->read(bytes, size));
  int64_t chosen = -1;
  if (loaded->context) {
    uint32_t object = 0;
    RL_TRY(loaded->chooseCode(object));
    RL_TRY(loaded->loadCode(object));
    chosen = object;
    loaded->context->logger.log(RL_LOG_INFO, "loaded ", size, " bytes with ",
                                loaded->entryList.size(), " entries, target ",
                                loaded->targetName);
  }
  size_t budget = mostExplanation;
  for (Entry &entry : loaded->entryList) {
    entry.explanation = loaded->explain(entry, chosen, budget);
    budget -= std::min(budget, entry.explanation.size());
  }
  program = std::move(loaded);
  return {};
}
