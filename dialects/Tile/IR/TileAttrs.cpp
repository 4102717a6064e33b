//===- TileAttrs.cpp - Attributes of the rtile dialect -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ringlet::rtile;

LogicalResult FragmentAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t warps, Along) {
  if (warps < 1 || warps > 32)
    return emitError() << "expected 1 to 32 warps, found " << warps;
  return success();
}

LogicalResult FragmentAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() < 1 || shape.size() > 2)
    return emitError() << "expected a tile of 1 or 2 axes in registers, found "
                       << shape.size();
  if (getAlong() == Along::columns && shape.size() != 1)
    return emitError() << "expected a tile of 1 axis along columns, found "
                       << shape.size();
  return success();
}

LogicalResult SwizzledAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type element,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != 2)
    return emitError() << "expected a tile of 2 axes in a slot, found "
                       << shape.size();
  if (!element.isF16() && !element.isBF16())
    return emitError() << "expected elements of f16 or bf16 in a slot, found "
                       << element;
  return success();
}

LogicalResult MapAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              int64_t buffer, int64_t rows, int64_t columns,
                              ArrayRef<int64_t> fixed, int64_t rate,
                              ArrayRef<int64_t> box, Residues residues) {
  if (buffer < 0 || rows < 0 || columns <= rows)
    return emitError() << "expected a buffer, its rows and behind them its "
                          "columns, found "
                       << buffer << ", " << rows << " and " << columns;
  if (rate < 1)
    return emitError() << "expected a rate of at least 1, found " << rate;
  size_t axes = fixed.size() + (rate > 1 ? 3 : 2);
  if (axes > 5)
    return emitError() << "expected at most 5 axes, found " << axes;
  if (box.size() != 2 || box[0] < 1 || box[0] > 256 || box[1] < 1 ||
      box[1] > 64)
    return emitError() << "expected a box of 1 to 256 rows and 1 to 64 columns";
  if (residues != Residues::all && rate == 1)
    return emitError() << "expected residues = all at rate 1, found residues = "
                       << stringifyResidues(residues);
  return success();
}

//===----------------------------------------------------------------------===//
// WalkAttr
//===----------------------------------------------------------------------===//

/// `<strided, order = [1, 2, 0], reversed = [0], section = 4>`
Attribute WalkAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseLess() || parser.parseKeyword(&name))
    return {};
  std::optional<Dispatch> dispatch = symbolizeDispatch(name);
  if (!dispatch) {
    parser.emitError(loc) << "expected each, strided or dynamic, found '"
                          << name << "'";
    return {};
  }
  SmallVector<int64_t> order, reversed, length;
  int64_t section = 0, rows = 0, perBlock = 0;
  auto parseList = [&](SmallVectorImpl<int64_t> &list) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
      return parser.parseInteger(list.emplace_back());
    });
  };
  SmallVector<StringRef, 4> seen;
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc keyLoc = parser.getCurrentLocation();
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return {};
    if (llvm::is_contained(seen, key)) {
      parser.emitError(keyLoc) << "expected '" << key << "' once";
      return {};
    }
    seen.push_back(key);
    ParseResult parsed = success();
    if (key == "order")
      parsed = parseList(order);
    else if (key == "reversed")
      parsed = parseList(reversed);
    else if (key == "length")
      parsed = parseList(length);
    else if (key == "section")
      parsed = parser.parseInteger(section);
    else if (key == "rows")
      parsed = parser.parseInteger(rows);
    else if (key == "per_block")
      parsed = parser.parseInteger(perBlock);
    else
      parsed = parser.emitError(keyLoc)
               << "expected order, reversed, section, rows, length or "
                  "per_block, found '"
               << key << "'";
    if (parsed)
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<WalkAttr>(loc, parser.getContext(), *dispatch,
                                     ArrayRef<int64_t>(order),
                                     ArrayRef<int64_t>(reversed), section, rows,
                                     ArrayRef<int64_t>(length), perBlock);
}

void WalkAttr::print(AsmPrinter &printer) const {
  auto printList = [&](StringRef key, ArrayRef<int64_t> list) {
    if (list.empty())
      return;
    printer << ", " << key << " = [";
    llvm::interleaveComma(list, printer);
    printer << ']';
  };
  printer << '<' << stringifyDispatch(getDispatch());
  printList("order", getOrder());
  printList("reversed", getReversed());
  if (getSection() != 0)
    printer << ", section = " << getSection();
  if (getRows() != 0)
    printer << ", rows = " << getRows();
  printList("length", getLength());
  if (getPerBlock() != 0)
    printer << ", per_block = " << getPerBlock();
  printer << '>';
}

LogicalResult WalkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               Dispatch, ArrayRef<int64_t> order,
                               ArrayRef<int64_t> reversed, int64_t section,
                               int64_t rows, ArrayRef<int64_t> length,
                               int64_t perBlock) {
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  for (auto [index, axis] : llvm::enumerate(sorted))
    if (axis != static_cast<int64_t>(index))
      return emitError() << "expected an order of the axes 0 to "
                         << order.size() - 1 << ", found axis " << axis;
  for (int64_t axis : reversed)
    if (axis < 0 || axis > 3)
      return emitError() << "expected reversed axes from 0 to 3, found "
                         << axis;
  if (section < 0)
    return emitError() << "expected a section of at least 0, found " << section;
  if (perBlock < 0 || (perBlock > 0 && section == 0))
    return emitError() << "expected per_block of at least 0, and 0 without "
                          "section, found "
                       << perBlock;
  if (rows == 0 && length.empty())
    return success();
  if (section == 0 || rows <= 0 || length.size() != 2 || length[0] < 0 ||
      length[1] < 0)
    return emitError()
           << "expected section, rows and length = [argument, axis] "
              "together, found section = "
           << section << ", rows = " << rows << " and " << length.size()
           << " numbers for length";
  return success();
}

