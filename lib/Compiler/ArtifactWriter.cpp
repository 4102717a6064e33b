//===- ArtifactWriter.cpp - From lowered modules to an artefact -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/ArtifactWriter.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Compiler/AbiTypes.h"
#include "lib/Compiler/GraphWriter.h"
#include "lib/Compiler/TranslateKernels.h"
#include "lib/Compiler/Version.h"
#include "passes/TileCode/TableKernels.h"
#include "passes/TileToNVVM/Channels.h"
#include "ringlet/abi/Container.h"
#include "ringlet/abi/Limits.h"
#include "ringlet/abi/Verify.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ringlet;

/// Levels with the same plans and tile programs.
struct ArtifactWriter::Group {
  std::string text;
  /// Kernels by name; numbers in the artefact.
  llvm::StringMap<uint32_t> kernels;
  std::vector<abi::PlanT *> plans;
};

ArtifactWriter::ArtifactWriter(StringRef moduleName) {
  artifact.compiler = compilerId();
  artifact.module_name = moduleName.str();
}

ArtifactWriter::~ArtifactWriter() = default;

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

void ArtifactWriter::addGraphs(ModuleOp source) {
  if (!source.getOps<rplan::FuncOp>().empty()) {
    llvm::raw_string_ostream(artifact.source) << source;
    if (artifact.source.size() > abi::kMaxText)
      artifact.source.clear();
  }
  for (auto function : source.getOps<func::FuncOp>()) {
    Source &entry = sources[function.getSymName()];
    entry.graph = makeGraph(function, artifact);
    SmallVector<Type> types(function.getArgumentTypes());
    llvm::append_range(types, function.getResultTypes());
    for (Type type : types) {
      std::string text;
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (tensor && tensor.getEncoding())
        llvm::raw_string_ostream(text) << tensor.getEncoding();
      entry.layouts.push_back(std::move(text));
    }
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Whether a kernel may store through a parameter. Views are values, so their
/// uses can be followed; a view that goes where they cannot counts as written.
static bool mayStore(Value parameter) {
  for (Operation *user : parameter.getUsers()) {
    // Tables, masks and sizes.
    if (isa<memref::LoadOp, memref::DimOp, rtile::ListOp, rtile::AnyBlockOp,
            rtile::VisibleOp>(user))
      continue;
    auto view = dyn_cast<rtile::ViewOp>(user);
    if (!view)
      return true;
    if (view.getBuffer() != parameter)
      continue; // the table of an indexed view
    for (Operation *access : view->getUsers())
      if (!isa<rtile::AnyBlockOp, rtile::BoundsOp, rtile::CopyOp, rtile::ListOp,
               rtile::LoadOp, rtile::RunOp, rtile::VisibleOp>(access))
        return true;
  }
  return false;
}

static std::string nameOf(BlockArgument argument) {
  auto name = dyn_cast<NameLoc>(argument.getLoc());
  return name ? name.getName().str() : "";
}

FailureOr<std::unique_ptr<abi::KernelT>>
ArtifactWriter::makeKernel(Operation *tileOp, Operation *codeOp) {
  auto tile = cast<rtile::FuncOp>(tileOp);
  auto code = cast<LLVM::LLVMFuncOp>(codeOp);
  auto kernel = std::make_unique<abi::KernelT>();
  kernel->name = tile.getSymName().str();
  auto rank = code->getAttrOfType<IntegerAttr>("rtile.grid_rank");
  auto types = code->getAttrOfType<ArrayAttr>("rtile.parameters");
  if (!rank || !types || types.size() != tile.getParameters().size())
    return code.emitError("expected rtile.grid_rank and an rtile.parameters "
                          "with ")
           << tile.getParameters().size() << " types on a lowered kernel";
  kernel->grid_rank = static_cast<uint8_t>(rank.getInt());
  for (auto [attr, parameter] :
       llvm::zip(types.getAsRange<TypeAttr>(), tile.getParameters())) {
    auto param = toAbiParam(attr.getValue());
    if (failed(param))
      return tile.emitError("expected parameters that are index or memref "
                            "without an offset, found ")
             << attr.getValue();
    (*param)->name = ::nameOf(parameter);
    (*param)->writes =
        (*param)->kind == abi::ParamKind::Buffer && mayStore(parameter);
    kernel->params.push_back(std::move(*param));
  }
  return kernel;
}

/// A kernel that writes an order table, which no tile program became.
static std::unique_ptr<abi::KernelT> makeTableKernel(LLVM::LLVMFuncOp code) {
  auto table = std::make_unique<abi::KernelParamT>();
  table->kind = abi::ParamKind::Buffer;
  table->name = "table";
  table->dtype = abi::DType::I64;
  table->sizes = {-1};
  table->strides = {1};
  table->writes = true;
  auto kernel = std::make_unique<abi::KernelT>();
  kernel->name = code.getSymName().str();
  kernel->grid_rank = 1;
  kernel->params.push_back(std::move(table));
  return kernel;
}

/// What whoever launches a GPU kernel must know, and what ptxas found.
static void addResources(abi::KernelCodeT &code, LLVM::LLVMFuncOp kernel,
                         const KernelReport *report) {
  auto add = [&](StringRef key, int64_t value) {
    auto pair = std::make_unique<abi::KeyValueT>();
    pair->key = key.str();
    pair->value = std::to_string(value);
    code.resources.push_back(std::move(pair));
  };
  for (StringRef key : {"threads", "shared_bytes"})
    if (auto value = kernel->getAttrOfType<IntegerAttr>(("rtile." + key).str()))
      add(key, value.getInt());
  if (!report)
    return;
  add("registers", report->registers);
  add("stack_bytes", report->stackBytes);
}

static abi::Residues toAbi(rtile::Residues residues) {
  switch (residues) {
  case rtile::Residues::all:
    return abi::Residues::All;
  case rtile::Residues::shorter:
    return abi::Residues::Shorter;
  case rtile::Residues::longer:
    return abi::Residues::Longer;
  }
  llvm_unreachable("every name is one of the artefact's");
}

/// Null for numbers that have no room.
static std::unique_ptr<abi::TensorMapT> toAbi(rtile::MapAttr attr) {
  auto map = std::make_unique<abi::TensorMapT>();
  map->param = static_cast<uint32_t>(attr.getBuffer());
  map->rows = static_cast<uint8_t>(attr.getRows());
  map->columns = static_cast<uint8_t>(attr.getColumns());
  map->rate = attr.getRate();
  map->box_rows = static_cast<uint32_t>(attr.getBox()[0]);
  map->box_columns = static_cast<uint32_t>(attr.getBox()[1]);
  map->residues = toAbi(attr.getResidues());
  bool fits = attr.getBuffer() < abi::kMaxParams &&
              attr.getRows() < abi::kMaxRank &&
              attr.getColumns() < abi::kMaxRank;
  for (int64_t axis : attr.getFixed()) {
    map->fixed.push_back(static_cast<uint8_t>(axis));
    fits &= axis >= 0 && axis < abi::kMaxRank;
  }
  return fits ? std::move(map) : nullptr;
}

/// The tensor maps of a lowered kernel, and how many of its blocks stay.
static LogicalResult addLaunchForm(abi::KernelCodeT &code,
                                   LLVM::LLVMFuncOp kernel) {
  if (auto maps = kernel->getAttrOfType<ArrayAttr>(gpu::mapsAttr))
    for (Attribute attr : maps) {
      auto map = dyn_cast<rtile::MapAttr>(attr);
      auto entry = map ? toAbi(map) : nullptr;
      if (!entry)
        return kernel.emitError("expected rtile.maps that an artefact can "
                                "hold, found ")
               << attr;
      code.maps.push_back(std::move(entry));
    }
  if (auto blocks = kernel->getAttrOfType<IntegerAttr>(gpu::persistentAttr))
    code.blocks_per_multiprocessor = static_cast<uint32_t>(blocks.getInt());
  code.counts_items = kernel->hasAttr(gpu::counterAttr);
  code.starts_early = kernel->hasAttr(gpu::startsEarlyAttr);
  return success();
}

LogicalResult ArtifactWriter::addCode(Group &group, ModuleOp lowered,
                                      uint32_t codeObject,
                                      const PtxasReport *report) {
  for (const auto &entry : group.kernels) {
    auto code = lowered.lookupSymbol<LLVM::LLVMFuncOp>(entry.getKey());
    auto scratch = code
                       ? code->getAttrOfType<IntegerAttr>("rtile.scratch_bytes")
                       : IntegerAttr();
    if (!scratch)
      return lowered.emitError("expected an llvm.func with "
                               "rtile.scratch_bytes for @")
             << entry.getKey();
    auto kernelCode = std::make_unique<abi::KernelCodeT>();
    kernelCode->code_object = codeObject;
    kernelCode->symbol = getCodeSymbol(entry.getKey());
    kernelCode->scratch_bytes = static_cast<uint64_t>(scratch.getInt());
    addResources(*kernelCode, code,
                 report ? report->find(kernelCode->symbol) : nullptr);
    if (failed(addLaunchForm(*kernelCode, code)))
      return failure();
    artifact.kernels[entry.getValue()]->code.push_back(std::move(kernelCode));
  }
  return success();
}

/// Hands each decision to one kernel: that of its function's name; else, where
/// it is about an operation of the source, the first of the kernels that came
/// from there, or the one of its branch.
static void
attachDecisions(const Decisions &decisions,
                ArrayRef<std::pair<rtile::FuncOp, abi::KernelT *>> kernels) {
  for (const Decision &decision : decisions) {
    abi::KernelT *target = nullptr;
    std::string suffix;
    if (decision.branch)
      suffix = "_branch" + std::to_string(*decision.branch);
    for (auto [tile, kernel] : kernels)
      if (decision.function == kernel->name)
        target = kernel;
    for (auto [tile, kernel] : kernels)
      if (!target && decision.location && tile.getLoc() == *decision.location &&
          StringRef(kernel->name).ends_with(suffix))
        target = kernel;
    if (!target || decision.pass.empty())
      continue;
    auto pair = std::make_unique<abi::KeyValueT>();
    pair->key = decision.pass;
    pair->value = decision.text;
    target->decisions.push_back(std::move(pair));
  }
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

LogicalResult ArtifactWriter::addLevel(ModuleOp tiles, ModuleOp lowered,
                                       const Code &code,
                                       const Decisions &decisions) {
  auto object = static_cast<uint32_t>(artifact.code_objects.size());
  auto codeObject = std::make_unique<abi::CodeObjectT>();
  codeObject->target = code.target.str();
  codeObject->format = code.format;
  codeObject->bytes.assign(code.bytes.begin(), code.bytes.end());
  artifact.code_objects.push_back(std::move(codeObject));

  // Targets share kernels and plans if these are the same for both.
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << tiles;
  SmallVector<LLVM::LLVMFuncOp> tables;
  for (auto kernel : lowered.getOps<LLVM::LLVMFuncOp>())
    if (kernel->hasAttr(code::tableAttr)) {
      tables.push_back(kernel);
      stream << kernel.getSymName() << "\n";
    }
  for (auto &group : groups)
    if (group->text == text) {
      for (abi::PlanT *plan : group->plans)
        plan->code_objects.push_back(object);
      return addCode(*group, lowered, object, code.report);
    }

  groups.push_back(std::make_unique<Group>());
  Group &group = *groups.back();
  group.text = std::move(text);
  SmallVector<std::pair<rtile::FuncOp, abi::KernelT *>> kernels;
  for (auto tile : tiles.getOps<rtile::FuncOp>()) {
    // Whoever lowered them may have found that nobody needs one.
    auto lowerCode = lowered.lookupSymbol<LLVM::LLVMFuncOp>(tile.getSymName());
    if (!lowerCode)
      continue;
    auto kernel = makeKernel(tile, lowerCode);
    if (failed(kernel))
      return failure();
    group.kernels[tile.getSymName()] =
        static_cast<uint32_t>(artifact.kernels.size());
    kernels.emplace_back(tile, kernel->get());
    artifact.kernels.push_back(std::move(*kernel));
  }
  for (LLVM::LLVMFuncOp table : tables) {
    group.kernels[table.getSymName()] =
        static_cast<uint32_t>(artifact.kernels.size());
    artifact.kernels.push_back(makeTableKernel(table));
  }
  attachDecisions(decisions, kernels);
  if (failed(addCode(group, lowered, object, code.report)))
    return failure();

  addFunctions(lowered);
  for (auto plan : lowered.getOps<rplan::FuncOp>()) {
    Entry &entry = entries[plan.getSymName()];
    if (failed(entry.writer->addPlan(plan, group.kernels, functions, object)))
      return failure();
    group.plans.push_back(entry.function->plans.back().get());
  }
  return success();
}

/// Those that steps call come last.
void ArtifactWriter::addFunctions(ModuleOp lowered) {
  llvm::StringSet<> called;
  lowered.walk([&](rplan::AttendOp attend) {
    for (ArrayAttr plans : {attend.getWhole(), attend.getPart()})
      for (auto name : plans.getAsRange<FlatSymbolRefAttr>())
        called.insert(name.getValue());
  });
  for (bool isPrivate : {false, true})
    for (auto plan : lowered.getOps<rplan::FuncOp>()) {
      Entry &entry = entries[plan.getSymName()];
      if (entry.writer || called.contains(plan.getSymName()) != isPrivate)
        continue;
      functions[plan.getSymName()] =
          static_cast<uint32_t>(artifact.functions.size());
      artifact.functions.push_back(std::make_unique<abi::FunctionT>());
      entry.function = artifact.functions.back().get();
      entry.function->is_private = isPrivate;
      entry.writer = std::make_unique<PlanWriter>(plan, *entry.function,
                                                  artifact.constants);
      auto source = sources.find(plan.getSymName());
      if (source != sources.end()) {
        entry.function->graph = std::move(source->second.graph);
        for (auto [argument, layout] :
             llvm::zip(entry.function->arguments, source->second.layouts))
          argument->layout = layout;
      }
    }
}

FailureOr<std::vector<uint8_t>> ArtifactWriter::finish(Location loc) {
  uint64_t bytes = 0;
  for (const auto &object : artifact.code_objects)
    bytes += object->bytes.size();
  for (const auto &constant : artifact.constants)
    bytes += constant->data.size();
  // The builder has no way to fail: keep well away from its limit.
  if (bytes > abi::kMaxPayload / 2)
    return emitError(loc, "expected at most ")
           << abi::kMaxPayload / 2 << " bytes of code and constants, found "
           << bytes;
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  abi::FinishArtifactBuffer(builder, abi::Artifact::Pack(builder, &artifact));
  const abi::Artifact *root = nullptr;
  std::string error =
      abi::verifyArtifact(builder.GetBufferPointer(), builder.GetSize(), root);
  if (!error.empty())
    return emitError(loc, "cannot write this artefact: ") << error;
  return abi::makeContainer(builder.GetBufferPointer(), builder.GetSize());
}
