//===- Parse.cpp - From text to a module ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Parse.h"

#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Ringlet/IR/RingletDialect.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "ringlet/abi/Limits.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

static constexpr StringLiteral kNameAttr = "ringlet.name";

/// The name of a block argument in the text, without its `%`; "" if it is a
/// number or unknown.
static StringRef nameInText(const AsmParserState &state,
                            BlockArgument argument) {
  const auto *block = state.getBlockDef(argument.getOwner());
  if (!block || argument.getArgNumber() >= block->arguments.size())
    return "";
  llvm::SMRange range = block->arguments[argument.getArgNumber()].loc;
  if (!range.isValid())
    return "";
  StringRef name(range.Start.getPointer(),
                 range.End.getPointer() - range.Start.getPointer());
  name.consume_front("%");
  return name.empty() || llvm::isDigit(name.front()) ? "" : name;
}

OwningOpRef<ModuleOp> ringlet::parseModule(llvm::SourceMgr &sources,
                                           MLIRContext *context) {
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  ParserConfig config(context);
  AsmParserState state;
  // A file that is one `module` is that module, otherwise the module of the
  // operations in it. The state refers to operations where they were parsed,
  // so they are looked up before anything moves.
  Block block;
  if (failed(parseAsmSourceFile(sources, &block, config, &state)))
    return nullptr;
  for (Operation &op : block)
    op.walk([&](func::FuncOp function) {
      for (BlockArgument argument : function.getArguments()) {
        unsigned number = argument.getArgNumber();
        StringRef name = nameInText(state, argument);
        if (!name.empty())
          argument.setLoc(
              NameLoc::get(StringAttr::get(context, name), argument.getLoc()));
        if (!name.empty() && !function.getArgAttr(number, kNameAttr))
          function.setArgAttr(number, kNameAttr,
                              StringAttr::get(context, name));
      }
    });
  OwningOpRef<ModuleOp> module =
      mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
          &block, context,
          FileLineColLoc::get(context, buffer->getBufferIdentifier(), 1, 1));
  if (!module || failed(nameArguments(*module)))
    return nullptr;
  return module;
}

/// Bytes of a name, which kernels have with words behind it.
static constexpr size_t kMostOfName = ringlet::abi::kMaxName - 64;

/// What an artefact takes as a name, and messages and files can show.
static bool isPrintable(StringRef name) {
  return !name.empty() && llvm::json::isUTF8(name) &&
         llvm::none_of(name, [](char c) {
           return static_cast<unsigned char>(c) < ' ' || c == 127;
         });
}

/// Names of functions and of what `names` lists, where they stand.
static LogicalResult checkNames(Operation *op) {
  auto check = [&](StringRef name, StringRef what) -> LogicalResult {
    if (name.size() > kMostOfName)
      return op->emitError("expected ") << what << " of at most " << kMostOfName
                                        << " bytes, found " << name.size();
    if (isPrintable(name))
      return success();
    std::string shown;
    llvm::raw_string_ostream stream(shown);
    llvm::printEscapedString(name, stream);
    return op->emitError("expected ")
           << what << " of printable characters in UTF-8, found \"" << shown
           << "\"";
  };
  if (!isa<func::FuncOp, ringlet::rtile::FuncOp, ringlet::rplan::FuncOp>(op))
    return success();
  if (failed(check(SymbolTable::getSymbolName(op).getValue(), "a name")))
    return failure();
  if (auto function = dyn_cast<func::FuncOp>(op))
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr))
        if (failed(check(name.getValue(),
                         llvm::formatv("a name of argument {0}", i).str())))
          return failure();
  if (auto names = op->getAttrOfType<ArrayAttr>("names"))
    for (auto name : names.getAsRange<StringAttr>())
      if (failed(check(name.getValue(), "a name of an argument")))
        return failure();
  return success();
}

LogicalResult ringlet::nameArguments(ModuleOp module) {
  WalkResult result = module.walk([](func::FuncOp function) {
    llvm::StringMap<unsigned> seen;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      seen["result" + std::to_string(i)] = i;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      Attribute attr = function.getArgAttr(i, kNameAttr);
      auto name = dyn_cast_if_present<StringAttr>(attr);
      if (attr && (!name || name.getValue().empty())) {
        function.emitError("expected ringlet.name of argument ")
            << i << " to be a string that is not empty, found " << attr;
        return WalkResult::interrupt();
      }
      if (!name) {
        name = StringAttr::get(function.getContext(), "arg" + Twine(i));
        function.setArgAttr(i, kNameAttr, name);
      }
      auto [entry, isNew] = seen.try_emplace(name.getValue(), i);
      if (isNew)
        continue;
      InFlightDiagnostic error = function.emitError("expected arguments of "
                                                    "different names, found ");
      if (name.getValue() == "result" + std::to_string(entry->second))
        error << "argument " << i << " with the name of a result, " << name;
      else
        error << name << " for arguments " << entry->second << " and " << i;
      error << "; set ringlet.name on one of them";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  // The names that were given above are among them.
  return failure(module
                     .walk([](Operation *op) {
                       return succeeded(checkNames(op))
                                  ? WalkResult::advance()
                                  : WalkResult::interrupt();
                     })
                     .wasInterrupted());
}

/// What an operation may contain: the dialects that the passes below it lower.
static bool isKnown(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  Operation *parent = op->getParentOp();
  while (parent && !isa<func::FuncOp, ringlet::rtile::FuncOp,
                        ringlet::rplan::FuncOp, ModuleOp>(parent))
    parent = parent->getParentOp();
  if (!parent)
    return true;
  if (isa<ModuleOp>(parent))
    return isa<func::FuncOp, ringlet::rtile::FuncOp, ringlet::rplan::FuncOp>(
        op);
  if (isa<func::FuncOp>(parent))
    return dialect == "ringlet" || isa<func::ReturnOp, arith::ConstantOp>(op);
  if (isa<ringlet::rplan::FuncOp>(parent))
    return dialect == "rplan" || dialect == "arith";
  return dialect == "rtile" || dialect == "arith" || dialect == "math" ||
         isa<scf::ForOp, scf::IfOp, scf::YieldOp, memref::LoadOp,
             memref::DimOp>(op);
}

LogicalResult ringlet::verifyVocabulary(ModuleOp module) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isKnown(op))
      return WalkResult::advance();
    op->emitError("'")
        << op->getName()
        << "' has no lowering here: expected ringlet operations and "
           "arith.constant in a func.func, rtile, arith, math, "
           "memref.load/dim and scf.for/if in an rtile.func, rplan and arith "
           "in an rplan.func";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