//===----------------------------------------------------------------------===//
// Attributes of operations
//===----------------------------------------------------------------------===//

LogicalResult StageAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t stage, int64_t cluster) {
  if (stage < 0 || cluster < 0)
    return emitError() << "expected a stage and a cluster of at least 0, found "
                       << stage << " and " << cluster;
  return success();
}

LogicalResult RTileDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  if (attribute.getName() == kStageAttr) {
    if (!isa<StageAttr>(attribute.getValue()))
      return op->emitOpError("expected #rtile.stage as ")
             << kStageAttr << ", found " << attribute.getValue();
    if (op->hasTrait<OpTrait::IsTerminator>())
      return op->emitOpError("expected ")
             << kStageAttr << " of operations that compute, found it of the "
             << "end of a block";
  }
  if (attribute.getName() == kUnorderedAttr) {
    if (!isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError("expected ")
             << kUnorderedAttr << " without a value, found "
             << attribute.getValue();
    if (!isa<scf::ForOp>(op))
      return op->emitOpError("expected ")
             << kUnorderedAttr << " of an scf.for, found it of another "
             << "operation";
  }
  if (attribute.getName() == kBesideAttr) {
    if (!isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError("expected ")
             << kBesideAttr << " without a value, found "
             << attribute.getValue();
    if (!isa<SymbolOpInterface>(op))
      return op->emitOpError("expected ")
             << kBesideAttr << " of a kernel, found it of another operation";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ScheduleAttr
//===----------------------------------------------------------------------===//

LogicalResult
ringlet::rtile::verifyWarpsOfRole(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t warps, int64_t registers) {
  if (registers == 0)
    return success();
  if (registers % 8 != 0 || registers < 24 || registers > 240) {
    int64_t nearest = std::clamp<int64_t>((registers + 4) / 8 * 8, 24, 240);
    return emitError() << "expected a multiple of 8 registers from 24 to 240, "
                          "or 0 to leave them as they are, found "
                       << registers << "; the nearest is " << nearest;
  }
  if (warps % 4 != 0)
    return emitError() << "expected a multiple of 4 warps, which change their "
                          "registers together, found "
                       << warps << "; the nearest is "
                       << llvm::alignTo(warps, 4);
  return success();
}

LogicalResult
ScheduleRoleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         StringRef name, int64_t warps, int64_t registers) {
  if (name.empty())
    return emitError() << "expected a role with a name, found ''";
  if (warps < 1 || warps > mostWarps)
    return emitError() << "expected 1 to " << mostWarps
                       << " warps of a role, found " << warps;
  return verifyWarpsOfRole(emitError, warps, registers);
}

LogicalResult
ScheduleOperandAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                            int64_t buffer, int64_t slots, Place) {
  if (buffer < 0)
    return emitError() << "expected the number of a parameter as buffer, found "
                       << buffer;
  if (slots < 0 || slots > mostSlots)
    return emitError() << "expected 1 to " << mostSlots
                       << " slots of a channel, or 0 for what the schedule "
                          "says of all, found "
                       << slots;
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<ScheduleRoleAttr> roles,
                                   int64_t blocks, int64_t slots, WalkAttr,
                                   ArrayRef<ScheduleOperandAttr> operands) {
  if (roles.empty())
    return emitError() << "expected at least one role in a schedule";
  int64_t warps = 0;
  llvm::SmallDenseSet<StringRef> names;
  for (ScheduleRoleAttr role : roles) {
    if (!names.insert(role.getName()).second)
      return emitError() << "expected roles of different names, found '"
                         << role.getName() << "' twice";
    warps += role.getWarps();
  }
  if (warps > mostWarps)
    return emitError() << "expected roles of at most " << mostWarps
                       << " warps together, found " << warps;
  if (blocks < 1 || blocks * warps > mostWarpsOfAll)
    return emitError() << "expected 1 to " << mostWarpsOfAll / warps
                       << " blocks of " << warps
                       << " warps a multiprocessor, found " << blocks;
  if (slots < 1 || slots > mostSlots)
    return emitError() << "expected 1 to " << mostSlots
                       << " slots of a channel, found " << slots;
  llvm::SmallDenseSet<int64_t> buffers;
  for (ScheduleOperandAttr operand : operands)
    if (!buffers.insert(operand.getBuffer()).second)
      return emitError() << "expected one operand of each buffer, found buffer "
                         << operand.getBuffer() << " twice";
  return success();
}

ScheduleRoleAttr ScheduleAttr::getRole(StringRef name) const {
  const auto *role = llvm::find_if(getRoles(), [&](ScheduleRoleAttr each) {
    return each.getName() == name;
  });
  return role == getRoles().end() ? ScheduleRoleAttr() : *role;
}

ScheduleOperandAttr ScheduleAttr::getOperand(int64_t buffer) const {
  const auto *operand =
      llvm::find_if(getOperands(), [&](ScheduleOperandAttr each) {
        return each.getBuffer() == buffer;
      });
  return operand == getOperands().end() ? ScheduleOperandAttr() : *operand;
}

int64_t ScheduleAttr::getSlotsOf(int64_t buffer) const {
  ScheduleOperandAttr operand = getOperand(buffer);
  return operand && operand.getSlots() ? operand.getSlots() : getSlots();
}

Place ScheduleAttr::getLeftOf(int64_t buffer) const {
  ScheduleOperandAttr operand = getOperand(buffer);
  return operand ? operand.getLeft() : Place::shared;
}
